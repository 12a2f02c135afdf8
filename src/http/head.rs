//! The head of a request: request line and header fields (RFC 9112 sections 2, 3 and 5).
//!
//! [`Head::parse`] looks for the end of the head, refusing on the way what can be refused early, hands the field
//! lines to `httparse`, and applies the rules that `httparse` leaves to its callers: exact CRLF, one Host, sound
//! framing. All of that depends on the bytes alone, never on how they were cut into reads. It does no I/O and knows
//! no body.

use super::framing::FramingFields;
use super::host;
use super::request_line::RequestLine;
use super::span::Span;
use super::token;
use ::http::{Method, StatusCode, Version};
use httparse::Header;
use scan::Scan;
use std::cell::Cell;
use std::fmt;

mod error;
mod scan;

pub(crate) use super::framing::Framing;
pub(crate) use error::HeadError;

/// Most bytes of memory that an unused head holds. Browsers with all their cookies stay below; one client that sends
/// 64 KiB to each of many heads must not leave its mark on all of them.
const MAX_KEPT_BYTES: usize = 8 * 1024;

/// Bounds on a head. Exceeding them is 414 (request line) or 431.
#[derive(Clone, Debug)]
pub(crate) struct HeadLimits {
    /// Most bytes of the whole head, empty lines before it included.
    pub(crate) max_bytes: usize,
    /// Most bytes of the request line without its CRLF; more than a method can have.
    pub(crate) max_line: usize,
    /// Most header lines.
    pub(crate) max_fields: usize,
}

/// How far a parse came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parse {
    /// The head took this many bytes of the input.
    Done(usize),
    /// More bytes are needed; the [`Head`] remembers how far it looked, so that parsing stays linear.
    Partial,
}

/// The head of a request: method, target and header fields.
///
/// Everything in it has been checked against RFC 9112; texts are as the client sent them, percent-encoding included.
/// It owns its bytes, so that it can be kept while the body is read.
///
/// ```
/// use greenroom::Head;
///
/// /// What a handler may want to know of a request.
/// fn describe(head: &Head) -> String {
///     let agent = head.header("user-agent").unwrap_or("somebody");
///     format!("{agent} asks {} for {}", head.host().unwrap_or("us"), head.path())
/// }
/// ```
#[derive(Clone, Default)]
pub struct Head {
    /// The head from its first to its last byte; every span is a range of it.
    raw: Vec<u8>,
    fields: Vec<Field>,
    line: RequestLine,
    host: Option<Span>,
    framing: Framing,
    keep_alive: bool,
    expects_continue: bool,
    scan: Scan,
    /// The head is whole; the next parse starts afresh.
    complete: bool,
}

/// One header line.
#[derive(Clone, Copy)]
struct Field {
    name: Span,
    value: Span,
}

impl Head {
    /// Parses as much as is there. `input` starts at the first byte of the request and holds all that came so far;
    /// after [`Parse::Partial`] call it again with more of the same, after [`Parse::Done`] or an error it starts
    /// afresh.
    ///
    /// # Errors
    /// As soon as the bytes so far can't become an acceptable head, whatever follows.
    pub(crate) fn parse(&mut self, input: &[u8], limits: &HeadLimits) -> Result<Parse, HeadError> {
        if self.complete {
            self.clear();
        }
        let result = self.advance(input, limits);
        if result.is_err() {
            self.clear();
        }
        result
    }

    /// Forgets the last head; keeps the memory, unless that head was an unusually large one.
    pub(crate) fn clear(&mut self) {
        if self.raw.capacity() > MAX_KEPT_BYTES {
            self.raw = Vec::new();
        }
        self.raw.clear();
        self.fields.clear();
        self.line = RequestLine::default();
        self.host = None;
        self.framing = Framing::None;
        self.keep_alive = false;
        self.expects_continue = false;
        self.scan = Scan::default();
        self.complete = false;
    }

    /// The request method.
    pub fn method(&self) -> &Method {
        &self.line.method
    }

    /// HTTP/1.0 or HTTP/1.1.
    pub fn version(&self) -> Version {
        self.line.version
    }

    /// The request target as sent: a path with its query, an http URI, or `*`.
    pub fn target(&self) -> &str {
        self.text(self.line.target)
    }

    /// The path without the query, still percent-encoded; `*` for `OPTIONS *`.
    pub fn path(&self) -> &str {
        match self.text(self.line.path) {
            "" => "/",
            path => path,
        }
    }

