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
//! Answers to pipelined requests are collected and written together, in order. Memory is borrowed from the worker
//! while there is something to do (`net::buffer`, `server::scratch`), so that an idle connection is a stack and this
//! struct. Deadlines are absolute; the clock is read only when the connection is about to park.
//!
//! It doesn't read bodies (`server::incoming` does, when a handler asks) and knows nothing of WebSocket frames: after a
//! `101` it returns, and its caller goes on with the stream.

use crate::http::body::BodyDecoder;
use crate::http::encode::{self, Context};
use crate::http::head::{Framing, HeadError, Parse};
use crate::http::response::Response;
use crate::net::buffer::{Filled, ReadBuffer};
use crate::net::stream::Stream;
use crate::rt;
use crate::server::answer;
use crate::server::incoming::{BodyState, Leftover};
use crate::server::request::{Incoming, Request, RequestBody};
use crate::server::scratch;
use crate::server::shared::Shared;
use crate::server::upgrade::PreparedUpgrade;
use ::http::{Method, StatusCode, Version};
use std::any::Any;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Answers that are collected before they are written although more requests are there: the client can start on them,
/// and the buffer stays small.
const FLUSH_AT: usize = 32 * 1024;

/// A body up to this size is copied behind its head; a larger one is written from where it lies.
const COPIED_BODY: usize = 4 * 1024;

/// What is read and thrown away after an answer that the client may not have expected, so that the close that follows
/// doesn't reset the connection before the client has seen the answer (RFC 9112 section 9.6).
const LINGER_BYTES: usize = 256 * 1024;
const LINGER_TIME: Duration = Duration::from_secs(1);

/// One TCP peer in its HTTP phase.
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    pub(crate) buffer: ReadBuffer,
    pub(crate) shared: Arc<Shared>,
    /// The body of the request that is being handled, if it has one.
    pub(crate) body: Option<BodyState>,
    /// Requests since others had their turn.
    in_a_row: u32,
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
    pub(crate) stream: Stream,
    /// Bytes that came behind the request and belong to the session.
    pub(crate) leftover: ReadBuffer,
    pub(crate) prepared: Box<PreparedUpgrade>,
}

