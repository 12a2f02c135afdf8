//! An app that has been checked: what all connections share.

use crate::http::response::Response;
use crate::server::answer::{internal_error, not_found};
use crate::server::middleware::Next;
use crate::server::request::{Request, StateMap};
use crate::server::router::{Lookup, Router};
use http::{HeaderValue, StatusCode, header};
use std::sync::Arc;

/// Routes, state and middleware, ready to answer requests. Read-only, shared by all connections through an `Arc`.
pub(crate) struct BuiltApp {
    router: Router,
    state: Arc<StateMap>,
}

impl BuiltApp {
    pub(crate) fn new(router: Router, state: StateMap) -> Self {
        Self {
            router,
            state: Arc::new(state),
        }
    }

    /// The values given to `App::state`, for the requests of a connection.
    pub(crate) fn state(&self) -> &Arc<StateMap> {
        &self.state
    }

    /// Finds the route, runs middleware and handler on the calling green thread.
    ///
    /// A WebSocket route that accepts leaves the session to start in `request.upgrade`; on return it is there exactly
    /// if the response is a 101. A panic of the user's code passes through: the connection contains it.
    pub(crate) fn call(&self, request: &mut Request) -> Response {
        let response = match self.router.find(request.head.method(), request.head.path()) {
            Lookup::Found(route, params) => {
                request.params = params;
                Next::new(&route.layers, &*route.endpoint).run(request)
            }
            Lookup::UnknownPath => not_found(),
            Lookup::OtherMethod(allow) => allowing(
                Response::text("method not allowed\n").with_status(StatusCode::METHOD_NOT_ALLOWED),
                allow,
            ),
            Lookup::Options(allow) => allowing(Response::new(StatusCode::NO_CONTENT), allow),
        };
        match (
            response.status() == StatusCode::SWITCHING_PROTOCOLS,
            &request.upgrade,
        ) {
            (true, None) => internal_error("a 101 was kept from another request and sent again"),
            (false, Some(_)) => {
                // Middleware answered in place of an accepted handshake: then there is no session.
                request.upgrade = None;
                response
            }
            _ => response,
        }
    }
}

fn allowing(mut response: Response, allow: &HeaderValue) -> Response {
    response.headers_mut().insert(header::ALLOW, allow.clone());
    response
}
