//! Green threads: waking them, and every kind of wait.
//!
//! What a green thread waits for stands in its record ([`Inner`]), which only its own worker touches. A wake-up from
//! elsewhere goes through the mailbox, so that in the end its own worker does the waking: `may` would resume it on the
//! thread that woke it, and does so while the green thread may still be switching away.
#![allow(unsafe_code, reason = "pointers into the frames of suspended green threads")]

use super::start;
use super::timer;
use super::worker::{self, Entry, Local};
use may::coroutine::{self, Coroutine};
use may::io::WaitIoWaker;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// An entry for this green thread is in a mailbox: no second one is needed.
const QUEUED: u8 = 1;
/// And it is a `wake`, not just the end of an internal wait.
const WOKEN: u8 = 2;

/// What a green thread is suspended on.
#[derive(Clone, Copy)]
pub(super) enum Waiting {
    /// It runs.
    Nothing,
    Socket(*const WaitIoWaker),
    Park(*const Coroutine),
}

/// The record of one green thread. About 100 bytes.
pub(super) struct Inner {
    worker: u32,
    queued: AtomicU8,
    /// A wake has come that no wait has told yet.
    woken: Cell<bool>,
    /// The deadline of the present wait has passed.
    timed_out: Cell<bool>,
    /// It waits for the next look at the sockets.
    yielding: Cell<bool>,
    /// The bottom page of the stack was given back.
    pub(super) trimmed: Cell<bool>,
    waiting: Cell<Waiting>,
    /// The deadline of the present or the last wait.
    deadline: Cell<Option<Instant>>,
    /// When its entry in the timer wheel comes due; at or before `deadline` while that is waited for.
    armed: Cell<Option<Instant>>,
    timer: Cell<u32>,
    pub(super) stack_top: usize,
}

// SAFETY: `worker`, `queued` and `stack_top` are atomic or never change. Everything else, the cells and the pointers in
// `waiting`, is touched only on the scheduler thread `worker`: by the green thread itself, which never leaves it
// (compared at each resume), and by the doorbell and the timer of that worker. The methods below that touch them say
// so and assert it.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

/// Handle to one green thread, to wake it from anywhere.
#[derive(Clone)]
pub(crate) struct Green {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Green {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Green")
            .field("worker", &self.inner.worker)
            .finish_non_exhaustive()
    }
}

impl Green {
    /// The calling green thread's handle.
    ///
    /// # Panics
    /// On a host thread.
    pub(crate) fn current() -> Green {
        let (_, me) = here();
        // SAFETY: `me` came from an `Arc` that its first frame holds for as long as it runs.
        unsafe { Arc::increment_strong_count(me) };
        // SAFETY: the count just taken is this one's.
        let inner = unsafe { Arc::from_raw(me) };
        Green { inner }
    }

    /// The worker it lives on.
    pub(crate) fn worker(&self) -> usize {
        self.inner.worker as usize
    }

    /// Ends the thread's present wait, or its next one, with `rung`. From any thread, never blocks, never lost;
    /// several wakes before it runs coalesce into one.
    pub(crate) fn wake(&self) {
        match worker::local() {
            Some(local) if local.worker.index == self.worker() => {
                if !self.inner.woken.replace(true) {
                    self.resume(local);
                }
            }
            _ => {
                if self.inner.queued.fetch_or(QUEUED | WOKEN, Ordering::AcqRel) & QUEUED == 0 {
                    start::worker_at(self.worker()).push(Entry::Wake(self.clone()));
                }
            }
        }
    }

    /// Has an internal wait look at its predicate again, from any thread. Not told as `rung`.
    pub(super) fn nudge(&self) {
        match worker::local() {
            Some(local) if local.worker.index == self.worker() => self.resume(local),
            _ => {
                if self.inner.queued.fetch_or(QUEUED, Ordering::AcqRel) & QUEUED == 0 {
                    start::worker_at(self.worker()).push(Entry::Wake(self.clone()));
                }
            }
        }
    }

