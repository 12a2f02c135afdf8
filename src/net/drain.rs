//! The orderly stop of one server, as its connections and sessions see it: who is still there, and how far the stop
//! has got.
//!
//! Every connection takes a [`Seat`] when it is accepted and keeps it until it is closed, through its time as a
//! WebSocket session too. A seat counts towards the connection limit, and enrols its green thread so that a drain can
//! wake it. What a woken connection does then (finish its request, close with 1001) is its own affair; the budget is
//! kept by `server::handle`.
//!
//! ```text
//!            begin()               drop_rest()
//!  Serving ----------> Draining ---------------> Dropping
//!  accepts, keeps      in-flight work is         whoever still waits
//!  connections         finished, then closed     gives up
//! ```

use crate::rt::Green;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Green threads woken at one go; a pause between the batches keeps live traffic going while ten thousand sessions
/// are told.
const BATCH: usize = 512;
const PAUSE: Duration = Duration::from_millis(2);

/// How far the stop has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// No stop has been asked for.
    Serving = 0,
    /// Work in flight is finished, nothing new begins.
    Draining = 1,
    /// The budget is used up: every wait ends, every connection closes.
    Dropping = 2,
}

/// The state of one server's stop, shared by everything that belongs to the server.
pub(crate) struct Drain {
    phase: AtomicU8,
    connections: AtomicUsize,
    /// Acceptors at work: the listening socket is closed when there are none.
    acceptors: AtomicUsize,
    /// One roll per worker, so that workers don't meet at a lock.
    rolls: Box<[Mutex<Roll>]>,
    /// Guards nothing but the wait for the last one to leave.
    leaving: Mutex<()>,
    left: Condvar,
}

/// The green threads of one worker that want to be woken.
#[derive(Default)]
struct Roll {
    places: Vec<Option<Green>>,
    free: Vec<usize>,
}

/// What a seat is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Connection,
    Acceptor,
}

/// A place among the living of one server; given up when dropped.
pub(crate) struct Seat {
    drain: Arc<Drain>,
    role: Role,
    /// Worker and index in its roll, once enrolled.
    place: Option<(usize, usize)>,
}

impl Drain {
    /// For a server on `workers` workers.
    pub(crate) fn new(workers: usize) -> Arc<Drain> {
        Arc::new(Drain {
            phase: AtomicU8::new(Phase::Serving as u8),
            connections: AtomicUsize::new(0),
            acceptors: AtomicUsize::new(0),
            rolls: (0..workers).map(|_| Mutex::default()).collect(),
            leaving: Mutex::new(()),
            left: Condvar::new(),
        })
    }

