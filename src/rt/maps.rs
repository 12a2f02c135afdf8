//! The guard against vm.max_map_count: each stack takes two of the process's memory maps (itself and its guard page),
//! and the mapping that passes the limit fails wherever it happens, in `malloc` too. New green threads are refused
//! before that.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Maps left to everything else: host threads (three each), allocator arenas, libraries loaded later.
const RESERVE: usize = 2048;
/// What Linux has had since 2.6 where the file can't be read.
const DEFAULT_LIMIT: usize = 65_530;

/// Green threads that may exist at a time.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static REFUSED: AtomicU64 = AtomicU64::new(0);
static LOGGED: AtomicBool = AtomicBool::new(false);

/// Stacks that fit below the limit. `pooled` of them may be lying in `may`'s pool.
fn stacks(max_map_count: usize, maps: usize, pooled: usize) -> usize {
    (max_map_count.saturating_sub(maps + RESERVE) / 2).saturating_sub(pooled)
}

/// Reads both figures, once.
pub(super) fn learn_limit(pooled: usize) {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(DEFAULT_LIMIT);
    let maps = std::fs::read_to_string("/proc/self/maps").map_or(0, |text| text.lines().count());
    let limit = stacks(limit, maps, pooled);
    // A limit that was set on purpose stays.
    let _ = LIMIT.compare_exchange(usize::MAX, limit, Ordering::Relaxed, Ordering::Relaxed);
}

#[cfg(test)]
pub(super) fn set_limit(green_threads: usize) {
    LIMIT.store(green_threads, Ordering::Relaxed);
}

#[cfg(test)]
pub(super) fn limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Whether one more may be started beside `alive` others. Counts and logs a refusal.
pub(super) fn admits(alive: usize) -> bool {
    alive < LIMIT.load(Ordering::Relaxed) || {
        refuse(alive);
        false
    }
}

#[cold]
fn refuse(alive: usize) {
    REFUSED.fetch_add(1, Ordering::Relaxed);
    if !LOGGED.swap(true, Ordering::Relaxed) {
        tracing::error!(
            "refusing more than {alive} green threads: each needs two memory maps and vm.max_map_count is nearly \
             reached; raise it (sysctl -w vm.max_map_count=1048576, and in /etc/sysctl.d/ for good)"
        );
    }
}

/// A stack could not be mapped in spite of the guard.
#[cold]
pub(super) fn failed(why: &str) {
    REFUSED.fetch_add(1, Ordering::Relaxed);
    tracing::error!("a green thread could not be started: {why}");
}

/// Refusals so far.
pub(super) fn refused() -> u64 {
    REFUSED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::stacks;

    #[test]
    fn two_maps_a_stack_less_the_reserve_and_the_pool() {
        assert_eq!(
            stacks(65_530, 100, 128),
            (65_530 - 100 - super::RESERVE) / 2 - 128
        );
        assert_eq!(stacks(1_000, 100, 128), 0);
    }
}
