//! Starting the runtime, once per process.

use super::worker::{self, Worker};
use super::{host, maps, stack, watchdog};
use may::coroutine;
use parking_lot::Mutex;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// What the process-wide runtime is started with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Scheduler threads, at least 1.
    pub(crate) workers: usize,
    /// Green-thread stack in bytes of address space; rounded up to whole pages, at least 16 KiB.
    pub(crate) stack_bytes: usize,
    /// Most host threads for blocking jobs, at least 1.
    pub(crate) host_threads: usize,
    /// Jobs that may wait for a host thread before `Overloaded`.
    pub(crate) host_queue: usize,
}

/// Stacks kept for reuse, per worker: enough for steady churn, little memory (8 KiB each).
const POOLED: usize = 64;

/// Where the workers say that they are ready, each with the top of a stack of the runtime's own; until [`attend`].
static STARTING: Mutex<Option<mpsc::Receiver<io::Result<usize>>>> = Mutex::new(None);

/// When the process's maps are read. Until then stacks are not trimmed and their number is not bounded.
const LEARN_AFTER: Duration = Duration::from_millis(10);

static WORKERS: OnceLock<Box<[Worker]>> = OnceLock::new();

/// Starts the runtime; the first call of the process decides, later calls are no-ops. [`attend`] belongs to it.
///
/// # Errors
/// When fds, threads or signal handlers can't be had. A later call tries again only if no worker was started.
pub(crate) fn start(settings: &Settings) -> io::Result<()> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    if WORKERS.get().is_some() {
        return Ok(());
    }
    let count = settings.workers.max(1);
    let workers: Box<[Worker]> = (0..count)
        .map(|k| Worker::new(k, count))
        .collect::<io::Result<_>>()?;
    stack::remember_handlers()?;
    let words = stack::set_bytes(settings.stack_bytes) / size_of::<usize>();
    // A pool of one, since `may` fills it when it starts (zero would mean a thousand).
    may::config()
        .set_workers(count)
        .set_stack_size(words)
        .set_pool_capacity(1);
    may::config().set_worker_pin(false);
    host::set_bounds(settings.host_threads, settings.host_queue);
    let workers = WORKERS.get_or_init(|| workers);
    stack::map_ahead();
    let (ready, started) = mpsc::channel();
    for worker in workers {
        let doorbell = ready.clone();
        spawn(worker.index, move |top| {
            worker::run(worker, top, |result| {
                drop(doorbell.send(result.map(|local| local.doorbell_stack)))
            });
        })?;
        let timer = ready.clone();
        spawn(worker.index, move |_| {
            worker::run_timer(|result| drop(timer.send(result.map(|()| 0))))
        })?;
    }
    // `may` has filled its pool. It reads this for each stack given back, so later spawns reuse those.
    may::config().set_pool_capacity(POOLED * count);
    *STARTING.lock() = Some(started);
    Ok(())
}

/// Finishes the start: waits for the workers, takes stack overflows over, starts the watchdog, whose thread first learns
/// how stacks lie and how many there may be. Apart from [`start`], since no first request has to wait for it: green
/// threads may be started before. Later calls are no-ops.
///
/// # Errors
/// A worker could not register with the kernel, or there is no thread for the watchdog.
pub(crate) fn attend() -> io::Result<()> {
    let Some(started) = STARTING.lock().take() else {
        return Ok(());
    };
    let mut a_stack = 0;
    for _ in 0..2 * workers() {
        let stack = started
            .recv()
            .map_err(|_| io::Error::other("a worker did not start"))??;
        a_stack = a_stack.max(stack);
    }
    stack::install_handlers()?;
    watchdog::start(move || {
        // Reading the process's maps holds up those who map stacks, and the first requests are at that just now.
        std::thread::sleep(LEARN_AFTER);
        stack::learn_layout(a_stack);
        maps::learn_limit(POOLED * workers());
    })
}

/// A green thread of the runtime's own, straight through `may`, that is told the top of its stack; a panic in it ends
/// the process.
#[allow(unsafe_code, reason = "may asks for promises that rt keeps")]
fn spawn(worker: usize, f: impl FnOnce(usize) + Send + 'static) -> io::Result<()> {
    struct Fatal;
    impl Drop for Fatal {
        fn drop(&mut self) {
            if std::thread::panicking() {
                die("a panic in the runtime's own green threads");
            }
        }
    }
    // A frame of its own, so that this one is small and lies in the topmost page.
    #[inline(never)]
    fn call(f: impl FnOnce(usize), top: usize) {
        f(top);
    }
    let body = move || {
        let _fatal = Fatal;
        let mark = 0u8;
        call(f, stack::top(&mark));
    };
    // SAFETY: as in `spawn::run_new`.
    unsafe { coroutine::Builder::new().id(worker).spawn(body) }.map(drop)
}

/// Ends the process when pinning or the event loop can't be relied on any more.
#[cold]
pub(super) fn die(why: &str) -> ! {
    // Straight to stderr: the log may run through what has just failed.
    eprintln!("greenroom: {why}. The process ends.");
    std::process::abort();
}

/// All workers.
///
/// # Panics
/// Before [`start`].
pub(super) fn all() -> &'static [Worker] {
    match WORKERS.get() {
        Some(workers) => workers,
        None => panic!("the runtime has not been started"),
    }
}

/// # Panics
/// If there is no such worker, or before [`start`].
pub(super) fn worker_at(index: usize) -> &'static Worker {
    &all()[index]
}

/// How many workers there are.
///
/// # Panics
/// Before [`start`].
pub(crate) fn workers() -> usize {
    all().len()
}

/// The worker whose scheduler thread this is, `None` on a host thread.
pub(crate) fn worker() -> Option<usize> {
    worker::local().map(|local| local.worker.index)
}

/// The next worker, round robin.
///
/// # Panics
/// Before [`start`].
pub(crate) fn next_worker() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed) % workers()
}
