//! A value that one thread gives once and another waits for.

use super::green::{Green, Me, is_green};
use super::worker;
use parking_lot::Mutex;
use std::sync::Arc;
use std::thread::Thread;
use std::time::Instant;

enum State<T> {
    Empty,
    Given(T),
    /// The completer is gone, or the value was taken.
    Over,
}

enum Waiter {
    Green(Green),
    Host(Thread),
}

struct Slot<T> {
    state: State<T>,
    waiter: Option<Waiter>,
}

type Shared<T> = Arc<Mutex<Slot<T>>>;

/// The giving half. Dropped without a value, the wait ends with [`Incomplete::Abandoned`].
pub(crate) struct Completer<T> {
    shared: Option<Shared<T>>,
}

/// The waiting half.
pub(crate) struct Completion<T> {
    shared: Shared<T>,
}

/// Why a wait for a completion ended without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Incomplete {
    /// `until` has passed.
    TimedOut,
    /// The completer was dropped.
    Abandoned,
}

/// A value that one thread (of any kind) gives once and one green or host thread waits for.
pub(crate) fn oneshot<T: Send>() -> (Completer<T>, Completion<T>) {
    let shared = Arc::new(Mutex::new(Slot {
        state: State::Empty,
        waiter: None,
    }));
    (
        Completer {
            shared: Some(shared.clone()),
        },
        Completion { shared },
    )
}

fn finish<T>(shared: &Shared<T>, state: State<T>) {
    let waiter = {
        let mut slot = shared.lock();
        slot.state = state;
        slot.waiter.take()
    };
    match waiter {
        Some(Waiter::Green(green)) => green.nudge(),
        Some(Waiter::Host(thread)) => thread.unpark(),
        None => {}
    }
}

impl<T: Send> Completer<T> {
    /// Gives the value. Never blocks; if nobody waits any more the value is dropped with the other half.
    pub(crate) fn complete(mut self, value: T) {
        if let Some(shared) = self.shared.take() {
            finish(&shared, State::Given(value));
        }
    }
}

impl<T> Drop for Completer<T> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            finish(&shared, State::Over);
        }
    }
}

impl<T: Send> Completion<T> {
    /// Waits for the value: a green thread parks, a host thread blocks.
    ///
    /// # Errors
    /// [`Incomplete`]. While the caller unwinds from a panic nothing is waited for: that counts as timed out.
    ///
    /// # Panics
    /// In a doorbell item, which must not wait.
    pub(crate) fn wait(self, until: Option<Instant>) -> Result<T, Incomplete> {
        let me = (worker::local().is_some() || is_green()).then(Me::current);
        let mut timed_out = false;
        loop {
            {
                let mut slot = self.shared.lock();
                match std::mem::replace(&mut slot.state, State::Over) {
                    State::Given(value) => return Ok(value),
                    State::Over => return Err(Incomplete::Abandoned),
                    State::Empty => slot.state = State::Empty,
                }
                if timed_out {
                    slot.waiter = None;
                    return Err(Incomplete::TimedOut);
                }
                if slot.waiter.is_none() {
                    slot.waiter = Some(match me {
                        Some(_) => Waiter::Green(Green::current()),
                        None => Waiter::Host(std::thread::current()),
                    });
                }
            }
            timed_out = match me {
                Some(me) => me.park(until).timed_out,
                None => block(until),
            };
        }
    }
}

/// A host thread's wait; true if `until` has passed.
fn block(until: Option<Instant>) -> bool {
    match until {
        None => std::thread::park(),
        Some(until) => match until.checked_duration_since(Instant::now()) {
            None => return true,
            Some(left) => std::thread::park_timeout(left),
        },
    }
    false
}
