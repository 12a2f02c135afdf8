//! The start line and header fields of a request.

use http::{Method, Version};

/// Bounds on a head. Exceeding them is 414 (request line) or 431.
#[derive(Clone, Debug)]
pub struct HeadLimits {
    pub max_bytes: usize,
    pub max_line: usize,
    pub max_fields: usize,
}

/// How the request's body is delimited (RFC 9112 section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Framing {
    #[default]
    None,
    Length(u64),
    Chunked,
}

/// A parsed head that owns a copy of its bytes; its buffers are reused by the next parse.
#[derive(Default)]
pub struct Head {
    raw: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Parse {
    /// The head took this many bytes of the input.
    Done(usize),
    /// More bytes are needed; `Head` remembers how far it looked, so that parsing stays linear.
    Partial,
}

/// A head that is refused: the status of the answer (after which the connection closes) and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadError {
    pub status: http::StatusCode,
    pub reason: &'static str,
}

impl Head {
    pub fn new() -> Head {
        todo!()
    }
    /// `input` starts at the first byte of the request and holds all that came so far.
    pub fn parse(&mut self, _input: &[u8], _limits: &HeadLimits) -> Result<Parse, HeadError> {
        todo!()
    }
    /// Forgets the last head; keeps the memory.
    pub fn clear(&mut self) {
        todo!()
    }
    pub fn method(&self) -> &Method {
        todo!()
    }
    /// HTTP/1.0 or HTTP/1.1.
    pub fn version(&self) -> Version {
        todo!()
    }
    /// As sent.
    pub fn target(&self) -> &str {
        todo!()
    }
    /// Path without the query, still percent-encoded ("*" for OPTIONS *).
    pub fn path(&self) -> &str {
        todo!()
    }
    pub fn query(&self) -> Option<&str> {
        todo!()
    }
    /// The authority: of an absolute-form target, else of Host.
    pub fn host(&self) -> Option<&str> {
        todo!()
    }
    /// First field of that name (any case) as text; `None` if absent or not UTF-8.
    pub fn header(&self, _name: &str) -> Option<&str> {
        todo!()
    }
    /// All fields in order, names as sent.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> + Clone {
        std::iter::empty()
    }
    pub fn framing(&self) -> Framing {
        todo!()
    }
    /// By the version's rule and the Connection field.
    pub fn keep_alive(&self) -> bool {
        todo!()
    }
    pub fn expects_continue(&self) -> bool {
        todo!()
    }
}
