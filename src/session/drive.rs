//! The session's state machine: readiness in, messages out.
//!
//! It lives on the heap and has no stack of its own: whoever owns the connection just now calls [`Drive::step`] and
//! waits as the answer says. On a green thread that is `recv` or the callback loop; nothing here assumes one.
//!
//! ```text
//!            message            Close, fault, end of stream, idle, drain, closed by a Sender
//!   Open ------------> Open     Open ------------------------------------------------------> Ended(why)
//!
//!   Ended: our Close goes out; then, unless theirs has come, theirs is awaited (Drive::linger), data is ignored
//! ```

use super::shared::{SessionSettings, Shared};
use crate::net::buffer::{Filled, ReadBuffer};
use crate::net::drain::Drain;
use crate::net::stream::Stream;
use crate::outbox::Flushed;
use greenroom_ws::{CloseCode, CloseFrame, Event, Limits, Message, Protocol, ProtocolError, Role};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A session looks for a silent peer this many times per idle time-out, so that no clock is read for each message.
const IDLE_CHECKS: u32 = 4;
/// Pings that may come at once, and then per second, before the session is closed with 1008.
const PING_BURST: u32 = 100;
const PINGS_PER_SECOND: u32 = 10;
/// Reads after the end before others get their turn.
const LINGER_READS: u32 = 16;

/// What to do next.
pub(super) enum Step {
    /// Hand it to the handler, then step again.
    Message(Message),
    /// Wait until the socket is ready, the session is woken, or the time has come.
    Wait { until: Option<Instant> },
    /// Let others have the worker, then step again.
    Yield,
    /// Nothing more will come; the reason is kept and given again by every later step.
    Ended,
}

/// What [`Drive::linger`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linger {
    /// The peer's Close or the end of the stream: nothing more is to be waited for.
    Over,
    /// Nothing now.
    Drained,
    /// There may be more at once.
    More,
}

/// Why a session has ended, as its handler is told.
#[derive(Clone, Debug)]
pub(super) enum Ended {
    /// The peer sent a Close.
    ByPeer(Option<CloseFrame>),
    /// This side queued a Close: a `close` call or a drain.
    Here,
    /// This side gave the peer up: its outbox was full or stalled.
    TooSlow,
    /// The peer broke the protocol.
    Fault(CloseCode),
    /// The connection ended without a Close (1006, RFC 6455 section 7.1.5).
    Lost,
    /// Nothing was heard for the idle time-out.
    Idle,
}

/// One session's protocol state, its partly read input and its deadlines.
pub(super) struct Drive {
    protocol: Protocol,
    buffer: ReadBuffer,
    pub(super) ended: Option<Ended>,
    drain: Arc<Drain>,
    /// When to look next whether anything was heard.
    idle_check: Option<Instant>,
    idle_every: Duration,
    silent_checks: u8,
    heard: bool,
    /// Callback sessions stop reading while their outbox is full; a loop handler's `send` parks by itself.
    holds_when_full: bool,
    /// Reads and messages since the last wait.
    busy: u32,
    burst: u32,
    pings: PingBudget,
}

impl Drive {
    pub(super) fn new(
        settings: &SessionSettings,
        buffer: ReadBuffer,
        drain: Arc<Drain>,
        holds_when_full: bool,
    ) -> Self {
        let idle_every = settings.idle_timeout / IDLE_CHECKS;
        Self {
            protocol: Protocol::new(Role::Server, Limits::new(settings.max_message)),
            buffer,
            ended: None,
            drain,
            idle_check: if idle_every.is_zero() {
                None
            } else {
                Instant::now().checked_add(idle_every)
            },
            idle_every,
            silent_checks: 0,
            heard: true,
            holds_when_full,
            busy: 0,
            burst: settings.burst,
            pings: PingBudget::default(),
        }
    }

    /// Goes on until there is something to do for the caller. `timed_out`: the time of the last `Wait` has come.
    pub(super) fn step(&mut self, stream: &Stream, shared: &Arc<Shared>, timed_out: bool) -> Step {
        if self.ended.is_some() {
            return Step::Ended;
        }
        if timed_out && self.is_idle() {
            shared.outbox.abandon(CloseCode::POLICY_VIOLATION, "idle");
            return self.end(Ended::Idle);
        }
        if self.drain.is_draining() {
            shared
                .outbox
                .close(Some(CloseCode::GOING_AWAY), "the server is stopping");
        }
        // What came before the connection failed is still handed out.
        if !shared.outbox.is_open() && !shared.outbox.is_lost() {
            let too_slow = shared.outbox.close_code() == Some(CloseCode::TRY_AGAIN_LATER);
            return self.end(if too_slow { Ended::TooSlow } else { Ended::Here });
        }
        if shared.outbox.is_blocked() && !stream.is_write_blocked() {
            shared.ring();
        }
        loop {
            // Written out here rather than at the park: if the socket takes it all no event will come.
            if self.holds_when_full
                && shared.outbox.is_full()
                && let Ok(Flushed::Blocked) = shared.outbox.flush(stream)
                && shared.outbox.is_full()
            {
                return self.wait();
            }
            while !self.buffer.is_empty() && self.busy <= self.burst {
                self.busy += 1;
                match self.decode(shared) {
                    Ok(Some(message)) => return Step::Message(message),
                    Ok(None) if self.ended.is_some() => return Step::Ended,
                    Ok(None) => {}
                    Err(error) => {
                        tracing::debug!(session = shared.id, %error, "the peer broke the WebSocket protocol");
                        shared.outbox.close(Some(error.close_code()), "");
                        return self.end(Ended::Fault(error.close_code()));
                    }
                }
            }
            if self.busy > self.burst {
                self.busy = 0;
                return Step::Yield;
            }
            match self.buffer.fill(stream) {
                Ok(Filled::Bytes(_)) => {
                    self.heard = true;
                    self.busy += 1;
                }
                Ok(Filled::Nothing) if shared.outbox.is_lost() => return self.end(Ended::Lost),
                Ok(Filled::Nothing) => return self.wait(),
                Ok(Filled::End) | Err(_) => return self.end(Ended::Lost),
                // The protocol takes all there is: the buffer is empty here.
                Ok(Filled::Full) => return self.end(Ended::Lost),
            }
        }
    }

