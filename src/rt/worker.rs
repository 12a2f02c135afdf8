//! A worker: one scheduler thread of `may`, with the mailbox through which everyone else reaches its green threads and
//! the doorbell, a green thread of the runtime's own that empties it.
//!
//! From another thread an item goes into the mailbox under a short lock, and only the first one rings, by a write to
//! the worker's eventfd. From the worker itself it goes into a queue without a lock and the doorbell is put into `may`'s
//! run queue: no system call. That queue is emptied before the event loop asks the kernel again, so two green threads
//! that keep waking each other could shut the sockets out for good; [`BUDGET`] prevents that.

use super::fd;
use super::green::{Green, Inner};
use super::spawn;
use super::start;
use super::timer::{self, Timers};
use super::{Rung, watchdog};
use may::io::{CoIo, WaitIo, WaitIoWaker};
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering, compiler_fence};

/// Wake-ups and mailbox items that a worker takes from itself before it looks at its sockets again. 256 of them, each
/// worth one small write, are about a millisecond; one more system call in 256 is not noticed.
const BUDGET: u32 = 256;

/// Entries for which the queues keep their memory after a burst (24 KiB each).
const KEPT: usize = 1024;

/// What arrives in a mailbox.
pub(super) enum Entry {
    Rung(Arc<dyn Rung>),
    Wake(Green),
    Spawn(Box<dyn spawn::Job>),
}

/// What other threads may touch of a worker.
pub(super) struct Worker {
    pub(super) index: usize,
    mailbox: Mutex<VecDeque<Entry>>,
    bell: File,
    timer: OwnedFd,
    /// Written by the worker alone, odd while a green thread runs, another odd number each time; see `watchdog`.
    pub(super) turn: AtomicU64,
    /// The watchdog sleeps and is to be woken by the next turn.
    pub(super) watch_asleep: AtomicBool,
    /// The kernel's id of the scheduler thread, for the log.
    pub(super) thread: AtomicI32,
}

impl Worker {
    pub(super) fn new(index: usize, workers: usize) -> io::Result<Self> {
        Ok(Self {
            index,
            mailbox: Mutex::new(VecDeque::new()),
            bell: File::from(fd::fit(fd::event_fd()?, index, workers)?),
            timer: fd::fit(fd::timer_fd()?, index, workers)?,
            turn: AtomicU64::new(0),
            watch_asleep: AtomicBool::new(false),
            thread: AtomicI32::new(0),
        })
    }

    fn ring(&self) {
        // The counter is never read and can't overflow; each write is an edge for the doorbell's epoll.
        if let Err(e) = (&self.bell).write_all(&1u64.to_ne_bytes()) {
            start::die(&format!("a worker's doorbell can't be rung: {e}"));
        }
    }

    /// From another thread.
    pub(super) fn push(&self, entry: Entry) {
        let first = {
            let mut mailbox = self.mailbox.lock();
            mailbox.push_back(entry);
            mailbox.len() == 1
        };
        if first {
            self.ring();
        }
    }

    /// From another thread: one lock, one ring.
    fn push_all(&self, entries: &mut dyn Iterator<Item = Entry>) {
        let first = {
            let mut mailbox = self.mailbox.lock();
            let empty = mailbox.is_empty();
            mailbox.extend(entries);
            empty && !mailbox.is_empty()
        };
        if first {
            self.ring();
        }
    }
}

/// What only the worker's own thread touches, found through a thread-local.
pub(super) struct Local {
    pub(super) worker: &'static Worker,
    pub(super) timers: Timers,
    /// The green thread that runs now; null in the runtime's own. Read by the overflow handler too.
    pub(super) current: Cell<*const Inner>,
    /// Top of the doorbell's stack, for the overflow handler: it runs `rung` of others.
    pub(super) doorbell_stack: usize,
    posted: RefCell<VecDeque<Entry>>,
    /// Green threads that wait for the next look at the sockets.
    yielded: RefCell<Vec<Green>>,
    doorbell: WaitIoWaker,
    /// The doorbell will run without our doing, by `may`'s queue or by epoll.
    ringing: Cell<bool>,
    /// The doorbell will run by epoll.
    ringing_by_epoll: Cell<bool>,
    budget: Cell<u32>,
}

