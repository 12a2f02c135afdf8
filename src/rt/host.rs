//! Host threads for work that blocks: SQLite, files, DNS, long computation. Started on demand up to a limit, ended
//! after ten idle seconds, in front of them a bounded queue.

use super::green::{self, is_green};
use super::oneshot::oneshot;
use super::worker;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Long enough to span the gaps of a busy minute, short enough that a burst does not keep its threads.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

struct State {
    queue: VecDeque<Job>,
    threads: usize,
    /// Threads that will take the next job: waiting for one or just being started.
    free: usize,
}

struct Pool {
    state: Mutex<State>,
    work: Condvar,
    max_threads: usize,
    max_queue: usize,
}

static POOL: OnceLock<Pool> = OnceLock::new();
static JOBS: AtomicU64 = AtomicU64::new(0);

/// Why `blocking` gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockingError {
    /// Every host thread was busy and the queue of jobs full.
    Overloaded,
    /// The job panicked, with its message.
    Panicked(String),
}

impl std::fmt::Display for BlockingError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            BlockingError::Overloaded => f.write_str("too many blocking jobs are waiting"),
            BlockingError::Panicked(message) => write!(f, "a blocking job panicked: {message}"),
        }
    }
}

impl std::error::Error for BlockingError {}

/// Sets the bounds; a pool without a thread would never do anything, so there is at least one.
pub(super) fn set_bounds(max_threads: usize, max_queue: usize) {
    let state = Mutex::new(State {
        queue: VecDeque::new(),
        threads: 0,
        free: 0,
    });
    let _ = POOL.set(Pool {
        state,
        work: Condvar::new(),
        max_threads: max_threads.max(1),
        max_queue,
    });
}

/// Jobs accepted so far.
pub(super) fn jobs() -> u64 {
    JOBS.load(Ordering::Relaxed)
}

impl Pool {
    /// Never blocks. False: overloaded.
    fn submit(&'static self, job: Job) -> bool {
        let start = {
            let mut state = self.state.lock();
            let mut start = false;
            if state.free <= state.queue.len() {
                start = state.threads < self.max_threads;
                if start {
                    state.threads += 1;
                    state.free += 1;
                } else if state.queue.len() - state.free >= self.max_queue {
                    return false;
                }
            }
            state.queue.push_back(job);
            start
        };
        JOBS.fetch_add(1, Ordering::Relaxed);
        if !start {
            self.work.notify_one();
            return true;
        }
        let thread = std::thread::Builder::new()
            .name("greenroom-host".into())
            .spawn(|| self.serve());
        thread.is_ok() || self.could_not_start()
    }

    /// The kernel refused a thread. The job stays if there is another to take it.
    #[cold]
    fn could_not_start(&self) -> bool {
        let jobs = {
            let mut state = self.state.lock();
            state.threads -= 1;
            state.free -= 1;
            if state.threads > 0 {
                VecDeque::new()
            } else {
                std::mem::take(&mut state.queue)
            }
        };
        // Dropped outside the lock: their callers are told.
        jobs.is_empty()
    }

    /// The life of a host thread.
    fn serve(&self) {
        let mut state = self.state.lock();
        state.free -= 1;
        loop {
            if let Some(job) = state.queue.pop_front() {
                drop(state);
                job();
                state = self.state.lock();
                continue;
            }
            state.free += 1;
            let timed_out = self.work.wait_for(&mut state, IDLE).timed_out();
            state.free -= 1;
            if timed_out && state.queue.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

fn run<T>(job: impl FnOnce() -> T) -> Result<T, BlockingError> {
    catch_unwind(AssertUnwindSafe(job)).map_err(|payload| {
        green::panicked("a blocking job", &*payload);
        BlockingError::Panicked(green::panic_message(&*payload).to_owned())
    })
}

/// Runs `job` on a host thread while the calling green thread is parked; on a host thread runs it at once. Wakes that
/// come meanwhile are kept for the next wait.
///
/// # Errors
/// [`BlockingError`]; overloaded means that `job` did not run.
///
/// # Panics
/// In a doorbell item, which must not wait; before [`start`](super::start()).
pub fn blocking<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Result<T, BlockingError> {
    if !is_green() && worker::local().is_none() {
        return run(job);
    }
    let Some(pool) = POOL.get() else {
        panic!("the runtime has not been started")
    };
    let (completer, completion) = oneshot();
    if !pool.submit(Box::new(move || completer.complete(run(job)))) {
        return Err(BlockingError::Overloaded);
    }
    // Abandoned: dropped from the queue because no host thread could be started.
    completion.wait(None).unwrap_or(Err(BlockingError::Overloaded))
}
