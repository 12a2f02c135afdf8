//! JSON bodies, in both directions.

use super::{FromRequest, Rejection};
use crate::http::response::Response;
use crate::server::answer::IntoResponse;
use crate::server::request::Request;
use http::StatusCode;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The body as JSON; as an answer, the value as JSON.
///
/// The request must say that it sends JSON (`application/json` or `application/*+json`), else 415: without that check
/// a foreign web page could post to the handler with a plain form. JSON that doesn't fit `T` is 400 with line and
/// column. Nesting is limited to 128 levels. As an answer, a value that can't be serialised is a 500.
///
/// ```
/// use greenroom::{App, Json};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Note { text: String }
///
/// let app = App::new().post("/notes", |Json(note): Json<Note>| Json(Note { text: note.text.to_uppercase() }));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest for Json<T> {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        if !request.header("content-type").is_some_and(is_json) {
            return Err(Rejection::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the content type must be application/json",
            ));
        }
        let body = request.read_body()?;
        match serde_json::from_slice(&body) {
            Ok(value) => Ok(Json(value)),
            Err(error) => Err(Rejection::bad_request(format!(
                "the JSON is not accepted: {error}"
            ))),
        }
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        Response::json(&self.0)
    }
}

/// `application/json` or `application/<something>+json` (RFC 6839 section 3.1), parameters aside.
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let Some((kind, subtype)) = essence.split_once('/') else {
        return false;
    };
    let suffix = subtype.rsplit_once('+').map_or(subtype, |(_, suffix)| suffix);
    kind.eq_ignore_ascii_case("application") && suffix.eq_ignore_ascii_case("json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::request::tests::request_with;
    use serde_json::Value;
    use std::sync::Arc;

    fn parse(content_type: &str, body: &'static [u8]) -> Result<Json<Value>, Rejection> {
        let head = format!("POST / HTTP/1.1\nHost: a\n{content_type}");
        Json::from_request(&mut request_with(&head, body, Arc::default()))
    }

    #[test]
    fn json_is_taken_whatever_its_parameters_or_suffix() {
        for kind in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/problem+json",
        ] {
            let Json(value) = parse(&format!("Content-Type: {kind}"), b"[1]").unwrap();
            assert_eq!(value[0], 1);
        }
    }

    #[test]
    fn a_body_that_is_not_declared_as_json_is_415() {
        for field in [
            "X: y",
            "Content-Type: text/plain",
            "Content-Type: application/jsonp",
            "Content-Type: text/json",
        ] {
            assert_eq!(parse(field, b"1").unwrap_err().status(), 415, "{field}");
        }
    }

    #[test]
    fn bad_json_is_400_with_line_and_column() {
        let rejection = parse("Content-Type: application/json", b"{\n 1}").unwrap_err();
        assert_eq!(rejection.status(), 400);
        assert!(rejection.to_string().contains("line 2 column 2"), "{rejection}");
    }

    #[test]
    fn o3_deep_nesting_is_400() {
        const DEEP: [u8; 1000] = [b'['; 1000];
        let rejection = parse("Content-Type: application/json", &DEEP).unwrap_err();
        assert_eq!(rejection.status(), 400);
    }
}
