//! Path variables.

use super::variable::{Failure, Variable, Variables};
use super::{FromRequest, Rejection};
use crate::server::answer::internal_error;
use crate::server::params;
use crate::server::request::Request;
use serde::de::DeserializeOwned;

/// The variables of the route: one as a string, a number or a unit enum; several as a tuple in order or as a struct
/// by name.
///
/// Each is percent-decoded exactly once, so it may hold any character, `/` and `..` among them. A value that doesn't
/// fit is 400; a `T` that doesn't fit the route (two variables, one number) is a 500, its reason in the log.
///
/// ```
/// use greenroom::{App, Path};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Seat { room: String, number: u8 }
///
/// let app = App::new()
///     .get("/hello/{name}", |Path(name): Path<String>| format!("Hello, {name}!"))
///     .get("/sum/{a}/{b}", |Path((a, b)): Path<(u32, u32)>| (u64::from(a) + u64::from(b)).to_string())
///     .get("/seats/{room}/{number}", |Path(seat): Path<Seat>| format!("{} {}", seat.room, seat.number));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned> FromRequest for Path<T> {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        let path = request.path();
        let mut variables = Vec::with_capacity(request.params.len());
        for (name, raw) in request.params.iter(path) {
            let Some(value) = params::decode(raw) else {
                return Err(Rejection::bad_request(format!("{name} in the path is not UTF-8")));
            };
            variables.push(Variable { name, value });
        }
        match T::deserialize(Variables(&variables)) {
            Ok(value) => Ok(Path(value)),
            Err(Failure::Value(text)) => Err(Rejection::bad_request(text)),
            Err(Failure::Shape(text)) => Err(internal_error(text).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::app::App;
    use crate::server::request::tests::request_with;
    use serde::Deserialize;
    use std::collections::BTreeMap;
    use std::fmt::Debug;
    use std::sync::Arc;

    /// The answer of a route with this pattern, whose handler prints its variables as a `T`.
    fn get<T: DeserializeOwned + Debug + 'static>(pattern: &str, target: &str) -> (u16, String) {
        let app = App::new().get(pattern, |Path(value): Path<T>| format!("{value:?}"));
        let app = app.build().unwrap();
        let head = format!("GET {target} HTTP/1.1\nHost: a");
        let mut request = request_with(&head, b"", Arc::clone(app.state()));
        let response = app.call(&mut request);
        let text = String::from_utf8(response.body().to_vec()).unwrap();
        (response.status().as_u16(), text)
    }

    #[derive(Deserialize, Debug)]
    #[serde(rename_all = "lowercase")]
    enum Sort {
        Up,
        Down,
    }

    #[derive(Deserialize, Debug)]
    struct Seat {
        room: String,
        number: u8,
    }

    #[test]
    fn one_variable_is_read_as_its_type() {
        assert_eq!(get::<String>("/{a}", "/x%2Fy%25"), (200, "\"x/y%\"".into()));
        assert_eq!(get::<i64>("/{a}", "/-12"), (200, "-12".into()));
        assert_eq!(get::<(u8,)>("/{a}", "/255"), (200, "(255,)".into()));
        assert_eq!(get::<f32>("/{a}", "/1.5"), (200, "1.5".into()));
        assert_eq!(get::<bool>("/{a}", "/true"), (200, "true".into()));
        assert_eq!(get::<char>("/{a}", "/%C3%A9"), (200, "'é'".into()));
        assert_eq!(get::<Sort>("/{a}", "/down"), (200, "Down".into()));
        assert_eq!(
            get::<String>("/f/{*rest}", "/f/a/b%20c"),
            (200, "\"a/b c\"".into())
        );
        assert_eq!(get::<std::net::IpAddr>("/{a}", "/::1"), (200, "::1".into()));
    }

    #[test]
    fn several_variables_are_a_tuple_a_struct_or_a_map() {
        assert_eq!(
            get::<(String, u8)>("/{r}/{n}", "/a/7"),
            (200, "(\"a\", 7)".into())
        );
        let seat = (200, "Seat { room: \"a\", number: 7 }".to_owned());
        assert_eq!(get::<Seat>("/{number}/{room}", "/7/a"), seat);
        let map = (200, "{\"n\": \"7\", \"r\": \"a\"}".to_owned());
        assert_eq!(get::<BTreeMap<String, String>>("/{r}/{n}", "/a/7"), map);
        assert_eq!(
            get::<Vec<(String, String)>>("/{r}/{n}", "/a/7").0,
            500,
            "pairs are no shape of a path"
        );
    }

    #[test]
    fn a_value_that_does_not_fit_is_400_and_names_the_variable() {
        for (status, text) in [
            get::<u8>("/{a}", "/256"),
            get::<i32>("/{a}", "/x"),
            get::<char>("/{a}", "/xy"),
            get::<Sort>("/{a}", "/sideways"),
            get::<(String, u8)>("/{r}/{a}", "/1/x"),
        ] {
            assert_eq!(status, 400, "{text}");
            assert!(text.contains("\"a\""), "{text}");
        }
    }

    #[test]
    fn a_type_that_does_not_fit_the_route_is_500() {
        assert_eq!(get::<u8>("/{a}/{b}", "/1/2").0, 500);
        assert_eq!(get::<(u8, u8)>("/{a}", "/1").0, 500);
        assert_eq!(get::<String>("/plain", "/plain").0, 500);
        assert_eq!(get::<Seat>("/{room}", "/1").0, 500, "a field without a variable");
    }
}
