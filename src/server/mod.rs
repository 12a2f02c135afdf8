//! The server: from an [`App`] with its routes and handlers to answers on connections.
//!
//! `App` is what a user builds; `BuiltApp` is the same, checked and shared by all connections. Nothing in those parts
//! does I/O: a request goes in, an answer (or a prepared WebSocket session) comes out. `handle` starts and stops,
//! `acceptor` takes connections, `connection` runs the HTTP phase of each (`exchange` for requests and answers, `incoming`
//! for bodies), `upgraded` passes it on to its session.

pub(crate) mod acceptor;
pub(crate) mod answer;
pub(crate) mod app;
pub(crate) mod built_app;
pub(crate) mod connection;
pub(crate) mod counters;
pub(crate) mod endpoint;
pub(crate) mod exchange;
pub(crate) mod extract;
pub(crate) mod handle;
pub(crate) mod handler;
pub(crate) mod incoming;
pub(crate) mod middleware;
pub(crate) mod params;
pub(crate) mod pattern;
pub(crate) mod request;
pub(crate) mod router;
pub(crate) mod scratch;
pub(crate) mod session_handler;
pub(crate) mod shared;
pub(crate) mod upgrade;
pub(crate) mod upgraded;
pub(crate) mod ws_handler;
pub(crate) mod ws_route;

pub(crate) use app::App;
pub(crate) use handle::ServerHandle;