thread_local! {
    static LOCAL: Cell<Option<&'static Local>> = const { Cell::new(None) };
    /// A scheduler thread never ends, so this is dropped only when a panic has unwound `may`'s event loop.
    static LIFELINE: Lifeline = const { Lifeline };
}

struct Lifeline;

impl Drop for Lifeline {
    fn drop(&mut self) {
        start::die("a scheduler thread has ended by a panic in the event loop");
    }
}

/// The calling scheduler thread's own record; `None` on a host thread. Never inlined, so that a thread-local address
/// taken before a switch of stacks is not used after it.
#[inline(never)]
pub(super) fn local() -> Option<&'static Local> {
    LOCAL.get()
}

/// Compares the thread after each resume; see the rules in `rt`.
#[inline]
pub(super) fn check(expected: &Local) {
    if !local().is_some_and(|local| std::ptr::eq(local, expected)) {
        moved();
    }
}

#[cold]
fn moved() -> ! {
    start::die(
        "a green thread was resumed on a thread that is not its worker: either another package of the build has \
         switched on a feature of `may` (work_steal, io_cancel, io_timeout: see `cargo tree -e features -i may`), or \
         something woke a green thread past the runtime",
    )
}

impl Local {
    /// A green thread goes on here. Two plain stores, and a look at a flag beside the second.
    #[inline]
    pub(super) fn running(&self, green: *const Inner) {
        self.current.set(green);
        let turn = self.worker.turn.load(Ordering::Relaxed);
        self.worker.turn.store((turn + 2) | 1, Ordering::Relaxed);
        // In this order; the watchdog sees to it that no fence is needed.
        compiler_fence(Ordering::SeqCst);
        if self.worker.watch_asleep.load(Ordering::Relaxed) {
            watchdog::wake(self.worker);
        }
    }

    /// It has given the worker back. Two plain stores.
    #[inline]
    pub(super) fn parked(&self) {
        self.current.set(std::ptr::null());
        let turn = self.worker.turn.load(Ordering::Relaxed);
        self.worker.turn.store(turn & !1, Ordering::Relaxed);
    }

    /// Takes one from the budget; false if it is spent.
    #[inline]
    pub(super) fn spend(&self) -> bool {
        match self.budget.get() {
            0 => false,
            n => {
                self.budget.set(n - 1);
                true
            }
        }
    }

    /// From this very thread, no lock.
    pub(super) fn push(&self, entry: Entry) {
        self.posted.borrow_mut().push_back(entry);
        if !self.ringing.replace(true) {
            if self.spend() {
                self.doorbell.wakeup()
            } else {
                self.ring_by_epoll()
            }
        }
    }

    fn ring_by_epoll(&self) {
        if !self.ringing_by_epoll.replace(true) {
            self.worker.ring();
        }
    }

    /// Has `green` resumed after the next look at the sockets.
    pub(super) fn push_yielded(&self, green: Green) {
        self.yielded.borrow_mut().push(green);
        self.ring_by_epoll();
    }

    fn run_entry(&'static self, entry: Entry) {
        match entry {
            Entry::Wake(green) => green.delivered(),
            Entry::Rung(item) => {
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| item.rung())) {
                    spawn::panicked("a doorbell item", &*payload);
                }
            }
            Entry::Spawn(job) => {
                // The new green thread runs at once, on top of the doorbell, until it first waits.
                spawn::run_new(self.worker.index, job);
                check(self);
                self.running(std::ptr::null());
            }
        }
    }

    /// Empties the queues until nothing is left (true) or the budget is spent.
    fn run_entries(&'static self, batch: &mut VecDeque<Entry>) -> bool {
        loop {
            while !batch.is_empty() {
                if !self.spend() {
                    return false;
                }
                let Some(entry) = batch.pop_front() else { break };
                self.run_entry(entry);
            }
            batch.append(&mut self.posted.borrow_mut());
            batch.append(&mut self.worker.mailbox.lock());
            if batch.is_empty() {
                return true;
            }
        }
    }

    /// Gives back what a burst has left of memory.
    fn shrink(&self, batch: &mut VecDeque<Entry>) {
        if batch.capacity() > KEPT && batch.is_empty() {
            batch.shrink_to(KEPT);
            self.posted.borrow_mut().shrink_to(KEPT);
            self.worker.mailbox.lock().shrink_to(KEPT);
        }
    }
}

