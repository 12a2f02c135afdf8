//! What handlers and everybody else hold of a session.

use super::drive::{Drive, Ended, Step};
use super::shared::{SessionSettings, Shared};
use crate::error::{Error, Kind, Result};
use crate::net::stream::Stream;
use crate::outbox::{Entry, Flushed, SendStatus};
use crate::rt;
use greenroom_ws::{CloseCode, Message};
use std::cell::RefCell;
use std::fmt;
use std::net::SocketAddr;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// Everything of a session that only its own green thread touches.
pub(super) struct Inner {
    pub(super) shared: Arc<Shared>,
    pub(super) stream: Rc<Stream>,
    pub(super) drive: RefCell<Drive>,
    pub(super) settings: SessionSettings,
}

impl Inner {
    /// Steps the state machine until it has a message or has ended, parking in between.
    pub(super) fn next_message(&self) -> Option<Message> {
        let mut timed_out = false;
        loop {
            // The borrow ends with the statement: nothing is borrowed while the thread is parked.
            let step = self
                .drive
                .borrow_mut()
                .step(&self.stream, &self.shared, timed_out);
            timed_out = false;
            match step {
                Step::Message(message) => {
                    // From here on the handler may wait for anything.
                    if self.shared.outbox.is_blocked() {
                        self.shared.watch(&self.stream);
                    }
                    return Some(message);
                }
                // While the thread unwinds no wait parks: a destructor that receives would go round for ever.
                Step::Wait { .. } | Step::Yield if std::thread::panicking() => return None,
                Step::Wait { until } => timed_out = self.stream.wait(until).timed_out,
                Step::Yield => rt::yield_now(),
                Step::Ended => return None,
            }
        }
    }
}

/// A WebSocket session, as its loop handler holds it.
///
/// It belongs to the green thread that runs the handler and can't be sent to another; what others need is a
/// [`Sender`]. When the handler returns, the session is closed: with 1000 after `Ok`, with 1011 after `Err` or a panic.
///
/// ```no_run
/// use greenroom::{App, Config, Result, Session};
///
/// fn echo(session: Session) -> Result<()> {
///     while let Some(message) = session.recv()? {
///         session.send(message)?;
///     }
///     Ok(())
/// }
///
/// App::new().ws("/echo", echo).serve(Config::default())?;
/// # Ok::<(), greenroom::Error>(())
/// ```
pub struct Session {
    handle: SessionRef,
    inner: Rc<Inner>,
}

impl Session {
    pub(super) fn new(inner: Rc<Inner>) -> Self {
        Self {
            handle: inner.shared.session_ref(),
            inner,
        }
    }

    /// The next message; parks until there is one. `None`: the session was closed in order, by the peer, by
    /// [`SessionRef::close`] or because the server stops.
    ///
    /// Pings are answered and the outbox is written out meanwhile.
    ///
    /// # Errors
    /// [`Error::is_closed`]: the connection was lost, the peer broke the protocol or was too slow;
    /// [`Error::is_timeout`]: nothing was heard for the idle time-out. Every later call gives the same answer.
    pub fn recv(&self) -> Result<Option<Message>> {
        if let Some(message) = self.inner.next_message() {
            return Ok(Some(message));
        }
        match &self.inner.drive.borrow().ended {
            Some(Ended::ByPeer(_) | Ended::Here) => Ok(None),
            Some(Ended::TooSlow) => Err(Error::closed(Some(CloseCode::TRY_AGAIN_LATER))),
            Some(Ended::Fault(code)) => Err(Error::closed(Some(*code))),
            Some(Ended::Idle) => Err(Error::new(Kind::Timeout)),
            Some(Ended::Lost) | None => Err(Error::closed(None)),
        }
    }

    /// Sends a message to the peer; parks while the outbox is full, so that a peer that sends without reading meets
    /// TCP's backpressure. It goes out when the worker has handled what else is ready, in one write with its neighbours.
    ///
    /// # Errors
    /// [`Error::is_closed`]: the session is over, or the peer took nothing for the server's time-out and is being
    /// closed with 1013.
    pub fn send(&self, message: impl Into<Message>) -> Result<()> {
        let shared = &self.inner.shared;
        let mut entry = Entry::message(message.into());
        loop {
            match shared.outbox.try_push(entry) {
                Ok((SendStatus::Closed | SendStatus::Dropped, _)) => {
                    return Err(Error::closed(shared.outbox.close_code()));
                }
                Ok((SendStatus::Sent | SendStatus::Queued, cost)) => {
                    if shared.outbox.is_marked(cost) {
                        if self.flush()? == Flushed::Blocked {
                            shared.watch(&self.inner.stream);
                        }
                    } else {
                        shared.ring();
                    }
                    return Ok(());
                }
                Err(back) => entry = back,
            }
            self.make_room(&entry)?;
        }
    }

