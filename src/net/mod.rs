//! Listening sockets and streams for green threads.
pub mod listener;
pub mod stream;
