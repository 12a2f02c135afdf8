//! What ends the process or must have it to itself: run in a child, the same test binary asked for one ignored test.

use super::super::spawn::green_threads;
use super::super::*;
use super::{HANG, eventually, on_green, runtime};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Runs an ignored test of this binary in a process of its own; kills it when it takes `length` and then some.
fn run(test: &str, env: &[(&str, &str)], length: Duration) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + length + HANG * 3;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            panic!("{test} hangs: {}", String::from_utf8_lossy(&output.stderr));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// Runs an ignored test in a process of its own; it must pass.
pub(super) fn passes(test: &str, env: &[(&str, &str)], length: Duration) {
    let output = run(test, env, length);
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && out.contains("1 passed"),
        "{test}:\n{out}\n{err}"
    );
    eprint!(
        "{}",
        err.lines()
            .filter(|line| line.contains(" workers: "))
            .collect::<String>()
    );
}

fn aborts_with(test: &str, message: &str) {
    use std::os::unix::process::ExitStatusExt;
    let output = run(test, &[], Duration::ZERO);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{test}: {err}");
    assert!(err.contains(message), "{test}: {err}");
}

#[inline(never)]
fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == u64::MAX {
        0
    } else {
        recurse(depth + 1) + frame[(depth % 64) as usize]
    }
}

#[test]
fn a_stack_overflow_ends_the_process_and_names_the_setting() {
    aborts_with("rt::tests::child::overflows", "CN1_HTTP_VT_STACK");
    aborts_with(
        "rt::tests::child::overflows",
        "green thread has overflowed its stack of 262144 bytes",
    );
    aborts_with(
        "rt::tests::child::overflows_in_a_doorbell_item",
        "CN1_HTTP_VT_STACK",
    );
}

#[test]
#[ignore = "ends the process"]
fn overflows() {
    on_green(0, || recurse(0));
}

#[test]
#[ignore = "ends the process"]
fn overflows_in_a_doorbell_item() {
    struct Deep;
    impl Rung for Deep {
        fn rung(self: Arc<Self>) {
            recurse(0);
        }
    }
    runtime();
    post(1, Arc::new(Deep));
    std::thread::sleep(HANG);
}

#[test]
fn another_fault_is_not_taken_for_an_overflow() {
    use std::os::unix::process::ExitStatusExt;
    let output = run("rt::tests::child::faults", &[], Duration::ZERO);
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("CN1_HTTP_VT_STACK"));
}

#[test]
#[ignore = "ends the process"]
#[allow(unsafe_code, reason = "the fault is the point")]
fn faults() {
    // SAFETY: none; the fault is the point.
    on_green(0, || unsafe {
        std::ptr::read_volatile(std::ptr::without_provenance::<u8>(64))
    });
}

#[test]
fn a_wake_past_the_runtime_ends_the_process_and_names_the_cause() {
    aborts_with(
        "rt::tests::child::is_resumed_elsewhere",
        "a green thread was resumed on a thread",
    );
}

#[test]
#[ignore = "ends the process"]
#[allow(unsafe_code, reason = "straight past the runtime, to see it notice")]
fn is_resumed_elsewhere() {
    on_green(0, || {
        let handle = may::coroutine::current();
        let wake = move || {
            // Until the other has parked.
            std::thread::sleep(Duration::from_millis(100));
            handle.unpark();
        };
        // SAFETY: as in `green::run_new`.
        drop(unsafe { may::coroutine::Builder::new().id(1).spawn(wake) });
        park(None)
    });
}

#[test]
fn a_spawn_is_refused_before_the_limit_of_maps() {
    passes("rt::tests::child::meets_the_limit_of_maps", &[], Duration::ZERO);
}

#[test]
#[ignore = "sets a limit of the whole process"]
fn meets_the_limit_of_maps() {
    runtime();
    eventually("the limit is read", || maps::limit() != usize::MAX);
    let real = maps::limit();
    assert!(real > 1_000 && real < usize::MAX, "read from the kernel: {real}");
    maps::set_limit(10);
    let stop = Arc::new(AtomicBool::new(false));
    let spawn = || {
        let stop = stop.clone();
        spawn_on(next_worker(), move || {
            while !stop.load(Ordering::Acquire) {
                sleep(Duration::from_millis(1));
            }
        })
    };
    for _ in 0..10 {
        assert_eq!(spawn(), Ok(()));
    }
    assert_eq!(spawn(), Err(SpawnError::MapLimit));
    assert_eq!((green_threads(), counters().spawn_refused), (10, 1));
    stop.store(true, Ordering::Release);
    eventually("they end", || green_threads() == 0);
    assert_eq!(spawn(), Ok(()), "there is room again");
    eventually("it ends", || green_threads() == 0);
}

#[test]
fn a_full_queue_of_jobs_is_overloaded() {
    passes("rt::tests::child::fills_the_queue", &[], Duration::ZERO);
}

