//! The server.
pub mod request;
