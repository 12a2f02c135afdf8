//! What handlers may return, and how errors become answers.
//!
//! A handler's error is for the log: the peer sees a status and, for a 500, an id by which the log line can be found,
//! never the text of the error.

use crate::error::Error;
use crate::http::response::Response;
use bytes::Bytes;
use http::StatusCode;
use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Something a handler may return.
///
/// | value | answer |
/// |---|---|
/// | [`Response`] | itself |
/// | `&'static str`, `String`, `Cow<'static, str>` | 200, `text/plain; charset=utf-8` |
/// | [`Bytes`], `Vec<u8>`, `&'static [u8]` | 200, `application/octet-stream` |
/// | `()` | 200, empty |
/// | [`StatusCode`] | that status, empty |
/// | `(StatusCode, T)` | as `T`, with that status |
/// | [`Json<T>`](crate::Json), [`Html<T>`](crate::Html), [`Redirect`](crate::Redirect) | as they say |
/// | `Option<T>` | `None`: 404 |
/// | `Result<T, E>` | whichever it is; for [`Error`] see there |
///
/// An [`Error`] is answered 500 with a request id, and logged with that id; one that [is overloaded](Error::is_overloaded)
/// 503 with `Retry-After`; one that [is a passed deadline](Error::is_timeout) 504, since what timed out is something
/// this server waited for (a slow peer is answered 408 before any handler's error).
///
/// ```
/// use greenroom::{IntoResponse, Response};
/// use http::StatusCode;
///
/// enum ShopError { SoldOut, NoSuchThing }
///
/// impl IntoResponse for ShopError {
///     fn into_response(self) -> Response {
///         match self {
///             ShopError::SoldOut => (StatusCode::CONFLICT, "sold out").into_response(),
///             ShopError::NoSuchThing => StatusCode::NOT_FOUND.into_response(),
///         }
///     }
/// }
///
/// fn buy(stock: u32) -> Result<&'static str, ShopError> {
///     if stock == 0 { Err(ShopError::SoldOut) } else { Ok("yours") }
/// }
/// assert_eq!(buy(0).into_response().status(), StatusCode::CONFLICT);
/// ```
#[diagnostic::on_unimplemented(
    message = "a handler can't return `{Self}`",
    note = "return a Response, text, bytes, a StatusCode, Json, Html, Redirect, an Option or Result of them, or \
            implement `IntoResponse`"
)]
pub trait IntoResponse {
    /// The answer to send.
    fn into_response(self) -> Response;
}

impl IntoResponse for Response {
    fn into_response(self) -> Response {
        self
    }
}

/// Text and bytes: the constructor of `Response` that fits.
macro_rules! content {
    ($($kind:ty => $constructor:ident)*) => {$(
        impl IntoResponse for $kind {
            fn into_response(self) -> Response {
                Response::$constructor(self)
            }
        }
    )*};
}
content! {
    &'static str => text
    String => text
    &'static [u8] => bytes
    Vec<u8> => bytes
    Bytes => bytes
}

impl IntoResponse for Cow<'static, str> {
    fn into_response(self) -> Response {
        match self {
            Cow::Borrowed(text) => text.into_response(),
            Cow::Owned(text) => text.into_response(),
        }
    }
}

impl IntoResponse for () {
    fn into_response(self) -> Response {
        Response::new(StatusCode::OK)
    }
}

impl IntoResponse for StatusCode {
    fn into_response(self) -> Response {
        Response::new(self)
    }
}

impl<T: IntoResponse> IntoResponse for (StatusCode, T) {
    fn into_response(self) -> Response {
        self.1.into_response().with_status(self.0)
    }
}

impl<T: IntoResponse> IntoResponse for Option<T> {
    fn into_response(self) -> Response {
        self.map_or_else(not_found, T::into_response)
    }
}

impl<T: IntoResponse, E: IntoResponse> IntoResponse for Result<T, E> {
    fn into_response(self) -> Response {
        match self {
            Ok(value) => value.into_response(),
            Err(error) => error.into_response(),
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        if self.is_overloaded() {
            let id = log(&self);
            text_answer(StatusCode::SERVICE_UNAVAILABLE, id).with_header("retry-after", "1")
        } else if self.is_timeout() {
            let id = log(&self);
            text_answer(StatusCode::GATEWAY_TIMEOUT, id)
        } else {
            internal_error(self)
        }
    }
}

/// An HTML page.
///
/// ```
/// use greenroom::{App, Html};
/// let app = App::new().get("/", || Html("<!doctype html><title>Hi</title><p>Hello."));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Html<T>(pub T);

impl<T: Into<Bytes>> IntoResponse for Html<T> {
    fn into_response(self) -> Response {
        Response::html(self.0)
    }
}

/// Sends the peer elsewhere (RFC 9110 section 15.4).
///
/// A location that can't stand in a header field is answered 500. Don't pass on a location that a peer chose without
/// checking where it leads.
///
/// ```
/// use greenroom::{App, Redirect};
/// let app = App::new()
///     .get("/old", || Redirect::permanent("/new"))
///     .post("/notes", || Redirect::to("/notes"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    status: StatusCode,
    location: Cow<'static, str>,
}

