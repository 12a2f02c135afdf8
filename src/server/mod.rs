//! The server: from an [`App`](app::App) with its routes and handlers to answers.
//!
//! `App` is what a user builds; `BuiltApp` is the same, checked and shared by all connections. Nothing in those parts
//! does I/O: a request goes in, an answer (or a prepared WebSocket session) comes out.
pub(crate) mod answer;
pub(crate) mod app;
pub(crate) mod built_app;
pub(crate) mod endpoint;
pub(crate) mod extract;
pub(crate) mod handler;
pub(crate) mod middleware;
pub(crate) mod params;
pub(crate) mod pattern;
pub(crate) mod request;
pub(crate) mod router;
pub(crate) mod session_handler;
pub(crate) mod upgrade;
pub(crate) mod ws_handler;
pub(crate) mod ws_route;
pub(crate) mod ws_session_stub;
