//! Greenroom: a realtime server library. HTTP/1.1 and WebSockets (RFC 6455) on green threads, written as plain
//! blocking code.
//!
//! ```no_run
//! use greenroom::{App, Config, Hub, Path, Result, Session};
//!
//! fn main() -> Result<()> {
//!     let hub = Hub::with_history(50);
//!     App::new()
//!         .get("/", || "Connect a WebSocket to /rooms/{name}.")
//!         .ws("/rooms/{room}", move |session: Session, Path(room): Path<String>| chat(&hub, session, &room))
//!         .serve(Config::from_env()?)
//! }
//!
//! fn chat(hub: &Hub, session: Session, room: &str) -> Result<()> {
//!     let topic = hub.topic(room);
//!     let _member = topic.subscribe_with_history(&session)?; // leaves when dropped
//!     while let Some(message) = session.recv()? {            // parks; None = closed in order
//!         topic.publish(message);                            // encoded once, never waits for anyone
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # The map
//! | module | what is in it | knows |
//! |---|---|---|
//! | `server` | [`App`], routes, handlers and extractors, middleware, the acceptor, one connection's HTTP phase | all below |
//! | `session`, `hub` | a WebSocket conversation, and who gets what is published | `outbox`, `net` |
//! | `outbox`, `net` | one session's outgoing queue; sockets as green threads see them | `rt` |
//! | `rt` | green threads that never change their worker, timers, host threads, signals | nothing of ours |
//! | `http` | HTTP/1.1 without I/O | nothing of ours |
//! | `config`, `error` | settings and the error type | nothing of ours |
//! | `testing` | a server on a free port, a scripted peer, a client with deadlines | the public API |
//!
//! The protocol of WebSockets itself is the crate `greenroom-ws`. Handlers run on green threads: write blocking code,
//! but let what blocks on anything other than a Greenroom socket (a database, a file, a computation of more than a
//! few milliseconds) run through [`blocking`].

mod config;
mod error;
mod http;
mod hub;
mod net;
mod outbox;
mod rt;
mod server;
mod session;
pub mod testing;

pub use crate::config::{Config, VARIABLES, Variable};
pub use crate::error::{Error, Result};
pub use crate::http::head::Head;
pub use crate::http::response::Response;
pub use crate::hub::{Hub, Subscription, Topic};
pub use crate::outbox::SendStatus;
pub use crate::rt::{BlockingError, blocking, sleep, yield_now};
pub use crate::server::answer::{Html, IntoResponse, Redirect};
pub use crate::server::app::App;
pub use crate::server::counters::ServerCounters;
pub use crate::server::extract::{
    Bearer, BuildContext, Cookies, Ext, FromRequest, Headers, Json, Path, Peer, Query, Rejection, State,
};
pub use crate::server::handle::ServerHandle;
pub use crate::server::handler::Handler;
pub use crate::server::middleware::{Middleware, Next};
pub use crate::server::request::{BodyError, Request};
pub use crate::server::session_handler::{IntoSessionEnd, SessionEnd, SessionHandler};
pub use crate::server::ws_handler::{WsFactory, WsHandler};
pub use crate::server::ws_route::{IntoWsRoute, WsRoute};
pub use crate::session::{Sender, Session, SessionRef};
pub use ::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
pub use bytes::Bytes;
pub use greenroom_ws::{CloseCode, CloseFrame, Message, Text};
