//! Why an extractor refused a request.

use crate::http::response::Response;
use crate::server::answer::IntoResponse;
use http::StatusCode;
use std::fmt;

/// The answer to a request that an extractor refused.
///
/// ```
/// use greenroom::{Json, Rejection};
///
/// fn save(note: Result<Json<String>, Rejection>) -> String {
///     match note {
///         Ok(Json(note)) => format!("saved {} bytes", note.len()),
///         Err(rejection) => format!("no note, but that is fine here: {rejection}"),
///     }
/// }
/// ```
pub struct Rejection {
    /// Boxed, so that the good case stays small.
    response: Box<Response>,
}

impl Rejection {
    /// A plain text answer. The peer sees the text: it should say what to do better and nothing of the inside.
    pub fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Response::text(text.into()).with_status(status).into()
    }

    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// The whole answer.
    pub fn response(&self) -> &Response {
        &self.response
    }

    pub(crate) fn bad_request(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }
}

impl From<Response> for Rejection {
    fn from(response: Response) -> Self {
        Self {
            response: Box::new(response),
        }
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        *self.response
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy(self.response.body());
        write!(f, "{}: {text}", self.status())
    }
}

impl fmt::Debug for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rejection({self})")
    }
}

impl std::error::Error for Rejection {}
