//! For tests of applications: a server on a free port, a scripted raw peer, and a WebSocket client with deadlines.
//!
//! Everything blocks the calling thread and nothing waits for ever: each wait has a deadline (five seconds unless set
//! otherwise) and its passing is an error or a panic that says what was waited for. Meant for tests, so the helpers
//! panic where a test would unwrap.
//!
//! ```
//! use greenroom::testing::{Client, TestServer};
//! use greenroom::{App, Session};
//!
//! let server = TestServer::start(App::new().ws("/echo", |session: Session| {
//!     while let Some(message) = session.recv()? {
//!         session.send(message)?;
//!     }
//!     greenroom::Result::Ok(())
//! }));
//! let mut client = Client::connect(&server, "/echo");
//! client.send("hello");
//! assert_eq!(client.recv_text(), "hello");
//! assert_eq!(client.close(1000).expect("a Close comes back").code.as_u16(), 1000);
//! ```
//!
//! It is no load generator: one thread, one connection, clarity before speed.

mod client;
mod peer;
mod server;

pub use client::{Client, Received};
pub use peer::{Answer, Peer};
pub use server::TestServer;

use std::time::Duration;

/// How long anything here waits unless told otherwise: far longer than a healthy server needs on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(5);
