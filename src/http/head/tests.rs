//! Tables of requests by row of the list of bad inputs, and properties that hold for any bytes.

use super::*;
use proptest::prelude::*;

const LIMITS: HeadLimits = HeadLimits {
    max_bytes: 64 * 1024,
    max_line: 16 * 1024,
    max_fields: 100,
};

/// Parses input that came in one piece.
fn parse_with(input: &[u8], limits: &HeadLimits) -> Result<(Head, usize), HeadError> {
    let mut head = Head::new();
    match head.parse(input, limits)? {
        Parse::Done(len) => Ok((head, len)),
        Parse::Partial => panic!("not complete: {:?}", String::from_utf8_lossy(input)),
    }
}

fn parse(input: impl AsRef<[u8]>) -> Result<Head, HeadError> {
    parse_with(input.as_ref(), &LIMITS).map(|(head, _)| head)
}

/// The head of a valid request with these lines beside its Host; they bring their own CRLF.
fn with(lines: impl AsRef<[u8]>) -> Vec<u8> {
    [b"POST / HTTP/1.1\r\nHost: a\r\n", lines.as_ref(), b"\r\n"].concat()
}

fn accepted(input: impl AsRef<[u8]>) -> Head {
    let input = input.as_ref();
    match parse(input) {
        Ok(head) => head,
        Err(error) => panic!("{:?} gave {error:?}", String::from_utf8_lossy(input)),
    }
}

/// The status with which a request is refused; 0 if it isn't.
fn status(input: impl AsRef<[u8]>) -> u16 {
    parse(input).map_or_else(|error| error.status.as_u16(), |_| 0)
}

/// Each of these inputs must be refused with this status.
fn all_refused<T: AsRef<[u8]>>(expected: u16, inputs: impl IntoIterator<Item = T>) {
    for input in inputs {
        let text = String::from_utf8_lossy(input.as_ref()).into_owned();
        assert_eq!(status(input), expected, "{text:?}");
    }
}

/// A GET of `target`.
fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

#[test]
fn rfc9112_2_1_a_whole_request_is_taken_apart() {
    let input = b"GET /hello/%C3%A4?x=1&y HTTP/1.1\r\nHost: example.com:8080\r\nUser-Agent:wrk \t\r\nX-Empty:\r\naccept: a\r\nAccept: b\r\n\r\nrest";
    let (head, len) = parse_with(input, &LIMITS).expect("a valid request");
    assert_eq!(len, input.len() - 4);
    assert_eq!(head.method(), Method::GET);
    assert_eq!(head.version(), Version::HTTP_11);
    assert_eq!(head.target(), "/hello/%C3%A4?x=1&y");
    assert_eq!(head.path(), "/hello/%C3%A4");
    assert_eq!(head.query(), Some("x=1&y"));
    assert_eq!(head.host(), Some("example.com:8080"));
    assert_eq!(head.header("user-agent"), Some("wrk"));
    assert_eq!(head.header("x-empty"), Some(""));
    assert_eq!(head.header("ACCEPT"), Some("a"));
    assert_eq!(head.header_values("Accept").collect::<Vec<_>>(), [b"a", b"b"]);
    assert_eq!(head.header("absent"), None);
    assert_eq!(head.headers().nth(3), Some(("accept", &b"a"[..])));
    assert_eq!(head.headers().count(), 5);
    assert_eq!(head.framing(), Framing::None);
    assert!(head.keep_alive() && !head.expects_continue());
}

#[test]
fn h1_a_request_line_over_the_limit_is_414_and_one_at_the_limit_is_served() {
    let target = |line: usize| format!("/{}", "a".repeat(line - "GET / HTTP/1.1".len()));
    let at_limit = accepted(get(&target(LIMITS.max_line)));
    assert_eq!(at_limit.path().len(), LIMITS.max_line - "GET  HTTP/1.1".len());
    all_refused(414, [get(&target(LIMITS.max_line + 1)), get(&target(60_000))]);
    // Known before its end is there.
    let mut head = Head::new();
    let unfinished = format!("GET {}", target(LIMITS.max_line + 20));
    assert_eq!(
        head.parse(unfinished.as_bytes(), &LIMITS)
            .map_err(|error| error.status.as_u16()),
        Err(414)
    );
}

#[test]
fn h2_h36_methods_beyond_the_seven_are_501() {
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        assert_eq!(
            accepted(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n")).method(),
            method
        );
    }
    all_refused(
        501,
        [
            "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n",
            "PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n",
            "M-SEARCH * HTTP/1.1\r\n\r\n",
        ],
    );
}

