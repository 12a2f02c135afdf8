//! Extractors: the arguments of handlers, each taken from the request.
//!
//! | extractor | gives | refuses with |
//! |---|---|---|
//! | [`Path<T>`](crate::Path) | path variables | 400 |
//! | [`Query<T>`](crate::Query) | the query | 400 |
//! | [`Json<T>`](crate::Json) | the body as JSON | 415, 400, or as [`Bytes`] |
//! | [`Bytes`], [`String`] | the body, as text for `String` | 400, 408, 413, 503 |
//! | [`State<T>`](crate::State) | a value given to `App::state` | never; a missing one stops the start |
//! | [`Ext<T>`](crate::Ext) | a value left by middleware | 500 |
//! | [`Bearer`](crate::Bearer) | the token of `Authorization: Bearer` | 401 |
//! | [`Cookies`](crate::Cookies), [`Headers`](crate::Headers), [`Method`], [`Peer`](crate::Peer) | as they say | never |
//! | `Option<E>`, `Result<E, Rejection>` | what `E` gives, or that it refused | never |
//!
//! The body can be taken by several of them: its bytes are shared.

mod bearer;
mod body;
mod cookies;
mod json;
mod path;
mod query;
mod rejection;
mod request_parts;
mod state;
mod variable;

pub use bearer::Bearer;
pub use cookies::Cookies;
pub use json::Json;
pub use path::Path;
pub use query::Query;
pub use rejection::Rejection;
pub use request_parts::{Headers, Peer};
pub use state::{Ext, State};

use crate::server::request::{Request, StateMap};
use std::any::TypeId;

#[cfg(doc)]
use {bytes::Bytes, http::Method};

/// Something a handler can ask for as an argument.
///
/// ```
/// use greenroom::{App, FromRequest, Rejection, Request};
/// use http::StatusCode;
///
/// struct Tenant(String);
///
/// impl FromRequest for Tenant {
///     fn from_request(request: &mut Request) -> Result<Self, Rejection> {
///         let name = request.header("x-tenant");
///         let name = name.ok_or_else(|| Rejection::new(StatusCode::BAD_REQUEST, "X-Tenant is missing"))?;
///         Ok(Tenant(name.to_owned()))
///     }
/// }
///
/// let app = App::new().get("/", |Tenant(name): Tenant| name);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be an argument of a handler",
    note = "arguments are extractors: Path, Query, Json, State, Bytes, String, ... or your own `FromRequest`"
)]
pub trait FromRequest: Sized {
    /// Takes the value from the request.
    ///
    /// # Errors
    /// The answer to give instead of calling the handler.
    fn from_request(request: &mut Request) -> Result<Self, Rejection>;

    /// Says, when the app is built, what this extractor would miss; by default nothing.
    ///
    /// # Errors
    /// What is missing, in words for the programmer.
    fn check(context: &BuildContext<'_>) -> Result<(), String> {
        let _ = context;
        Ok(())
    }
}

/// What is known when an app is built, for [`FromRequest::check`].
pub struct BuildContext<'a> {
    state: &'a StateMap,
}

impl<'a> BuildContext<'a> {
    pub(crate) fn new(state: &'a StateMap) -> Self {
        Self { state }
    }

    /// A value of this type was given to `App::state`.
    pub fn has_state<T: 'static>(&self) -> bool {
        self.state.contains_key(&TypeId::of::<T>())
    }
}

/// `None` where `E` refuses, whatever the reason; take `Result<E, Rejection>` to see it.
impl<E: FromRequest> FromRequest for Option<E> {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        Ok(E::from_request(request).ok())
    }
}

/// The handler is called even where `E` refuses, and decides itself.
impl<E: FromRequest> FromRequest for Result<E, Rejection> {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        Ok(E::from_request(request))
    }

    fn check(context: &BuildContext<'_>) -> Result<(), String> {
        E::check(context)
    }
}
