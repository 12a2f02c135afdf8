//! Sockets for green threads: listening, streams, read buffers, and the roll of what is open.
//!
//! This layer knows TCP and readiness, nothing of HTTP or WebSockets. Everything that parks goes through `rt`; nothing
//! here holds a lock or borrows a thread-local while it parks.

pub(crate) mod buffer;
pub(crate) mod drain;
pub(crate) mod listener;
pub(crate) mod outgoing;
pub(crate) mod stream;
