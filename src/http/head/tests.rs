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