#[test]
fn h3_methods_are_tokens_of_at_most_32_octets_and_case_sensitive() {
    let request = |method: &str| format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n");
    all_refused(
        501,
        [
            "get",
            "Get",
            "GETT",
            "GE",
            &"A".repeat(32),
            &"A".repeat(33),
            &"A".repeat(5000),
        ]
        .map(request),
    );
    all_refused(
        400,
        [
            "",
            " GET",
            "GE T",
            "G(T",
            "G\0T",
            "\"GET\"",
            "G/T",
            "G\u{c9}T",
            "GET\t",
            "{\"a\":1}",
        ]
        .map(request),
    );
}

#[test]
fn h4_malformed_versions_are_400_and_other_major_versions_505() {
    let request = |version: &str| format!("GET / {version}\r\nHost: a\r\n\r\n");
    all_refused(
        400,
        [
            "HTTP/1",
            "http/1.1",
            "HTTP/01.1",
            "HTTP/1.32",
            "HTTP/4294967295.255",
            "HTTP/1.1 ",
            " HTTP/1.1",
            "HTTP/1.x",
            "HTTP/.1",
            "HTTP/1,1",
            "HTTP 1.1",
            "HTTPS/1.1",
            "1.1",
            "",
            "HTTP/1.1\0",
            "HTTP/1.1 x",
            "HTTP/+1.1",
        ]
        .map(request),
    );
    all_refused(
        400,
        ["GET /\r\n\r\n", "GET\r\n\r\n", "GET \r\n\r\n", "GET / \r\n\r\n"],
    );
    all_refused(505, ["HTTP/2.0", "HTTP/3.0", "HTTP/0.9", "HTTP/9.9"].map(request));
    all_refused(505, ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]);
    assert_eq!(accepted(request("HTTP/1.2")).version(), Version::HTTP_11);
    assert_eq!(accepted(request("HTTP/1.0")).version(), Version::HTTP_10);
}

#[test]
fn h4_an_http_0_9_request_is_refused_without_waiting_for_more() {
    assert_eq!(
        Head::new()
            .parse(b"GET /\r\n", &LIMITS)
            .map_err(|error| error.status.as_u16()),
        Err(400)
    );
}

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
fn h12_length_and_chunked_together_is_400() {
    all_refused(
        400,
        [
            with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
            with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
            with("transfer-encoding: CHUNKED\r\nX: y\r\ncontent-length: 0\r\n"),
        ],
    );
}

#[test]
fn h13_transfer_encoding_in_http_1_0_is_400() {
    all_refused(
        400,
        ["POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"],
    );
}

#[test]
fn h14_more_than_one_length_is_400_even_if_equal() {
    all_refused(
        400,
        [
            with("Content-Length: 5\r\nContent-Length: 6\r\n"),
            with("Content-Length: 5\r\nContent-Length: 5\r\n"),
            with("Content-Length: 5\r\ncontent-length: 5\r\n"),
            with("Content-Length: 5, 6\r\n"),
            with("Content-Length: 5, 5\r\n"),
            with("Content-Length: 5,\r\n"),
        ],
    );
}

#[test]
fn h15_a_length_is_digits_that_fit_64_bits() {
    let length = |value: &str| with(format!("Content-Length: {value}\r\n"));
    all_refused(
        400,
        [
            "+5",
            "-5",
            "0x5",
            "1_0",
            "5 5",
            "5Z",
            "",
            " ",
            "18446744073709551616",
            "99999999999999999999999",
            "5.0",
            "5;",
            "\u{665}",
            "five",
            "-0",
            "1e3",
        ]
        .map(length),
    );
    assert_eq!(
        accepted(length("18446744073709551615")).framing(),
        Framing::Length(u64::MAX)
    );
    assert_eq!(accepted(length("0")).framing(), Framing::Length(0));
    assert_eq!(accepted(length("007 ")).framing(), Framing::Length(7));
}