    /// What follows the question mark of the target, still encoded.
    pub fn query(&self) -> Option<&str> {
        self.line.query.map(|query| self.text(query))
    }

    /// Host and port that the request was sent to; `None` only in HTTP/1.0.
    pub fn host(&self) -> Option<&str> {
        self.line.authority.or(self.host).map(|host| self.text(host))
    }

    /// The value of the first field of that name, in any case of letters; `None` if there is none or it is not UTF-8.
    ///
    /// ```
    /// # use greenroom::Head;
    /// fn wants_json(head: &Head) -> bool {
    ///     head.header("Accept").is_some_and(|accept| accept.contains("application/json"))
    /// }
    /// ```
    pub fn header(&self, name: &str) -> Option<&str> {
        let value = self.header_values(name).next()?;
        std::str::from_utf8(value).ok()
    }

    /// The values of all fields of that name, in any case of letters, in order. Bytes, since a value may be in any
    /// encoding (RFC 9110 section 5.5); SP and HTAB around it are gone.
    pub fn header_values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> + Clone {
        self.fields
            .iter()
            .filter(move |field| {
                field.name.len() == name.len()
                    && field.name.of(&self.raw).eq_ignore_ascii_case(name.as_bytes())
            })
            .map(|field| field.value.of(&self.raw))
    }

