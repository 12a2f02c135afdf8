//! The request line: method, target and version (RFC 9112 section 3).
//!
//! Parsed as soon as it is complete, so that a client of another protocol hears at once that it is in the wrong
//! place. Exactly one SP separates the parts; RFC 9112 lets a server be lenient there, and leniency is what smuggling
//! lives on.

use super::head::HeadError;
use super::span::Span;
use super::target;
use super::token::is_tchar;
use ::http::{Method, StatusCode, Version};

/// Longest method name; none that is registered comes near.
const MAX_METHOD: usize = 32;

/// A request line that was accepted; the ranges are those of the line.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestLine {
    pub(crate) method: Method,
    pub(crate) version: Version,
    pub(crate) target: Span,
    pub(crate) authority: Option<Span>,
    /// Empty means "/".
    pub(crate) path: Span,
    pub(crate) query: Option<Span>,
}

/// The length of the method at the start of `input`, which may end anywhere; `None` if its end isn't there yet.
///
/// # Errors
/// 400 if it is empty or not a token (this is where a TLS ClientHello ends up), 501 if it is longer than 32 octets
/// (H3).
pub(crate) fn method_len(input: &[u8]) -> Result<Option<usize>, HeadError> {
    let end = input
        .iter()
        .take(MAX_METHOD + 1)
        .position(|byte| !is_tchar(*byte));
    match end {
        Some(len @ 1..) if input[len] == b' ' => Ok(Some(len)),
        Some(_) => Err(HeadError::bad("the request does not start with a method")),
        None if input.len() > MAX_METHOD => Err(NOT_IMPLEMENTED),
        None => Ok(None),
    }
}

const NOT_IMPLEMENTED: HeadError =
    HeadError::new(StatusCode::NOT_IMPLEMENTED, "the method is not implemented");

/// Parses a whole line, without its CRLF, whose method has `method_len` bytes and is followed by a space.
///
/// # Errors
/// 400 for malformed parts, 505 for a well-formed version other than 1.x, 501 for other methods than GET, HEAD, POST,
/// PUT, DELETE, PATCH and OPTIONS. TRACE is among the 501s so that nothing is ever reflected (H36).
pub(crate) fn parse(line: &[u8], method_len: usize) -> Result<RequestLine, HeadError> {
    let start = method_len + 1;
    let rest = &line[start..];
    let len = rest
        .iter()
        .position(|byte| !target::is_target_octet(*byte))
        .ok_or(HeadError::bad("the request line has no version"))?;
    if rest[len] != b' ' {
        return Err(HeadError::bad("a character that a target may not contain"));
    }
    if len == 0 {
        return Err(HeadError::bad("the request line has no target"));
    }
    let version = version(&rest[len + 1..])?;
    let method = method(&line[..method_len]).ok_or(NOT_IMPLEMENTED)?;
    let parts = target::parse(&rest[..len], method == Method::OPTIONS).map_err(HeadError::bad)?;
    Ok(RequestLine {
        method,
        version,
        target: Span::new(start, start + len),
        authority: parts.authority.map(|span| span.shifted(start)),
        path: parts.path.shifted(start),
        query: parts.query.map(|span| span.shifted(start)),
    })
}

/// Method names are case-sensitive (RFC 9110 section 9.1): `get` is a method that nobody implements.
fn method(name: &[u8]) -> Option<Method> {
    Some(match name {
        b"GET" => Method::GET,
        b"HEAD" => Method::HEAD,
        b"POST" => Method::POST,
        b"PUT" => Method::PUT,
        b"DELETE" => Method::DELETE,
        b"PATCH" => Method::PATCH,
        b"OPTIONS" => Method::OPTIONS,
        _ => return None,
    })
}

/// RFC 9112 section 2.3: `HTTP/` DIGIT `.` DIGIT, case-sensitive. A higher minor version is answered as 1.1 (RFC 9110
/// section 2.5).
fn version(text: &[u8]) -> Result<Version, HeadError> {
    match text {
        b"HTTP/1.1" => Ok(Version::HTTP_11),
        b"HTTP/1.0" => Ok(Version::HTTP_10),
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0'..=b'9'] => Ok(Version::HTTP_11),
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Err(HeadError::new(
            StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            "only HTTP/1.0 and HTTP/1.1 are spoken here",
        )),
        _ => Err(HeadError::bad("malformed HTTP version")),
    }
}
