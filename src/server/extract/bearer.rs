//! Bearer tokens (RFC 6750).

use super::{FromRequest, Rejection};
use crate::http::response::Response;
use crate::server::request::Request;
use http::StatusCode;
use std::fmt;

/// The token of `Authorization: Bearer <token>`; 401 with `WWW-Authenticate: Bearer` where there is none.
///
/// It only takes the token out: whether it is a good one is for the handler to say, with a comparison in constant
/// time. A request with two Authorization fields is refused. The token doesn't show in `Debug` output.
///
/// ```
/// use greenroom::{App, Bearer};
/// let app = App::new().get("/me", |Bearer(token): Bearer| format!("a token of {} bytes", token.len()));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Bearer(pub String);

impl FromRequest for Bearer {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        let mut fields = request
            .head()
            .headers()
            .filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let token = match (fields.next(), fields.next()) {
            (Some((_, value)), None) => std::str::from_utf8(value).ok().and_then(token),
            _ => None,
        };
        match token {
            Some(token) => Ok(Bearer(token.to_owned())),
            None => Err(Response::text("a bearer token is needed")
                .with_status(StatusCode::UNAUTHORIZED)
                .with_header("www-authenticate", "Bearer")
                .into()),
        }
    }
}

/// `"Bearer" 1*SP b64token` (RFC 6750 section 2.1); the scheme in any case (RFC 9110 section 11.1).
fn token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim_start_matches(' ');
    let inner = token.trim_end_matches('=');
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c);
    (scheme.eq_ignore_ascii_case("bearer") && !inner.is_empty() && inner.chars().all(fits)).then_some(token)
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::answer::IntoResponse;
    use crate::server::request::tests::request;

    fn bearer(fields: &str) -> Result<String, Rejection> {
        let head = format!("GET / HTTP/1.1\nHost: a\n{fields}");
        Bearer::from_request(&mut request(&head)).map(|Bearer(token)| token)
    }

    #[test]
    fn the_token_is_taken_out() {
        assert_eq!(
            bearer("Authorization: Bearer a.b-c_~+/9==").unwrap(),
            "a.b-c_~+/9=="
        );
        assert_eq!(bearer("authorization: bEARER  x").unwrap(), "x");
    }

    #[test]
    fn anything_else_is_401_with_a_challenge() {
        for fields in [
            "X: y",
            "Authorization: Basic eDp5",
            "Authorization: Bearer",
            "Authorization: Bearer =",
            "Authorization: Bearer a b",
            "Authorization: Bearer a\nAuthorization: Bearer b",
        ] {
            let response = bearer(fields).expect_err(fields).into_response();
            assert_eq!(response.status(), 401, "{fields}");
            assert_eq!(response.headers()["www-authenticate"], "Bearer");
        }
    }

    #[test]
    fn o15_the_token_does_not_show_in_debug_output() {
        assert!(!format!("{:?}", Bearer("secret".into())).contains("secret"));
    }
}
