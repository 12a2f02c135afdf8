//! A named group of sessions, and publishing to it.

use super::{Live, Subscription};
use crate::error::{Error, Result};
use crate::outbox::SendStatus;
use crate::rt::{self, Rung};
use crate::session::{Due, SessionRef, Shared as Session};
use greenroom_ws::{EncodedFrame, Message};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Messages of one topic's history together, in bytes: half of what a newcomer's outbox takes by default, so that a
/// replay leaves room for what is published meanwhile.
const HISTORY_BYTES: usize = 512 * 1024;

/// The place of a member that has left.
const GONE: usize = usize::MAX;

/// What all handles to a topic share.
pub(super) struct State {
    pub(super) name: Arc<str>,
    /// Messages kept.
    capacity: usize,
    members: Mutex<Members>,
}

/// The state behind the lock, which is held while a message is pushed to the outboxes (never across a system call):
/// that is what makes all subscribers see one order.
struct Members {
    /// By worker, so that each is rung once.
    by_worker: Vec<Vec<Member>>,
    count: usize,
    history: VecDeque<EncodedFrame>,
    history_bytes: usize,
}

struct Member {
    session: Arc<Session>,
    place: Arc<AtomicUsize>,
}

thread_local! {
    /// What is to be done about sessions once the topic's lock is released, by worker.
    static WORK: RefCell<Work> = const { RefCell::new(Vec::new()) };
}

/// A session's worker, what is to be done there, and the session.
type Work = Vec<(usize, Due, Arc<Session>)>;

impl State {
    pub(super) fn new(name: Arc<str>, capacity: usize) -> Self {
        let members = Members {
            by_worker: Vec::new(),
            count: 0,
            history: VecDeque::new(),
            history_bytes: 0,
        };
        Self {
            name,
            capacity,
            members: Mutex::new(members),
        }
    }

    /// Bytes of the messages kept; `None` if there are none.
    pub(super) fn history_bytes(&self) -> Option<usize> {
        let members = self.members.lock();
        (!members.history.is_empty()).then_some(members.history_bytes)
    }

    /// Takes a member out of its worker's list; nothing happens if a publish has taken it out already.
    pub(super) fn leave(&self, worker: usize, place: &AtomicUsize) {
        let mut members = self.members.lock();
        let at = place.load(Ordering::Relaxed);
        if at != GONE {
            let gone = members.remove(worker, at);
            drop(members);
            drop(gone);
        }
    }
}

impl Members {
    fn remove(&mut self, worker: usize, at: usize) -> Member {
        let list = &mut self.by_worker[worker];
        let gone = list.swap_remove(at);
        gone.place.store(GONE, Ordering::Relaxed);
        if let Some(moved) = list.get(at) {
            moved.place.store(at, Ordering::Relaxed);
        }
        // A crowd that has left doesn't leave its memory behind.
        if list.capacity() > 64 && list.len() < list.capacity() / 4 {
            list.shrink_to(list.len() * 2);
        }
        self.count -= 1;
        gone
    }

    fn remember(&mut self, frame: &EncodedFrame, capacity: usize) {
        if capacity == 0 {
            return;
        }
        self.history.push_back(frame.clone());
        self.history_bytes += frame.as_bytes().len();
        while self.history.len() > capacity || self.history_bytes > HISTORY_BYTES {
            let Some(oldest) = self.history.pop_front() else {
                break;
            };
            self.history_bytes -= oldest.as_bytes().len();
        }
    }

    /// Pushes to everyone and notes what is to be done about it.
    fn push(&mut self, frame: &EncodedFrame, work: &mut Work) -> usize {
        let here = rt::worker();
        let mut accepted = 0;
        for worker in 0..self.by_worker.len() {
            let mut at = 0;
            while let Some(member) = self.by_worker[worker].get(at) {
                let (status, due) = member.session.push_shared(frame, here == Some(worker));
                if due != Due::Nothing {
                    work.push((worker, due, member.session.clone()));
                }
                accepted += usize::from(status.is_accepted());
                if status == SendStatus::Closed {
                    // The session is over; its subscription is still held by somebody.
                    drop(self.remove(worker, at));
                } else {
                    at += 1;
                }
            }
        }
        accepted
    }
}

/// A named group of sessions. Cheap to clone; made by [`Hub::topic`](super::Hub::topic).
#[derive(Clone)]
pub struct Topic {
    live: Arc<Live>,
}

