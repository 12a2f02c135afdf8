//! The HTTP phase of one connection, on its own green thread: from bytes to handler and back (RFC 9112).
//!
//! ```text
//!            bytes                      head complete
//!   idle ------------> reading a head ----------------> handler ---> answer in `out`
//!    ^                                                                     |
//!    |   all answered: `out` is written in one go                          |
//!    +---------------------------------------------------------------------+
//! ```
//!
//! Here are its waits, writes and deadlines; what lies between a request and its answer is in `server::exchange`. Memory
//! is borrowed from the worker while there is something to do (`net::buffer`, `server::scratch`), so that an idle
//! connection is a stack and this struct. Deadlines are absolute; the clock is read only when the connection is about
//! to park.
//!
//! It doesn't read bodies (`server::incoming` does, when a handler asks) and knows nothing of WebSocket frames: after a
//! `101` it returns, and its caller goes on with the stream.

use crate::net::buffer::{Filled, ReadBuffer};
use crate::net::outgoing;
use crate::net::stream::Stream;
use crate::rt;
use crate::server::exchange::{self, End};
use crate::server::incoming::BodyState;
use crate::server::request::{Request, RequestBody};
use crate::server::scratch;
use crate::server::shared::Shared;
use crate::server::upgrade::PreparedUpgrade;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is read and thrown away after an answer that the client may not have expected, so that the close that follows
/// doesn't reset the connection before the client has seen the answer (RFC 9112 section 9.6).
const LINGER_BYTES: usize = 256 * 1024;
const LINGER_TIME: Duration = Duration::from_secs(1);

/// One TCP peer in its HTTP phase.
pub(crate) struct Connection {
    pub(crate) stream: Rc<Stream>,
    pub(crate) buffer: ReadBuffer,
    pub(crate) shared: Arc<Shared>,
    /// The body of the request that is being handled, if it has one.
    pub(crate) body: Option<BodyState>,
    /// Requests since others had their turn.
    in_a_row: u32,
    patience: Patience,
}

/// How long a connection without a request is still waited for. A request sets a flag and reads no clock: the time is
/// looked at [`CHECKS`](Self::CHECKS) times per idle time-out, so an idle connection lives at most that part longer.
struct Patience {
    /// When to look next.
    check: Option<Instant>,
    every: Duration,
    /// Looks in a row without a request that end the connection.
    most: u8,
    silent: u8,
    served: bool,
}

impl Patience {
    const CHECKS: u8 = 4;

    /// For the first request: one look, at the end.
    fn first(timeout: Duration) -> Self {
        Self {
            check: None,
            every: timeout,
            most: 1,
            silent: 0,
            served: false,
        }
    }

    /// A request has been served.
    fn renew(&mut self, idle_timeout: Duration) {
        self.served = true;
        if self.most == 1 {
            self.most = Self::CHECKS;
            self.every = idle_timeout / u32::from(Self::CHECKS);
            self.check = None;
        }
    }

    /// Until when to wait; `None`: for as long as it takes.
    fn until(&mut self) -> Option<Instant> {
        if self.check.is_none() {
            self.check = Instant::now().checked_add(self.every);
        }
        self.check
    }

    /// The time has come: is the patience at its end?
    fn is_over(&mut self) -> bool {
        self.check = None;
        self.silent = if std::mem::take(&mut self.served) {
            0
        } else {
            self.silent + 1
        };
        self.silent >= self.most
    }
}

/// How the HTTP phase ended.
pub(crate) enum Outcome {
    /// The connection is closed.
    Closed,
    /// The `101` is on its way: the stream is a WebSocket session's from now on.
    Upgraded(Box<Upgraded>),
}

/// What an upgrade leaves behind.
pub(crate) struct Upgraded {
    pub(crate) stream: Rc<Stream>,
    /// Bytes that came behind the request and belong to the session.
    pub(crate) leftover: ReadBuffer,
    pub(crate) prepared: Box<PreparedUpgrade>,
}

