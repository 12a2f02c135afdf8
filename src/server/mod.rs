//! The server: from an [`App`](app::App) with its routes and handlers to answers on connections.
//!
//! `App` is what a user builds; `BuiltApp` is the same, checked and shared by all connections. Nothing in those parts
//! does I/O: a request goes in, an answer (or a prepared WebSocket session) comes out. `handle` starts and stops,
//! `acceptor` takes connections, `connection` runs the HTTP phase of each (with `incoming` for bodies), `upgraded`
//! passes it on to its session.

pub(crate) mod acceptor;
pub mod answer;
pub mod app;
pub(crate) mod built_app;
pub(crate) mod connection;
pub mod counters;
pub(crate) mod endpoint;
pub mod extract;
pub mod handle;
pub mod handler;
pub(crate) mod incoming;
pub mod middleware;
pub(crate) mod params;
pub(crate) mod pattern;
pub mod request;
pub(crate) mod router;
pub(crate) mod scratch;
pub mod session_handler;
pub(crate) mod shared;
pub(crate) mod upgrade;
pub(crate) mod upgraded;
pub mod ws_handler;
pub mod ws_route;

pub use app::App;
pub use counters::ServerCounters;
pub use handle::ServerHandle;