impl Redirect {
    /// 303: the result is to be fetched there with GET; the usual answer to a form.
    pub fn to(location: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::SEE_OTHER, location)
    }

    /// 307: the same request, there, this time.
    pub fn temporary(location: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::TEMPORARY_REDIRECT, location)
    }

    /// 308: the same request, there, from now on.
    pub fn permanent(location: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::PERMANENT_REDIRECT, location)
    }

    fn new(status: StatusCode, location: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            location: location.into(),
        }
    }
}

impl IntoResponse for Redirect {
    fn into_response(self) -> Response {
        Response::new(self.status).with_header("location", self.location.as_bytes())
    }
}

/// 404, in words.
pub(crate) fn not_found() -> Response {
    Response::text("not found\n").with_status(StatusCode::NOT_FOUND)
}

/// 500 with a request id; the detail goes to the log under the same id. Also for panics.
pub(crate) fn internal_error(detail: impl fmt::Display) -> Response {
    text_answer(StatusCode::INTERNAL_SERVER_ERROR, log(detail))
}

fn text_answer(status: StatusCode, id: RequestId) -> Response {
    let reason = status.canonical_reason().unwrap_or_default();
    Response::text(format!("{reason} (request id {id})\n"))
        .with_status(status)
        .with_header("x-request-id", id.to_string())
}

/// Longest detail in the log, bytes: one event stays one line of readable length.
const MAX_DETAIL: usize = 1024;

/// Logs the detail under a new id; cut to a length, control characters escaped.
fn log(detail: impl fmt::Display) -> RequestId {
    let id = RequestId::new();
    let mut detail = detail.to_string();
    detail.truncate(detail.floor_char_boundary(MAX_DETAIL));
    tracing::error!(request_id = %id, ?detail, "a request failed");
    id
}

/// Names one failed request in its answer and in the log. Unique among the runs of a server, not secret.
#[derive(Clone, Copy)]
struct RequestId {
    run: u64,
    number: u64,
}

impl RequestId {
    fn new() -> Self {
        static RUN: OnceLock<u64> = OnceLock::new();
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let start = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            since.as_millis() as u64
        };
        Self {
            run: *RUN.get_or_init(start),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.run, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn parts(value: impl IntoResponse) -> (u16, String) {
        let response = value.into_response();
        let body = String::from_utf8(response.body().to_vec()).unwrap();
        (response.status().as_u16(), body)
    }

    #[test]
    fn values_become_their_answers() {
        assert_eq!(parts("a"), (200, "a".into()));
        assert_eq!(parts(String::from("a")), (200, "a".into()));
        assert_eq!(parts(Cow::Borrowed("a")), (200, "a".into()));
        assert_eq!(parts(Bytes::from_static(b"a")), (200, "a".into()));
        assert_eq!(parts(vec![b'a']), (200, "a".into()));
        assert_eq!(parts(()), (200, String::new()));
        assert_eq!(parts(StatusCode::ACCEPTED), (202, String::new()));
        assert_eq!(parts((StatusCode::CREATED, "a")), (201, "a".into()));
        assert_eq!(parts(Some("a")), (200, "a".into()));
        assert_eq!(parts(None::<&str>).0, 404);
        assert_eq!(parts(Ok::<_, Error>("a")), (200, "a".into()));
        assert_eq!(
            parts(Err::<(), _>((StatusCode::CONFLICT, "b"))),
            (409, "b".into())
        );
        assert_eq!(parts(Html("<p>")), (200, "<p>".into()));
    }

    #[test]
    fn o1_a_handlers_error_is_500_with_an_id_and_without_the_detail() {
        let first = Error::from("the password is tulip").into_response();
        let body = String::from_utf8(first.body().to_vec()).unwrap();
        assert_eq!(first.status(), 500);
        assert!(!body.contains("tulip"), "{body}");
        let id = first.headers()["x-request-id"].to_str().unwrap();
        assert!(body.contains(id), "{body}");
        let second = Error::from("again").into_response();
        assert_ne!(first.headers()["x-request-id"], second.headers()["x-request-id"]);
    }

    #[test]
    fn overload_is_503_with_retry_after_and_a_passed_deadline_is_504() {
        let overloaded = Error::new(Kind::Overloaded).into_response();
        assert_eq!(overloaded.status(), 503);
        assert_eq!(overloaded.headers()["retry-after"], "1");
        assert_eq!(Error::new(Kind::Timeout).into_response().status(), 504);
    }

    #[test]
    fn redirects_have_their_status_and_location() {
        for (redirect, status) in [
            (Redirect::to("/a"), 303),
            (Redirect::temporary("/a"), 307),
            (Redirect::permanent("/a"), 308),
        ] {
            let response = redirect.into_response();
            assert_eq!(response.status(), status);
            assert_eq!(response.headers()["location"], "/a");
        }
    }

    #[test]
    fn h41_a_location_with_a_line_break_is_500() {
        let response = Redirect::to("/a\r\nset-cookie: x=1").into_response();
        assert_eq!(response.status(), 500);
        assert!(!response.headers().contains_key("location"));
    }

    #[test]
    fn o15_a_long_detail_is_cut_at_a_character() {
        assert_eq!(internal_error("é".repeat(2000)).status(), 500);
    }
}