#[test]
fn h17_only_chunked_alone_is_a_transfer_coding_here() {
    let coding = |value: &str| with(format!("Transfer-Encoding: {value}\r\n"));
    for good in ["chunked", "Chunked", "CHUNKED", " \tchunked "] {
        assert_eq!(accepted(coding(good)).framing(), Framing::Chunked, "{good}");
    }
    all_refused(
        400,
        [
            "",
            ",chunked",
            "chunked,",
            "chunked, identity",
            "chunked, chunked",
            "chunked;q=1",
            "chunked chunked",
            "\"chunked\"",
            "chunked, gzip",
            "gzip,,chunked",
            "chunked\u{b}",
            "gzip;q=1, chunked",
            ",",
            "chun ked",
        ]
        .map(coding),
    );
    all_refused(
        501,
        [
            "xchunked",
            "gzip",
            "identity",
            "gzip, chunked",
            "deflate, gzip",
            "chunkedx",
        ]
        .map(coding),
    );
    all_refused(
        400,
        [
            with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
            with("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"),
            with("Transfer_Encoding: chunked\r\n"),
            with("Content_Length: 5\r\n"),
        ],
    );
    all_refused(
        400,
        [
            with(b"Transfer-Encoding: \xa0chunked\r\n"),
            with(b"Transfer-Encoding: chunked\x00\r\n"),
        ],
    );
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
fn h25_an_absolute_target_must_name_the_same_host() {
    let request = |target: &str, host: &str| format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let head = accepted(request("http://a.example:81/x?y", "A.Example:81"));
    assert_eq!(
        (head.path(), head.query(), head.host()),
        ("/x", Some("y"), Some("a.example:81"))
    );
    assert_eq!(head.target(), "http://a.example:81/x?y");
    assert_eq!(accepted(request("http://a", "a")).path(), "/");
    assert_eq!(accepted("GET http://a/ HTTP/1.0\r\n\r\n").host(), Some("a"));
    all_refused(
        400,
        [
            request("http://a/", "b"),
            request("http://a:80/", "a"),
            request("ftp://a/", "a"),
            request("http:///", "a"),
            request("http://u@a/", "a"),
            request("http://u@a/", "u@a"),
        ],
    );
    all_refused(400, ["GET http://a/ HTTP/1.1\r\n\r\n"]);
}

#[test]
fn h26_authority_form_is_400_asterisk_is_for_options_and_connect_is_501() {
    all_refused(400, [get("a:80"), get("a.example"), get("*")]);
    assert_eq!(accepted("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").path(), "*");
    all_refused(
        501,
        [
            "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
            "CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n",
        ],
    );
}

#[test]
fn h27_the_request_line_is_separated_by_single_spaces_and_has_no_fragment() {
    all_refused(
        400,
        [
            get("/#a"),
            get("/a b"),
            get("/\t"),
            get("/\0"),
            get("/\x7f"),
            get("/\u{e4}"),
            get(" /"),
            get("/ "),
            get("/?#"),
        ],
    );
    all_refused(
        400,
        [
            "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /\tHTTP/1.1\r\nHost: a\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /  HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /\u{b}HTTP/1.1\r\nHost: a\r\n\r\n",
        ],
    );
}

#[test]
fn h28_unsound_percent_encoding_is_400() {
    all_refused(
        400,
        [
            get("/%"),
            get("/%zz"),
            get("/%00"),
            get("/?%0d%0a"),
            get("/%C0%AF"),
            get("/?q=%ff"),
        ],
    );
    assert_eq!(accepted(get("/%C3%A4?%25")).path(), "/%C3%A4");
}

#[test]
fn h29_a_few_empty_lines_before_the_request_are_skipped() {
    let padded = |count: usize| format!("{}{}", "\r\n".repeat(count), get("/"));
    for count in 0..=MAX_EMPTY_LINES {
        let input = padded(count);
        assert_eq!(
            parse_with(input.as_bytes(), &LIMITS).map(|(_, len)| len),
            Ok(input.len())
        );
        assert_eq!(accepted(&input).path(), "/");
    }
    all_refused(400, [padded(MAX_EMPTY_LINES + 1), padded(1000)]);
    all_refused(
        400,
        [
            "\0",
            "\t",
            " ",
            "\n",
            "\x16\x03\x01\x02\0\x01\0\x01\x7c\x03\x03",
            "\x7f",
            "\r\r\n",
        ]
        .map(|start| format!("{start}{}", get("/"))),
    );
}

#[test]
fn h29_other_protocols_are_refused_at_their_first_bytes() {
    for start in [
        &b"\x16\x03"[..],
        b"\0",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\r\r",
        b"\n",
        b"{",
        b"GET\0",
    ] {
        let refused = Head::new()
            .parse(start, &LIMITS)
            .map_err(|error| error.status.as_u16());
        assert_eq!(refused, Err(400), "{start:?}");
    }
}

#[test]
fn h30_pipelined_requests_are_parsed_one_by_one_with_the_same_head() {
    let input = "GET /a HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\nGET /b?c HTTP/1.0\r\n\r\nHEAD /c HTTP/1.1\r\nHost: c\r\n\r\n";
    let (mut head, mut rest, mut seen) = (Head::new(), input.as_bytes(), Vec::new());
    while !rest.is_empty() {
        let Ok(Parse::Done(len)) = head.parse(rest, &LIMITS) else {
            panic!("three whole requests")
        };
        seen.push((
            head.target().to_owned(),
            head.host().map(str::to_owned),
            head.headers().count(),
            head.keep_alive(),
        ));
        rest = &rest[len..];
    }
    let expected = [
        ("/a", Some("a"), 2, true),
        ("/b?c", None, 0, false),
        ("/c", Some("c"), 1, true),
    ];
    assert_eq!(
        seen,
        expected.map(|(target, host, fields, keep)| (
            target.to_owned(),
            host.map(str::to_owned),
            fields,
            keep
        ))
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

#[test]
fn rfc9110_8_3_content_type_without_parameters() {
    let media = |value: &str| {
        accepted(with(format!("Content-Type: {value}\r\n")))
            .content_type()
            .map(str::to_owned)
    };
    assert_eq!(
        media("Application/JSON ; charset=utf-8").as_deref(),
        Some("Application/JSON")
    );
    assert_eq!(media("text/plain").as_deref(), Some("text/plain"));
    assert_eq!(accepted(with("")).content_type(), None);
}

#[test]
fn secrets_do_not_show_when_a_head_is_printed() {
    let text = format!("{:?}", accepted(with("Authorization: Bearer hunter2\r\n")));
    assert!(
        text.contains("Authorization") && !text.contains("hunter2"),
        "{text}"
    );
}

#[test]
fn a_reused_head_keeps_nothing_of_the_last_request_and_all_of_its_memory() {
    let mut head = Head::new();
    let first = with("X: y\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n");
    assert_eq!(head.parse(&first, &LIMITS), Ok(Parse::Done(first.len())));
    let memory = (head.raw.as_ptr(), head.fields.as_ptr());
    let second = b"GET /b HTTP/1.1\r\nHost: b\r\n\r\n";
    assert_eq!(head.parse(second, &LIMITS), Ok(Parse::Done(second.len())));
    assert_eq!(
        (head.header("x"), head.framing(), head.keep_alive()),
        (None, Framing::None, true)
    );
    assert!(!head.expects_continue());
    assert_eq!((head.raw.as_ptr(), head.fields.as_ptr()), memory);
    head.clear();
    assert_eq!((head.path(), head.headers().count(), head.host()), ("/", 0, None));
}

#[test]
fn the_scratch_list_of_fields_keeps_its_memory() {
    let mut headers = Vec::with_capacity(50);
    headers.push(Header {
        name: "x",
        value: b"y",
    });
    let memory = headers.as_ptr() as usize;
    let empty = recycle(headers);
    assert!(empty.is_empty() && empty.capacity() == 50);
    assert_eq!(empty.as_ptr() as usize, memory);
}

#[test]
fn a_refused_head_starts_afresh() {
    let mut head = Head::new();
    assert!(
        head.parse(b"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", &LIMITS)
            .is_err()
    );
    assert_eq!(
        head.parse(get("/x").as_bytes(), &LIMITS),
        Ok(Parse::Done(get("/x").len()))
    );
    assert_eq!(head.path(), "/x");
}

/// What can be said of the outcome of a parse without regard to how the input was cut.
fn outcome(pieces: &[usize], input: &[u8], limits: &HeadLimits) -> Result<Option<(usize, String)>, u16> {
    let mut head = Head::new();
    for end in pieces.iter().copied().chain([input.len()]) {
        match head.parse(&input[..end], limits) {
            Ok(Parse::Partial) => {}
            Ok(Parse::Done(len)) => {
                let fields: Vec<_> = head.headers().collect();
                let facts = (
                    head.target(),
                    head.path(),
                    head.query(),
                    head.host(),
                    head.framing(),
                    head.keep_alive(),
                );
                return Ok(Some((len, format!("{head:?} {facts:?} {fields:?}"))));
            }
            Err(error) => return Err(error.status.as_u16()),
        }
    }
    Ok(None)
}

/// Asserts the same outcome for the input in one piece, in single bytes, and cut in two at every place.
fn cuts_do_not_matter(input: &[u8], limits: &HeadLimits) -> Result<(), TestCaseError> {
    let whole = outcome(&[], input, limits);
    let bytes: Vec<usize> = (0..input.len()).collect();
    prop_assert_eq!(
        outcome(&bytes, input, limits),
        whole.clone(),
        "in single bytes: {:?}",
        String::from_utf8_lossy(input)
    );
    for cut in 0..input.len() {
        prop_assert_eq!(
            outcome(&[cut], input, limits),
            whole.clone(),
            "cut at {}: {:?}",
            cut,
            String::from_utf8_lossy(input)
        );
    }
    Ok(())
}

#[test]
fn s11_every_cut_of_some_telling_requests_gives_the_same_outcome() {
    let small = HeadLimits {
        max_bytes: 64,
        max_line: 40,
        max_fields: 2,
    };
    for input in [
        "\r\n\r\nGET /a?b HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\nGET",
        "POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nZ: z\r\n\r\n",
        "GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /aaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\n\n",
        "TRACE / HTTP/1.1\r\n\n",
    ] {
        for limits in [&small, &LIMITS] {
            cuts_do_not_matter(input.as_bytes(), limits).expect(input);
        }
    }
}

/// Pieces that requests are made of, whole and broken.
fn request_noise() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "GET ",
        "POST ",
        "/",
        "*",
        "?",
        "%41",
        "%",
        "http://",
        "a",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
        " HTTP/2.0\r\n",
        "Host: a\r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        "Expect: 100-continue\r\n",
        "X: y\r\n",
        "\r\n",
        "\r",
        "\n",
        " ",
        "\t",
        ":",
        "\0",
        "\u{e4}",
        "GET / HTTP/1.1\r\n",
        "\r\n\r\n",
    ]);
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat().into_bytes())
}