    /// How far the stop has got. A green thread that looks before it parks and enrolled before it looked never misses
    /// a change: it is either seen here or ends the wait.
    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::SeqCst) {
            0 => Phase::Serving,
            1 => Phase::Draining,
            _ => Phase::Dropping,
        }
    }

    /// True once a stop has been asked for.
    pub(crate) fn is_draining(&self) -> bool {
        self.phase() >= Phase::Draining
    }

    /// True once the budget is used up.
    pub(crate) fn is_dropping(&self) -> bool {
        self.phase() == Phase::Dropping
    }

    /// Connections that have a seat.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// A seat for a new connection, or `None` if there are `most` already.
    pub(crate) fn admit(self: &Arc<Self>, most: usize) -> Option<Seat> {
        let seat = self.seat(Role::Connection);
        // Counted first and given back if it was one too many: correct with any number of acceptors.
        (self.connections() <= most).then_some(seat)
    }

    /// A seat for an acceptor: not a connection, but waited for as well.
    pub(crate) fn admit_acceptor(self: &Arc<Self>) -> Seat {
        self.seat(Role::Acceptor)
    }

    fn seat(self: &Arc<Self>, role: Role) -> Seat {
        self.count(role).fetch_add(1, Ordering::SeqCst);
        Seat {
            drain: self.clone(),
            role,
            place: None,
        }
    }

    fn count(&self, role: Role) -> &AtomicUsize {
        match role {
            Role::Connection => &self.connections,
            Role::Acceptor => &self.acceptors,
        }
    }

    /// Starts the stop and wakes everyone; false if it was started before. To be called on a host thread: it pauses
    /// between batches.
    pub(crate) fn begin(&self) -> bool {
        let first = self
            .phase
            .compare_exchange(
                Phase::Serving as u8,
                Phase::Draining as u8,
                Ordering::SeqCst,
                Ordering::SeqCst,
            )
            .is_ok();
        if first {
            self.tell_waiters();
            self.wake_everyone();
        }
        first
    }

    /// Ends the stop's patience and wakes everyone. To be called on a host thread.
    pub(crate) fn drop_rest(&self) {
        self.phase.store(Phase::Dropping as u8, Ordering::SeqCst);
        self.tell_waiters();
        self.wake_everyone();
    }

    /// Has whoever waits in `wait_empty` look again. Under the lock: nobody is between looking and waiting then.
    fn tell_waiters(&self) {
        let _guard = self.leaving.lock();
        self.left.notify_all();
    }

    fn wake_everyone(&self) {
        for roll in &self.rolls {
            let mut next = 0;
            loop {
                let mut batch = Vec::new();
                {
                    let roll = roll.lock();
                    while next < roll.places.len() && batch.len() < BATCH {
                        batch.extend(roll.places[next].clone());
                        next += 1;
                    }
                }
                if batch.is_empty() {
                    break;
                }
                for green in &batch {
                    green.wake();
                }
                if batch.len() == BATCH {
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    /// Blocks a host thread until a stop was asked for and everybody has left (true); or, false, until `until`, and if
    /// `patient` no longer than the drain's patience lasts.
    pub(crate) fn wait_empty(&self, until: Option<Instant>, patient: bool) -> bool {
        let mut guard = self.leaving.lock();
        loop {
            if self.is_draining() && self.connections() == 0 && self.acceptors.load(Ordering::SeqCst) == 0 {
                return true;
            }
            if patient && self.is_dropping() {
                return false;
            }
            match until {
                None => self.left.wait(&mut guard),
                Some(until) if self.left.wait_until(&mut guard, until).timed_out() => return false,
                Some(_) => {}
            }
        }
    }
}

impl Seat {
    /// Enrols the calling green thread to be woken by a drain; it must keep the seat from now on.
    pub(crate) fn enrol(&mut self) {
        let green = Green::current();
        let worker = green.worker();
        let mut roll = self.drain.rolls[worker].lock();
        let index = roll.free.pop().unwrap_or(roll.places.len());
        if index == roll.places.len() {
            roll.places.push(None);
        }
        roll.places[index] = Some(green);
        self.place = Some((worker, index));
    }

    /// The stop that this seat belongs to.
    pub(crate) fn drain(&self) -> &Arc<Drain> {
        &self.drain
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some((worker, index)) = self.place {
            let mut roll = self.drain.rolls[worker].lock();
            roll.places[index] = None;
            roll.free.push(index);
        }
        let before = self.drain.count(self.role).fetch_sub(1, Ordering::SeqCst);
        if before == 1 && self.drain.is_draining() {
            self.drain.tell_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_seats_are_bounded_and_come_back() {
        let drain = Drain::new(1);
        let first = drain.admit(2).unwrap();
        let _second = drain.admit(2).unwrap();
        assert!(drain.admit(2).is_none());
        assert_eq!(drain.connections(), 2, "a refused one is not counted");
        drop(first);
        assert!(drain.admit(2).is_some());
    }

    #[test]
    fn waiting_ends_when_the_last_one_has_left() {
        let drain = Drain::new(1);
        let acceptor = drain.admit_acceptor();
        let connection = drain.admit(1).unwrap();
        assert!(drain.begin());
        assert!(!drain.begin(), "only the first stop starts it");
        assert!(!drain.wait_empty(Some(Instant::now()), true));
        let waiter = {
            let drain = drain.clone();
            std::thread::spawn(move || drain.wait_empty(Some(Instant::now() + Duration::from_secs(60)), true))
        };
        drop(acceptor);
        drop(connection);
        assert!(waiter.join().unwrap());
    }

    #[test]
    fn patience_ends_with_dropping() {
        let drain = Drain::new(1);
        let _connection = drain.admit(1).unwrap();
        drain.begin();
        let waiter = {
            let drain = drain.clone();
            std::thread::spawn(move || drain.wait_empty(Some(Instant::now() + Duration::from_secs(60)), true))
        };
        drain.drop_rest();
        assert!(!waiter.join().unwrap());
        assert!(drain.is_dropping());
    }
}
