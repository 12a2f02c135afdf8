//! Values that handlers share, and values that middleware hands on.

use super::{BuildContext, FromRequest, Rejection};
use crate::server::answer::internal_error;
use crate::server::request::Request;
use std::any::type_name;

/// A clone of the value of this type that was given to `App::state`. Usually `T` is an `Arc` or holds one.
///
/// An app with a handler that asks for a type that was never given doesn't build.
///
/// ```
/// use greenroom::{App, State};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let app = App::new()
///     .state(Arc::new(AtomicU64::new(0)))
///     .get("/count", |State(count): State<Arc<AtomicU64>>| count.fetch_add(1, Ordering::Relaxed).to_string());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State<T>(pub T);

impl<T: Clone + Send + Sync + 'static> FromRequest for State<T> {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        match request.state::<T>() {
            Some(value) => Ok(State(value.clone())),
            None => Err(internal_error(missing::<T>()).into()),
        }
    }

    fn check(context: &BuildContext<'_>) -> Result<(), String> {
        context.has_state::<T>().then_some(()).ok_or_else(missing::<T>)
    }
}

fn missing<T>() -> String {
    let name = type_name::<T>();
    format!("the handler asks for State<{name}>, but App::state was not given a {name}")
}

/// A clone of the value of this type that a middleware left with [`Request::set`].
///
/// Where none did, the answer is a 500: the middleware that sets it isn't around this route. `Option<Ext<T>>` leaves
/// that to the handler.
///
/// ```
/// use greenroom::{App, Ext, Next, Request};
///
/// #[derive(Clone)]
/// struct User(String);
///
/// let app = App::new()
///     .get("/me", |Ext(user): Ext<User>| user.0)
///     .layer(|request: &mut Request, next: Next| {
///         request.set(User("ann".into()));
///         next.run(request)
///     });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ext<T>(pub T);

impl<T: Clone + Send + Sync + 'static> FromRequest for Ext<T> {
    fn from_request(request: &mut Request) -> Result<Self, Rejection> {
        match request.get::<T>() {
            Some(value) => Ok(Ext(value.clone())),
            None => {
                let name = type_name::<T>();
                Err(internal_error(format!(
                    "the handler asks for Ext<{name}>, but no middleware has set it"
                ))
                .into())
            }
        }
    }
}
