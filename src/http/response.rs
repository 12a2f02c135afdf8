//! What a handler answers.
//!
//! A plain value; [`super::encode`] writes it. It knows nothing of the connection: Date, Content-Length, Transfer-Encoding
//! and Connection are the server's to write.

use ::http::StatusCode;
use ::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;

/// An HTTP response: status, fields and a body that is whole.
///
/// ```
/// use greenroom::Response;
///
/// let answer = Response::text("gone fishing")
///     .with_status(http::StatusCode::SERVICE_UNAVAILABLE)
///     .with_header("retry-after", "3600");
/// assert_eq!(answer.status(), 503);
/// assert_eq!(answer.body().as_ref(), b"gone fishing");
/// ```
///
/// # Fields that the server writes
/// `Date`, `Content-Length`, `Transfer-Encoding`, `Trailer`, `Keep-Alive` and `Proxy-Connection` are ignored when a handler
/// sets them: the server knows them better, and a wrong one would put the connection out of step. `Connection: close`
/// means [`Response::closing`]; any other `Connection` is ignored.
#[derive(Debug, Clone)]
pub struct Response {
    status: StatusCode,
    close: bool,
    /// Not in `headers`, so that the usual answers need no map.
    content_type: Option<HeaderValue>,
    headers: HeaderMap,
    body: Bytes,
}

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");

impl Response {
    /// An answer without content.
    ///
    /// An informational status (1xx) is no answer: it becomes a 500, and the log says so.
    pub fn new(status: StatusCode) -> Response {
        Response::with_parts(StatusCode::OK, None, Bytes::new()).with_status(status)
    }

    /// 200 with `text/plain; charset=utf-8`.
    pub fn text(body: impl Into<Bytes>) -> Response {
        Response::with_parts(StatusCode::OK, Some(TEXT), body.into())
    }

    /// 200 with `text/html; charset=utf-8`.
    pub fn html(body: impl Into<Bytes>) -> Response {
        Response::with_parts(StatusCode::OK, Some(HTML), body.into())
    }

    /// 200 with `application/octet-stream`.
    pub fn bytes(body: impl Into<Bytes>) -> Response {
        Response::with_parts(StatusCode::OK, Some(BYTES), body.into())
    }

    /// 200 with `application/json`; a value that can't be serialised becomes a 500, and the log says why.
    ///
    /// ```
    /// # use greenroom::Response;
    /// let answer = Response::json(&[1, 2, 3]);
    /// assert_eq!(answer.body().as_ref(), b"[1,2,3]");
    /// ```
    pub fn json<T: serde::Serialize + ?Sized>(value: &T) -> Response {
        match serde_json::to_vec(value) {
            Ok(body) => Response::with_parts(StatusCode::OK, Some(JSON), body.into()),
            Err(error) => {
                tracing::error!(%error, "a response could not be serialised as JSON");
                Response::server_error()
            }
        }
    }

    /// 303 to `location`: the client fetches it with GET (RFC 9110 section 15.4.4). For another kind of redirect add
    /// [`Response::with_status`].
    ///
    /// A location that isn't a legal field value becomes a 500. Where it points is the caller's business: never take it
    /// from a request unchecked.
    pub fn redirect(location: impl AsRef<str>) -> Response {
        Response::new(StatusCode::SEE_OTHER).with_header(header::LOCATION, location.as_ref())
    }

    /// The 101 of an upgrade, which only the server itself may send.
    pub(crate) fn switching_protocols() -> Response {
        Response::with_parts(StatusCode::SWITCHING_PROTOCOLS, None, Bytes::new())
    }

    /// A one-line plain text answer after which the connection closes.
    pub(crate) fn error(status: StatusCode, reason: &'static str) -> Response {
        Response::with_parts(status, Some(TEXT), Bytes::from_static(reason.as_bytes())).closing()
    }

    /// The answer when a handler failed: says nothing of why.
    fn server_error() -> Response {
        let body = Bytes::from_static(b"Internal Server Error");
        Response::with_parts(StatusCode::INTERNAL_SERVER_ERROR, Some(TEXT), body)
    }

    fn with_parts(status: StatusCode, content_type: Option<HeaderValue>, body: Bytes) -> Response {
        Response {
            status,
            close: false,
            content_type,
            headers: HeaderMap::new(),
            body,
        }
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The same answer with another status; 1xx becomes a 500 as in [`Response::new`].
    pub fn with_status(mut self, status: StatusCode) -> Response {
        if status.is_informational() {
            tracing::error!(status = status.as_u16(), "an informational status is no answer");
            return Response::server_error();
        }
        self.status = status;
        self
    }

    /// Sets a field, instead of any of that name; `set-cookie` is added, since each cookie is a field of its own (RFC 6265
    /// section 3).
    ///
    /// A name or value that HTTP doesn't allow (CR, LF, NUL and so on) turns the whole answer into a 500, and the log says
    /// so: nothing of it reaches the wire.
    pub fn with_header(self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Response {
        self.put(name.as_ref(), value.as_ref(), false)
    }

    /// Adds a field beside those of the same name; otherwise as [`Response::with_header`]. `content-type` is still set:
    /// there can be only one.
    pub fn with_added_header(self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Response {
        self.put(name.as_ref(), value.as_ref(), true)
    }

    fn put(mut self, name: &str, value: &[u8], add: bool) -> Response {
        let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) else {
            // The value may hold what somebody smuggled in, or a secret: only the name is logged.
            tracing::error!(?name, "a response field that HTTP does not allow");
            return Response::server_error();
        };
        if name == header::CONTENT_TYPE {
            self.headers.remove(&name);
            self.content_type = Some(value);
        } else if name == header::CONNECTION {
            self.close |= is_close(&value);
        } else if is_the_servers(&name) {
            tracing::debug!(%name, "a response field that the server writes itself is ignored");
        } else if add || name == header::SET_COOKIE {
            self.headers.append(name, value);
        } else {
            self.headers.insert(name, value);
        }
        self
    }

    /// The fields that were set, but for the content type that [`Response::content_type`] tells.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The fields, to be changed freely; those that the server writes are left out when it sends the answer. A
    /// `content-type` put here counts instead of the one that the answer was made with.
    pub fn headers_mut(&mut self) -> &mut HeaderMap {
        &mut self.headers
    }

    /// The content type, if the answer has one.
    pub fn content_type(&self) -> Option<&HeaderValue> {
        match self.headers.get(header::CONTENT_TYPE) {
            None => self.content_type.as_ref(),
            some => some,
        }
    }

    /// The content; not sent for HEAD, 204, 205 and 304.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The same answer with other content.
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Response {
        self.body = body.into();
        self
    }

    /// The connection closes after this answer.
    pub fn closing(mut self) -> Response {
        self.close = true;
        self
    }

    /// Whether the connection closes after this answer.
    pub fn is_closing(&self) -> bool {
        self.close || self.headers.get_all(header::CONNECTION).iter().any(is_close)
    }
}

/// Fields about the connection or the framing of the message, which only the server can get right.
pub(crate) fn is_the_servers(name: &HeaderName) -> bool {
    // All of them but these two have constants; compared by their interned form that is a byte.
    *name == header::CONTENT_LENGTH
        || *name == header::TRANSFER_ENCODING
        || *name == header::CONNECTION
        || *name == header::DATE
        || *name == header::TRAILER
        || matches!(name.as_str(), "keep-alive" | "proxy-connection")
}

fn is_close(value: &HeaderValue) -> bool {
    super::token::list(value.as_bytes()).any(|option| option.eq_ignore_ascii_case(b"close"))
}