/// Why waiting for the peer was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// A deadline passed.
    TimedOut,
    /// The peer has left, the connection has failed, or the server drops what is left.
    Closed,
}

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Gone {
        // Whatever the kernel says of a connection that can't be used: there is nobody left to tell.
        Gone::Closed
    }
}

/// Serves the requests of `stream` until it is closed or upgraded.
///
/// Not inlined: its frame must be gone when a session goes on with the stream for hours.
#[inline(never)]
pub(crate) fn run(stream: Rc<Stream>, peer: SocketAddr, shared: &Arc<Shared>) -> Outcome {
    let mut connection = Box::new(Connection {
        stream,
        buffer: ReadBuffer::new(),
        shared: shared.clone(),
        body: None,
        in_a_row: 0,
        // A peer that connects is expected to ask soon; one that has asked may come back later.
        patience: Patience::first(shared.config.timeout),
    });
    let mut request = Box::new(Request::new(
        Default::default(),
        RequestBody::Empty,
        peer,
        shared.app.state().clone(),
    ));
    loop {
        if connection.await_request().is_err() {
            // The last answer may still be on its way.
            let _ = connection.settle();
            return Outcome::Closed;
        }
        connection.patience.renew(shared.config.idle_timeout);
        let mut scratch = scratch::take();
        std::mem::swap(&mut request.head, &mut scratch.head);
        let flow = exchange::serve(connection, &mut request, shared, &mut scratch.out);
        std::mem::swap(&mut request.head, &mut scratch.head);
        scratch::put(scratch);
        match flow {
            ControlFlow::Continue(still_open) => connection = still_open,
            ControlFlow::Break(End::Close) => return Outcome::Closed,
            ControlFlow::Break(End::Linger(mut connection)) => {
                connection.linger();
                return Outcome::Closed;
            }
            ControlFlow::Break(End::Upgraded(upgraded)) => return Outcome::Upgraded(upgraded),
        }
    }
}

impl Connection {
    /// Parks with nothing in hand until the first bytes of a request are there.
    fn await_request(&mut self) -> Result<(), Gone> {
        loop {
            self.finish_unsent()?;
            match self.buffer.fill(&self.stream)? {
                Filled::Bytes(_) => return Ok(()),
                Filled::Nothing => {}
                Filled::End | Filled::Full => return Err(Gone::Closed),
            }
            if self.shared.drain.is_draining() {
                return Err(Gone::Closed);
            }
            let until = self.patience.until();
            match self.wait(until) {
                Err(Gone::TimedOut) if !self.patience.is_over() => {}
                ended => ended?,
            }
        }
    }

    /// Parks until more of a head is there. The deadline is set by the first call for that head.
    pub(crate) fn await_head(&mut self, deadline: &mut Option<Instant>) -> Result<(), Gone> {
        loop {
            match self.buffer.fill(&self.stream)? {
                Filled::Bytes(_) => return Ok(()),
                Filled::Nothing => {}
                Filled::Full if self.buffer.grow(self.shared.head_limits.max_bytes) => continue,
                Filled::End | Filled::Full => return Err(Gone::Closed),
            }
            let timeout = self.shared.config.timeout;
            if deadline.is_none() {
                *deadline = Instant::now().checked_add(timeout);
            }
            self.wait(*deadline)?;
        }
    }

    /// Parks until the stream has news, at most until `until`; holds no more memory meanwhile than it must.
    pub(crate) fn wait(&mut self, until: Option<Instant>) -> Result<(), Gone> {
        if self.shared.drain.is_dropping() {
            return Err(Gone::Closed);
        }
        self.buffer.park();
        let wake = self.stream.wait(until);
        if wake.timed_out && !self.stream.is_readable() {
            return Err(Gone::TimedOut);
        }
        Ok(())
    }

