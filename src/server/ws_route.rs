//! WebSocket routes: the checks before a session, and the 101.
//!
//! In this order: the handshake itself (RFC 6455 section 4.2), the Origin, then the handler's extractors. Whatever
//! refuses gives an ordinary HTTP answer. On success the answer is the 101, and the session, ready to start, waits in
//! the request; the connection starts it after the middleware has let the 101 pass.

use crate::http::head::Framing;
use crate::http::response::Response;
use crate::server::answer::IntoResponse;
use crate::server::endpoint::Endpoint;
use crate::server::extract::{BuildContext, Rejection};
use crate::server::request::Request;
use crate::server::upgrade::{PreparedUpgrade, SessionOptions};
use crate::server::ws_handler::{CallbackMaker, LoopMaker, SessionMaker, WsFactory, WsHandler};
use greenroom_ws::{Origin, OriginPolicy, Refusal, UpgradeRequest};
use http::{HeaderName, StatusCode, Version};

/// A WebSocket route and its settings.
///
/// By default browsers may connect from the server's own origin only, no subprotocol is spoken, and sizes are those of
/// the server's configuration.
///
/// ```no_run
/// use greenroom::{App, Session, WsRoute};
///
/// let app = App::new().ws(
///     "/chat",
///     WsRoute::new(|session: Session| { /* while let Some(message) = session.recv()? { .. } */ })
///         .origins(["https://chat.example"])
///         .subprotocols(["chat.v2", "chat.v1"])
///         .max_message(64 * 1024),
/// );
/// ```
#[must_use]
pub struct WsRoute {
    maker: Box<dyn SessionMaker>,
    origins: Origins,
    subprotocols: Vec<String>,
    options: SessionOptions,
}

/// Origins as they were named; read when the app is built.
enum Origins {
    Same,
    List(Vec<String>),
    Any,
}

impl WsRoute {
    /// A route of loop handlers: `Fn(Session, extractors..) -> ()` or `greenroom::Result<()>`.
    pub fn new<Args: 'static>(handler: impl WsHandler<Args>) -> Self {
        Self::with(LoopMaker::new(handler))
    }

    /// A route of callback handlers: `factory` is a `Fn(extractors..) -> impl SessionHandler`, called once for each
    /// session before its 101.
    pub fn callback<Args: 'static>(factory: impl WsFactory<Args>) -> Self {
        Self::with(CallbackMaker::new(factory))
    }

    fn with(maker: impl SessionMaker + 'static) -> Self {
        Self {
            maker: Box::new(maker),
            origins: Origins::Same,
            subprotocols: Vec::new(),
            options: SessionOptions::default(),
        }
    }

    /// Lets in browsers from these origins, compared exactly, and from no others (not even the server's own). Written
    /// as browsers do: `https://chat.example`, with a port where it is not the scheme's own, without a path. One that
    /// can't be read stops the start.
    pub fn origins<O: Into<String>>(mut self, origins: impl IntoIterator<Item = O>) -> Self {
        self.origins = Origins::List(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Lets in browsers from anywhere. Only for what needs no cookie and no secret address: any page that somebody
    /// visits may then talk to this route in their name.
    pub fn any_origin(mut self) -> Self {
        self.origins = Origins::Any;
        self
    }

    /// The subprotocols that the handler speaks, most wanted first: the first of them that the client offers is
    /// chosen. Where none is shared the session goes without one, and the client may leave.
    pub fn subprotocols<P: Into<String>>(mut self, names: impl IntoIterator<Item = P>) -> Self {
        self.subprotocols = names.into_iter().map(Into::into).collect();
        self
    }

    /// Longest message in bytes; a longer one closes the session with 1009 before it is buffered. Default:
    /// [`Config::ws_max_message`](crate::Config::ws_max_message).
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.options.max_message = Some(bytes);
        self
    }

    /// Bytes that may wait in the outbox of one session; an empty one admits any single message. Default:
    /// [`Config::ws_max_queue`](crate::Config::ws_max_queue).
    pub fn max_queue(mut self, bytes: usize) -> Self {
        self.options.max_queue = Some(bytes);
        self
    }

    /// The route as it runs; what doesn't fit is appended to `problems`.
    pub(crate) fn build(self, public_origin: Option<&Origin>, problems: &mut Vec<String>) -> WsEndpoint {
        let mut read = |text: String| match text.parse::<Origin>() {
            Ok(origin) => Some(origin),
            Err(_) => {
                problems.push(format!(
                    "{text:?} is not an origin (expected e.g. https://chat.example)"
                ));
                None
            }
        };
        let origins = match self.origins {
            Origins::Same => OriginPolicy::SameOrigin {
                public_origin: public_origin.cloned(),
            },
            Origins::List(list) => OriginPolicy::List(list.into_iter().filter_map(&mut read).collect()),
            Origins::Any => OriginPolicy::Any,
        };
        // A subprotocol's name is a token (RFC 6455 section 4.1), and so is that of a field (RFC 9110 section 5.1).
        let bad = |name: &&String| HeaderName::from_bytes(name.as_bytes()).is_err();
        if let Some(name) = self.subprotocols.iter().find(bad) {
            problems.push(format!(
                "{name:?} can't be a subprotocol: its name must be a token"
            ));
        }
        if self.options.max_message == Some(0) {
            problems.push("max_message must be at least one byte".into());
        }
        WsEndpoint {
            maker: self.maker,
            origins,
            subprotocols: self.subprotocols,
            options: self.options,
        }
    }
}

