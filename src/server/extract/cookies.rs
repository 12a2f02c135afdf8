//! Cookies as the browser sends them (RFC 6265 section 4.2).

use super::{FromRequest, Rejection};
use crate::server::request::Request;
use std::fmt;

/// The cookies of the request, in the order in which they were sent.
///
/// Values are as sent, without surrounding quotes; nothing is decoded. What is not a `name=value` pair is skipped, as
/// servers of other make do. To set one, add a `Set-Cookie` field to the response. Values don't show in `Debug`.
///
/// ```
/// use greenroom::{App, Cookies};
/// let app = App::new().get("/", |cookies: Cookies| match cookies.get("theme") {
///     Some(theme) => format!("as {theme} as ever"),
///     None => "no theme chosen".to_owned(),
/// });
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Cookies {
    /// The Cookie fields, joined by `;`.
    text: String,
}

impl Cookies {
    /// The first cookie of that name; names differ by case. Browsers send the most specific path first.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// All cookies: name and value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text.split(';').filter_map(pair)
    }
}

fn pair(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim_matches([' ', '\t']), value.trim_matches([' ', '\t']));
    let unquoted = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    (!name.is_empty()).then_some((name, unquoted.unwrap_or(value)))
}

impl FromRequest for Cookies {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        let mut text = String::new();
        for (name, value) in request.head().headers() {
            if name.eq_ignore_ascii_case("cookie")
                && let Ok(value) = std::str::from_utf8(value)
            {
                text.push_str(value);
                text.push(';');
            }
        }
        Ok(Cookies { text })
    }
}

impl fmt::Debug for Cookies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.iter().map(|(name, _)| name);
        f.write_str("Cookies")?;
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::request::tests::request;

    fn cookies(fields: &str) -> Cookies {
        let head = format!("GET / HTTP/1.1\nHost: a\n{fields}");
        Cookies::from_request(&mut request(&head)).unwrap()
    }

    #[test]
    fn pairs_of_all_fields_in_order() {
        let cookies = cookies("Cookie: a=1; b=\"two\";c=x=y\ncookie: a=2; d=");
        let pairs: Vec<_> = cookies.iter().collect();
        assert_eq!(
            pairs,
            [("a", "1"), ("b", "two"), ("c", "x=y"), ("a", "2"), ("d", "")]
        );
        assert_eq!(cookies.get("a"), Some("1"));
        assert_eq!(cookies.get("A"), None);
    }

    #[test]
    fn what_is_not_a_pair_is_skipped() {
        let cookies = cookies("Cookie: ; =x; lonely; ;; a=\"; b=1");
        let pairs: Vec<_> = cookies.iter().collect();
        assert_eq!(pairs, [("a", "\""), ("b", "1")]);
    }

    #[test]
    fn o15_values_do_not_show_in_debug_output() {
        let text = format!("{:?}", cookies("Cookie: id=secret"));
        assert!(text.contains("id") && !text.contains("secret"), "{text}");
    }
}
