//! The outgoing queue of one session: bounded, shared, written out by the session's own worker only.
//!
//! Anybody may push a frame at any time; the push takes a short lock and never waits. [`Outbox::flush`] is called on
//! the owning worker alone, takes what has queued up and hands it to the socket in as few writes as it can: small
//! frames are copied side by side into one buffer of the worker (cheaper than a vector of tiny pieces), a large
//! payload goes by reference. The lock is never held across a system call.
//!
//! What may go out, in order: the frame already begun, then the pongs, then the queued messages, then the
//! Close. After a Close is queued nothing more is admitted. When a push finds the queue full the route's policy
//! decides; so far that is to close with 1013: the queued messages are given up, the frame already begun is finished
//! and Close follows, so that the peer is told and no gap is hidden.
//!
//! It does not know sessions, topics or threads; who rings whom is the session's business.

use bytes::Bytes;
use greenroom_ws::{CloseCode, CloseFrame, EncodedFrame, EncodedHead, FrameHead, Message, OpCode};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::net::stream::Stream;

/// Payloads up to this many bytes are copied next to their neighbours; longer ones are written by reference. About
/// where a copy begins to cost more than another element of an I/O vector.
const COPY_MAX: usize = 2048;
/// Bytes handed to the kernel in one write at most, the size of the worker's copy buffer.
const BATCH_MAX: usize = 64 * 1024;
/// Pongs that may wait, in bytes of frames: enough for a burst of pings to be answered one by one. A peer that sends more
/// without reading gets the newest only, which is all that RFC 6455 section 5.5.3 asks for.
const PONGS_MAX: usize = 1024;
/// On its own worker an outbox is written out at once when this much waits, instead of by the doorbell.
const FLUSH_MARK: usize = 32 * 1024;
/// Added to each queued message's length, so that a queue of empty messages is bounded too.
const ENTRY_COST: usize = 64;
/// Queue slots kept by an idle session.
const IDLE_SLOTS: usize = 4;

/// What became of a message that was sent to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "Dropped and Closed mean that the peer will not get the message"]
pub enum SendStatus {
    /// Accepted, and nothing holds it up: it goes out with the next write of the session's worker.
    Sent,
    /// Accepted, but the peer is not keeping up: it waits behind what the socket could not take.
    Queued,
    /// Not accepted: the outbox was full. With the default policy the session is being closed with 1013.
    Dropped,
    /// Not accepted: the session is closing or closed.
    Closed,
}

impl SendStatus {
    /// True if the message was accepted ([`Sent`](Self::Sent) or [`Queued`](Self::Queued)).
    pub fn is_accepted(self) -> bool {
        matches!(self, Self::Sent | Self::Queued)
    }
}

/// One message or control frame on its way out.
#[derive(Clone)]
pub(crate) struct Entry {
    /// The frame head; none where `payload` is a whole encoded frame.
    head: Option<EncodedHead>,
    payload: Bytes,
}

impl Entry {
    /// A message of this session's own: its payload is written by reference or copied once into the batch.
    pub(crate) fn message(message: Message) -> Self {
        let opcode = if message.is_text() {
            OpCode::Text
        } else {
            OpCode::Binary
        };
        let payload = message.into_bytes();
        Self {
            head: Some(FrameHead::server(opcode, true, payload.len()).encode()),
            payload,
        }
    }

    /// A frame that was encoded once and is shared by many sessions.
    pub(crate) fn shared(frame: &EncodedFrame) -> Self {
        Self {
            head: None,
            payload: frame.clone().into_bytes(),
        }
    }

    fn head(&self) -> &[u8] {
        self.head.as_ref().map_or(&[], EncodedHead::as_bytes)
    }

    fn len(&self) -> usize {
        self.head().len() + self.payload.len()
    }
}

/// What a shared frame counts for in an outbox.
pub(crate) fn cost_of(frame: &EncodedFrame) -> usize {
    frame.as_bytes().len() + ENTRY_COST
}

/// Whether more may be pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// A Close is queued: nothing more is admitted.
    Closing,
    /// The Close has been handed to the kernel: nothing more goes out.
    CloseSent,
    /// The socket is gone.
    Gone,
}

/// The state behind the lock.
struct Queue {
    entries: VecDeque<Entry>,
    /// Length of all entries, with [`ENTRY_COST`] for each.
    cost: usize,
    /// Bytes of the first entry that the kernel has taken.
    begun: usize,
    /// Entries that the flush in progress is writing; they must stay where they are.
    in_flight: usize,
    /// The answers to pings, one frame behind the other, of which nothing has gone out.
    pongs: Option<Entry>,
    /// Where the flush in progress has put them among the entries.
    pongs_at: Option<usize>,
    close: Option<EncodedFrame>,
    close_code: Option<CloseCode>,
    phase: Phase,
    /// The queued messages were given up during a flush: those that it has not begun are dropped when it is done.
    abandoned: bool,
}

