//! A request on its way to its handler.

use crate::http::head::Head;
use bytes::Bytes;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// Values registered with `App::state`, by type.
pub type StateMap = HashMap<TypeId, Box<dyn Any + Send + Sync>>;

/// A request: head, path variables, body, peer.
pub struct Request {
    pub(crate) head: Head,
    pub(crate) params: Params,
    pub(crate) body: RequestBody,
    pub(crate) peer: SocketAddr,
    pub(crate) state: Arc<StateMap>,
}

/// Path variables of the matched route: name and raw (still encoded) range in the path.
#[derive(Default, Clone, Debug)]
pub struct Params {/* server/router owns the layout */}

/// Where the body comes from.
pub enum RequestBody {
    Empty,
    /// Read whole already (and what tests build).
    Whole(Bytes),
    /// Still on the connection; the server's connection module puts its stream here for the time of the handler.
    Incoming(Incoming),
}
/// Owned by the connection module.
pub struct Incoming {
    _p: (),
}

/// Why a body could not be read.
#[derive(Debug)]
pub enum BodyError {
    TooLarge,
    /// Malformed chunking.
    Malformed(&'static str),
    /// Too slow.
    TimedOut,
    /// The peer left.
    Closed,
    /// Process-wide upload memory used up.
    Overloaded,
}

impl Request {
    /// Reads the whole body once (sends 100 Continue first where asked for); a second call gives the same bytes.
    pub fn read_body(&mut self) -> Result<Bytes, BodyError> {
        todo!()
    }
}
