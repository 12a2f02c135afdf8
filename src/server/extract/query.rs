//! The query of the request's target.

use super::{FromRequest, Rejection};
use crate::server::request::Request;
use serde::de::DeserializeOwned;

/// The query (`a=1&b=2`) as a struct or a map; 400 where it doesn't fit.
///
/// An absent query is read like an empty one, so `Option` fields and `#[serde(default)]` work. It is a flat list of
/// pairs: no nesting, and a name that comes twice needs `Query<Vec<(String, String)>>`.
///
/// ```
/// use greenroom::{App, Query};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Page { from: u32, #[serde(default)] limit: Option<u32> }
///
/// let app = App::new().get("/notes", |Query(page): Query<Page>| format!("from {}", page.from));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequest for Query<T> {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        match serde_urlencoded::from_str(request.query().unwrap_or_default()) {
            Ok(value) => Ok(Query(value)),
            Err(error) => Err(Rejection::bad_request(format!(
                "the query is not accepted: {error}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::request::tests::request;
    use serde::Deserialize;

    #[derive(Deserialize, Debug, PartialEq)]
    struct Page {
        from: u32,
        title: Option<String>,
    }

    fn query(target: &str) -> Result<Page, Rejection> {
        let head = format!("GET {target} HTTP/1.1\nHost: a");
        Query::from_request(&mut request(&head)).map(|Query(page)| page)
    }

    #[test]
    fn pairs_become_fields() {
        let page = query("/?from=3&title=a+%26b").unwrap();
        assert_eq!((page.from, page.title.as_deref()), (3, Some("a &b")));
        assert_eq!(query("/?from=3").unwrap().title, None);
    }

    #[test]
    fn what_does_not_fit_is_400() {
        for target in ["/", "/?from=x", "/?from=-1", "/?from=1&from=2"] {
            assert_eq!(query(target).unwrap_err().status(), 400, "{target}");
        }
    }
}
