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

pub use config::Config;
pub use error::{Error, Result};
pub use http::head::Head;
pub use http::response::Response;
