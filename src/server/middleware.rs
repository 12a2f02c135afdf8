//! Middleware: code that runs before and after the handlers of a group of routes.
//!
//! A middleware sees the request, then either answers itself or calls [`Next::run`] and may change the answer. It runs
//! on the green thread of the connection, so it may wait like any handler. It runs around matched routes only, before
//! the `101` of WebSocket routes too; answers for unknown paths and methods (404, 405, automatic OPTIONS) don't pass
//! through it.

use crate::http::response::Response;
use crate::server::answer::IntoResponse;
use crate::server::endpoint::Endpoint;
use crate::server::request::Request;
use std::sync::Arc;

/// Something that stands around handlers. Implemented for `Fn(&mut Request, Next) -> impl IntoResponse`; structs
/// implement it themselves.
///
/// ```
/// use greenroom::{App, Middleware, Next, Request, Response};
/// use std::time::Instant;
///
/// struct ApiKey(&'static str);
///
/// impl Middleware for ApiKey {
///     fn handle(&self, request: &mut Request, next: Next) -> Response {
///         match request.header("x-api-key") {
///             Some(key) if key == self.0 => next.run(request),
///             _ => Response::text("a key is needed").with_status(http::StatusCode::UNAUTHORIZED),
///         }
///     }
/// }
///
/// let app = App::new()
///     .get("/", || "hello")
///     .layer(|request: &mut Request, next: Next| {
///         let start = Instant::now();
///         let response = next.run(request);
///         println!("{} {} {:?}", request.path(), response.status(), start.elapsed());
///         response
///     })
///     .layer(ApiKey("demo"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a middleware",
    note = "a middleware is a `Fn(&mut Request, Next) -> Response` (write out the types of a closure's arguments) or a \
            type that implements `Middleware`; it is `Send + Sync + 'static`"
)]
pub trait Middleware: Send + Sync + 'static {
    /// Answers the request, usually by calling `next.run(request)` and returning what comes back.
    fn handle(&self, request: &mut Request, next: Next<'_>) -> Response;
}

impl<F, R> Middleware for F
where
    F: Fn(&mut Request, Next<'_>) -> R + Send + Sync + 'static,
    R: IntoResponse,
{
    fn handle(&self, request: &mut Request, next: Next<'_>) -> Response {
        self(request, next).into_response()
    }
}

/// The rest of the way: inner middleware, then the handler.
pub struct Next<'a> {
    layers: &'a [Arc<dyn Middleware>],
    endpoint: &'a dyn Endpoint,
}

impl<'a> Next<'a> {
    pub(crate) fn new(layers: &'a [Arc<dyn Middleware>], endpoint: &'a dyn Endpoint) -> Self {
        Self { layers, endpoint }
    }

    /// Runs the rest and returns its answer.
    pub fn run(self, request: &mut Request) -> Response {
        match self.layers.split_first() {
            Some((first, layers)) => first.handle(request, Next { layers, ..self }),
            None => self.endpoint.call(request),
        }
    }
}
