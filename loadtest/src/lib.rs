//! Load generators for realtime servers, and the measurements made with them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`cli`] | the `loadtest` command: its verbs and exit statuses |
//! | [`echo`] | the closed echo loop behind `loadtest ws` |
//! | [`connection`] | one WebSocket client connection, stepped by a loop |
//! | [`frame`] | frames as a client sends and reads them |
//! | [`handshake`] | the request that opens a session, and the check of its answer |
//! | [`poller`] | epoll and non-blocking sockets |
//! | [`failure`] | the causes that end a connection, counted |
//! | [`latency`] | the percentiles of a run |
//! | [`verdict`] | whether a figure can be trusted |
//! | [`quantity`], [`target`] | arguments |
//! | [`bench`] | the `bench` command: work per server CPU-second beside the raw floors |
//!
//! One epoll loop a thread, no task a connection: the generator has to be lighter than any server that it measures.

pub mod bench;
pub mod cli;
pub mod connection;
pub mod echo;
pub mod failure;
pub mod frame;
pub mod handshake;
pub mod latency;
pub mod poller;
pub mod quantity;
pub mod target;
pub mod verdict;
