//! A request on its way to its handler: head, path variables, body, peer, and what middleware adds.
//!
//! Handlers normally ask for its parts through [extractors](crate::server::extract); middleware gets the whole. The
//! body is read only when somebody asks for it, so that a refused request costs no upload.

use crate::http::head::Head;
use crate::server::params::Params;
use crate::server::upgrade::PreparedUpgrade;
use bytes::Bytes;
use http::{Extensions, Method};
use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// Values registered with `App::state`, by type.
pub(crate) type StateMap = HashMap<TypeId, Box<dyn Any + Send + Sync>>;

/// A request: head, path variables, body, peer.
///
/// ```
/// use greenroom::{Next, Request, Response};
///
/// fn only_local(request: &mut Request, next: Next) -> Response {
///     if request.peer().ip().is_loopback() { next.run(request) } else { Response::text("not for you") }
/// }
/// ```
pub struct Request {
    pub(crate) head: Head,
    pub(crate) params: Params,
    pub(crate) body: RequestBody,
    pub(crate) peer: SocketAddr,
    /// The connection is encrypted, so that its own origin is `https`.
    pub(crate) secure: bool,
    pub(crate) state: Arc<StateMap>,
    /// What middleware hands on. Allocates with its first value.
    pub(crate) extensions: Extensions,
    /// Left by a WebSocket route that accepted the handshake; see `BuiltApp::call`.
    pub(crate) upgrade: Option<Box<PreparedUpgrade>>,
}

/// Where the body comes from.
pub(crate) enum RequestBody {
    /// The request has none.
    Empty,
    /// Read whole already (and what tests build).
    Whole(Bytes),
    /// Still on the connection.
    Incoming(Incoming),
}

/// A body that is still on the connection, and what came of reading it.
pub(crate) struct Incoming {
    pub(crate) source: Box<dyn BodySource>,
    outcome: Option<Result<Bytes, BodyError>>,
}

/// What the connection lends to a request so that its body can be read from deep within a handler. `Any`, so that the
/// connection gets itself back afterwards.
pub(crate) trait BodySource: Any {
    /// Reads to the end of the body within the server's bounds; sends `100 Continue` first where it is asked for.
    /// Called at most once.
    fn read_to_end(&mut self) -> Result<Bytes, BodyError>;
}

impl Incoming {
    pub(crate) fn new(source: Box<dyn BodySource>) -> Self {
        Self {
            source,
            outcome: None,
        }
    }
}

/// Why a body could not be read. Whichever it is, the connection can't be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// Longer than the server's `max_body`: 413.
    TooLarge,
    /// Malformed chunking, and what is wrong with it: 400.
    Malformed(&'static str),
    /// Too slow: 408.
    TimedOut,
    /// The peer left before the end; nobody will see the answer.
    Closed,
    /// The memory for uploads of the whole process is used up: 503.
    Overloaded,
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("the body is too large"),
            Self::Malformed(what) => write!(f, "the body is malformed: {what}"),
            Self::TimedOut => f.write_str("the body came too slowly"),
            Self::Closed => f.write_str("the peer left before the end of the body"),
            Self::Overloaded => f.write_str("too many uploads at once"),
        }
    }
}

impl std::error::Error for BodyError {}

impl Request {
    pub(crate) fn new(head: Head, body: RequestBody, peer: SocketAddr, state: Arc<StateMap>) -> Self {
        Self {
            head,
            params: Params::default(),
            body,
            peer,
            secure: false,
            state,
            extensions: Extensions::new(),
            upgrade: None,
        }
    }

    /// The method.
    pub fn method(&self) -> &Method {
        self.head.method()
    }

    /// The path as sent: without the query, still percent-encoded.
    pub fn path(&self) -> &str {
        self.head.path()
    }

    /// The query as sent, without the `?`.
    pub fn query(&self) -> Option<&str> {
        self.head.query()
    }

