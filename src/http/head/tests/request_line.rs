//! Request lines that must be served or refused.

use super::*;

#[test]
fn h1_a_request_line_over_the_limit_is_414_and_one_at_the_limit_is_served() {
    let target = |line: usize| format!("/{}", "a".repeat(line - "GET / HTTP/1.1".len()));
    let at_limit = accepted(get(&target(LIMITS.max_line)));
    assert_eq!(at_limit.path().len(), LIMITS.max_line - "GET  HTTP/1.1".len());
    all_refused(414, [get(&target(LIMITS.max_line + 1)), get(&target(60_000))]);
    // Known before its end is there.
    let mut head = Head::default();
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
    // Decided by the 33rd octet, whatever follows and whether or not it is there.
    all_refused(501, [request(&format!("{}(", "A".repeat(33)))]);
    let unfinished = Head::default().parse("A".repeat(33).as_bytes(), &LIMITS);
    assert_eq!(unfinished.map_err(|error| error.status.as_u16()), Err(501));
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
        Head::default()
            .parse(b"GET /\r\n", &LIMITS)
            .map_err(|error| error.status.as_u16()),
        Err(400)
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
        let refused = Head::default()
            .parse(start, &LIMITS)
            .map_err(|error| error.status.as_u16());
        assert_eq!(refused, Err(400), "{start:?}");
    }
}
