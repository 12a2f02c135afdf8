//! Responses to bytes (RFC 9112 sections 4 to 6).
//!
//! Writes heads only: the body goes from where it lies to the socket, beside the head in one system call, without
//! being copied.

use super::date;
use super::head::HeadError;
use super::response::{Response, is_the_servers};
use ::http::StatusCode;
use ::http::header::{self, HeaderMap};

/// The interim answer to `Expect: 100-continue` (RFC 9110 section 15.2.1).
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What the encoding depends on beside the response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// The request was a HEAD: fields as for GET, no body.
    pub(crate) head_request: bool,
    /// The request was HTTP/1.1, where connections stay open unless told otherwise.
    pub(crate) http11: bool,
    /// The connection stays open after this response.
    pub(crate) keep_alive: bool,
}

/// Appends status line and fields to `out`: Date, Content-Length, and Connection where the version's default differs
/// from what will happen. Allocates nothing if `out` has room.
///
/// The body is not appended; the result tells whether it is to be sent, which it isn't for HEAD, 1xx, 204, 205 and
/// 304 (RFC 9112 section 6.3).
pub(crate) fn head(out: &mut Vec<u8>, response: &Response, context: Context) -> bool {
    // Room for everything but the fields of the map, so that what follows seldom has to grow the buffer.
    out.reserve(256);
    status_line(out, response.status());
    date::with_date(|date| {
        out.extend_from_slice(b"Date: ");
        out.extend_from_slice(date);
        out.extend_from_slice(b"\r\n");
    });
    if let Some(value) = response.content_type() {
        field(out, b"Content-Type", value.as_bytes());
    }
    let length = content_length(response);
    if let Some(length) = length {
        field(
            out,
            b"Content-Length",
            itoa::Buffer::new().format(length).as_bytes(),
        );
    }
    let headers = response.headers();
    if !headers.is_empty() {
        fields(out, headers);
    }
    if let Some(options) = connection(headers, context) {
        field(out, b"Connection", options);
    }
    out.extend_from_slice(b"\r\n");
    !context.head_request && length.is_some_and(|length| length > 0)
}

/// The plain answer to a request that is refused; the connection closes after it.
pub(crate) fn error_response(error: HeadError) -> Response {
    Response::error(error.status, error.reason)
}

