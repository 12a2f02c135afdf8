//! What one server has counted since it started.
//!
//! Counted per worker, each in a cache line of its own, and added up when somebody asks: a request costs no shared
//! write.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of one server, by [`ServerHandle::counters`](crate::ServerHandle::counters).
///
/// Each only grows, but for `connections`. They are read one after the other, so they may differ by what happened
/// meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounters {
    /// Connections open now, WebSocket sessions included.
    pub connections: u64,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections refused with a 503 or closed, at a limit.
    pub refused: u64,
    /// Calls of accept that failed, for want of file descriptors above all.
    pub accept_errors: u64,
    /// Requests whose head was complete and acceptable.
    pub requests: u64,
    /// Requests that were refused before a handler saw them (malformed, too large, too slow).
    pub bad_requests: u64,
    /// Handlers that panicked.
    pub panics: u64,
}

/// The counters of one worker. 128 bytes, since processors fetch cache lines in pairs.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct WorkerCounters {
    pub(crate) accepted: Count,
    pub(crate) refused: Count,
    pub(crate) accept_errors: Count,
    pub(crate) requests: Count,
    pub(crate) bad_requests: Count,
    pub(crate) panics: Count,
}

/// A number that one worker changes and anybody reads.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// One more. Only for the worker that owns the counter: it is not a locked instruction, two writers would lose
    /// counts.
    pub(crate) fn add_one(&self) {
        self.0
            .store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Adds the workers' counters up.
pub(crate) fn total(workers: &[WorkerCounters], connections: usize) -> ServerCounters {
    let mut total = ServerCounters {
        connections: connections as u64,
        ..ServerCounters::default()
    };
    for worker in workers {
        total.accepted += worker.accepted.get();
        total.refused += worker.refused.get();
        total.accept_errors += worker.accept_errors.get();
        total.requests += worker.requests.get();
        total.bad_requests += worker.bad_requests.get();
        total.panics += worker.panics.get();
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_added_up() {
        let workers = [WorkerCounters::default(), WorkerCounters::default()];
        workers[0].requests.add_one();
        workers[1].requests.add_one();
        workers[1].panics.add_one();
        let total = total(&workers, 3);
        assert_eq!((total.requests, total.panics, total.connections), (2, 1, 3));
    }
}