/// What [`App::ws`](crate::App::ws) takes: a loop handler, or a [`WsRoute`] with settings.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a WebSocket handler",
    note = "pass a `Fn(Session, extractors..)` (with the types of a closure's arguments written out) or a `WsRoute`"
)]
pub trait IntoWsRoute<Args> {
    /// The route.
    fn into_ws_route(self) -> WsRoute;
}

impl IntoWsRoute<WsRoute> for WsRoute {
    fn into_ws_route(self) -> WsRoute {
        self
    }
}

impl<Args: 'static, F: WsHandler<Args>> IntoWsRoute<(Args,)> for F {
    fn into_ws_route(self) -> WsRoute {
        WsRoute::new(self)
    }
}

/// A WebSocket route in a built app.
pub(crate) struct WsEndpoint {
    maker: Box<dyn SessionMaker>,
    origins: OriginPolicy,
    subprotocols: Vec<String>,
    options: SessionOptions,
}

impl WsEndpoint {
    /// The checks that need the head only: the 101 with the chosen subprotocol, or the refusal.
    fn check_head(&self, request: &Request) -> Result<(Response, Option<&str>), Rejection> {
        let head = &request.head;
        let handshake = UpgradeRequest {
            method: head.method().as_str(),
            http11: head.version() == Version::HTTP_11,
            headers: head.headers(),
            has_body: head.framing() != Framing::None,
        };
        let accept = handshake.accept().map_err(refusal)?;
        let authority = head.host().unwrap_or_default();
        if !self.origins.allows(head.headers(), authority, request.secure) {
            return Err(Rejection::new(
                StatusCode::FORBIDDEN,
                "this origin may not connect\n",
            ));
        }
        let subprotocol = accept.select(&self.subprotocols);
        let mut response = Response::switching_protocols()
            .with_header("upgrade", "websocket")
            .with_header("sec-websocket-accept", accept.key().as_bytes());
        if let Some(name) = subprotocol {
            response = response.with_header("sec-websocket-protocol", name);
        }
        Ok((response, subprotocol))
    }

    fn accept(&self, request: &mut Request) -> Result<Response, Rejection> {
        let (response, subprotocol) = self.check_head(request)?;
        let start = self.maker.prepare(request)?;
        request.upgrade = Some(Box::new(PreparedUpgrade {
            subprotocol: subprotocol.map(Box::from),
            options: self.options,
            start,
        }));
        Ok(response)
    }
}

impl Endpoint for WsEndpoint {
    fn call(&self, request: &mut Request) -> Response {
        self.accept(request).into_response()
    }

    fn check(&self, context: &BuildContext<'_>, problems: &mut Vec<String>) {
        self.maker.check(context, problems);
    }
}

fn refusal(refusal: Refusal) -> Rejection {
    let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let response = Response::text(format!("{refusal}\n")).with_status(status);
    match refusal.header() {
        Some((name, value)) => response.with_header(name, value).into(),
        None => response.into(),
    }
}

#[cfg(test)]
mod tests;
