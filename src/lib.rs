//! Greenroom: a realtime server library.

#![allow(dead_code, unused, missing_docs, clippy::todo)] // skeleton only

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

pub use bytes::Bytes;
pub use config::Config;
pub use error::{Error, Result};
pub use greenroom_ws::{CloseCode, CloseFrame, Message};
pub use http::head::Head;
pub use http::response::Response;
pub use server::answer::{Html, IntoResponse, Redirect};
pub use server::app::App;
pub use server::extract::{
    Bearer, BuildContext, Cookies, Ext, FromRequest, Headers, Json, Path, Peer, Query, Rejection, State,
};
pub use server::handler::Handler;
pub use server::middleware::{Middleware, Next};
pub use server::request::{BodyError, Request};
pub use server::session_handler::{IntoSessionEnd, SessionEnd, SessionHandler};
pub use server::ws_handler::{WsFactory, WsHandler};
pub use server::ws_route::{IntoWsRoute, WsRoute};
pub use server::ws_session_stub::{Session, SessionRef};