impl Topic {
    pub(super) fn new(live: Arc<Live>) -> Self {
        Self { live }
    }

    /// The name it was asked for by.
    pub fn name(&self) -> &str {
        &self.live.state.name
    }

    /// Joins a session ([`Session`](crate::Session) dereferences to the reference asked for): it gets every message
    /// published from now on, until the subscription is dropped. A session that subscribes twice gets each message
    /// twice.
    ///
    /// # Errors
    /// [`Error::is_closed`]: the session is over.
    pub fn subscribe(&self, session: &SessionRef) -> Result<Subscription> {
        self.join(session, false)
    }

    /// Joins a session and sends it the topic's history first: the last messages in their order, then every later
    /// one, none missing and none twice. Of a history that doesn't fit the session's outbox the newest part is sent.
    ///
    /// # Errors
    /// As [`Topic::subscribe`].
    pub fn subscribe_with_history(&self, session: &SessionRef) -> Result<Subscription> {
        self.join(session, true)
    }

    fn join(&self, session: &SessionRef, with_history: bool) -> Result<Subscription> {
        let shared = session.shared();
        if !session.is_open() {
            return Err(Error::closed(shared.outbox.close_code()));
        }
        let place = Arc::new(AtomicUsize::new(GONE));
        let worker = shared.worker();
        let mut members = self.live.state.members.lock();
        if members.by_worker.len() <= worker {
            members.by_worker.resize_with(worker + 1, Vec::new);
        }
        if with_history {
            let room = shared.outbox.room();
            let mut taken = 0;
            let fits = |frame: &&EncodedFrame| {
                taken += crate::outbox::cost_of(frame);
                taken <= room
            };
            let count = members.history.iter().rev().take_while(fits).count();
            for frame in members.history.iter().skip(members.history.len() - count) {
                // Its outbox was just seen to have room; should somebody else have filled it, its policy decides.
                let _ = shared.push_shared_quietly(frame);
            }
        }
        let list = &mut members.by_worker[worker];
        place.store(list.len(), Ordering::Relaxed);
        list.push(Member {
            session: shared.clone(),
            place: place.clone(),
        });
        members.count += 1;
        drop(members);
        if with_history {
            shared.ring();
        }
        Ok(Subscription {
            live: self.live.clone(),
            session: session.clone(),
            place,
        })
    }

    /// Sends a message to every subscriber, the sender included if it is one. It is encoded once and never waits for
    /// anyone; messages that one thread publishes arrive in their order, and all subscribers see the same order.
    ///
    /// Returns how many sessions accepted it (their outboxes hold it; see [`SendStatus`]).
    pub fn publish(&self, message: impl Into<Message>) -> usize {
        let frame = EncodedFrame::message(&message.into());
        let state = &self.live.state;
        // Taken out of the thread-local rather than borrowed: what is called below is not ours alone.
        let mut work = WORK.take();
        let accepted = {
            let mut members = state.members.lock();
            members.remember(&frame, state.capacity);
            members.push(&frame, &mut work)
        };
        // The members stand by worker, so each worker's come together.
        let mut rest = work.drain(..).peekable();
        while let Some((worker, due, session)) = rest.next() {
            if due == Due::Flush {
                session.flush();
                continue;
            }
            let more = || rest.next_if(|(other, due, _)| *other == worker && *due == Due::Ring);
            let more = std::iter::from_fn(more).map(|(.., session)| session);
            rt::post_all(
                worker,
                &mut std::iter::once(session)
                    .chain(more)
                    .map(|session| session as Arc<dyn Rung>),
            );
        }
        drop(rest);
        if work.capacity() <= 4096 {
            WORK.set(work);
        }
        accepted
    }

    /// How many subscriptions there are now.
    pub fn subscribers(&self) -> usize {
        self.live.state.members.lock().count
    }

    /// The messages kept, oldest first.
    pub fn history(&self) -> Vec<Message> {
        let frames: Vec<EncodedFrame> = self.live.state.members.lock().history.iter().cloned().collect();
        frames.iter().filter_map(EncodedFrame::to_message).collect()
    }
}

impl fmt::Debug for Topic {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Topic")
            .field("name", &self.name())
            .field("subscribers", &self.subscribers())
            .finish_non_exhaustive()
    }
}
