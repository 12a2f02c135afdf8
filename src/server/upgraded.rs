//! From the HTTP phase of a connection to its WebSocket session.

use crate::net::drain::Seat;
use crate::server::connection::Upgraded;
use crate::server::shared::Shared;
use std::net::SocketAddr;
use std::sync::Arc;

/// Runs the session that a route has prepared, on the connection's green thread, until it ends.
///
/// `seat` is the connection's: its [`Drain`](crate::net::drain::Drain) tells the session when the server stops, and
/// wakes this green thread then.
pub(crate) fn run(upgraded: Upgraded, _peer: SocketAddr, _seat: &Seat, _shared: &Arc<Shared>) {
    // Sessions are joined in here.
    drop(upgraded);
}
