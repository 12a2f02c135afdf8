//! Sessions whose socket was full when last written, while their green thread is busy elsewhere.
//!
//! Room in a socket is an event for the green thread that waits on it. A handler that sleeps, waits for a host thread or
//! computes is not there to hear it, so what its peer has yet to take would lie until the handler comes back. A green
//! thread of the worker tries again every few milliseconds for as long as there are such sessions, and ends with the
//! last of them. It does nothing for sessions that are in `recv` or `send`: they hear for themselves.

use super::shared::Shared;
use crate::rt;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

/// Between two tries: a socket buffer of some 100 KiB each time is far more than a slow peer takes.
const PAUSE: Duration = Duration::from_millis(5);

thread_local! {
    static STALLED: RefCell<Vec<Arc<Shared>>> = const { RefCell::new(Vec::new()) };
}

/// Has the session's outbox tried again until it is written or its green thread is back. On its own worker.
pub(super) fn watch(session: &Arc<Shared>) {
    let first = STALLED.with_borrow_mut(|stalled| {
        stalled.push(session.clone());
        stalled.len() == 1
    });
    if first {
        // Refused near the limit of memory maps: then the handler's return has to do.
        let _ = rt::spawn_on(session.worker(), try_again);
    }
}

/// The green thread. The list is empty when it ends, and nothing parks between the two.
fn try_again() {
    loop {
        rt::sleep(PAUSE);
        let mut stalled = STALLED.take();
        stalled.retain(|session| session.is_still_stalled());
        if stalled.is_empty() {
            return;
        }
        STALLED.set(stalled);
    }
}
