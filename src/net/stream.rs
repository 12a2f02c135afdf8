//! One TCP connection as its green thread sees it: reads and writes that never wait, and a wait.
//!
//! A [`Stream`] remembers what epoll last said, so that no system call is made only to hear `EAGAIN`. Events are
//! edge-triggered: after a read that was shorter than the room for it the socket is drained, and the next byte brings
//! an event. It has no buffers (see [`super::buffer`]), no deadlines of its own and knows no protocol.

use crate::rt::{Socket, Wake};
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};
use socket2::SockRef;
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A connected TCP socket with what is known of its readiness.
///
/// All methods take `&self`; it is not `Send` and stays on the worker that made it. Dropping it closes the socket.
pub(crate) struct Stream {
    socket: Socket,
    readable: Cell<bool>,
    writable: Cell<bool>,
    /// The peer has finished or the connection has failed: reads go on to the end whatever their length.
    hangup: Cell<bool>,
    /// Its green thread is in [`wait`](Self::wait): events are seen as they come.
    waiting: Cell<bool>,
    /// Left behind by [`write_or_keep`](Self::write_or_keep).
    unsent: Cell<Vec<u8>>,
    has_unsent: Cell<bool>,
}

impl Stream {
    /// Registers `fd` with the worker of the calling green thread and switches Nagle's algorithm off, since every
    /// write is a whole answer or a whole batch of them.
    ///
    /// # Errors
    /// What registration or the socket option failed with, `EMFILE` among them; `fd` is closed then.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Stream> {
        SockRef::from(&fd).set_tcp_nodelay(true)?;
        Ok(Stream {
            socket: Socket::register(fd)?,
            // A first read is tried without an event: most peers send their request right behind the connect.
            readable: Cell::new(true),
            writable: Cell::new(true),
            hangup: Cell::new(false),
            waiting: Cell::new(false),
            unsent: Cell::new(Vec::new()),
            has_unsent: Cell::new(false),
        })
    }

    /// True unless the last read drained the socket and no event has come since.
    pub(crate) fn is_readable(&self) -> bool {
        self.readable.get()
    }

    /// True if the last write found the socket full and no event has come since.
    pub(crate) fn is_write_blocked(&self) -> bool {
        !self.writable.get()
    }

    /// True while its green thread waits here, and so hears of its events.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.get()
    }

    /// For writes from outside the green thread: if that doesn't wait here it hears of no event, so whether there is
    /// room is found out by trying.
    pub(crate) fn look_for_room(&self) {
        if !self.waiting.get() {
            self.writable.set(true);
        }
    }

    /// Reads what is there into the spare capacity of `buf`: `Ok(None)` = nothing now, `Ok(Some(0))` = the peer has
    /// finished.
    ///
    /// `buf` must have spare capacity, or an end would be seen where there is none.
    ///
    /// # Errors
    /// The connection has failed.
    pub(crate) fn try_read(&self, buf: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let room = buf.capacity() - buf.len();
        debug_assert!(room > 0, "a read needs room");
        if !self.readable.get() {
            return Ok(None);
        }
        loop {
            // The second figure is for datagrams, which may be cut; on a stream both are the same.
            match rustix::net::recv(&self.socket, spare_capacity(buf), RecvFlags::empty()) {
                Ok((read, _)) => {
                    // A short read has drained the socket, but the end of the stream may be waiting behind it
                    // without an event of its own.
                    if read < room && !self.hangup.get() {
                        self.readable.set(read == 0);
                    }
                    return Ok(Some(read));
                }
                Err(Errno::AGAIN) => {
                    self.readable.set(false);
                    return Ok(None);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes what fits of `buf`: `Ok(None)` = nothing fits now. Never raises SIGPIPE.
    ///
    /// # Errors
    /// The connection has failed; `WriteZero` if the system took nothing of a buffer that isn't empty.
    pub(crate) fn try_write(&self, buf: &[u8]) -> io::Result<Option<usize>> {
        self.write_with(buf.len(), |socket| {
            rustix::net::send(socket, buf, SendFlags::NOSIGNAL)
        })
    }

    /// [`try_write`](Self::try_write) for several buffers in one system call.
    ///
    /// # Errors
    /// As [`try_write`](Self::try_write).
    pub(crate) fn try_write_vectored(&self, bufs: &[IoSlice]) -> io::Result<Option<usize>> {
        let total = bufs.iter().map(|buf| buf.len()).sum();
        self.write_with(total, |socket| {
            rustix::net::sendmsg(
                socket,
                bufs,
                &mut SendAncillaryBuffer::default(),
                SendFlags::NOSIGNAL,
            )
        })
    }

    fn write_with(
        &self,
        total: usize,
        send: impl Fn(&Socket) -> Result<usize, Errno>,
    ) -> io::Result<Option<usize>> {
        if total == 0 {
            return Ok(Some(0));
        }
        if !self.writable.get() {
            return Ok(None);
        }
        loop {
            match send(&self.socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    // A short write has filled the socket; room brings an event.
                    self.writable.set(written == total);
                    return Ok(Some(written));
                }
                Err(Errno::AGAIN) => {
                    self.writable.set(false);
                    return Ok(None);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Parks until the socket has news, the green thread is woken, or `until`; remembers what it learns. Spurious
    /// ends are possible: call it in a loop over a condition.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Wake {
        self.waiting.set(true);
        let wake = self.socket.wait(until);
        self.waiting.set(false);
        if wake.hangup {
            self.hangup.set(true);
        }
        if wake.readable || wake.hangup {
            self.readable.set(true);
        }
        if wake.writable || wake.hangup {
            self.writable.set(true);
        }
        wake
    }

    /// Writes what fits and keeps the rest for [`take_unsent`](Self::take_unsent), behind what was kept before. A failure
    /// is left for the connection to meet at its next read or write.
    pub(crate) fn write_or_keep(&self, bytes: &[u8]) {
        let written = if self.has_unsent.get() {
            0
        } else {
            match self.try_write(bytes) {
                Ok(written) => written.unwrap_or(0),
                Err(_) => return,
            }
        };
        if written < bytes.len() {
            let mut unsent = self.unsent.take();
            unsent.extend_from_slice(&bytes[written..]);
            self.unsent.set(unsent);
            self.has_unsent.set(true);
        }
    }

    /// What the socket did not take, to be written before anything else.
    pub(crate) fn take_unsent(&self) -> Option<Vec<u8>> {
        self.has_unsent.replace(false).then(|| self.unsent.take())
    }

    /// Sends FIN; reading goes on.
    ///
    /// # Errors
    /// The connection has failed already.
    pub(crate) fn shutdown_write(&self) -> io::Result<()> {
        SockRef::from(&self.socket).shutdown(Shutdown::Write)
    }

    /// Makes the close that follows a reset: what the peer hasn't taken is thrown away instead of being kept by the
    /// system for minutes. For peers that stopped reading.
    pub(crate) fn reset_on_close(&self) {
        // Failing means that the connection is gone already.
        let _ = SockRef::from(&self.socket).set_linger(Some(Duration::ZERO));
    }
}
