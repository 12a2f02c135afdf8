//! The timer wheel on live workers.

use super::super::oneshot::oneshot;
use super::super::*;
use super::{HANG, eventually, on_green, pair, runtime};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Waits until the deadline is told; by how much it came early, if it did.
fn waits_to_the_end(socket: &Socket, until: Instant) -> Option<Duration> {
    loop {
        let wake = socket.wait(Some(until));
        let now = Instant::now();
        if wake.timed_out {
            return until.checked_duration_since(now).filter(|early| !early.is_zero());
        }
    }
}

#[test]
fn a_deadline_comes_and_never_early() {
    let early = on_green(0, || {
        let (fd, _peer) = pair();
        let socket = Socket::register(fd).unwrap();
        let micros = [
            0, 1, 300, 999, 1_000, 1_001, 2_500, 10_000, 63_000, 64_000, 65_000, 130_000,
        ];
        micros.map(|us| waits_to_the_end(&socket, Instant::now() + Duration::from_micros(us)))
    });
    assert_eq!(early, [None; 12]);
}

#[test]
fn a_deadline_that_has_passed_ends_the_wait_at_once() {
    let wake = on_green(1, || {
        let past = Instant::now();
        park(Some(past))
    });
    assert!(wake.timed_out && !wake.rung);
}

#[test]
fn a_deadline_can_move_later_and_earlier() {
    on_green(0, || {
        let (fd, _peer) = pair();
        let socket = Socket::register(fd).unwrap();
        while !socket.wait(None).writable {}
        let me = Green::current();
        let start = Instant::now();
        // Armed for 20 ms, ended by a wake, then waited for until 80 ms: the old entry must not end that wait.
        let ringer = std::thread::spawn(move || {
            std::thread::sleep(ms(5));
            me.wake();
        });
        let first = socket.wait(Some(start + ms(20)));
        assert!(first.rung || first.timed_out);
        assert_eq!(waits_to_the_end(&socket, start + ms(80)), None);
        ringer.join().unwrap();
        // Armed far ahead, then a nearer one: must come before the far one.
        Green::current().wake();
        assert!(socket.wait(Some(Instant::now() + HANG * 10)).rung);
        let me = Green::current();
        std::thread::spawn(move || me.wake());
        assert!(!socket.wait(Some(Instant::now() + HANG * 10)).timed_out);
        let near = Instant::now() + ms(15);
        assert_eq!(waits_to_the_end(&socket, near), None);
        assert!(near.elapsed() < HANG);
        // And without a deadline the entry left in the wheel ends nothing as timed out.
        let me = Green::current();
        std::thread::spawn(move || {
            std::thread::sleep(ms(40));
            me.wake();
        });
        loop {
            let wake = socket.wait(None);
            assert!(!wake.timed_out);
            if wake.rung {
                break;
            }
        }
    });
}

#[test]
fn thousands_of_sleeps_all_end_and_none_early() {
    runtime();
    const SLEEPERS: usize = 4_000;
    let ended = Arc::new(AtomicUsize::new(0));
    let early = Arc::new(AtomicUsize::new(0));
    for n in 0..SLEEPERS {
        let (ended, early) = (ended.clone(), early.clone());
        spawn_on(n % workers(), move || {
            for round in 0..3 {
                let length = Duration::from_micros(((n * 7919 + round * 104_729) % 300_000) as u64);
                let start = Instant::now();
                sleep(length);
                if start.elapsed() < length {
                    early.fetch_add(1, Ordering::Relaxed);
                }
            }
            ended.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    }
    eventually("every sleep ends", || ended.load(Ordering::Relaxed) == SLEEPERS);
    assert_eq!(early.load(Ordering::Relaxed), 0);
}

#[test]
fn a_sleep_longer_than_time_itself_does_not_panic() {
    runtime();
    let (handle, handles) = std::sync::mpsc::channel();
    spawn_on(0, move || {
        handle.send(()).unwrap();
        let (_completer, completion) = oneshot::<()>();
        let forever = Instant::now() + Duration::from_secs(1 << 40);
        assert!(!park(Some(Instant::now() + ms(1))).rung);
        drop(completion);
        let me = Green::current();
        std::thread::spawn(move || me.wake());
        while !park(Some(forever)).rung {}
    })
    .unwrap();
    handles.recv_timeout(HANG).unwrap();
}
