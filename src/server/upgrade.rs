//! An accepted handshake on its way out through the middleware: all that the connection needs to become a session.

use crate::session::{SessionOptions, SessionStart};

/// What a WebSocket route leaves in the request beside its 101. The connection writes that answer, then starts the
/// session.
pub(crate) struct PreparedUpgrade {
    /// The chosen subprotocol; the 101 names it already.
    pub(crate) subprotocol: Option<Box<str>>,
    pub(crate) options: SessionOptions,
    pub(crate) start: SessionStart,
}
