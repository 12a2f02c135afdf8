//! The runtime's promises, tested on real worker threads: pinning, wakes, deadlines, containment.

mod busy;
mod child;
mod deadlines;
mod measure;
mod waits;

use super::oneshot::oneshot;
use super::{Settings, spawn_on, start};
use std::time::{Duration, Instant};

/// How long anything here may take before it counts as hung. Generous: the machine may be busy.
const HANG: Duration = Duration::from_secs(60);

/// Starts the runtime of the test process: two workers unless the environment of a child process says otherwise.
fn runtime() {
    let workers = std::env::var("GREENROOM_TEST_WORKERS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(2);
    start(&Settings {
        workers,
        stack_bytes: 256 * 1024,
        host_threads: 8,
        host_queue: 1024,
    })
    .unwrap();
    crate::rt::attend().unwrap();
}

/// Runs `f` on a green thread of `worker` and waits for what it returns; a panic in it fails the test.
fn on_green<T: Send + 'static>(worker: usize, f: impl FnOnce() -> T + Send + 'static) -> T {
    runtime();
    let (completer, completion) = oneshot();
    spawn_on(worker, move || completer.complete(f())).unwrap();
    match completion.wait(Some(Instant::now() + HANG)) {
        Ok(value) => value,
        Err(e) => panic!("the green thread gave no result: {e:?}"),
    }
}

/// Waits until `condition` holds.
fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + HANG;
    while !condition() {
        assert!(Instant::now() < end, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A connected pair: one end to register, the other, blocking, for the test.
fn pair() -> (std::os::fd::OwnedFd, std::os::unix::net::UnixStream) {
    let (a, b) = std::os::unix::net::UnixStream::pair().unwrap();
    (a.into(), b)
}
