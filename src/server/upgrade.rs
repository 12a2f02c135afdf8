//! An accepted handshake on its way out through the middleware: all that the connection needs to become a session.

use super::session_handler::{SessionEnd, SessionHandler};
use crate::session::Session;

/// What a WebSocket route leaves in the request beside its 101. The connection writes that answer, then starts the
/// session.
pub(crate) struct PreparedUpgrade {
    /// The chosen subprotocol; the 101 names it already.
    pub(crate) subprotocol: Option<Box<str>>,
    pub(crate) options: SessionOptions,
    pub(crate) start: SessionStart,
}

/// Bounds of a route's sessions; `None` = as the server's configuration says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionOptions {
    /// Longest message, bytes.
    pub(crate) max_message: Option<usize>,
    /// Bytes that may wait in the outbox.
    pub(crate) max_queue: Option<usize>,
}

/// The user's code with its arguments already in it.
pub(crate) enum SessionStart {
    /// A loop handler, to be called on the session's own stack.
    Loop(Box<dyn FnOnce(Session) -> SessionEnd + Send>),
    /// A callback handler.
    Callback(Box<dyn SessionHandler>),
}