    /// All fields in order, names as sent.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> + Clone {
        self.fields
            .iter()
            .map(|field| (self.text(field.name), field.value.of(&self.raw)))
    }

    /// The media type of the body without its parameters, as sent; its case has no meaning (RFC 9110 section 8.3.1).
    ///
    /// ```
    /// # use greenroom::Head;
    /// fn is_json(head: &Head) -> bool {
    ///     head.content_type().is_some_and(|media| media.eq_ignore_ascii_case("application/json"))
    /// }
    /// ```
    pub fn content_type(&self) -> Option<&str> {
        let value = self.header("content-type")?;
        let media = value.split(';').next().unwrap_or(value);
        Some(media.trim_matches([' ', '\t']))
    }

    /// How the body is delimited.
    pub(crate) fn framing(&self) -> Framing {
        self.framing
    }

    /// Whether the client lets the connection stay open, by the version's rule and the Connection field (RFC 9112
    /// section 9.3).
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 section 10.1.1).
    pub(crate) fn expects_continue(&self) -> bool {
        self.expects_continue
    }

    /// A span that was checked to be ASCII when it was parsed.
    fn text(&self, span: Span) -> &str {
        std::str::from_utf8(span.of(&self.raw)).unwrap_or_default()
    }

    fn advance(&mut self, input: &[u8], limits: &HeadLimits) -> Result<Parse, HeadError> {
        // Bytes beyond the limit are never looked at, so that the answer doesn't depend on how many came at once.
        let max_bytes = limits.max_bytes.min(Span::MAX);
        let window = &input[..input.len().min(max_bytes)];
        match self.scan.find_end(window, limits, &mut self.line)? {
            Some(end) => {
                self.accept(&window[self.scan.start()..end])?;
                self.complete = true;
                Ok(Parse::Done(end))
            }
            None if window.len() == max_bytes => Err(HeadError::too_large("the request head is too long")),
            None => Ok(Parse::Partial),
        }
    }

    /// Checks the fields of a complete head and keeps them.
    fn accept(&mut self, head: &[u8]) -> Result<(), HeadError> {
        let mut headers: Vec<Header<'_>> = SCRATCH.take();
        headers.resize(self.scan.fields(), httparse::EMPTY_HEADER);
        let result = self.take_fields(head, &mut headers);
        SCRATCH.set(recycle(headers));
        result?;
        self.raw.clear();
        self.raw.extend_from_slice(head);
        Ok(())
    }

    fn take_fields<'a>(&mut self, head: &'a [u8], headers: &mut [Header<'a>]) -> Result<(), HeadError> {
        let lines_start = memchr::memchr(b'\n', head).map_or(head.len(), |lf| lf + 1);
        parse_fields(&head[lines_start..], headers)?;

        let version = self.line.version;
        let mut framing = FramingFields::default();
        let (mut close, mut keep_alive) = (false, false);
        self.host = None;
        self.expects_continue = false;
        self.fields.clear();
        for Header { name, value } in headers.iter() {
            let field = Field {
                name: Span::locate(name.as_bytes(), head),
                value: Span::locate(value, head),
            };
            self.fields.push(field);
            // Only a name of the right length is compared.
            match name.len() {
                4 if name.eq_ignore_ascii_case("host") => {
                    if self.host.is_some() {
                        return Err(HeadError::bad("more than one Host"));
                    }
                    if !host::is_valid(value) {
                        return Err(HeadError::bad("Host is not valid"));
                    }
                    self.host = Some(field.value);
                }
                6 if name.eq_ignore_ascii_case("expect") && version != Version::HTTP_10 => {
                    if !value.eq_ignore_ascii_case(b"100-continue") {
                        return Err(HeadError::new(
                            StatusCode::EXPECTATION_FAILED,
                            "the expectation is not known",
                        ));
                    }
                    self.expects_continue = true;
                }
                10 if name.eq_ignore_ascii_case("connection") => {
                    for option in token::list(value) {
                        close |= option.eq_ignore_ascii_case(b"close");
                        keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                14 if name.eq_ignore_ascii_case("content-length") => framing.content_length(value)?,
                17 if name.eq_ignore_ascii_case("transfer-encoding") => framing.transfer_encoding(value)?,
                14 | 17 if is_disguised_framing(name) => {
                    return Err(HeadError::bad("a framing field spelt with an underscore"));
                }
                _ => {}
            }
        }
        self.framing = framing.framing(version)?;
        self.keep_alive = !close && (keep_alive || version != Version::HTTP_10);
        // Without a body there is nothing to wait for.
        self.expects_continue &= !matches!(self.framing, Framing::None | Framing::Length(0));
        self.check_host(head)
    }

    /// RFC 9112 sections 3.2 and 3.2.2 (H24, H25).
    fn check_host(&self, head: &[u8]) -> Result<(), HeadError> {
        match (self.host, self.line.authority) {
            (None, _) if self.line.version != Version::HTTP_10 => Err(HeadError::bad("Host is missing")),
            (Some(host), Some(authority)) if !host.of(head).eq_ignore_ascii_case(authority.of(head)) => {
                Err(HeadError::bad("Host differs from the target"))
            }
            _ => Ok(()),
        }
    }
}

thread_local! {
    /// Where `httparse` puts what it finds, reused from request to request: 32 bytes a field are too much for a small
    /// stack. Taken out while in use, so no borrow is held.
    static SCRATCH: Cell<Vec<Header<'static>>> = const { Cell::new(Vec::new()) };
}

/// The memory of a list of fields without its contents, hence without their lifetime: collecting an empty `Vec`'s
/// iterator into elements of the same size keeps its allocation.
fn recycle(mut headers: Vec<Header<'_>>) -> Vec<Header<'static>> {
    headers.clear();
    headers.into_iter().map(|_| httparse::EMPTY_HEADER).collect()
}

/// Parses field lines, as many as `headers` has room for, up to and with the empty line that ends them. `httparse`
/// refuses folded lines, space before a colon, names that aren't tokens, control characters and bare CR in values
/// (RFC 9112 section 5); bare LF, which it lets through, was refused before.
fn parse_fields<'a>(lines: &'a [u8], headers: &mut [Header<'a>]) -> Result<(), HeadError> {
    let count = headers.len();
    match httparse::parse_headers(lines, headers) {
        Ok(httparse::Status::Complete((len, found))) if len == lines.len() && found.len() == count => Ok(()),
        Ok(_) => Err(HeadError::bad("malformed header fields")),
        Err(httparse::Error::HeaderName) => Err(HeadError::bad("malformed header name")),
        Err(httparse::Error::HeaderValue) => Err(HeadError::bad("malformed header value")),
        Err(_) => Err(HeadError::bad("malformed header line")),
    }
}

/// Gateways to CGI and its kin turn both `-` and `_` into `_`: what we would ignore, one of them might obey (H17).
fn is_disguised_framing(name: &str) -> bool {
    name.eq_ignore_ascii_case("content_length") || name.eq_ignore_ascii_case("transfer_encoding")
}

impl fmt::Debug for Head {
    /// Method, path and the names of the fields; the query and the values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("method", self.method())
            .field("path", &self.path())
            .field("version", &self.version())
            .field(
                "headers",
                &self.headers().map(|(name, _)| name).collect::<Vec<_>>(),
            )
            .finish()
    }
}

#[cfg(test)]
mod tests;
