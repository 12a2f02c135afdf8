//! Header fields that must be served or refused.

use super::*;

#[test]
fn h5_bare_lf_is_400() {
    all_refused(
        400,
        [
            "GET / HTTP/1.1\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\n",
            "GET / HTTP/1.1\r\nHost: a\n\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX: y\nZ: z\r\n\r\n",
            "GET / HTTP/1.1\r\n\nHost: a\r\n\r\n",
            "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        ],
    );
}

#[test]
fn h6_bare_cr_is_400() {
    all_refused(
        400,
        [
            "GET / HTTP/1.1\rHost: a\r\n\r\n",
            "GET /\r HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\rX: y\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX\r: y\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX:\ry\r\n\r\n",
            "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        ],
    );
    all_refused(400, [with("\rX\r\n"), with("X: y\r\n\r\r\n")]);
}

#[test]
fn h7_each_octet_in_a_value_is_accepted_or_refused_as_rfc9110_5_5_says() {
    for octet in 0..=255u8 {
        let legal = octet == b'\t' || (octet >= b' ' && octet != 0x7f);
        // In the middle of a value, at its start, and in a long run that vector instructions look at.
        for value in [
            [b'a', octet, b'b'].to_vec(),
            [octet, b'b'].to_vec(),
            [&b"a".repeat(40)[..], &[octet], b"b"].concat(),
        ] {
            let input = with([b"X: ", &value[..], b"\r\n"].concat());
            assert_eq!(
                status(&input),
                if legal { 0 } else { 400 },
                "{octet:#x} in {value:?}"
            );
        }
    }
}

#[test]
fn h7_only_space_and_tab_are_trimmed() {
    let head = accepted(with(b"X: \t \xa0y\x85 \t\r\n"));
    assert_eq!(head.header_values("x").collect::<Vec<_>>(), [b"\xa0y\x85"]);
    assert_eq!(head.header("x"), None, "not UTF-8");
    all_refused(
        400,
        [
            with(b"Content-Length: \xa05\r\n"),
            with(b"Content-Length: 5\x85\r\n"),
        ],
    );
    all_refused(
        400,
        [
            with(b"\xa0X: y\r\n"),
            with(b"X\xa0: y\r\n"),
            with(b"X\x85: y\r\n"),
        ],
    );
}

#[test]
fn h8_h10_folded_lines_and_space_before_the_first_field_are_400() {
    all_refused(
        400,
        [
            with(" folded\r\n"),
            with("\tfolded\r\n"),
            with("X: y\r\n z\r\n"),
            with("X:\r\n y\r\n"),
            with(" \r\n"),
        ],
    );
    all_refused(
        400,
        [
            with("Transfer-Encoding:\r\n chunked\r\n"),
            with("Transfer-Encoding: chunked\r\n ,identity\r\n"),
        ],
    );
    all_refused(
        400,
        [
            "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
            "GET / HTTP/1.1\r\n\tX: y\r\nHost: a\r\n\r\n",
        ],
    );
}

#[test]
fn h9_space_before_the_colon_is_400() {
    all_refused(
        400,
        [
            with("X : y\r\n"),
            with("X\t: y\r\n"),
            with("Content-Length : 5\r\n"),
            with("Transfer-Encoding : chunked\r\n"),
        ],
    );
}

#[test]
fn h11_names_are_tokens_and_every_line_has_a_colon() {
    all_refused(
        400,
        [
            with("X\r\n"),
            with(": y\r\n"),
            with(":\r\n"),
            with("X\r\n: y\r\n"),
            with("GET / HTTP/1.1\r\n"),
        ],
    );
    for octet in 0..=255u8 {
        let legal = token::is_tchar(octet);
        for name in [
            [b'a', octet, b'b'].to_vec(),
            [octet].to_vec(),
            [&b"a".repeat(40)[..], &[octet], b"b"].concat(),
        ] {
            // A colon ends the name; what follows is a value. Alone it makes the name empty.
            let expected = if legal || (octet == b':' && name.len() > 1) {
                0
            } else {
                400
            };
            let input = with([&name[..], b": y\r\n"].concat());
            assert_eq!(status(&input), expected, "{octet:#x} in {name:?}");
        }
    }
}

#[test]
fn h23_a_head_over_the_limits_is_431() {
    let limits = HeadLimits {
        max_bytes: 200,
        max_line: 100,
        max_fields: 3,
    };
    let refused = |input: &str| {
        parse_with(input.as_bytes(), &limits)
            .map_err(|error| error.status.as_u16())
            .err()
    };
    // Bytes: at the limit and one over it.
    let sized = |total: usize| {
        let rest = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n".len();
        format!(
            "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
            "x".repeat(total - rest)
        )
    };
    assert_eq!(refused(&sized(200)), None);
    assert_eq!(refused(&sized(201)), Some(431));
    assert_eq!(refused(&sized(100_000)), Some(431));
    // Lines: duplicates count, and the answer comes before the head is complete.
    assert_eq!(refused("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nX: y\r\n\r\n"), None);
    assert_eq!(
        refused("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nX: y\r\nX: y\r\n"),
        Some(431)
    );
    assert_eq!(
        refused(&format!("GET / HTTP/1.1\r\nHost: a\r\n{}", "x".repeat(176))),
        Some(431)
    );
}

#[test]
fn h23_the_default_count_of_fields_is_served() {
    let lines = |count: usize| with("X: y\r\n".repeat(count - 1));
    assert_eq!(accepted(lines(100)).headers().count(), 100);
    all_refused(431, [lines(101)]);
}

#[test]
fn h24_host_must_be_there_once_and_valid() {
    all_refused(
        400,
        [
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost:\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n",
            "GET / HTTP/1.0\r\nHost: a b\r\n\r\n",
        ],
    );
    assert_eq!(accepted("GET / HTTP/1.0\r\n\r\n").host(), None);
    assert_eq!(
        accepted("GET / HTTP/1.1\r\nHOST:\t[::1]:80\t\r\n\r\n").host(),
        Some("[::1]:80")
    );
}

#[test]
fn h37_expectations() {
    assert!(accepted(with("Content-Length: 5\r\nExpect: 100-Continue\r\n")).expects_continue());
    assert!(accepted(with("Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n")).expects_continue());
    assert!(
        !accepted(with("Expect: 100-continue\r\n")).expects_continue(),
        "no body to wait for"
    );
    assert!(!accepted(with("Expect: 100-continue\r\nContent-Length: 0\r\n")).expects_continue());
    all_refused(
        417,
        [
            with("Expect: 200-ok\r\n"),
            with("Expect: 100-continue, x\r\n"),
            with("Expect:\r\n"),
            with("Expect: 100-continue\r\nExpect: x\r\n"),
        ],
    );
    let old = accepted("POST / HTTP/1.0\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    assert!(!old.expects_continue(), "HTTP/1.0 has no interim answers");
    accepted("POST / HTTP/1.0\r\nContent-Length: 5\r\nExpect: x\r\n\r\n");
}

#[test]
fn h40_close_wins_and_the_default_is_the_version_s() {
    let keep_alive = |version: &str, lines: &str| {
        accepted(format!("GET / HTTP/{version}\r\nHost: a\r\n{lines}\r\n")).keep_alive()
    };
    for (lines, in_1_1, in_1_0) in [
        ("", true, false),
        ("Connection: close\r\n", false, false),
        ("Connection: keep-alive\r\n", true, true),
        ("Connection: Keep-Alive\r\n", true, true),
        ("Connection: close, keep-alive\r\n", false, false),
        ("Connection: keep-alive,\tCLOSE\r\n", false, false),
        ("Connection: keep-alive\r\nConnection: close\r\n", false, false),
        ("Connection: closed, \"close\", x y, ,\r\n", true, false),
        ("Connection: Host, Content-Length\r\n", true, false),
    ] {
        assert_eq!(keep_alive("1.1", lines), in_1_1, "1.1 {lines:?}");
        assert_eq!(keep_alive("1.0", lines), in_1_0, "1.0 {lines:?}");
    }
    // A field named by Connection still counts.
    assert_eq!(
        accepted(with("Connection: Content-Length\r\nContent-Length: 5\r\n")).framing(),
        Framing::Length(5)
    );
}
