//! How a session's code is written in callback form, and how a loop handler's session ends.

use super::handle::SessionRef;
use crate::error::{Error, Result};
use greenroom_ws::{CloseFrame, Message};

/// A WebSocket session in callback form: it is called when something happens and holds no stack in between.
///
/// All calls come one after the other, from the session's own worker. An error ends the session with close code 1011
/// and goes to the log; a panic does the same.
///
/// ```no_run
/// use greenroom::{App, Message, Result, SessionHandler, SessionRef};
///
/// struct Counter { messages: u64 }
///
/// impl SessionHandler for Counter {
///     fn on_message(&mut self, session: &SessionRef, message: Message) -> Result<()> {
///         self.messages += 1;
///         Ok(())
///     }
/// }
///
/// let app = App::new().ws_callback("/count", || Counter { messages: 0 });
/// ```
pub trait SessionHandler: Send + 'static {
    /// Called once, after the handshake and before any message.
    ///
    /// # Errors
    /// Any error ends the session with 1011.
    fn on_open(&mut self, session: &SessionRef) -> Result<()> {
        let _ = session;
        Ok(())
    }

    /// Called for each message, in order.
    ///
    /// # Errors
    /// Any error ends the session with 1011.
    fn on_message(&mut self, session: &SessionRef, message: Message) -> Result<()>;

    /// Called exactly once, at the end, whatever the reason, with the peer's Close if it began the closing and gave a
    /// code. `None` where this side closed, the peer's Close had no code, or the connection was lost.
    fn on_close(&mut self, close: Option<&CloseFrame>) {
        let _ = close;
    }
}

/// How a loop handler ended: `Ok` closes with 1000, `Err` with 1011 and a line in the log.
pub type SessionEnd = Result<(), Error>;

/// What a loop handler may return.
#[diagnostic::on_unimplemented(
    message = "a WebSocket handler returns `()` or `greenroom::Result<()>`, not `{Self}`"
)]
pub trait IntoSessionEnd {
    /// How the session ends.
    fn into_session_end(self) -> SessionEnd;
}

impl IntoSessionEnd for () {
    fn into_session_end(self) -> SessionEnd {
        Ok(())
    }
}

impl IntoSessionEnd for Result<(), Error> {
    fn into_session_end(self) -> SessionEnd {
        self
    }
}