    /// After the end: takes some of what the peer still sends and drops it. A peer that sends without end must not keep
    /// the worker, so this comes back after a few reads, to be called again.
    ///
    /// # Errors
    /// The connection has failed.
    pub(super) fn linger(&mut self, stream: &Stream) -> io::Result<Linger> {
        for _ in 0..LINGER_READS {
            while !self.buffer.is_empty() {
                let step = self.protocol.decode(self.buffer.unread_mut());
                // A fault after our Close is no news: only the end of the stream matters then.
                let closed = matches!(step.event, Ok(Some(Event::Close(_))));
                let consumed = step.consumed;
                self.buffer.consume(consumed);
                if closed {
                    return Ok(Linger::Over);
                }
            }
            match self.buffer.fill(stream)? {
                Filled::Bytes(_) => {}
                Filled::Nothing => {
                    self.buffer.park();
                    return Ok(Linger::Drained);
                }
                Filled::End | Filled::Full => return Ok(Linger::Over),
            }
        }
        Ok(Linger::More)
    }

    /// Our Close has gone out: data is ignored from here on (RFC 6455 section 5.5.1).
    pub(super) fn close_sent(&mut self) {
        self.protocol.close_sent();
    }

    /// True if the server's stop has used up its budget: nothing is waited for any more.
    pub(super) fn is_dropping(&self) -> bool {
        self.drain.is_dropping()
    }

    /// True if the peer's Close has come.
    pub(super) fn peer_has_closed(&self) -> bool {
        matches!(self.ended, Some(Ended::ByPeer(_)))
    }

    fn end(&mut self, why: Ended) -> Step {
        self.ended = Some(why);
        Step::Ended
    }

    fn wait(&mut self) -> Step {
        self.busy = 0;
        self.buffer.park();
        Step::Wait {
            until: self.idle_check,
        }
    }

    /// Takes one event's worth of bytes.
    fn decode(&mut self, shared: &Arc<Shared>) -> Result<Option<Message>, ProtocolError> {
        let step = self.protocol.decode(self.buffer.unread_mut());
        let consumed = step.consumed;
        let mut message = None;
        match step.event? {
            None => {}
            Some(Event::Message(received)) => message = Some(received.into_message()),
            Some(Event::Ping(payload)) => {
                if self.pings.spend() {
                    shared.outbox.pong(payload);
                    shared.ring();
                } else {
                    shared
                        .outbox
                        .close(Some(CloseCode::POLICY_VIOLATION), "too many pings");
                    self.ended = Some(Ended::Fault(CloseCode::POLICY_VIOLATION));
                }
            }
            Some(Event::Pong(_)) => {}
            Some(Event::Close(frame)) => {
                // The same code back (RFC 6455 section 5.5.1); behind what is queued, since the peer still reads.
                shared.outbox.close(frame.as_ref().map(|frame| frame.code), "");
                self.ended = Some(Ended::ByPeer(frame));
            }
        }
        self.buffer.consume(consumed);
        Ok(message)
    }

    /// The idle check is due: has the peer been silent for the whole time-out?
    fn is_idle(&mut self) -> bool {
        let Some(due) = self.idle_check else { return false };
        let now = Instant::now();
        if now < due {
            return false;
        }
        self.silent_checks = if std::mem::take(&mut self.heard) {
            0
        } else {
            self.silent_checks + 1
        };
        self.idle_check = now.checked_add(self.idle_every);
        u32::from(self.silent_checks) >= IDLE_CHECKS
    }
}

/// How many more pings are answered (RUSTSEC-2020-0043 is what happens to those who answer all).
#[derive(Default)]
struct PingBudget {
    /// When the budget would be full again, if no more pings came; `None` before the first.
    full_at: Option<Instant>,
}

impl PingBudget {
    fn spend(&mut self) -> bool {
        let now = Instant::now();
        let one = Duration::from_secs(1) / PINGS_PER_SECOND;
        let full_at = self.full_at.map_or(now, |at| at.max(now)) + one;
        self.full_at = Some(full_at);
        full_at - now <= one * PING_BURST
    }
}