impl Queue {
    /// What would wait if `entry` were admitted. An empty queue admits one message of any legal size, or a route with
    /// a small bound could never send it.
    fn cost_with(&self, entry: &Entry) -> usize {
        self.cost + entry.len() + ENTRY_COST
    }

    fn admit(&mut self, entry: Entry, cost: usize) {
        self.cost = cost;
        self.entries.push_back(entry);
    }

    /// Gives up the messages that wait and queues a Close.
    fn close_with(&mut self, code: CloseCode, reason: &str) {
        self.phase = Phase::Closing;
        self.abandoned = self.in_flight > 0;
        self.pongs = None;
        self.close_code = Some(code);
        self.close = Some(EncodedFrame::close(Some(&CloseFrame::new(code, reason))));
        self.drop_unbegun();
    }

    /// Drops every entry of which the kernel has nothing and that no flush is writing just now.
    fn drop_unbegun(&mut self) {
        let keep = self.in_flight.max(usize::from(self.begun > 0));
        for entry in self.entries.drain(keep.min(self.entries.len())..) {
            self.cost -= entry.len() + ENTRY_COST;
        }
    }
}

/// A session's outgoing queue.
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    /// `phase == Open`, to be looked at without the lock. Written under it.
    open: AtomicBool,
    /// The last write found the socket full. Written by the owner.
    blocked: AtomicBool,
    /// As much waits as the bound allows, to be looked at without the lock. Written under it.
    full: AtomicBool,
    /// Cost beyond which the queue is full.
    limit: usize,
}

/// What a flush came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// Everything is with the kernel.
    All,
    /// The socket is full; a writable event will come.
    Blocked,
    /// Everything is with the kernel, a Close as the last frame: nothing more will be sent.
    CloseSent,
}

