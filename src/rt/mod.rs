//! Green threads that stay on the worker they started on. The only place that names `may`.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the process-wide runtime is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    pub workers: usize,
    /// Green-thread stack in bytes.
    pub stack_bytes: usize,
    pub host_threads: usize,
    /// Jobs that may wait for a host thread before `Overloaded`.
    pub host_queue: usize,
}

/// Starts the runtime; the first call of the process decides, later calls are no-ops.
pub fn start(_settings: &Settings) -> io::Result<()> {
    todo!()
}
pub fn workers() -> usize {
    todo!()
}
/// The worker whose scheduler thread this is, `None` on a host thread.
pub fn worker() -> Option<usize> {
    todo!()
}
/// True on a green thread (which alone may park).
pub fn is_green() -> bool {
    todo!()
}
/// Round robin.
pub fn next_worker() -> usize {
    todo!()
}

/// Why a green thread could not be started.
#[derive(Debug)]
pub enum SpawnError {
    /// vm.max_map_count would be passed.
    MapLimit,
}

/// Starts a green thread on `worker`; it stays there for life. A panic in `f` is contained and counted.
pub fn spawn_on(_worker: usize, _f: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
    todo!()
}
/// Green threads alive now (those of the runtime itself not counted).
pub fn green_threads() -> usize {
    todo!()
}

/// Handle to one green thread, to wake it from anywhere.
#[derive(Clone)]
pub struct Green {
    _p: Arc<()>,
}
impl Green {
    /// The calling green thread's handle. Panics on a host thread.
    pub fn current() -> Green {
        todo!()
    }
    pub fn worker(&self) -> usize {
        todo!()
    }
    /// Ends the thread's present wait, or its next one, with `rung`. From any thread, never blocks, never lost;
    /// several wakes before it runs coalesce into one.
    pub fn wake(&self) {
        todo!()
    }
}

/// What ended a wait. Several may be true at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wake {
    pub readable: bool,
    pub writable: bool,
    /// The peer has closed its side or the connection failed (EPOLLRDHUP | EPOLLHUP | EPOLLERR): read to the end.
    pub hangup: bool,
    pub rung: bool,
    pub timed_out: bool,
}

/// A socket registered with the worker of the green thread that made it. Not `Send`: it is used, waited for and
/// dropped there. Drop deregisters, then closes.
pub struct Socket {
    _not_send: std::marker::PhantomData<*const ()>,
}
impl Socket {
    /// Makes the fd non-blocking, moves it to an fd number that fits this worker, registers it (edge-triggered).
    pub fn register(_fd: OwnedFd) -> io::Result<Socket> {
        todo!()
    }
    pub fn fd(&self) -> RawFd {
        todo!()
    }
    /// Parks until a new edge on the socket, a `Green::wake`, or `until`. An edge that came since the last wait ends
    /// it at once. Spurious ends are possible (all fields false).
    pub fn wait(&self, _until: Option<Instant>) -> Wake {
        todo!()
    }
}

/// Parks a green thread that waits for no socket until a wake or `until`.
pub fn park(_until: Option<Instant>) -> Wake {
    todo!()
}
/// Green thread: parks, by the worker's timer wheel; host thread: blocks.
pub fn sleep(_duration: Duration) {
    todo!()
}
/// Lets everything else that is ready on this worker run, socket events included, then goes on.
pub fn yield_now() {
    todo!()
}

/// Something that can be rung: `rung` runs on the scheduler thread of the worker it was posted to, on the doorbell's
/// green thread. It must not park and should be short. A panic in it is contained and counted.
pub trait Rung: Send + Sync {
    fn rung(self: Arc<Self>);
}
/// Has `item.rung()` called on `worker`, after the socket events that are being handled there now; items posted by
/// one thread to one worker are rung in order. No system call when posting to the own worker.
pub fn post(_worker: usize, _item: Arc<dyn Rung>) {
    todo!()
}
/// The same for many items of one worker: one lock, one ring.
pub fn post_all(_worker: usize, _items: &mut dyn Iterator<Item = Arc<dyn Rung>>) {
    todo!()
}

/// Why `blocking` gave no result.
#[derive(Debug)]
pub enum BlockingError {
    /// The queue of jobs was full.
    Overloaded,
    /// The job panicked, with its message.
    Panicked(String),
}
/// Runs `job` on a host thread while the calling green thread is parked; on a host thread runs it at once.
pub fn blocking<T: Send + 'static>(_job: impl FnOnce() -> T + Send + 'static) -> Result<T, BlockingError> {
    todo!()
}

/// A value that one thread (of any kind) gives once and one green or host thread waits for.
pub fn oneshot<T: Send>() -> (Completer<T>, Completion<T>) {
    todo!()
}
pub struct Completer<T>(std::marker::PhantomData<T>);
impl<T: Send> Completer<T> {
    pub fn complete(self, _value: T) {
        todo!()
    }
}
pub struct Completion<T>(std::marker::PhantomData<T>);
/// Why a wait for a completion ended without a value.
#[derive(Debug)]
pub enum Incomplete {
    TimedOut,
    /// The completer was dropped.
    Abandoned,
}
impl<T: Send> Completion<T> {
    pub fn wait(self, _until: Option<Instant>) -> Result<T, Incomplete> {
        todo!()
    }
}

/// SIGTERM or SIGINT: calls `f` on a host thread of its own, each time one comes. Process-wide, later calls add.
pub fn on_terminate(_f: impl FnMut() + Send + 'static) -> io::Result<()> {
    todo!()
}

/// Gives back the pages of this green thread's stack that lie below what is in use now (one madvise call).
pub fn trim_stack() {
    todo!()
}

/// Counters of the runtime since the start of the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    pub panics: u64,
    pub stalls: u64,
    pub spawn_refused: u64,
    pub host_jobs: u64,
}
pub fn counters() -> Counters {
    todo!()
}