/// Why a connection leaves the loop.
enum End {
    /// Nothing more is to be said.
    Close,
    /// An answer was sent that the client has yet to see.
    Linger(Box<Connection>),
    Upgraded(Box<Upgraded>),
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
pub(crate) fn run(stream: Stream, peer: SocketAddr, shared: &Arc<Shared>) -> Outcome {
    let mut connection = Box::new(Connection {
        stream,
        buffer: ReadBuffer::new(),
        shared: shared.clone(),
        body: None,
        in_a_row: 0,
    });
    let mut request = Box::new(Request::new(
        Default::default(),
        RequestBody::Empty,
        peer,
        shared.app.state().clone(),
    ));
    // A peer that connects is expected to ask soon; one that has asked may come back later.
    let mut patience = shared.config.timeout;
    loop {
        if connection.await_request(patience).is_err() {
            return Outcome::Closed;
        }
        patience = shared.config.idle_timeout;
        let mut scratch = scratch::take();
        std::mem::swap(&mut request.head, &mut scratch.head);
        let flow = serve(connection, &mut request, shared, &mut scratch.out);
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

/// Answers what is in the buffer, until it is empty.
fn serve(
    mut connection: Box<Connection>,
    request: &mut Request,
    shared: &Arc<Shared>,
    out: &mut Vec<u8>,
) -> ControlFlow<End, Box<Connection>> {
    let mut head_deadline = None;
    loop {
        match request
            .head
            .parse(connection.buffer.unread(), &shared.head_limits)
        {
            Ok(Parse::Done(length)) => {
                head_deadline = None;
                connection.buffer.consume(length);
                shared.here().requests.add_one();
                connection = match request.head.framing() {
                    Framing::None | Framing::Length(0) => {
                        let response = call(request, shared);
                        answer(connection, request, response, shared, out)?
                    }
                    framing => with_body(connection, request, framing, shared, out)?,
                };
                connection.take_turns(out)?;
                if connection.buffer.is_empty() {
                    connection.flush(out)?;
                    return ControlFlow::Continue(connection);
                }
            }
            Ok(Parse::Partial) => {
                connection.flush(out)?;
                if connection.buffer.is_empty() {
                    return ControlFlow::Continue(connection);
                }
                match connection.await_head(&mut head_deadline) {
                    Ok(()) => {}
                    Err(Gone::Closed) => return ControlFlow::Break(End::Close),
                    Err(Gone::TimedOut) => {
                        let error = HeadError {
                            status: StatusCode::REQUEST_TIMEOUT,
                            reason: "the request head came too slowly",
                        };
                        return refuse(connection, error, false, shared, out);
                    }
                }
            }
            Err(error) => return refuse(connection, error, false, shared, out),
        }
    }
}

/// Serves a request that has a body: lends the connection to it, so that the handler can read.
fn with_body(
    mut connection: Box<Connection>,
    request: &mut Request,
    framing: Framing,
    shared: &Arc<Shared>,
    out: &mut Vec<u8>,
) -> ControlFlow<End, Box<Connection>> {
    let decoder = match BodyDecoder::new(framing, shared.config.max_body as u64) {
        Ok(decoder) => decoder,
        Err(error) => {
            let head_request = *request.method() == Method::HEAD;
            return refuse(connection, error, head_request, shared, out);
        }
    };
    let is_here = decoder
        .remaining()
        .is_some_and(|length| length <= connection.buffer.unread().len() as u64);
    if !is_here {
        // The client may wait for earlier answers before it sends the rest.
        connection.flush(out)?;
    }
    connection.body = Some(BodyState::new(decoder, request.head.expects_continue()));
    request.body = RequestBody::Incoming(Incoming::new(connection));
    let response = call(request, shared);
    let RequestBody::Incoming(incoming) = std::mem::replace(&mut request.body, RequestBody::Empty) else {
        // Nobody else can change the body; without its connection there is nothing to answer.
        return ControlFlow::Break(End::Close);
    };
    let lent: Box<dyn Any> = incoming.source;
    match lent.downcast::<Connection>() {
        Ok(connection) => answer(connection, request, response, shared, out),
        Err(_) => ControlFlow::Break(End::Close),
    }
}

/// Runs router, middleware and handler. A panic ends this request only.
fn call(request: &mut Request, shared: &Shared) -> Response {
    match catch_unwind(AssertUnwindSafe(|| shared.app.call(request))) {
        Ok(response) => response,
        Err(payload) => panicked(&*payload, shared),
    }
}

#[cold]
fn panicked(payload: &(dyn Any + Send), shared: &Shared) -> Response {
    shared.here().panics.add_one();
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no message");
    answer::internal_error(format_args!("the handler panicked: {text}")).closing()
}

/// Puts the answer into `out` and decides what becomes of the connection.
fn answer(
    mut connection: Box<Connection>,
    request: &mut Request,
    mut response: Response,
    shared: &Shared,
    out: &mut Vec<u8>,
) -> ControlFlow<End, Box<Connection>> {
    let prepared = request.upgrade.take();
    if !request.extensions.is_empty() {
        request.extensions.clear();
    }
    let leftover = connection.leftover();
    if leftover == Leftover::Gone {
        return ControlFlow::Break(End::Close);
    }
    let draining = shared.drain.is_draining();
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        match prepared {
            Some(prepared) if !draining && leftover == Leftover::Nothing => {
                return upgrade(connection, &response, prepared, out);
            }
            _ => response = unavailable(),
        }
    }
    let head = &request.head;
    let keep_alive =
        head.keep_alive() && !response.is_closing() && !draining && leftover != Leftover::TooMuch;
    let context = Context {
        head_request: *head.method() == Method::HEAD,
        http11: head.version() != Version::HTTP_10,
        keep_alive,
    };
    if encode::head(out, &response, context) {
        let body = response.body();
        if body.len() <= COPIED_BODY {
            out.extend_from_slice(body);
        } else {
            connection.send(out, body)?;
        }
    }
    drop(response);
    if out.len() >= FLUSH_AT {
        connection.flush(out)?;
    }
    if !keep_alive {
        connection.flush(out)?;
        // A client that asked for the close sends nothing more; any other may.
        let expected = !head.keep_alive() && leftover == Leftover::Nothing && connection.buffer.is_empty();
        return ControlFlow::Break(if expected {
            End::Close
        } else {
            End::Linger(connection)
        });
    }
    if leftover == Leftover::Little {
        connection.flush(out)?;
        if connection.discard_body().is_err() {
            return ControlFlow::Break(End::Close);
        }
    }
    ControlFlow::Continue(connection)
}

/// Sends the `101` and lets go of everything that belongs to HTTP.
#[cold]
fn upgrade(
    mut connection: Box<Connection>,
    response: &Response,
    prepared: Box<PreparedUpgrade>,
    out: &mut Vec<u8>,
) -> ControlFlow<End, Box<Connection>> {
    let context = Context {
        head_request: false,
        http11: true,
        keep_alive: true,
    };
    encode::head(out, response, context);
    connection.flush(out)?;
    let Connection { stream, buffer, .. } = *connection;
    ControlFlow::Break(End::Upgraded(Box::new(Upgraded {
        stream,
        leftover: buffer,
        prepared,
    })))
}

/// No new sessions while the server stops.
fn unavailable() -> Response {
    Response::error(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping\n")
        .with_header("retry-after", "5")
}

/// Answers a request that no handler sees, and closes.
#[cold]
fn refuse(
    mut connection: Box<Connection>,
    error: HeadError,
    head_request: bool,
    shared: &Shared,
    out: &mut Vec<u8>,
) -> ControlFlow<End, Box<Connection>> {
    shared.here().bad_requests.add_one();
    let response = encode::error_response(error);
    let context = Context {
        head_request,
        http11: true,
        keep_alive: false,
    };
    if encode::head(out, &response, context) {
        out.extend_from_slice(response.body());
    }
    connection.flush(out)?;
    ControlFlow::Break(End::Linger(connection))
}

impl Connection {
    /// Parks with nothing in hand until the first bytes of a request are there.
    fn await_request(&mut self, patience: Duration) -> Result<(), Gone> {
        let mut until = None;
        loop {
            match self.buffer.fill(&self.stream)? {
                Filled::Bytes(_) => return Ok(()),
                Filled::Nothing => {}
                Filled::End | Filled::Full => return Err(Gone::Closed),
            }
            if self.shared.drain.is_draining() {
                return Err(Gone::Closed);
            }
            self.wait(*until.get_or_insert_with(|| Instant::now() + patience))?;
        }
    }

    /// Parks until more of a head is there. The deadline is set by the first call for that head.
    fn await_head(&mut self, deadline: &mut Option<Instant>) -> Result<(), Gone> {
        loop {
            match self.buffer.fill(&self.stream)? {
                Filled::Bytes(_) => return Ok(()),
                Filled::Nothing => {}
                Filled::Full if self.buffer.grow(self.shared.head_limits.max_bytes) => continue,
                Filled::End | Filled::Full => return Err(Gone::Closed),
            }
            let timeout = self.shared.config.timeout;
            self.wait(*deadline.get_or_insert_with(|| Instant::now() + timeout))?;
        }
    }

    /// Parks until the stream has news, at most until `until`; holds no more memory meanwhile than it must.
    pub(crate) fn wait(&mut self, until: Instant) -> Result<(), Gone> {
        if self.shared.drain.is_dropping() {
            return Err(Gone::Closed);
        }
        self.buffer.park();
        let wake = self.stream.wait(Some(until));
        if wake.timed_out && !self.stream.is_readable() {
            return Err(Gone::TimedOut);
        }
        Ok(())
    }

    /// Writes the answers that were collected; parks while the peer takes nothing.
    fn flush(&mut self, out: &mut Vec<u8>) -> ControlFlow<End> {
        if out.is_empty() {
            ControlFlow::Continue(())
        } else {
            self.send(out, &[])
        }
    }

    /// Writes the answers that were collected and a body behind them.
    fn send(&mut self, out: &mut Vec<u8>, body: &[u8]) -> ControlFlow<End> {
        let sent = self.write_all(out, body);
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
                    let until = *stalled_at.get_or_insert_with(|| Instant::now() + timeout);
                    self.buffer.park();
                    let wake = self.stream.wait(Some(until));
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
    fn take_turns(&mut self, out: &mut Vec<u8>) -> ControlFlow<End> {
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
                Ok(Filled::Nothing) if self.wait(until).is_ok() => {}
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
