//! A socket that a green thread waits for.

use super::fd;
use super::green::{Me, Waiting};
use super::worker;
use may::io::{CoIo, WaitIo, WaitIoWaker};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Instant;

/// What ended a wait. Several may be true at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wake {
    /// Bytes may be read, or a connection accepted.
    pub(crate) readable: bool,
    /// Bytes may be written.
    pub(crate) writable: bool,
    /// The peer has closed its side or the connection failed (EPOLLRDHUP, EPOLLHUP, EPOLLERR): read to the end.
    pub(crate) hangup: bool,
    /// `Green::wake` was called since the last wait that told so.
    pub(crate) rung: bool,
    /// `until` has passed.
    pub(crate) timed_out: bool,
}

impl Wake {
    fn from_flags(flags: usize) -> Wake {
        let has = |mask: libc::c_int| flags & mask as usize != 0;
        Wake {
            readable: has(libc::EPOLLIN),
            writable: has(libc::EPOLLOUT),
            hangup: has(libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR),
            ..Wake::default()
        }
    }
}

/// A socket registered with the worker of the green thread that made it. Not `Send`: it is used, waited for and
/// dropped there. Drop deregisters, then closes.
pub(crate) struct Socket {
    // In this order: deregistered before it is closed, or the number could be somebody else's by then.
    io: CoIo<fd::Unowned>,
    waker: WaitIoWaker,
    fd: OwnedFd,
    _not_send: PhantomData<*const ()>,
}

impl Socket {
    /// Makes the fd non-blocking, moves it to an fd number that fits this worker, registers it (edge-triggered).
    ///
    /// # Errors
    /// What the kernel says; EMFILE when no fitting fd number is free. The fd is closed then.
    ///
    /// # Panics
    /// On a thread that is not a worker.
    pub(crate) fn register(fd: OwnedFd) -> io::Result<Socket> {
        let Some(local) = worker::local() else {
            panic!("not on a green thread")
        };
        let fd = fd::fit(fd, local.worker.index, super::workers())?;
        let io = CoIo::new(fd::Unowned(fd.as_raw_fd()))?;
        Ok(Socket {
            waker: io.waker(),
            io,
            fd,
            _not_send: PhantomData,
        })
    }

    /// Its number, for system calls.
    pub(crate) fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Parks until a new edge on the socket, a `Green::wake`, or `until`. An edge or a wake that came since the last
    /// wait ends it at once. Spurious ends are possible (all fields false).
    ///
    /// # Panics
    /// On a host thread.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Wake {
        let me = Me::current();
        if me.take_woken() {
            return Wake {
                rung: true,
                ..self.take_edges()
            };
        }
        let mut flags = 0;
        let ended = me.suspend(Waiting::Socket(&self.waker), until, || flags = self.io.wait_io());
        // Without a suspension there may still be edges to tell.
        let edges = if flags == 0 {
            self.take_edges()
        } else {
            Wake::from_flags(flags)
        };
        Wake {
            rung: me.take_woken(),
            timed_out: ended.timed_out,
            ..edges
        }
    }

    /// The edges since the last wait, without waiting.
    fn take_edges(&self) -> Wake {
        // Deprecated as something to do before each wait; as a look without waiting there is nothing else.
        #[allow(deprecated)]
        Wake::from_flags(self.io.reset_io())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Socket")
            .field("fd", &self.fd)
            .finish_non_exhaustive()
    }
}
