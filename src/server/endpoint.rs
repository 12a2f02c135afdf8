//! What stands at the end of a route, whatever its arguments: an HTTP handler or the start of a WebSocket session.

use crate::http::response::Response;
use crate::server::extract::BuildContext;
use crate::server::handler::Handler;
use crate::server::request::Request;
use std::marker::PhantomData;

/// The innermost part of a route, called after all middleware.
pub(crate) trait Endpoint: Send + Sync {
    /// Answers the request.
    fn call(&self, request: &mut Request) -> Response;

    /// Appends what keeps it from working in this app.
    fn check(&self, context: &BuildContext<'_>, problems: &mut Vec<String>);
}

/// An HTTP handler as an endpoint.
pub(crate) struct HandlerEndpoint<H, Args> {
    handler: H,
    args: PhantomData<fn(Args)>,
}

impl<H, Args> HandlerEndpoint<H, Args> {
    pub(crate) fn new(handler: H) -> Self {
        Self {
            handler,
            args: PhantomData,
        }
    }
}

impl<Args: 'static, H: Handler<Args>> Endpoint for HandlerEndpoint<H, Args> {
    fn call(&self, request: &mut Request) -> Response {
        self.handler.handle(request)
    }

    fn check(&self, context: &BuildContext<'_>, problems: &mut Vec<String>) {
        H::check(context, problems);
    }
}
