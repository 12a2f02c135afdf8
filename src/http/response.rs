//! What a handler answers.
//!
//! A plain value; [`super::encode`] writes it. It knows nothing of the connection: Date, Content-Length,
//! Transfer-Encoding and Connection are the server's to write.

use ::http::StatusCode;
use ::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use std::sync::LazyLock;

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
/// `Date`, `Content-Length`, `Transfer-Encoding`, `Trailer`, `Keep-Alive` and `Proxy-Connection` are ignored when a
/// handler sets them: the server knows them better, and a wrong one would put the connection out of step.
/// `Connection: close` means [`Response::closing`]; any other `Connection` is ignored.
#[derive(Debug, Clone)]
pub struct Response {
    status: StatusCode,
    close: bool,
    /// Not in `headers`, so that the usual answers need no map.
    content_type: Option<HeaderValue>,
    /// Boxed, since few answers have any and all are moved about.
    headers: Option<Box<HeaderMap>>,
    body: Bytes,
}

/// What [`Response::headers`] shows where there are none.
static NO_HEADERS: LazyLock<HeaderMap> = LazyLock::new(HeaderMap::new);

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
            headers: None,
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

    /// Sets a field, instead of any of that name; `set-cookie` is added, since each cookie is a field of its own (RFC
    /// 6265 section 3).
    ///
    /// A name or value that HTTP doesn't allow (CR, LF, NUL and so on) turns the whole answer into a 500, and the log
    /// says so: nothing of it reaches the wire.
    pub fn with_header(self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Response {
        self.put(name.as_ref(), value.as_ref(), false)
    }

    /// Adds a field beside those of the same name; otherwise as [`Response::with_header`]. `content-type` is still
    /// set: there can be only one.
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
            if let Some(headers) = &mut self.headers {
                headers.remove(&name);
            }
            self.content_type = Some(value);
        } else if name == header::CONNECTION {
            self.close |= is_close(&value);
        } else if is_the_servers(&name) {
            tracing::debug!(%name, "a response field that the server writes itself is ignored");
        } else if add || name == header::SET_COOKIE {
            self.headers_mut().append(name, value);
        } else {
            self.headers_mut().insert(name, value);
        }
        self
    }

    /// The fields that were set, but for the content type that [`Response::content_type`] tells.
    pub fn headers(&self) -> &HeaderMap {
        self.headers.as_deref().unwrap_or(&NO_HEADERS)
    }

    /// The fields, to be changed freely; those that the server writes are left out when it sends the answer. A
    /// `content-type` put here counts instead of the one that the answer was made with.
    pub fn headers_mut(&mut self) -> &mut HeaderMap {
        self.headers.get_or_insert_default()
    }

    /// The content type, if the answer has one.
    pub fn content_type(&self) -> Option<&HeaderValue> {
        match self.headers().get(header::CONTENT_TYPE) {
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
        let named = |headers: &HeaderMap| headers.get_all(header::CONNECTION).iter().any(is_close);
        self.close || self.headers.as_deref().is_some_and(named)
    }
}

/// Fields about the connection or the framing of the message, which only the server can get right.
pub(crate) fn is_the_servers(name: &HeaderName) -> bool {
    // Comparing with a constant of `http` compares one byte; the last two have none there.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_carry_their_content_type() {
        for (answer, expected) in [
            (Response::text("a"), Some("text/plain; charset=utf-8")),
            (Response::html("a"), Some("text/html; charset=utf-8")),
            (Response::bytes(vec![0]), Some("application/octet-stream")),
            (Response::json("a"), Some("application/json")),
            (Response::new(StatusCode::OK), None),
        ] {
            let told = answer.content_type().map(|value| value.to_str().expect("ASCII"));
            assert_eq!(told, expected);
            assert_eq!(answer.status(), 200);
            assert!(!answer.is_closing());
        }
        let changed = Response::text("a").with_header("Content-Type", "text/csv");
        assert_eq!(
            changed.content_type(),
            Some(&HeaderValue::from_static("text/csv"))
        );
        let mut changed = changed;
        changed
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/css"));
        assert_eq!(
            changed.content_type(),
            Some(&HeaderValue::from_static("text/css"))
        );
        let changed = changed.with_header("content-type", "a/b");
        assert_eq!(changed.content_type(), Some(&HeaderValue::from_static("a/b")));
    }

    #[test]
    fn h41_fields_that_http_does_not_allow_make_the_answer_a_500() {
        for (name, value) in [
            ("x", "a\r\nset-cookie: b=c"),
            ("x", "a\nb"),
            ("x", "a\rb"),
            ("x", "a\0b"),
            ("x", "\x7f"),
            ("x\r\ny", "a"),
            ("x y", "a"),
            ("", "a"),
            ("x:", "a"),
            ("content-type", "text/html\r\nx: y"),
            ("connection", "close\r\nx: y"),
        ] {
            for answer in [
                Response::text("secret")
                    .with_header("x-before", "1")
                    .with_header(name, value),
                Response::text("secret")
                    .with_header("x-before", "1")
                    .with_added_header(name, value),
            ] {
                assert_eq!(answer.status(), 500, "{name:?}: {value:?}");
                assert_eq!(answer.body(), "Internal Server Error");
                assert!(answer.headers().is_empty());
            }
        }
    }

    #[test]
    fn fields_replace_each_other_but_cookies_add_up() {
        let answer = Response::text("")
            .with_header("X-A", "1")
            .with_header("x-a", "2")
            .with_header("set-cookie", "a=1")
            .with_header("set-cookie", "b=2")
            .with_added_header("vary", "accept")
            .with_added_header("vary", "origin");
        let all = |name: &str| answer.headers().get_all(name).iter().count();
        assert_eq!((all("x-a"), all("set-cookie"), all("vary")), (1, 2, 2));
        assert_eq!(answer.headers()["x-a"], "2");
    }

    #[test]
    fn fields_that_the_server_writes_are_ignored() {
        let answer = Response::text("abc")
            .with_header("content-length", "7")
            .with_header("transfer-encoding", "chunked")
            .with_header("date", "yesterday")
            .with_header("keep-alive", "timeout=5")
            .with_header("connection", "upgrade");
        assert!(answer.headers().is_empty());
        assert!(!answer.is_closing());
    }

    #[test]
    fn connection_close_means_closing_however_it_was_set() {
        assert!(Response::text("").closing().is_closing());
        assert!(
            Response::text("")
                .with_header("Connection", "x, Close")
                .is_closing()
        );
        let mut answer = Response::text("");
        answer
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
        assert!(answer.is_closing());
    }

    #[test]
    fn an_informational_status_is_no_answer() {
        assert_eq!(Response::new(StatusCode::CONTINUE).status(), 500);
        assert_eq!(
            Response::text("")
                .with_status(StatusCode::SWITCHING_PROTOCOLS)
                .status(),
            500
        );
        assert_eq!(Response::switching_protocols().status(), 101);
    }

    #[test]
    fn json_that_cannot_be_serialised_is_a_500() {
        let keys_are_no_strings = std::collections::HashMap::from([((1, 2), 3)]);
        assert_eq!(Response::json(&keys_are_no_strings).status(), 500);
    }

    #[test]
    fn a_response_is_small_enough_to_be_moved_about() {
        assert!(size_of::<Response>() <= 200, "{}", size_of::<Response>());
    }
}