/// Requests that are valid, with everything that may vary varied.
fn valid_request() -> impl Strategy<Value = String> {
    let fields = prop::collection::vec(
        (
            "[A-Wa-w][!#$%&'*+.^_`|~0-9A-Za-z-]{0,30}",
            "[ \t]{0,2}",
            "([!-~]([ -~\t]{0,60}[!-~])?)?",
            "[ \t]{0,2}",
        ),
        0..20,
    );
    (
        "(GET|POST|OPTIONS)",
        "/[!$&-;=@-Z_a-z~]{0,40}(\\?[!$&-;=?@-Z_a-z~]{0,20})?",
        "1\\.[01]",
        fields,
    )
        .prop_map(|(method, target, version, fields)| {
            let mut request = format!("{method} {target} HTTP/{version}\r\nHost: a\r\n");
            for (name, before, value, after) in fields {
                // A leading letter that none of the fields with rules of their own has.
                request.push_str(&format!("Z{name}:{before}{value}{after}\r\n"));
            }
            request + "\r\n"
        })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_cuts_do_not_matter(input in prop::collection::vec(any::<u8>(), 0..120)) {
        cuts_do_not_matter(&input, &LIMITS)?;
    }

    #[test]
    fn broken_requests_never_panic_and_cuts_do_not_matter(input in request_noise()) {
        cuts_do_not_matter(&input, &LIMITS)?;
        cuts_do_not_matter(&input, &HeadLimits { max_bytes: 60, max_line: 40, max_fields: 2 })?;
    }

    #[test]
    fn valid_requests_are_read_as_httparse_reads_them(input in valid_request(), rest in "[ -~]{0,10}") {
        let wire = format!("{input}{rest}");
        let (head, len) = parse_with(wire.as_bytes(), &LIMITS).map_err(|error| TestCaseError::fail(error.reason))?;
        let mut fields = [httparse::EMPTY_HEADER; 32];
        let mut theirs = httparse::Request::new(&mut fields);
        let status = theirs.parse(wire.as_bytes()).expect("valid");
        prop_assert_eq!(status, httparse::Status::Complete(len));
        prop_assert_eq!(Some(head.method().as_str()), theirs.method);
        prop_assert_eq!(Some(head.target()), theirs.path);
        prop_assert_eq!(head.version() == Version::HTTP_11, theirs.version == Some(1));
        prop_assert_eq!(
            head.headers().collect::<Vec<_>>(),
            theirs.headers.iter().map(|header| (header.name, header.value)).collect::<Vec<_>>()
        );
        cuts_do_not_matter(input.as_bytes(), &LIMITS)?;
    }

    /// Whatever is accepted, a lenient parser reads the same way: nothing is left to smuggle.
    #[test]
    fn whatever_is_accepted_httparse_reads_the_same(input in request_noise()) {
        if let Ok(Some((len, _))) = outcome(&[], &input, &LIMITS) {
            let mut fields = [httparse::EMPTY_HEADER; 64];
            let mut theirs = httparse::Request::new(&mut fields);
            prop_assert_eq!(theirs.parse(&input), Ok(httparse::Status::Complete(len)));
        }
    }
}