    /// Own worker, while the budget lasts: puts it into the run queue; after that by way of the doorbell.
    fn resume(&self, local: &Local) {
        if matches!(self.inner.waiting.get(), Waiting::Nothing) {
            // It runs (or has ended); what it is to notice has been noted.
        } else if local.spend() {
            self.inner.resume();
        } else if self.inner.queued.fetch_or(QUEUED, Ordering::AcqRel) & QUEUED == 0 {
            local.push(Entry::Wake(self.clone()));
        }
    }

    /// Own worker's doorbell: its entry has come out of the mailbox.
    pub(super) fn delivered(&self) {
        let queued = self.inner.queued.swap(0, Ordering::AcqRel);
        if queued & WOKEN != 0 {
            self.inner.woken.set(true);
        }
        self.inner.resume();
    }

    /// Own worker's doorbell: the sockets have been looked at.
    pub(super) fn turn_has_come(&self) {
        self.inner.yielding.set(false);
        self.inner.resume();
    }

    /// Own worker's timer: its entry has come out of the wheel.
    pub(super) fn time_has_come(&self, local: &Local, now: Instant) {
        let inner = &*self.inner;
        inner.armed.set(None);
        inner.timer.set(timer::NONE);
        match inner.deadline.get() {
            // A socket event has ended that wait, or it had no deadline.
            None => {}
            Some(_) if matches!(inner.waiting.get(), Waiting::Nothing) => {}
            Some(deadline) if deadline <= now => {
                inner.timed_out.set(true);
                self.resume(local);
            }
            // The deadline has moved on since.
            Some(deadline) => inner.arm(local, deadline, now),
        }
    }
}

impl Inner {
    /// The record of a green thread of `worker` that runs; `stack_top` is the address its stack begins at.
    pub(super) fn new(worker: usize, stack_top: usize) -> Arc<Self> {
        Arc::new(Self {
            worker: worker as u32,
            queued: AtomicU8::new(0),
            woken: Cell::new(false),
            timed_out: Cell::new(false),
            yielding: Cell::new(false),
            trimmed: Cell::new(false),
            waiting: Cell::new(Waiting::Nothing),
            deadline: Cell::new(None),
            armed: Cell::new(None),
            timer: Cell::new(timer::NONE),
            stack_top,
        })
    }

    /// Puts the green thread into its worker's run queue, whatever it waits for. Own worker only.
    fn resume(&self) {
        debug_assert!(worker::local().is_some_and(|l| l.worker.index == self.worker as usize));
        match self.waiting.get() {
            Waiting::Nothing => {}
            // SAFETY: both point into frames of the suspended green thread (or what these borrow), which can't go on
            // before this thread lets it, and which resets `waiting` first thing when it does.
            Waiting::Socket(waker) => unsafe { (*waker).wakeup() },
            // SAFETY: as above.
            Waiting::Park(handle) => unsafe { (*handle).unpark() },
        }
    }

    /// Enters it into the wheel for `at`. Own worker only.
    #[cold]
    fn arm(&self, local: &Local, at: Instant, now: Instant) {
        self.disarm(local);
        // SAFETY: `self` lives in an `Arc`: it is only ever made by `new`.
        unsafe { Arc::increment_strong_count(self) };
        // SAFETY: the count just taken is this one's.
        let inner = unsafe { Arc::from_raw(self) };
        let green = Green { inner };
        self.timer.set(local.timers.insert(green, at, now));
        self.armed.set(Some(at));
    }

    /// Takes its entry out of the wheel, if it has one. Own worker only.
    pub(super) fn disarm(&self, local: &Local) {
        let id = self.timer.replace(timer::NONE);
        if id != timer::NONE {
            local.timers.remove(id);
        }
        self.armed.set(None);
    }

    /// Sets the deadline of the wait that comes; false if it has passed already. The usual case, an entry that comes
    /// due before it, is one comparison.
    #[inline]
    fn set_deadline(&self, local: &Local, until: Option<Instant>) -> bool {
        self.timed_out.set(false);
        self.deadline.set(until);
        match (until, self.armed.get()) {
            (None, _) => true,
            (Some(until), Some(armed)) if armed <= until => true,
            (Some(until), _) => self.set_earlier_deadline(local, until),
        }
    }