fn status_line(out: &mut Vec<u8>, status: StatusCode) {
    if status == StatusCode::OK {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return;
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    // The space stays where there is no reason phrase (RFC 9112 section 4).
    out.extend_from_slice(b" ");
    out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// RFC 9110 section 8.6: never with 1xx and 204. Nor with 304, where it would have to be that of the 200, which isn't
/// known here. A 205 has no content (section 15.3.6).
fn content_length(response: &Response) -> Option<usize> {
    match response.status() {
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED => None,
        StatusCode::RESET_CONTENT => Some(0),
        status if status.is_informational() => None,
        _ => Some(response.body().len()),
    }
}

fn fields(out: &mut Vec<u8>, headers: &HeaderMap) {
    for (name, value) in headers {
        // The content type has been written already.
        if !is_the_servers(name) && *name != header::CONTENT_TYPE {
            field(out, name.as_str().as_bytes(), value.as_bytes());
        }
    }
}

/// Names and values come from `http`'s types, which hold neither CR nor LF, or from constants here.
fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// RFC 9112 section 9.6, and RFC 9110 section 7.8 for Upgrade, which is nothing without its connection option.
fn connection(headers: &HeaderMap, context: Context) -> Option<&'static [u8]> {
    let upgrade = !headers.is_empty() && headers.contains_key(header::UPGRADE);
    match (upgrade, context.keep_alive, context.http11) {
        (true, true, _) => Some(b"Upgrade"),
        (true, false, _) => Some(b"Upgrade, close"),
        (false, true, true) => None,
        (false, true, false) => Some(b"keep-alive"),
        (false, false, _) => Some(b"close"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: Context = Context {
        head_request: false,
        http11: true,
        keep_alive: true,
    };

    /// The encoded head with the Date cut out, and whether the body follows.
    fn encode(response: &Response, context: Context) -> (String, bool) {
        let mut out = Vec::new();
        let body_follows = head(&mut out, response, context);
        let mut text = String::from_utf8(out).expect("ASCII");
        assert_eq!(text.matches("\r\nDate: ").count(), 1, "{text}");
        let start = text.find("Date: ").expect("just counted");
        assert_eq!(&text[start + 31..start + 37], " GMT\r\n");
        text.replace_range(start..start + 37, "");
        (text, body_follows)
    }

    #[test]
    fn rfc9112_4_the_usual_answer() {
        let expected =
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 13\r\n\r\n";
        assert_eq!(
            encode(&Response::text("Hello, World!"), GET),
            (expected.to_owned(), true)
        );
    }

    #[test]
    fn what_is_there_already_is_kept() {
        let mut out = b"before".to_vec();
        head(&mut out, &Response::text("a"), GET);
        assert!(out.starts_with(b"beforeHTTP/1.1 200 OK\r\n"));
    }

    #[test]
    fn an_empty_answer_has_a_length_of_zero_and_no_body() {
        let expected = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(
            encode(&Response::new(StatusCode::NOT_FOUND), GET),
            (expected.to_owned(), false)
        );
    }

    #[test]
    fn rfc9112_4_a_status_without_a_name_keeps_the_space() {
        let status = StatusCode::from_u16(599).expect("three digits");
        assert!(
            encode(&Response::new(status), GET)
                .0
                .starts_with("HTTP/1.1 599 \r\n")
        );
    }

    #[test]
    fn h33_head_has_the_length_of_get_and_no_body() {
        let answer = Response::text("Hello");
        let (get, body) = encode(&answer, GET);
        let (head, head_body) = encode(
            &answer,
            Context {
                head_request: true,
                ..GET
            },
        );
        assert_eq!(get, head);
        assert!(body && !head_body);
    }

    #[test]
    fn h33_statuses_without_content_have_no_body_whatever_the_handler_put_there() {
        for (status, length) in [(204, None), (304, None), (205, Some("0"))] {
            let status = StatusCode::from_u16(status).expect("a status");
            let (text, body) = encode(&Response::text("surplus").with_status(status), GET);
            assert!(!body, "{text}");
            assert_eq!(
                text.split("Content-Length: ").nth(1).map(|rest| &rest[..1]),
                length,
                "{text}"
            );
            assert!(!text.contains("surplus") && !text.to_lowercase().contains("transfer-encoding"));
        }
    }

    #[test]
    fn rfc9112_9_3_connection_is_written_where_the_default_differs() {
        for (http11, keep_alive, expected) in [
            (true, true, None),
            (true, false, Some("close")),
            (false, true, Some("keep-alive")),
            (false, false, Some("close")),
        ] {
            let (text, _) = encode(
                &Response::text("a"),
                Context {
                    head_request: false,
                    http11,
                    keep_alive,
                },
            );
            let told = text.lines().find_map(|line| line.strip_prefix("Connection: "));
            assert_eq!(told, expected, "{text}");
        }
    }

    #[test]
    fn rfc9110_7_8_upgrade_brings_its_connection_option() {
        let refused = Response::new(StatusCode::UPGRADE_REQUIRED).with_header("upgrade", "websocket");
        assert!(encode(&refused, GET).0.contains("\r\nConnection: Upgrade\r\n"));
        let closing = Context {
            keep_alive: false,
            ..GET
        };
        assert!(
            encode(&refused, closing)
                .0
                .contains("\r\nConnection: Upgrade, close\r\n")
        );
        let switching = Response::switching_protocols().with_header("upgrade", "websocket");
        let expected =
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
        assert_eq!(encode(&switching, GET), (expected.to_owned(), false));
    }

    #[test]
    fn fields_are_written_once_and_those_of_the_server_never_from_the_map() {
        let mut answer = Response::text("abc")
            .with_header("x-a", "1")
            .with_header("set-cookie", "a=1")
            .with_header("set-cookie", "b=2");
        for (name, value) in [
            ("content-length", "7"),
            ("transfer-encoding", "chunked"),
            ("connection", "keep-alive"),
            ("date", "yesterday"),
            ("keep-alive", "timeout=5"),
            ("trailer", "x"),
            ("proxy-connection", "close"),
            ("content-type", "text/csv"),
        ] {
            let value = ::http::HeaderValue::from_static(value);
            answer
                .headers_mut()
                .insert(::http::HeaderName::from_static(name), value);
        }
        let expected = "HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: 3\r\n\
            x-a: 1\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\r\n";
        assert_eq!(encode(&answer, GET).0, expected);
    }

    #[test]
    fn h41_nothing_of_a_refused_field_reaches_the_wire() {
        let answer = Response::html("secret")
            .with_header("x-good", "1")
            .with_header("x", "a\r\nx-evil: 1");
        let (text, _) = encode(&answer, GET);
        assert!(
            text.starts_with("HTTP/1.1 500 Internal Server Error\r\n") && !text.contains("x-"),
            "{text}"
        );
    }

    #[test]
    fn h32_a_refused_request_is_told_why_in_one_line_and_closed() {
        let answer = error_response(HeadError::bad("Host is missing"));
        assert_eq!(
            (answer.status().as_u16(), answer.body().as_ref()),
            (400, &b"Host is missing"[..])
        );
        assert!(answer.is_closing());
    }

    #[test]
    fn the_usual_answer_fits_what_is_reserved() {
        let mut out = Vec::with_capacity(256);
        let memory = out.as_ptr();
        head(
            &mut out,
            &Response::html(vec![b'x'; 100_000]),
            Context {
                keep_alive: false,
                http11: false,
                head_request: false,
            },
        );
        assert_eq!(out.as_ptr(), memory);
        assert!(out.len() <= 256, "{}", out.len());
    }

    /// Every head that is written is one that a client can read.
    #[test]
    fn httparse_reads_what_is_written() {
        let answer = Response::json(&[1])
            .with_header("x-a", "1")
            .with_header("x-b", "")
            .with_status(StatusCode::CREATED);
        let mut out = Vec::new();
        head(
            &mut out,
            &answer,
            Context {
                keep_alive: false,
                ..GET
            },
        );
        let mut fields = [httparse::EMPTY_HEADER; 16];
        let mut read = httparse::Response::new(&mut fields);
        assert_eq!(read.parse(&out), Ok(httparse::Status::Complete(out.len())));
        assert_eq!(
            (read.code, read.reason, read.headers.len()),
            (Some(201), Some("Created"), 6)
        );
    }
}
