//! From the HTTP phase of a connection to its WebSocket session.

use crate::net::drain::Seat;
use crate::server::connection::Upgraded;
use crate::server::shared::Shared;
use crate::session::{self, SessionSettings, Start};
use std::net::SocketAddr;

/// Runs the session that a route has prepared, on the connection's green thread, until it ends and the socket is
/// closed.
///
/// `seat` is the connection's: its drain tells the session when the server stops, and wakes this green thread then.
pub(crate) fn run(upgraded: Box<Upgraded>, peer: SocketAddr, seat: &Seat, shared: &Shared) {
    if session::run(start(upgraded, peer, seat, shared)) {
        shared.here().panics.add_one();
    }
}

/// Not inlined, so that what is only needed to begin doesn't stay on the stack for the session's life.
#[inline(never)]
#[allow(
    clippy::boxed_local,
    reason = "unboxed by the caller it would lie in a frame that stays"
)]
fn start(upgraded: Box<Upgraded>, peer: SocketAddr, seat: &Seat, shared: &Shared) -> Start {
    let Upgraded {
        stream,
        leftover,
        prepared,
    } = *upgraded;
    let config = &shared.config;
    let options = prepared.options;
    Start {
        stream,
        buffer: leftover,
        peer,
        subprotocol: prepared.subprotocol,
        settings: SessionSettings {
            max_message: options.max_message.unwrap_or(config.ws_max_message),
            max_queue: options.max_queue.unwrap_or(config.ws_max_queue),
            idle_timeout: config.ws_idle_timeout,
            close_timeout: config.ws_close_timeout,
            stall_timeout: config.timeout,
            burst: config.burst,
        },
        drain: seat.drain().clone(),
        run: prepared.start,
    }
}
