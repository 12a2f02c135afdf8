//! What a route hands a session to begin with: the user's code, and the route's own bounds.

use super::handle::Session;
use super::handler::{SessionEnd, SessionHandler};

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