    /// The first header field of that name (any case), `None` if absent or not UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    /// Start line and header fields.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The address at the other end of the connection (a proxy's, if one stands in between).
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The variable of that name in the matched route, percent-decoded once. `None` if the route has no such variable
    /// or its value is not UTF-8.
    ///
    /// A decoded value may hold any character, `/` and `..` among them.
    pub fn param(&self, name: &str) -> Option<Cow<'_, str>> {
        let path = self.head.path();
        let (_, raw) = self.params.iter(path).find(|(key, _)| *key == name)?;
        crate::server::params::decode(raw)
    }

    /// The value of that type given to `App::state`.
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.state.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// Hands a value on to inner middleware and to the handler, by type; an earlier one of the same type is replaced.
    /// Handlers take it with the extractor [`Ext`](crate::Ext).
    pub fn set<T: Clone + Send + Sync + 'static>(&mut self, value: T) {
        self.extensions.insert(value);
    }

    /// The value of that type left by [`Request::set`].
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// Reads the whole body (sends `100 Continue` first where that is asked for). A second call gives the same
    /// answer without reading again.
    ///
    /// # Errors
    /// The body is too large, malformed, too slow or cut short, or the process holds too many uploads.
    pub fn read_body(&mut self) -> Result<Bytes, BodyError> {
        match &mut self.body {
            RequestBody::Empty => Ok(Bytes::new()),
            RequestBody::Whole(bytes) => Ok(bytes.clone()),
            RequestBody::Incoming(incoming) => match &incoming.outcome {
                Some(outcome) => outcome.clone(),
                None => {
                    let outcome = incoming.source.read_to_end();
                    incoming.outcome.insert(outcome).clone()
                }
            },
        }
    }
}

impl fmt::Debug for Request {
    /// Method and path only: header fields may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", self.method())
            .field("path", &self.path())
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::http::head::{HeadLimits, Parse};

    /// A request as a connection would build it, from the text of its head and a body.
    pub(crate) fn request_with(head: &str, body: &'static [u8], state: Arc<StateMap>) -> Request {
        let limits = HeadLimits {
            max_bytes: 64 * 1024,
            max_line: 16 * 1024,
            max_fields: 100,
        };
        let text = format!("{}\r\n\r\n", head.trim_end().replace('\n', "\r\n"));
        let mut parsed = Head::new();
        assert_eq!(
            parsed.parse(text.as_bytes(), &limits),
            Ok(Parse::Done(text.len())),
            "{head}"
        );
        let body = if body.is_empty() {
            RequestBody::Empty
        } else {
            RequestBody::Whole(Bytes::from_static(body))
        };
        Request::new(parsed, body, SocketAddr::from(([127, 0, 0, 1], 4711)), state)
    }

    /// A request without a body and without state.
    pub(crate) fn request(head: &str) -> Request {
        request_with(head, b"", Arc::default())
    }

    struct Once(Option<Result<Bytes, BodyError>>);

    impl BodySource for Once {
        fn read_to_end(&mut self) -> Result<Bytes, BodyError> {
            self.0.take().expect("read only once")
        }
    }

    #[test]
    fn a_body_is_read_once_and_remembered() {
        for outcome in [Ok(Bytes::from_static(b"abc")), Err(BodyError::TooLarge)] {
            let mut request = request("POST / HTTP/1.1\nHost: a");
            let source = Once(Some(outcome.clone()));
            request.body = RequestBody::Incoming(Incoming::new(Box::new(source)));
            assert_eq!(request.read_body(), outcome);
            assert_eq!(request.read_body(), outcome);
        }
    }

    #[test]
    fn values_are_handed_on_by_type() {
        let mut request = request("GET / HTTP/1.1\nHost: a");
        assert_eq!(request.get::<u32>(), None);
        request.set(7u32);
        request.set("seven");
        assert_eq!(
            (request.get::<u32>(), request.get::<&str>()),
            (Some(&7), Some(&"seven"))
        );
    }

    #[test]
    fn debug_output_holds_no_header_fields() {
        let request = request("GET /a?token=1 HTTP/1.1\nHost: a\nAuthorization: Bearer secret");
        let text = format!("{request:?}");
        assert!(
            text.contains("/a") && !text.contains("secret") && !text.contains("token"),
            "{text}"
        );
    }
}