#[test]
#[ignore = "needs settings of its own"]
fn fills_the_queue() {
    start(&Settings {
        workers: 2,
        stack_bytes: 256 * 1024,
        host_threads: 2,
        host_queue: 3,
    })
    .unwrap();
    crate::rt::attend().unwrap();
    let gate = Arc::new(AtomicBool::new(false));
    let results: Arc<parking_lot::Mutex<Vec<_>>> = Arc::default();
    for n in 0..12 {
        let (gate, results) = (gate.clone(), results.clone());
        spawn_on(0, move || {
            let result = blocking(move || {
                while !gate.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                n
            });
            results.lock().push(result);
        })
        .unwrap();
    }
    // Two run, three wait, seven are turned away at once.
    eventually("the rest is turned away", || results.lock().len() == 7);
    assert!(
        results
            .lock()
            .iter()
            .all(|result| *result == Err(BlockingError::Overloaded))
    );
    gate.store(true, Ordering::Release);
    eventually("the others finish", || results.lock().len() == 12);
    assert_eq!(results.lock().iter().filter(|result| result.is_ok()).count(), 5);
    assert_eq!(counters().host_jobs, 5);
}

#[test]
fn sigterm_and_sigint_reach_every_listener() {
    passes("rt::tests::child::hears_signals", &[], Duration::ZERO);
}

#[test]
#[ignore = "signals the process"]
#[allow(unsafe_code, reason = "raise")]
fn hears_signals() {
    let heard: Arc<[AtomicUsize; 2]> = Arc::default();
    for n in 0..2 {
        let heard = heard.clone();
        on_terminate(move || {
            heard[n].fetch_add(1, Ordering::AcqRel);
            assert!(n == 1, "a listener that panics does not silence the others");
        })
        .unwrap();
    }
    for (round, signal) in [libc::SIGTERM, libc::SIGINT, libc::SIGTERM]
        .into_iter()
        .enumerate()
    {
        // SAFETY: no pointers.
        unsafe { libc::raise(signal) };
        let all = || heard.iter().all(|n| n.load(Ordering::Acquire) == round + 1);
        eventually("both listeners have heard it", all);
    }
    assert_eq!(counters().panics, 3);
}

#[test]
fn a_green_thread_that_holds_its_worker_is_counted_once() {
    passes("rt::tests::child::holds_its_worker", &[], Duration::ZERO);
}

#[test]
#[ignore = "counts what the whole process does"]
fn holds_its_worker() {
    runtime();
    on_green(0, || sleep(Duration::from_millis(400)));
    assert_eq!(counters().stalls, 0, "a parked green thread holds nothing");
    on_green(0, || std::thread::sleep(Duration::from_millis(600)));
    assert_eq!(counters().stalls, 1);
    for stalls in 2..4 {
        eventually("the watchdog sleeps when nothing runs", watchdog::is_asleep);
        on_green(1, || std::thread::sleep(Duration::from_millis(600)));
        assert_eq!(counters().stalls, stalls, "a turn wakes it");
    }
}

#[test]
fn a_trimmed_stack_works_on_and_its_green_thread_ends_in_order() {
    passes("rt::tests::child::trims_its_stack", &[], Duration::ZERO);
}

#[inline(never)]
fn use_stack() -> usize {
    let bytes = std::hint::black_box([1u8; 100_000]);
    bytes.iter().map(|&byte| usize::from(byte)).sum()
}

/// Resident anonymous memory in KiB.
pub(super) fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
#[ignore = "measures the memory of the whole process"]
fn trims_its_stack() {
    runtime();
    const THREADS: usize = 100;
    let phase = Arc::new(AtomicUsize::new(0));
    let arrived = Arc::new(AtomicUsize::new(0));
    for n in 0..THREADS {
        let (phase, arrived) = (phase.clone(), arrived.clone());
        spawn_on(n % 2, move || {
            assert_eq!(use_stack(), 100_000);
            arrived.fetch_add(1, Ordering::AcqRel);
            while phase.load(Ordering::Acquire) == 0 {
                sleep(Duration::from_millis(5));
            }
            trim_stack();
            arrived.fetch_add(1, Ordering::AcqRel);
            while phase.load(Ordering::Acquire) == 1 {
                sleep(Duration::from_millis(5));
            }
            if n % 2 == 0 {
                assert_eq!(use_stack(), 100_000);
            }
        })
        .unwrap();
    }
    eventually("all have used their stacks", || {
        arrived.load(Ordering::Acquire) == THREADS
    });
    let before = resident();
    phase.store(1, Ordering::Release);
    eventually("all have trimmed them", || {
        arrived.load(Ordering::Acquire) == 2 * THREADS
    });
    let after = resident();
    assert!(
        before > after + THREADS * 80,
        "{before} KiB before, {after} KiB after"
    );
    phase.store(2, Ordering::Release);
    eventually("all have ended", || green_threads() == 0);
    assert_eq!(counters().panics, 0);
    // Their stacks are used again by others.
    for n in 0..THREADS {
        assert_eq!(on_green(n % 2, use_stack), 100_000);
    }
}