    #[cold]
    fn set_earlier_deadline(&self, local: &Local, until: Instant) -> bool {
        let now = Instant::now();
        let ahead = until > now;
        if ahead {
            self.arm(local, until, now);
        }
        ahead
    }
}

/// The calling green thread and its worker.
///
/// # Panics
/// On a host thread and in the runtime's own green threads (so in `rung`), which must not wait.
fn here() -> (&'static Local, *const Inner) {
    match worker::local() {
        Some(local) if !local.current.get().is_null() => (local, local.current.get()),
        Some(_) => panic!("a doorbell item must not wait"),
        None => panic!("not on a green thread"),
    }
}

/// True on a green thread (which alone may park).
pub(crate) fn is_green() -> bool {
    worker::local().is_some_and(|local| !local.current.get().is_null())
}

/// The calling green thread as its own waits see it.
#[derive(Clone, Copy)]
pub(super) struct Me {
    local: &'static Local,
    inner: &'static Inner,
}

/// What ended a suspension. The socket's flags are apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) timed_out: bool,
}

impl Me {
    /// # Panics
    /// As [`here`].
    pub(super) fn current() -> Me {
        let (local, inner) = here();
        // SAFETY: the record lives as long as the green thread runs, and `Me` (which is not `Send`) is only ever a
        // local variable of a wait.
        let inner = unsafe { &*inner };
        Me { local, inner }
    }

    /// A wake that has come and was not told yet.
    pub(super) fn take_woken(self) -> bool {
        self.inner.woken.replace(false)
    }

    /// Suspends the green thread by `switch`, which returns when what `waiting` names was resumed, by `until` at the
    /// latest. Ends early for any reason at all. While the thread unwinds from a panic nothing is waited for, since
    /// another green thread's panic would then abort the process: that counts as timed out.
    pub(super) fn suspend(self, waiting: Waiting, until: Option<Instant>, switch: impl FnOnce()) -> Ended {
        let Me { local, inner } = self;
        if !inner.set_deadline(local, until) || std::thread::panicking() {
            return Ended { timed_out: true };
        }
        inner.waiting.set(waiting);
        local.parked();
        switch();
        worker::check(local);
        local.running(inner);
        inner.waiting.set(Waiting::Nothing);
        Ended {
            timed_out: inner.timed_out.replace(false),
        }
    }

    /// Suspends it without a socket.
    pub(super) fn park(self, until: Option<Instant>) -> Ended {
        let handle = coroutine::current();
        self.suspend(Waiting::Park(&handle), until, coroutine::park)
    }

    pub(super) fn inner(self) -> &'static Inner {
        self.inner
    }
}

/// Parks a green thread that waits for no socket until a wake or `until`. Spurious ends are possible.
///
/// # Panics
/// On a host thread.
pub(crate) fn park(until: Option<Instant>) -> super::Wake {
    let me = Me::current();
    let mut wake = super::Wake {
        rung: me.take_woken(),
        ..super::Wake::default()
    };
    if !wake.rung {
        wake.timed_out = me.park(until).timed_out;
        wake.rung = me.take_woken();
    }
    wake
}

/// Green thread: parks, by the worker's timer wheel; host thread: blocks. Wakes do not end it, they are kept for the
/// next wait.
pub fn sleep(duration: Duration) {
    if worker::local().is_none() {
        return std::thread::sleep(duration);
    }
    let me = Me::current();
    let until = timer::deadline_after(duration);
    while !me.park(Some(until)).timed_out {}
}

/// Lets everything else that is ready on this worker run, socket events included, then goes on.
pub fn yield_now() {
    if worker::local().is_none() {
        return std::thread::yield_now();
    }
    let me = Me::current();
    me.inner().yielding.set(true);
    me.local.push_yielded(Green::current());
    while me.inner().yielding.get() && !me.park(None).timed_out {}
}