    /// Writes the answers that were collected, as the last thing before the connection waits: small ones together with
    /// those of other connections.
    pub(crate) fn leave(&mut self, out: &mut Vec<u8>) -> ControlFlow<End> {
        if out.len() > outgoing::LONGEST {
            return self.send(out, &[]);
        }
        if !out.is_empty() {
            outgoing::leave(&self.stream, out);
            out.clear();
        }
        ControlFlow::Continue(())
    }

    /// Sees to it that everything that was left for the connection's stream is written.
    pub(crate) fn settle(&mut self) -> Result<(), Gone> {
        outgoing::flush();
        self.finish_unsent()
    }

    /// Goes on where an answer that was left did not fit.
    fn finish_unsent(&mut self) -> Result<(), Gone> {
        match self.stream.take_unsent() {
            Some(unsent) => self.write_all(&unsent, &[]),
            None => Ok(()),
        }
    }

    /// Writes the answers that were collected; parks while the peer takes nothing.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) -> ControlFlow<End> {
        if out.is_empty() {
            ControlFlow::Continue(())
        } else {
            self.send(out, &[])
        }
    }

    /// Writes the answers that were collected and a body behind them.
    pub(crate) fn send(&mut self, out: &mut Vec<u8>, body: &[u8]) -> ControlFlow<End> {
        let sent = self.settle().and_then(|()| self.write_all(out, body));
        out.clear();
        match sent {
            Ok(()) => ControlFlow::Continue(()),
            Err(gone) => {
                if gone == Gone::TimedOut {
                    // Without this the system would go on keeping what the peer doesn't take.
                    self.stream.reset_on_close();
                }
                ControlFlow::Break(End::Close)
            }
        }
    }

    /// Writes both, in one system call if the peer takes them; the time-out counts from the last byte it took.
    pub(crate) fn write_all(&mut self, head: &[u8], body: &[u8]) -> Result<(), Gone> {
        let total = head.len() + body.len();
        let mut written = 0;
        let mut stalled_at = None;
        while written < total {
            let progress = match head.get(written..) {
                Some(rest) if body.is_empty() => self.stream.try_write(rest)?,
                Some(rest) => self
                    .stream
                    .try_write_vectored(&[IoSlice::new(rest), IoSlice::new(body)])?,
                None => self.stream.try_write(&body[written - head.len()..])?,
            };
            match progress {
                Some(count) => {
                    written += count;
                    stalled_at = None;
                }
                None => {
                    if self.shared.drain.is_dropping() {
                        return Err(Gone::Closed);
                    }
                    let timeout = self.shared.config.timeout;
                    if stalled_at.is_none() {
                        stalled_at = Instant::now().checked_add(timeout);
                    }
                    self.buffer.park();
                    let wake = self.stream.wait(stalled_at);
                    if wake.timed_out && self.stream.is_write_blocked() {
                        return Err(Gone::TimedOut);
                    }
                }
            }
        }
        Ok(())
    }

    /// Lets the worker's other green threads run once this connection had its share. Waits in between don't count: one
    /// that ends at once, since the next request is there already, lets nobody run.
    pub(crate) fn take_turns(&mut self, out: &mut Vec<u8>) -> ControlFlow<End> {
        self.in_a_row += 1;
        if self.in_a_row >= self.shared.config.burst {
            self.flush(out)?;
            self.in_a_row = 0;
            rt::yield_now();
        }
        ControlFlow::Continue(())
    }

    /// Finishes sending, then reads and throws away a little, so that the client can see the last answer (H32).
    fn linger(&mut self) {
        if self.stream.shutdown_write().is_err() {
            return;
        }
        let until = Instant::now() + LINGER_TIME.min(self.shared.config.timeout);
        let mut read = self.buffer.unread().len();
        while read < LINGER_BYTES {
            self.buffer.consume(self.buffer.unread().len());
            match self.buffer.fill(&self.stream) {
                Ok(Filled::Bytes(count)) => read += count,
                Ok(Filled::Nothing) if self.wait(Some(until)).is_ok() => {}
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_is_small() {
        let size = size_of::<Connection>() + size_of::<Request>();
        assert!(size <= 1024, "{size} bytes");
    }
}
