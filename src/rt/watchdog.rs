//! The watchdog: one host thread that looks every 50 ms whether a worker still runs the same turn of the same green
//! thread as before. A turn costs its green thread two plain stores and no clock; the clock is the watchdog's own.
//!
//! When nothing has run anywhere for a while it sleeps, and a flag beside each worker's turn has the next turn wake it:
//! an idle process uses no processor. The flag and the turn are written by different threads, each of which then reads
//! the other's, without a fence on the worker's side. So the watchdog sets the flags and looks once more after another
//! [`LOOK`] before it sleeps: a turn that began before its worker could see the flag is seen by then, since a store
//! takes nanoseconds to become visible, not milliseconds.
//!
//! A handler that computes or blocks for long stalls every other connection of its worker. It is named in the log once
//! and counted; `blocking` is the cure.
#![allow(unsafe_code, reason = "gettid")]

use super::start::all;
use super::worker::Worker;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// A turn longer than this is a stall: ten times what a person notices, far above any honest turn.
const STALL: Duration = Duration::from_millis(100);
/// So a stall of 150 ms is always seen and a shorter one often. Twenty looks cost about 1 ms of CPU.
const LOOK: Duration = Duration::from_millis(50);

/// Looks in a row that found everything idle after which it sleeps. A process with something to do now and then, like
/// a timer each second, is watched for a fifth of the time; more looks would watch nothing, fewer would have a busy but
/// bursty one wake it for each burst.
const QUIET_LOOKS: u32 = 4;

static STALLS: AtomicU64 = AtomicU64::new(0);
static WATCHDOG: OnceLock<Thread> = OnceLock::new();

/// Stalls noticed so far.
pub(super) fn stalls() -> u64 {
    STALLS.load(Ordering::Relaxed)
}

/// The kernel's id of the calling thread.
pub(super) fn thread_id() -> i32 {
    // SAFETY: no arguments.
    unsafe { libc::gettid() }
}

/// A turn begins on `worker` while the watchdog sleeps, or is about to.
#[cold]
#[inline(never)]
pub(super) fn wake(worker: &Worker) {
    worker.watch_asleep.store(false, Ordering::Relaxed);
    if let Some(watchdog) = WATCHDOG.get() {
        watchdog.unpark();
    }
}

/// What was last seen of a worker.
#[derive(Clone, Copy)]
struct Seen {
    turn: u64,
    since: Instant,
    told: bool,
}

impl Seen {
    /// Takes the next look; for how long the present turn has lasted if that is a stall not told yet.
    fn look(&mut self, turn: u64, now: Instant) -> Option<Duration> {
        if turn != self.turn {
            *self = Seen {
                turn,
                since: now,
                told: false,
            };
            return None;
        }
        let held = now - self.since;
        // Even: nothing runs there.
        let stalled = turn & 1 == 1 && held >= STALL && !self.told;
        self.told |= stalled;
        stalled.then_some(held)
    }
}

/// Starts it; its thread does `first` before it watches.
pub(super) fn start(first: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new()
        .name("greenroom-watch".into())
        .spawn(move || {
            first();
            watch();
        })
        .map(|watchdog| drop(WATCHDOG.set(watchdog.thread().clone())))
}

#[cfg(test)]
pub(super) fn is_asleep() -> bool {
    all()
        .iter()
        .all(|worker| worker.watch_asleep.load(Ordering::Relaxed))
}

fn set_asleep(asleep: bool) {
    for worker in all() {
        worker.watch_asleep.store(asleep, Ordering::Relaxed);
    }
}

fn watch() {
    let workers = all();
    let mut seen = vec![
        Seen {
            turn: 0,
            since: Instant::now(),
            told: false
        };
        workers.len()
    ];
    let mut quiet = 0;
    loop {
        thread::sleep(LOOK);
        if quiet == QUIET_LOOKS {
            set_asleep(true);
            thread::sleep(LOOK);
        }
        let now = Instant::now();
        let mut idle = true;
        for (worker, seen) in workers.iter().zip(&mut seen) {
            let turn = worker.turn.load(Ordering::Relaxed);
            idle &= turn == seen.turn && turn & 1 == 0;
            if let Some(held) = seen.look(turn, now) {
                STALLS.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(
                    worker = worker.index,
                    thread = worker.thread.load(Ordering::Relaxed),
                    held_ms = held.as_millis() as u64,
                    "a green thread holds its worker without waiting, so nothing else runs there: move long work to \
                     blocking()"
                );
            }
        }
        if quiet == QUIET_LOOKS {
            if idle {
                // Returns at once if a turn has begun since the flags were set.
                thread::park();
            }
            set_asleep(false);
            quiet = 0;
        } else {
            quiet = if idle { quiet + 1 } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_a_stall_once_and_only_while_it_lasts() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut seen = Seen {
            turn: 0,
            since: start,
            told: false,
        };
        assert!(seen.look(0, at(500)).is_none(), "an idle worker does not stall");
        assert!(seen.look(3, at(550)).is_none());
        assert!(seen.look(3, at(600)).is_none());
        assert_eq!(seen.look(3, at(650)), Some(Duration::from_millis(100)));
        assert!(seen.look(3, at(700)).is_none(), "told once");
        assert!(seen.look(5, at(750)).is_none(), "another turn");
        assert_eq!(seen.look(5, at(850)), Some(Duration::from_millis(100)));
        assert!(seen.look(4, at(900)).is_none());
        assert!(seen.look(4, at(1900)).is_none());
    }
}
