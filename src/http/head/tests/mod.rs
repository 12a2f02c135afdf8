//! Heads: tables of requests by row of the list of bad inputs, and what holds for a head that is used again.

use super::scan::MAX_EMPTY_LINES;
use super::*;

mod cuts;
mod fields;
mod framing;
mod request_line;

const LIMITS: HeadLimits = HeadLimits {
    max_bytes: 64 * 1024,
    max_line: 16 * 1024,
    max_fields: 100,
};

/// Parses input that came in one piece.
fn parse_with(input: &[u8], limits: &HeadLimits) -> Result<(Head, usize), HeadError> {
    let mut head = Head::default();
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
fn h30_pipelined_requests_are_parsed_one_by_one_with_the_same_head() {
    let input = "GET /a HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\nGET /b?c HTTP/1.0\r\n\r\nHEAD /c HTTP/1.1\r\nHost: c\r\n\r\n";
    let (mut head, mut rest, mut seen) = (Head::default(), input.as_bytes(), Vec::new());
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
    let request = "GET /a?token=hunter2 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer hunter2\r\n\r\n";
    let text = format!("{:?}", accepted(request));
    assert!(
        text.contains("Authorization") && !text.contains("hunter2"),
        "{text}"
    );
}

#[test]
fn a_reused_head_keeps_nothing_of_the_last_request_and_all_of_its_memory() {
    let mut head = Head::default();
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
    let mut head = Head::default();
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

#[test]
fn h23_each_byte_is_looked_at_once() {
    let mut head = Head::default();
    let request = with("X: y\r\n".repeat(50));
    for end in 1..request.len() {
        assert_eq!(head.parse(&request[..end], &LIMITS), Ok(Parse::Partial));
        assert_eq!(head.scan.searched(), end);
    }
}

#[test]
fn an_unusually_large_head_leaves_no_memory_behind() {
    let mut head = accepted(with(format!("X: {}\r\n", "y".repeat(2 * MAX_KEPT_BYTES))));
    head.clear();
    assert!(head.raw.capacity() <= MAX_KEPT_BYTES);
}
