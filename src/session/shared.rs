//! The half of a session that other threads may reach: its outbox, and the bell that has it written out.

use super::handle::SessionRef;
use super::stalled;
use crate::net::stream::Stream;
use crate::outbox::{Entry, Flushed, Outbox, SendStatus};
use crate::rt::{self, Green, Owned, Rung};
use greenroom_ws::{CloseCode, EncodedFrame};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The bounds of one session, from its route and the server's configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionSettings {
    /// Longest message in bytes.
    pub(crate) max_message: usize,
    /// Bytes that may wait in the outbox.
    pub(crate) max_queue: usize,
    /// Nothing heard for this long: dropped. Zero: never.
    pub(crate) idle_timeout: Duration,
    /// How long the peer may take to answer a Close.
    pub(crate) close_timeout: Duration,
    /// How long the peer may take no bytes while the handler waits for room in the outbox.
    pub(crate) stall_timeout: Duration,
    /// Messages in a row before the other connections of the worker get their turn.
    pub(crate) burst: u32,
}

/// What is to follow a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing: it goes out with what was pushed before.
    Nothing,
    /// [`rt::post_all`] of the session to its worker.
    Ring,
    /// [`Shared::flush`], since this is its worker and much waits: the doorbell may have its turn only when the outbox is
    /// full.
    Flush,
}

/// What every handle to a session shares.
pub(crate) struct Shared {
    pub(crate) id: u64,
    pub(crate) peer: SocketAddr,
    pub(crate) subprotocol: Option<Box<str>>,
    pub(crate) outbox: Outbox,
    pub(crate) green: Green,
    stream: Owned<Stream>,
    /// A ring is under way: no second one is needed.
    ringing: AtomicBool,
    /// It is on its worker's list of sessions to be tried again.
    stalled: AtomicBool,
}

impl Shared {
    /// Shares the session of the calling green thread.
    pub(crate) fn new(
        stream: Rc<Stream>,
        peer: SocketAddr,
        subprotocol: Option<Box<str>>,
        settings: &SessionSettings,
    ) -> Arc<Self> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            peer,
            subprotocol,
            outbox: Outbox::new(settings.max_queue),
            green: Green::current(),
            stream: Owned::new(stream),
            ringing: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
        })
    }

    /// The worker that owns the session's socket.
    pub(crate) fn worker(&self) -> usize {
        self.stream.worker()
    }

    /// Pushes for somebody else and rings; never waits.
    pub(crate) fn send(self: &Arc<Self>, entry: Entry) -> SendStatus {
        let status = self.outbox.push(entry);
        if status != SendStatus::Closed {
            self.ring();
        }
        status
    }

    /// Pushes on the session's own worker, where what waits can be written out before the outbox is found full.
    pub(crate) fn send_here(self: &Arc<Self>, entry: Entry) -> SendStatus {
        let status = match self.outbox.try_push(entry) {
            Ok((SendStatus::Closed, _)) => return SendStatus::Closed,
            Ok((status, cost)) if self.outbox.is_marked(cost) => {
                self.flush();
                return status;
            }
            Ok((status, _)) => status,
            Err(back) => {
                self.flush();
                self.outbox.push(back)
            }
        };
        self.ring();
        status
    }

    /// Pushes a shared frame and says what the caller has to do about it, once it holds no lock.
    pub(crate) fn push_shared(&self, frame: &EncodedFrame, here: bool) -> (SendStatus, Due) {
        let (status, cost) = self.outbox.push_costing(Entry::shared(frame));
        let due = if status == SendStatus::Closed {
            Due::Nothing
        } else if here && status == SendStatus::Sent && self.outbox.is_marked(cost) {
            Due::Flush
        } else if self.must_ring() {
            Due::Ring
        } else {
            Due::Nothing
        };
        (status, due)
    }

    /// Pushes a shared frame without ringing.
    pub(crate) fn push_shared_quietly(&self, frame: &EncodedFrame) -> SendStatus {
        self.outbox.push(Entry::shared(frame))
    }

    /// Queues a Close and rings.
    pub(crate) fn close(self: &Arc<Self>, code: Option<CloseCode>, reason: &str) {
        self.outbox.close(code, reason);
        self.ring();
    }

    /// Has the owner write the outbox out.
    pub(crate) fn ring(self: &Arc<Self>) {
        if self.must_ring() {
            rt::post(self.worker(), self.clone());
        }
    }

    fn must_ring(&self) -> bool {
        // A look first: while the bell rings already the line is only read, so that publishers don't fight for it.
        !self.ringing.load(Ordering::Acquire) && !self.ringing.swap(true, Ordering::AcqRel)
    }

    /// Writes the outbox out; the owner only (elsewhere, and after the end, it does nothing).
    pub(crate) fn flush(self: &Arc<Self>) {
        let Some(stream) = self.stream.get() else { return };
        stream.look_for_room();
        match self.outbox.flush(&stream) {
            Ok(Flushed::Blocked) if self.outbox.is_open() => self.watch(&stream),
            Ok(Flushed::All) if self.outbox.is_open() => {}
            // A Close is under way, or the connection has failed: the session has to look, and to watch the time.
            _ => self.green.wake(),
        }
    }

    /// The socket is full: if the session's green thread doesn't wait for it, somebody else has to.
    pub(super) fn watch(self: &Arc<Self>, stream: &Stream) {
        if !stream.is_waiting() && !self.stalled.swap(true, Ordering::Relaxed) {
            stalled::watch(self);
        }
    }

    /// One more try; false when the session needs no more of them.
    pub(super) fn is_still_stalled(self: &Arc<Self>) -> bool {
        if self.stream.get().is_some_and(|stream| !stream.is_waiting()) {
            self.flush();
            if self.outbox.is_blocked() && self.outbox.is_open() {
                return true;
            }
        }
        self.stalled.store(false, Ordering::Relaxed);
        false
    }

    /// The end: the socket is given up and everything that still waits is dropped.
    pub(crate) fn shut(&self) {
        self.outbox.shut();
        drop(self.stream.take());
    }

    /// A handle that doesn't park.
    pub(crate) fn session_ref(self: &Arc<Self>) -> SessionRef {
        SessionRef::new(self.clone())
    }
}

impl Rung for Shared {
    fn rung(self: Arc<Self>) {
        // Before the look at the queue: a push that comes later rings again.
        self.ringing.store(false, Ordering::SeqCst);
        self.flush();
    }
}
