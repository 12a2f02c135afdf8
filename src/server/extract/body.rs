//! The body as bytes or text.

use super::{FromRequest, Rejection};
use crate::http::response::Response;
use crate::server::request::{BodyError, Request};
use bytes::Bytes;
use http::StatusCode;

/// The whole body, shared with the connection: cloning copies nothing. Empty where the request has none.
impl FromRequest for Bytes {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        Ok(request.read_body()?)
    }
}

/// The whole body as text; 400 if it is not UTF-8.
impl FromRequest for String {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        let body = Vec::from(request.read_body()?);
        String::from_utf8(body).map_err(|_| Rejection::bad_request("the body is not UTF-8"))
    }
}

impl From<BodyError> for Rejection {
    /// What is left of the body stays unread, so each of these closes the connection.
    fn from(error: BodyError) -> Self {
        let status = match error {
            BodyError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::TimedOut => StatusCode::REQUEST_TIMEOUT,
            BodyError::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            BodyError::Malformed(_) | BodyError::Closed => StatusCode::BAD_REQUEST,
        };
        let response = Response::text(error.to_string()).with_status(status).closing();
        match error {
            BodyError::Overloaded => response.with_header("retry-after", "1").into(),
            _ => response.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::answer::IntoResponse;
    use crate::server::request::tests::request_with;
    use std::sync::Arc;

    fn post(body: &'static [u8]) -> Request {
        request_with("POST / HTTP/1.1\nHost: a", body, Arc::default())
    }

    #[test]
    fn two_extractors_share_one_body() {
        let mut request = post(b"abc");
        assert_eq!(Bytes::from_request(&mut request).unwrap(), "abc");
        assert_eq!(String::from_request(&mut request).unwrap(), "abc");
    }

    #[test]
    fn text_that_is_not_utf8_is_400() {
        let rejection = String::from_request(&mut post(b"\xff")).unwrap_err();
        assert_eq!(rejection.status(), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn h16_s2_body_errors_have_their_status_and_close() {
        for (error, status) in [
            (BodyError::TooLarge, 413),
            (BodyError::TimedOut, 408),
            (BodyError::Malformed("chunk size"), 400),
            (BodyError::Closed, 400),
            (BodyError::Overloaded, 503),
        ] {
            let response = Rejection::from(error).into_response();
            assert_eq!(response.status(), status);
            assert!(response.is_closing());
            assert_eq!(response.headers().contains_key("retry-after"), status == 503);
        }
    }
}
