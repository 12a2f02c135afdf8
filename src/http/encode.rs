//! Responses to bytes (RFC 9112 sections 4 to 6).
//!
//! Writes heads only: the body goes from where it lies to the socket, beside the head in one system call, without being
//! copied.

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

/// Appends status line and fields to `out`: Date, Content-Length, and Connection where the version's default differs from
/// what will happen. Allocates nothing if `out` has room.
///
/// The body is not appended; the result tells whether it is to be sent, which it isn't for HEAD, 1xx, 204, 205 and 304 (RFC
/// 9112 section 6.3).
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

/// RFC 9110 section 8.6: never with 1xx and 204. Nor with 304, where it would have to be that of the 200, which isn't known
/// here. A 205 has no content (section 15.3.6).
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