    fn flush(&self) -> Result<Flushed> {
        let flushed = self.inner.shared.outbox.flush(&self.inner.stream);
        flushed.map_err(|_| Error::closed(None))
    }

    /// Writes the outbox out until `entry` fits or the session is closing.
    #[cold]
    fn make_room(&self, entry: &Entry) -> Result<()> {
        let Inner {
            shared,
            stream,
            settings,
            ..
        } = &*self.inner;
        let mut until = Instant::now().checked_add(settings.stall_timeout);
        while self.flush()? == Flushed::Blocked && !shared.outbox.takes(entry) {
            if self.inner.drive.borrow().is_dropping() {
                return Err(Error::closed(Some(CloseCode::GOING_AWAY)));
            }
            let wake = stream.wait(until);
            if wake.writable {
                until = Instant::now().checked_add(settings.stall_timeout);
            } else if wake.timed_out {
                shared.outbox.abandon(CloseCode::TRY_AGAIN_LATER, "too slow");
                return Err(Error::closed(Some(CloseCode::TRY_AGAIN_LATER)));
            }
        }
        Ok(())
    }
}

impl Deref for Session {
    type Target = SessionRef;

    fn deref(&self) -> &SessionRef {
        &self.handle
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id())
            .field("peer", &self.peer())
            .finish_non_exhaustive()
    }
}

/// What callback handlers get and topics are joined with: a session without the calls that park.
///
/// A [`Session`] dereferences to it.
#[derive(Clone)]
pub struct SessionRef {
    shared: Arc<Shared>,
}

impl SessionRef {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// A number that no other session of this process has had.
    pub fn id(&self) -> u64 {
        self.shared.id
    }

    /// The address at the other end of the connection.
    pub fn peer(&self) -> SocketAddr {
        self.shared.peer
    }

    /// The subprotocol agreed on in the handshake, if any.
    pub fn subprotocol(&self) -> Option<&str> {
        self.shared.subprotocol.as_deref()
    }

    /// A handle for everybody else: clonable, for any thread.
    pub fn sender(&self) -> Sender {
        Sender {
            shared: self.shared.clone(),
        }
    }

    /// Sends a message without ever waiting. In a callback this is the session's own send; while its outbox is full
    /// the session's input is not read, so that an echoing handler doesn't fill it further.
    pub fn send(&self, message: impl Into<Message>) -> SendStatus {
        let entry = Entry::message(message.into());
        if rt::is_green() && rt::worker() == Some(self.shared.worker()) {
            self.shared.send_here(entry)
        } else {
            self.shared.send(entry)
        }
    }

    /// Starts the closing handshake; messages sent before still go out, later ones are refused. The handler's `recv`
    /// then answers `None`. A second close changes nothing.
    ///
    /// `reason` is cut to the 123 bytes that fit a Close frame (RFC 6455 section 5.5).
    pub fn close(&self, code: CloseCode, reason: &str) {
        self.shared.close(Some(code), reason);
    }

    /// False once the session is closing or closed.
    pub fn is_open(&self) -> bool {
        self.shared.outbox.is_open()
    }
}

impl fmt::Debug for SessionRef {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("SessionRef")
            .field("id", &self.id())
            .field("peer", &self.peer())
            .finish_non_exhaustive()
    }
}

/// Sends to one session from anywhere: other sessions, host threads, timers. Cheap to clone; keeping one doesn't keep
/// the session open.
///
/// ```no_run
/// use greenroom::{App, Config, Result, Session};
///
/// fn ticks(session: Session) -> Result<()> {
///     let sender = session.sender();
///     std::thread::spawn(move || {
///         while sender.send("tick").is_accepted() {
///             std::thread::sleep(std::time::Duration::from_secs(1));
///         }
///     });
///     while session.recv()?.is_some() {}
///     Ok(())
/// }
///
/// App::new().ws("/ticks", ticks).serve(Config::default())?;
/// # Ok::<(), greenroom::Error>(())
/// ```
#[derive(Clone)]
pub struct Sender {
    shared: Arc<Shared>,
}

impl Sender {
    /// The number of the session, see [`SessionRef::id`].
    pub fn id(&self) -> u64 {
        self.shared.id
    }

    /// Queues a message for the peer and never waits, whatever the peer does: the status says what happened.
    pub fn send(&self, message: impl Into<Message>) -> SendStatus {
        self.shared.send(Entry::message(message.into()))
    }

    /// Starts the closing handshake, see [`SessionRef::close`].
    pub fn close(&self, code: CloseCode, reason: &str) {
        self.shared.close(Some(code), reason);
    }

    /// False once the session is closing or closed.
    pub fn is_open(&self) -> bool {
        self.shared.outbox.is_open()
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Sender")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