thread_local! {
    /// The worker's copy buffer. Borrowed only while gathering and writing, neither of which parks.
    static BATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Outbox {
    pub(crate) fn new(limit: usize) -> Self {
        let queue = Queue {
            entries: VecDeque::new(),
            cost: 0,
            begun: 0,
            in_flight: 0,
            pongs: None,
            pongs_at: None,
            close: None,
            close_code: None,
            phase: Phase::Open,
            abandoned: false,
        };
        Self {
            queue: Mutex::new(queue),
            open: AtomicBool::new(true),
            blocked: AtomicBool::new(false),
            full: AtomicBool::new(false),
            limit,
        }
    }

    /// Queues a message. A full queue closes the session (see the module's text) and answers `Dropped`.
    pub(crate) fn push(&self, entry: Entry) -> SendStatus {
        self.push_costing(entry).0
    }

    /// [`push`](Self::push); with the status comes what now waits, in bytes.
    pub(crate) fn push_costing(&self, entry: Entry) -> (SendStatus, usize) {
        let mut queue = self.queue.lock();
        if queue.phase != Phase::Open {
            return (SendStatus::Closed, queue.cost);
        }
        let cost = queue.cost_with(&entry);
        if cost > self.limit && queue.cost > 0 {
            self.open.store(false, Ordering::Release);
            queue.close_with(CloseCode::TRY_AGAIN_LATER, "too slow");
            return (SendStatus::Dropped, queue.cost);
        }
        queue.admit(entry, cost);
        self.note_full(&queue);
        (self.accepted(), cost)
    }

    fn note_full(&self, queue: &Queue) {
        let full = queue.cost > 0 && queue.cost >= self.limit;
        if self.full.load(Ordering::Relaxed) != full {
            self.full.store(full, Ordering::Release);
        }
    }

    /// Queues a message if there is room for it, else gives it back and changes nothing. With the status comes what
    /// now waits, in bytes.
    pub(crate) fn try_push(&self, entry: Entry) -> Result<(SendStatus, usize), Entry> {
        let mut queue = self.queue.lock();
        if queue.phase != Phase::Open {
            return Ok((SendStatus::Closed, queue.cost));
        }
        let cost = queue.cost_with(&entry);
        if cost > self.limit && queue.cost > 0 {
            return Err(entry);
        }
        queue.admit(entry, cost);
        self.note_full(&queue);
        Ok((self.accepted(), cost))
    }

    /// True if so much waits that its own worker should write it out now, while the socket may take it.
    pub(crate) fn is_marked(&self, cost: usize) -> bool {
        cost >= FLUSH_MARK.min(self.limit / 2) && !self.is_blocked()
    }

    fn accepted(&self) -> SendStatus {
        if self.is_blocked() {
            SendStatus::Queued
        } else {
            SendStatus::Sent
        }
    }

    /// Answers a ping with the same payload. Pongs that have not gone out yet stay before it up to [`PONGS_MAX`];
    /// beyond that only this one is kept.
    pub(crate) fn pong(&self, payload: &[u8]) {
        let frame = EncodedFrame::pong(payload);
        let mut queue = self.queue.lock();
        if queue.phase != Phase::Open {
            return;
        }
        let waiting = queue.pongs.as_ref().map_or(0, Entry::len);
        let entry = if waiting > 0 && waiting + frame.as_bytes().len() <= PONGS_MAX {
            let earlier = queue.pongs.iter().flat_map(|entry| &entry.payload);
            let payload = earlier.chain(frame.as_bytes()).copied().collect();
            Entry { head: None, payload }
        } else {
            Entry::shared(&frame)
        };
        queue.pongs = Some(entry);
    }

    /// Queues a Close behind the messages that wait. The first Close counts; later ones change nothing.
    pub(crate) fn close(&self, code: Option<CloseCode>, reason: &str) {
        let mut queue = self.queue.lock();
        if queue.phase == Phase::Open {
            self.open.store(false, Ordering::Release);
            queue.phase = Phase::Closing;
            queue.close_code = code;
            queue.close = Some(EncodedFrame::close(
                code.map(|code| CloseFrame::new(code, reason)).as_ref(),
            ));
        }
    }

    /// Gives up what waits, finishes the frame already begun, then sends a Close.
    pub(crate) fn abandon(&self, code: CloseCode, reason: &str) {
        let mut queue = self.queue.lock();
        if queue.phase == Phase::Open {
            self.open.store(false, Ordering::Release);
            queue.close_with(code, reason);
        }
    }

    /// The socket is gone: frees everything and refuses what comes.
    pub(crate) fn shut(&self) {
        let mut queue = self.queue.lock();
        self.open.store(false, Ordering::Release);
        queue.phase = Phase::Gone;
        queue.entries = VecDeque::new();
        queue.cost = 0;
        queue.begun = 0;
        queue.in_flight = 0;
        queue.pongs = None;
        queue.pongs_at = None;
        queue.close = None;
        self.note_full(&queue);
    }

    /// True once the socket has failed or is gone.
    pub(crate) fn is_lost(&self) -> bool {
        !self.is_open() && self.queue.lock().phase == Phase::Gone
    }

    /// True unless a Close is queued or sent or the socket is gone.
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// True if the last write found the socket full: a writable event will come.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::Relaxed)
    }

    /// The code of the Close that this side has queued or sent.
    pub(crate) fn close_code(&self) -> Option<CloseCode> {
        self.queue.lock().close_code
    }

    /// True while more waits than the bound allows, or as much: the moment to stop reading.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Acquire)
    }

    /// True if a message of the session's own would be admitted, or refused for good.
    pub(crate) fn takes(&self, entry: &Entry) -> bool {
        let queue = self.queue.lock();
        queue.phase != Phase::Open || queue.cost == 0 || queue.cost_with(entry) <= self.limit
    }

    /// How much more fits, in the measure of [`cost_of`].
    pub(crate) fn room(&self) -> usize {
        self.limit.saturating_sub(self.queue.lock().cost)
    }

    /// Hands the kernel what it takes. Owner worker only; never parks.
    ///
    /// # Errors
    /// The socket's, after which nothing more can be sent: the outbox is [lost](Self::is_lost).
    pub(crate) fn flush(&self, stream: &Stream) -> io::Result<Flushed> {
        self.flush_to(stream).inspect_err(|_| self.shut())
    }

    fn flush_to(&self, stream: &Stream) -> io::Result<Flushed> {
        BATCH.with_borrow_mut(|copied| {
            loop {
                let payload = match self.gather(copied) {
                    Gathered::Nothing => return Ok(Flushed::All),
                    Gathered::CloseSent => return Ok(Flushed::CloseSent),
                    Gathered::Copied => None,
                    Gathered::Large { payload, skip } => Some((payload, skip)),
                };
                let written = match &payload {
                    None => stream.try_write(copied)?,
                    Some((payload, skip)) => {
                        stream.try_write_vectored(&[IoSlice::new(copied), IoSlice::new(&payload[*skip..])])?
                    }
                };
                let total = copied.len() + payload.as_ref().map_or(0, |(payload, skip)| payload.len() - skip);
                if copied.capacity() > 2 * BATCH_MAX {
                    *copied = Vec::new();
                }
                let more = self.written(written.unwrap_or(0), written != Some(total));
                if written != Some(total) {
                    return Ok(Flushed::Blocked);
                }
                if !more {
                    return Ok(Flushed::All);
                }
            }
        })
    }

    /// Fills `copied` with the next bytes to write and says what else belongs to the same write.
    fn gather(&self, copied: &mut Vec<u8>) -> Gathered {
        copied.clear();
        let mut queue = self.queue.lock();
        debug_assert_eq!(queue.in_flight, 0);
        if queue.entries.is_empty() && queue.pongs.is_none() && queue.close.is_none() {
            if queue.entries.capacity() > IDLE_SLOTS {
                queue.entries.shrink_to(IDLE_SLOTS);
            }
            self.blocked.store(false, Ordering::Relaxed);
            return if queue.phase == Phase::CloseSent {
                Gathered::CloseSent
            } else {
                Gathered::Nothing
            };
        }
        // Control frames may stand between messages, never inside a frame: behind the begun one, before the others.
        let place = usize::from(queue.begun > 0);
        if let Some(pongs) = queue.pongs.take() {
            queue.cost += pongs.len() + ENTRY_COST;
            queue.entries.insert(place, pongs);
            queue.pongs_at = Some(place);
        }
        if let Some(close) = queue.close.take() {
            queue.cost += close.as_bytes().len() + ENTRY_COST;
            queue.entries.push_back(Entry::shared(&close));
        }
        let mut skip = queue.begun;
        let mut taken = 0;
        let mut large = None;
        for entry in &queue.entries {
            let head = entry.head();
            let head_skip = skip.min(head.len());
            let payload_skip = skip - head_skip;
            skip = 0;
            if entry.payload.len() > COPY_MAX {
                copied.extend_from_slice(&head[head_skip..]);
                large = Some((entry.payload.clone(), payload_skip));
                taken += 1;
                break;
            }
            if taken > 0 && copied.len() + entry.len() > BATCH_MAX {
                break;
            }
            copied.extend_from_slice(&head[head_skip..]);
            copied.extend_from_slice(&entry.payload[payload_skip..]);
            taken += 1;
        }
        queue.in_flight = taken;
        match large {
            Some((payload, skip)) => Gathered::Large { payload, skip },
            None => Gathered::Copied,
        }
    }

    /// Takes the bytes that the kernel has accepted off the queue. False if the session is open and nothing waits.
    fn written(&self, bytes: usize, blocked: bool) -> bool {
        let mut queue = self.queue.lock();
        queue.in_flight = 0;
        self.blocked.store(blocked, Ordering::Relaxed);
        let mut left = queue.begun + bytes;
        let mut popped = 0;
        while let Some(front) = queue.entries.front() {
            let len = front.len();
            if left < len {
                break;
            }
            left -= len;
            queue.cost -= len + ENTRY_COST;
            queue.entries.pop_front();
            popped += 1;
        }
        queue.begun = left;
        // Pongs of which nothing went out make place for newer ones again, so that they stay bounded however many pings
        // come from a peer that doesn't read.
        let unsent = queue.pongs_at.take().and_then(|at| at.checked_sub(popped));
        if let Some(at) = unsent
            && (at > 0 || left == 0)
            && !queue.abandoned
            && let Some(entry) = queue.entries.remove(at)
        {
            queue.cost -= entry.len() + ENTRY_COST;
            queue.pongs.get_or_insert(entry);
        }
        // Once only: the Close comes among the entries afterwards and must stay.
        if std::mem::take(&mut queue.abandoned) {
            queue.drop_unbegun();
        }
        if queue.phase == Phase::Closing && queue.entries.is_empty() && queue.close.is_none() {
            queue.phase = Phase::CloseSent;
        }
        self.note_full(&queue);
        let idle = queue.entries.is_empty() && queue.pongs.is_none() && queue.phase == Phase::Open;
        if idle && queue.entries.capacity() > IDLE_SLOTS {
            queue.entries.shrink_to(IDLE_SLOTS);
        }
        !idle
    }
}

/// What [`Outbox::gather`] found to write.
enum Gathered {
    Nothing,
    CloseSent,
    /// All of it is in the copy buffer.
    Copied,
    /// The copy buffer, then this payload from `skip` on.
    Large {
        payload: Bytes,
        skip: usize,
    },
}

#[cfg(test)]
mod tests;
