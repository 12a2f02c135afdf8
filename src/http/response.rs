//! What a handler answers.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// An HTTP response. A content type has a field of its own, so that the usual answers need no header map.
#[derive(Debug, Clone)]
pub struct Response {
    status: StatusCode,
    content_type: Option<HeaderValue>,
    headers: HeaderMap,
    body: Bytes,
    close: bool,
}

impl Response {
    pub fn new(_status: StatusCode) -> Response {
        todo!()
    }
    /// 200, text/plain; charset=utf-8.
    pub fn text(_body: impl Into<Bytes>) -> Response {
        todo!()
    }
    pub fn html(_body: impl Into<Bytes>) -> Response {
        todo!()
    }
    pub fn bytes(_body: impl Into<Bytes>) -> Response {
        todo!()
    }
    pub fn json<T: serde::Serialize + ?Sized>(_value: &T) -> Response {
        todo!()
    }
    pub fn status(&self) -> StatusCode {
        todo!()
    }
    pub fn with_status(self, _status: StatusCode) -> Response {
        todo!()
    }
    /// Sets a field; a name or value that HTTP doesn't allow turns the answer into a 500 and is logged (H41).
    pub fn with_header(self, _name: impl AsRef<str>, _value: impl AsRef<[u8]>) -> Response {
        todo!()
    }
    pub fn headers(&self) -> &HeaderMap {
        todo!()
    }
    pub fn headers_mut(&mut self) -> &mut HeaderMap {
        todo!()
    }
    pub fn body(&self) -> &Bytes {
        todo!()
    }
    /// The connection closes after this answer.
    pub fn closing(self) -> Response {
        todo!()
    }
    pub fn is_closing(&self) -> bool {
        todo!()
    }
}
