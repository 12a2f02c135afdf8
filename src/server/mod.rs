//! The server: from an [`App`](app::App) with its routes and handlers to answers.
//!
//! `App` is what a user builds; `BuiltApp` is the same, checked and shared by all connections. Nothing in those parts
//! does I/O: a request goes in, an answer (or a prepared WebSocket session) comes out.
pub mod answer;
pub mod app;
pub(crate) mod built_app;
pub(crate) mod endpoint;
pub mod extract;
pub mod handler;
pub mod middleware;
pub(crate) mod params;
pub(crate) mod pattern;
pub mod request;
pub(crate) mod router;
pub mod session_handler;
pub(crate) mod upgrade;
pub mod ws_handler;
pub mod ws_route;
