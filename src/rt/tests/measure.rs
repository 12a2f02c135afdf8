//! Figures of the runtime, asserted only where they are a promise:
//! `cargo test --release --lib rt::tests::measure -- --ignored --nocapture --test-threads=1`.

use super::super::*;
use super::child;
use super::{HANG, eventually, pair, runtime};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[test]
#[ignore = "measures: needs a release build and an idle machine"]
fn figures() {
    for one in ["idle_cpu", "memory", "wake_latency", "spawn_cost", "switch_cost"] {
        child::passes(&format!("rt::tests::measure::{one}"), &[], HANG);
    }
}

/// CPU time of this process so far.
fn cpu() -> Duration {
    let total: u64 = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok())
        .filter_map(|stat| stat.split_whitespace().next()?.parse::<u64>().ok())
        .sum();
    Duration::from_nanos(total)
}

#[test]
#[ignore = "measures"]
fn idle_cpu() {
    runtime();
    std::thread::sleep(Duration::from_millis(200));
    let before = cpu();
    std::thread::sleep(Duration::from_secs(3));
    eprintln!("2 workers: idle, {:?} of CPU in 3 s", cpu() - before);
}

#[test]
#[ignore = "measures"]
fn memory() {
    runtime();
    // Pairs have neighbouring numbers, so half of these ends must move: that takes free numbers.
    const IDLE: usize = 4_000;
    let stop = Arc::new(AtomicBool::new(false));
    let parked = Arc::new(AtomicUsize::new(0));
    let mut kept = Vec::with_capacity(IDLE);
    let mut ends = Vec::with_capacity(IDLE);
    for _ in 0..IDLE {
        let (ours, theirs) = pair();
        ends.push(ours);
        kept.push(theirs);
    }
    let before = child::resident();
    for (n, fd) in ends.into_iter().enumerate() {
        let (stop, parked) = (stop.clone(), parked.clone());
        spawn_on(n % workers(), move || {
            let socket = Socket::register(fd).unwrap();
            while !socket.wait(Some(Instant::now() + HANG * 10)).writable {}
            parked.fetch_add(1, Ordering::AcqRel);
            while !stop.load(Ordering::Acquire) {
                socket.wait(Some(Instant::now() + HANG * 10));
            }
        })
        .unwrap();
    }
    eventually("all are parked", || parked.load(Ordering::Acquire) == IDLE);
    std::thread::sleep(Duration::from_millis(100));
    let bytes = (child::resident() - before) * 1024 / IDLE;
    eprintln!("2 workers: {bytes} bytes of RssAnon per parked green thread with a socket");
    assert!(bytes < 8 * 1024 + 900);
    std::process::exit(0);
}

#[test]
#[ignore = "measures"]
fn wake_latency() {
    runtime();
    for (name, from_green) in [("a host thread", false), ("a green thread", true)] {
        let (completer, completion) = oneshot();
        let base = Instant::now();
        let sent = Arc::new(AtomicU64::new(0));
        const ROUNDS: usize = 5_000;
        spawn_on(0, {
            let sent = sent.clone();
            move || {
                let me = Green::current();
                let waker_sent = sent.clone();
                let count = Arc::new(AtomicUsize::new(0));
                let seen = count.clone();
                let waker = move || {
                    for n in 0..ROUNDS {
                        while seen.load(Ordering::Acquire) < n {
                            sleep(Duration::from_micros(50));
                        }
                        sleep(Duration::from_micros(100));
                        waker_sent.store(base.elapsed().as_nanos() as u64, Ordering::Release);
                        me.wake();
                    }
                };
                if from_green {
                    spawn_on(1, waker).unwrap();
                } else {
                    std::thread::spawn(waker);
                }
                let (fd, _peer) = pair();
                let socket = Socket::register(fd).unwrap();
                let mut took = Vec::with_capacity(ROUNDS);
                while took.len() < ROUNDS {
                    if socket.wait(None).rung {
                        took.push(base.elapsed().as_nanos() as u64 - sent.load(Ordering::Acquire));
                        count.fetch_add(1, Ordering::AcqRel);
                    }
                }
                took.sort_unstable();
                completer.complete((took[ROUNDS / 2], took[ROUNDS * 99 / 100]));
            }
        })
        .unwrap();
        let (p50, p99) = completion.wait(None).unwrap();
        eprintln!("2 workers: wake across workers from {name}: p50 {p50} ns, p99 {p99} ns\n");
    }
}

#[test]
#[ignore = "measures"]
fn spawn_cost() {
    runtime();
    for (name, target) in [("its own worker", 0), ("another worker", 1)] {
        let (completer, completion) = oneshot();
        spawn_on(0, move || {
            let ended = Arc::new(AtomicUsize::new(0));
            let start = Instant::now();
            const SPAWNS: usize = 200_000;
            for n in 0..SPAWNS {
                let its = ended.clone();
                spawn_on(target, move || {
                    its.fetch_add(1, Ordering::AcqRel);
                })
                .unwrap();
                while n - ended.load(Ordering::Acquire).min(n) > 50 {
                    yield_now();
                }
            }
            while ended.load(Ordering::Acquire) < SPAWNS {
                yield_now();
            }
            completer.complete(start.elapsed() / SPAWNS as u32);
        })
        .unwrap();
        eprintln!(
            "2 workers: spawn and end on {name}: {:?} each\n",
            completion.wait(None).unwrap()
        );
    }
}

#[test]
#[ignore = "measures"]
fn switch_cost() {
    runtime();
    let (completer, completion) = oneshot();
    spawn_on(0, move || {
        const ROUNDS: u32 = 200_000;
        let (fd, _peer) = pair();
        let socket = Socket::register(fd).unwrap();
        while !socket.wait(None).writable {}
        let me = Green::current();
        let until = Some(Instant::now() + HANG);
        let start = Instant::now();
        for _ in 0..ROUNDS {
            me.wake();
            socket.wait(until);
        }
        let rung = start.elapsed() / ROUNDS;
        let start = Instant::now();
        for _ in 0..ROUNDS {
            yield_now();
        }
        let yielded = start.elapsed() / ROUNDS;
        let start = Instant::now();
        for _ in 0..ROUNDS / 4 {
            blocking(|| ()).unwrap();
        }
        completer.complete((rung, yielded, start.elapsed() / (ROUNDS / 4)));
    })
    .unwrap();
    let (rung, yielded, job) = completion.wait(None).unwrap();
    eprintln!("2 workers: a wait already rung {rung:?}, yield {yielded:?}, blocking job {job:?}");
}
