//! WebSocket sessions: what a handler holds, what everybody else holds, and what happens in between.
//!
//! - [`Session`] is the loop handler's: `recv` parks until a message is there, `send` parks while the outbox is full.
//! - [`SessionRef`] is what callback handlers get and what topics are joined with; it never parks.
//! - [`Sender`] is the clonable handle for everybody else, on any thread.
//!
//! Underneath, `drive` is the state machine on the heap that turns readiness into messages; it has no stack of its own
//! and is stepped by whoever owns the connection just now. `run` does that on a green thread. Frames and UTF-8 are
//! `greenroom-ws`'s affair, queueing is `outbox`'s, groups are `hub`'s.

mod drive;
mod handle;
mod handler;
mod run;
mod shared;
mod stalled;
mod start;

pub use handle::{Sender, Session, SessionRef};
pub use handler::{IntoSessionEnd, SessionEnd, SessionHandler};
pub(crate) use run::{Start, run};
pub(crate) use shared::{Due, SessionSettings, Shared};
pub(crate) use start::{SessionOptions, SessionStart};
