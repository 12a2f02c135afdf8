//! Green threads that stay on the worker they started on. The only place that names `may`.
//!
//! `may` 0.3.51 resumes a green thread on whichever thread wakes it, and switches stacks in a way that a wake from
//! elsewhere can catch half done. Both are harmless if only worker k ever wakes a green thread of worker k. That is what
//! this module sees to, and why thread-locals, per-worker buffers and ordinary Rust code are sound on green threads:
//!
//! - The version is exact and no feature is on: work-stealing, I/O cancellation and I/O time-outs all move green
//!   threads. Another package of the build that switches one on breaks this; so each resume compares the thread, in
//!   release builds too, and ends the process with the cause if it differs.
//! - Wakes from elsewhere go through the worker's mailbox and doorbell (`worker`).
//! - Each fd belongs to worker `fd % workers`; sockets are moved to a number that fits (`fd`).
//! - Time comes from one wheel and timerfd per worker (`timer`), never from `may`'s timer thread.
//!
//! # Rules on a green thread
//! - Wait only through this module (clippy.toml bans `may`'s own waits elsewhere). Never block: what blocks goes to
//!   [`blocking`].
//! - Hold no lock guard and no borrow of a thread-local across a wait.
//! - Keep frames small: a session should fit the one page that its stack has touched anyway.
//! - Don't wait in a destructor. While a thread unwinds from a panic its waits return at once.
//!
//! It does no HTTP and no buffering, and knows nothing of sessions.

// The bans of clippy.toml hold everywhere but here.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is where may is wrapped"
)]

mod fd;
mod green;
mod host;
mod maps;
mod oneshot;
mod owned;
mod signal;
mod socket;
mod spawn;
mod stack;
mod start;
mod timer;
mod watchdog;
mod worker;

#[cfg(test)]
mod tests;

pub(crate) use green::{Green, is_green, park};
pub use green::{sleep, yield_now};
pub use host::{BlockingError, blocking};
pub(crate) use owned::Owned;
pub(crate) use signal::on_terminate;
pub(crate) use socket::{Socket, Wake};
pub(crate) use spawn::spawn_on;
pub(crate) use stack::trim_stack;
pub(crate) use start::{Settings, attend, next_worker, start, worker, workers};
pub(crate) use worker::{post, post_all};

use std::sync::Arc;

/// Something that can be rung: `rung` runs on the scheduler thread of the worker it was posted to, on the doorbell's
/// green thread. It must not park and should be short. A panic in it is contained and counted.
pub(crate) trait Rung: Send + Sync {
    /// Called once per [`post`].
    fn rung(self: Arc<Self>);
}

/// Why a green thread could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpawnError {
    /// vm.max_map_count would be passed.
    MapLimit,
}

impl std::fmt::Display for SpawnError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("too many green threads for vm.max_map_count")
    }
}

impl std::error::Error for SpawnError {}

/// What the runtime has counted since the start of the process, over all of its servers.
///
/// Each only grows, but for `green_threads`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuntimeCounters {
    /// Green threads alive now: one per connection and one per acceptor.
    pub green_threads: u64,
    /// Panics contained: in green threads, doorbell items, blocking jobs, signal listeners. Those of handlers are
    /// contained further up and counted by their server.
    pub panics: u64,
    /// Turns in which a green thread held its worker for over 100 ms, so that nothing else ran there.
    pub stalls: u64,
    /// Green threads that could not be started, at vm.max_map_count above all.
    pub spawn_refused: u64,
    /// Blocking jobs accepted.
    pub host_jobs: u64,
}

/// Reads them.
pub(crate) fn counters() -> RuntimeCounters {
    RuntimeCounters {
        green_threads: spawn::green_threads() as u64,
        panics: spawn::panics(),
        stalls: watchdog::stalls(),
        spawn_refused: maps::refused(),
        host_jobs: host::jobs(),
    }
}