/// The body of the doorbell of `worker`, on its scheduler thread; `stack` is the top of its stack. Ends only if it can't
/// be set up.
pub(super) fn run(worker: &'static Worker, stack: usize, ready: impl FnOnce(io::Result<&'static Local>)) {
    let io = match CoIo::new(fd::Unowned(worker.bell.as_raw_fd())) {
        Ok(io) => io,
        Err(e) => return ready(Err(e.into())),
    };
    // One per worker for the life of the process.
    let local: &'static Local = Box::leak(Box::new(Local {
        worker,
        timers: Timers::new(&worker.timer),
        current: Cell::new(std::ptr::null()),
        doorbell_stack: stack,
        posted: RefCell::new(VecDeque::new()),
        yielded: RefCell::new(Vec::new()),
        doorbell: io.waker(),
        ringing: Cell::new(false),
        ringing_by_epoll: Cell::new(false),
        budget: Cell::new(BUDGET),
    }));
    LOCAL.set(Some(local));
    LIFELINE.with(|_| ());
    worker.thread.store(watchdog::thread_id(), Ordering::Relaxed);
    super::stack::prepare_thread();
    ready(Ok(local));
    let mut batch = VecDeque::new();
    let mut yielded = Vec::new();
    loop {
        let flags = io.wait_io();
        check(local);
        local.running(std::ptr::null());
        local.ringing.set(false);
        if flags & libc::EPOLLIN as usize != 0 {
            // The event loop has asked the kernel since.
            local.ringing_by_epoll.set(false);
            local.budget.set(BUDGET);
            std::mem::swap(&mut yielded, &mut local.yielded.borrow_mut());
            for green in yielded.drain(..) {
                Green::turn_has_come(&green);
            }
        }
        if !local.run_entries(&mut batch) {
            local.ring_by_epoll();
        }
        local.shrink(&mut batch);
        local.parked();
    }
}

/// Has `item.rung()` called on `worker`, after the socket events that are being handled there now; items posted by one
/// thread to one worker are rung in order. No system call when posting to the own worker.
///
/// # Panics
/// If there is no such worker, or before [`start`](super::start()).
pub(crate) fn post(worker: usize, item: Arc<dyn Rung>) {
    send(worker, Entry::Rung(item));
}

/// The same for many items of one worker: one lock, one ring.
///
/// `items` is run under the mailbox's lock: it must do nothing but hand out items.
pub(crate) fn post_all(worker: usize, items: &mut dyn Iterator<Item = Arc<dyn Rung>>) {
    match local() {
        Some(local) if local.worker.index == worker => items.for_each(|item| local.push(Entry::Rung(item))),
        _ => start::worker_at(worker).push_all(&mut items.map(Entry::Rung)),
    }
}

/// To the mailbox of `worker`, by the way that fits the calling thread.
pub(super) fn send(worker: usize, entry: Entry) {
    match local() {
        Some(local) if local.worker.index == worker => local.push(entry),
        _ => start::worker_at(worker).push(entry),
    }
}

/// The body of the green thread that waits for the timerfd.
pub(super) fn run_timer(ready: impl FnOnce(io::Result<()>)) {
    match local() {
        Some(local) => timer::run(local, ready),
        None => ready(Err(io::Error::other("the doorbell did not start"))),
    }
}
