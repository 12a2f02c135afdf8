//! Starting green threads, and how they end: counted while they live, their panics contained.
#![allow(unsafe_code, reason = "`may` asks for promises that this module keeps")]

use super::green::Inner;
use super::stack;
use super::start;
use super::worker::{self, Entry};
use super::{SpawnError, maps};
use may::coroutine;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Green threads alive, the accepted spawns included.
static ALIVE: AtomicUsize = AtomicUsize::new(0);
static PANICS: AtomicU64 = AtomicU64::new(0);

/// One accepted green thread; counted until dropped.
struct Alive;

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Green threads alive now (those of the runtime itself not counted).
pub(super) fn green_threads() -> usize {
    ALIVE.load(Ordering::Acquire)
}

/// Panics contained so far.
pub(super) fn panics() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

/// Counts and logs a contained panic.
#[cold]
pub(super) fn panicked(what: &str, payload: &(dyn Any + Send)) {
    PANICS.fetch_add(1, Ordering::Relaxed);
    tracing::error!("{what} panicked: {}", panic_message(payload));
}

/// What a panic said.
pub(super) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)")
}

/// What a new green thread is to run: a closure on the heap, taken out of its box before it is called so that the
/// memory does not stay for as long as the green thread.
pub(super) trait Job: Send {
    fn run(self: Box<Self>);
}

struct Start<F> {
    f: F,
    _alive: Alive,
}

impl<F: FnOnce() + Send> Job for Start<F> {
    fn run(self: Box<Self>) {
        let Start { f, _alive } = unbox(self);
        f();
    }
}

/// Not inlined: the box is freed when this returns.
#[inline(never)]
#[allow(clippy::boxed_local, reason = "taking it out of its box is what this is for")]
fn unbox<T>(boxed: Box<T>) -> T {
    *boxed
}

/// Starts a green thread on `worker`; it stays there for life. A panic in `f` is contained and counted.
///
/// # Errors
/// When the process may not map another stack: `f` is dropped.
///
/// # Panics
/// If there is no such worker, or before [`start`](super::start()).
pub(crate) fn spawn_on(worker: usize, f: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
    let alive = ALIVE.fetch_add(1, Ordering::AcqRel);
    let counted = Alive;
    if !maps::admits(alive) {
        return Err(SpawnError::MapLimit);
    }
    worker::send(worker, Entry::Spawn(Box::new(Start { f, _alive: counted })));
    Ok(())
}

/// Own worker's doorbell: makes the green thread and runs it until it first waits.
pub(super) fn run_new(worker: usize, job: Box<dyn Job>) {
    let spawn = || {
        // SAFETY: `may` asks that a coroutine use no thread-local across a switch of threads (ours don't change
        // theirs), that its stack suffices (there is a guard page, and `stack` ends the process when it is hit), and
        // that nobody cancels it (nobody has its handle).
        unsafe { coroutine::Builder::new().spawn_local(move || run(worker, job)) }
    };
    // It panics when the kernel gives no memory for a stack. The job has been dropped then.
    match catch_unwind(AssertUnwindSafe(spawn)) {
        Ok(Ok(_handle)) => {}
        Ok(Err(e)) => maps::failed(&e.to_string()),
        Err(payload) => maps::failed(panic_message(&*payload)),
    }
}

/// The first frame of every green thread.
fn run(worker: usize, job: Box<dyn Job>) {
    let mark = 0u8;
    let inner = Inner::new(worker, stack::top(&mark));
    let Some(local) = worker::local().filter(|local| local.worker.index == worker) else {
        start::die("a green thread was started on a thread that is not its worker");
    };
    local.running(Arc::as_ptr(&inner));
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| job.run())) {
        panicked("a green thread", &*payload);
        // Its destructor is somebody else's code too.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
    }
    inner.disarm(local);
    stack::untrim(&inner);
    local.current.set(ptr::null());
    local.parked();
}
