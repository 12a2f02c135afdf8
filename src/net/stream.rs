//! One TCP connection as its green thread sees it.

use crate::rt::{self, Socket, Wake};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::os::fd::{OwnedFd, RawFd};
use std::time::Instant;

/// A connected TCP socket with what is known of its readiness, so that no system call is made that would only say
/// EAGAIN. Interior mutability: all methods take `&self`; not `Send`, stays on its worker.
pub struct Stream {
    socket: Socket,
    readable: Cell<bool>,
    writable: Cell<bool>,
    hangup: Cell<bool>,
}

impl Stream {
    pub fn new(_fd: OwnedFd) -> io::Result<Stream> {
        todo!()
    }
    pub fn fd(&self) -> RawFd {
        todo!()
    }
    /// Reads what is there: `Ok(None)` = nothing now; `Ok(Some(0))` = end. A read shorter than `buf` clears
    /// readability (edge-triggered: the next byte brings an event) unless a hang-up was seen.
    pub fn try_read(&self, _buf: &mut [u8]) -> io::Result<Option<usize>> {
        todo!()
    }
    /// Writes what fits: `Ok(None)` = nothing fits now. MSG_NOSIGNAL.
    pub fn try_write(&self, _buf: &[u8]) -> io::Result<Option<usize>> {
        todo!()
    }
    pub fn try_write_vectored(&self, _bufs: &[IoSlice]) -> io::Result<Option<usize>> {
        todo!()
    }
    /// True if the last write found the socket full and no writable event has come since.
    pub fn is_write_blocked(&self) -> bool {
        todo!()
    }
    pub fn set_write_blocked(&self) {
        todo!()
    }
    /// Parks; folds what it learns into the readiness flags.
    pub fn wait(&self, _until: Option<Instant>) -> Wake {
        todo!()
    }
    /// Parks until something was read; ErrorKind::TimedOut at `until`.
    pub fn read(&self, _buf: &mut [u8], _until: Option<Instant>) -> io::Result<usize> {
        todo!()
    }
    /// Parks until all of `bufs` is written; ErrorKind::TimedOut if the peer takes nothing for `stall`.
    pub fn write_all(&self, _buf: &[u8], _stall: std::time::Duration) -> io::Result<()> {
        todo!()
    }
    pub fn write_all_vectored(
        &self,
        _head: &[u8],
        _body: &[u8],
        _stall: std::time::Duration,
    ) -> io::Result<()> {
        todo!()
    }
    pub fn shutdown_write(&self) -> io::Result<()> {
        todo!()
    }
}
