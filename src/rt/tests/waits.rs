//! Waking, waiting, posting, completing, jobs, panics.

use super::super::*;
use super::{HANG, eventually, on_green, pair, runtime};
use parking_lot::Mutex;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

#[test]
fn a_green_thread_knows_where_it_is() {
    for k in 0..2 {
        let (worker_of_thread, green, worker_of_handle) =
            on_green(k, || (worker(), is_green(), Green::current().worker()));
        assert_eq!((worker_of_thread, green, worker_of_handle), (Some(k), true, k));
    }
    assert_eq!((worker(), is_green()), (None, false));
}

#[test]
fn a_wake_before_the_wait_ends_the_next_wait_at_once() {
    let (rung, again) = on_green(1, || {
        Green::current().wake();
        Green::current().wake();
        let (fd, _peer) = pair();
        let socket = Socket::register(fd).unwrap();
        let rung = socket.wait(None).rung;
        // Both wakes were one: what ends the next wait is the deadline (or the edge of a writable new socket).
        let mut again = false;
        let until = Instant::now() + Duration::from_millis(30);
        loop {
            let wake = socket.wait(Some(until));
            again |= wake.rung;
            if wake.timed_out {
                break;
            }
        }
        (rung, again)
    });
    assert!(rung);
    assert!(!again);
}

#[test]
fn a_wake_from_a_host_thread_just_before_the_wait_is_not_lost() {
    for round in 0..2_000 {
        let (handle, handles) = mpsc::channel();
        let (completer, completion) = oneshot();
        runtime();
        spawn_on(round % 2, move || {
            handle.send(Green::current()).unwrap();
            while !park(None).rung {}
            completer.complete(());
        })
        .unwrap();
        let green = handles.recv().unwrap();
        green.wake();
        completion.wait(Some(Instant::now() + HANG)).unwrap();
    }
}

#[test]
fn two_green_threads_of_different_workers_wake_each_other_a_hundred_thousand_times() {
    runtime();
    let ball = Arc::new(AtomicUsize::new(0));
    let players: Arc<Mutex<Vec<Green>>> = Arc::default();
    let (done, all) = mpsc::channel();
    const ROUNDS: usize = 100_000;
    for k in 0..2 {
        let (ball, players, done) = (ball.clone(), players.clone(), done.clone());
        spawn_on(k, move || {
            players.lock().push(Green::current());
            while players.lock().len() < 2 {
                yield_now();
            }
            let other = players.lock().iter().find(|g| g.worker() != k).cloned().unwrap();
            loop {
                let n = ball.load(Ordering::Acquire);
                if n >= ROUNDS {
                    other.wake();
                    break;
                }
                if n % 2 == k {
                    ball.store(n + 1, Ordering::Release);
                    other.wake();
                } else {
                    park(None);
                }
            }
            done.send(()).unwrap();
        })
        .unwrap();
    }
    for _ in 0..2 {
        all.recv_timeout(HANG).unwrap();
    }
}

#[test]
fn a_wake_reaches_a_green_thread_on_whichever_socket_it_waits() {
    let woken = on_green(0, || {
        let me = Green::current();
        let (stop, stopped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let ringer = std::thread::spawn({
            let (stop, stopped) = (stop.clone(), stopped.clone());
            move || {
                while !stop.load(Ordering::Acquire) {
                    let before = stopped.load(Ordering::Acquire);
                    me.wake();
                    let end = Instant::now() + HANG;
                    while stopped.load(Ordering::Acquire) == before && !stop.load(Ordering::Acquire) {
                        assert!(Instant::now() < end, "a wake was lost");
                        std::thread::yield_now();
                    }
                }
            }
        });
        let (one, _peer_one) = pair();
        let (two, _peer_two) = pair();
        let (one, two) = (Socket::register(one).unwrap(), Socket::register(two).unwrap());
        let mut woken = 0;
        for turn in 0..3_000 {
            loop {
                let wake = match turn % 3 {
                    0 => one.wait(None),
                    1 => two.wait(None),
                    _ => park(None),
                };
                if wake.rung {
                    break;
                }
            }
            woken += 1;
            stopped.fetch_add(1, Ordering::AcqRel);
        }
        stop.store(true, Ordering::Release);
        ringer.join().unwrap();
        woken
    });
    assert_eq!(woken, 3_000);
}

#[test]
fn readiness_that_comes_while_it_waits_elsewhere_is_kept() {
    let wake = on_green(1, || {
        let (fd, mut peer) = pair();
        let socket = Socket::register(fd).unwrap();
        // The first edge: writable.
        while !socket.wait(None).writable {}
        peer.write_all(b"x").unwrap();
        sleep(Duration::from_millis(30));
        blocking(|| std::thread::sleep(Duration::from_millis(5))).unwrap();
        // No further edge will come: it has to be remembered.
        socket.wait(Some(Instant::now() + HANG))
    });
    assert!(wake.readable && !wake.timed_out);
}

#[test]
fn a_peer_that_closes_is_a_hangup() {
    let wake = on_green(0, || {
        let (fd, peer) = pair();
        let socket = Socket::register(fd).unwrap();
        while !socket.wait(None).writable {}
        let closer = std::thread::spawn(move || drop(peer));
        let mut seen = Wake::default();
        while !seen.hangup {
            seen = socket.wait(Some(Instant::now() + HANG));
            assert!(!seen.timed_out);
        }
        closer.join().unwrap();
        seen
    });
    assert!(wake.hangup && wake.readable);
}

#[test]
fn wakes_during_a_sleep_or_a_job_are_kept_for_the_next_wait() {
    let (early, rung) = on_green(0, || {
        let start = Instant::now();
        let me = Green::current();
        let waker = std::thread::spawn(move || me.wake());
        sleep(Duration::from_millis(40));
        let early = start.elapsed() < Duration::from_millis(40);
        waker.join().unwrap();
        (early, park(Some(Instant::now() + HANG)).rung)
    });
    assert!(!early);
    assert!(rung);
}

#[test]
fn dropping_a_socket_closes_its_fd_once_and_the_number_can_be_used_again() {
    on_green(0, || {
        for _ in 0..200 {
            let (fd, mut peer) = pair();
            let socket = Socket::register(fd).unwrap();
            assert_eq!(socket.fd() as usize % workers(), 0);
            drop(socket);
            // The one and only copy is closed: the peer sees the end.
            assert_eq!(std::io::Read::read(&mut peer, &mut [0; 1]).unwrap(), 0);
        }
        // A new socket on a number just freed gets its own events.
        let (fd, mut peer) = pair();
        let socket = Socket::register(fd).unwrap();
        peer.write_all(b"x").unwrap();
        while !socket.wait(Some(Instant::now() + HANG)).readable {}
    });
}

struct Note {
    number: usize,
    seen: Arc<Mutex<Vec<usize>>>,
}

impl Rung for Note {
    fn rung(self: Arc<Self>) {
        assert!(!is_green(), "a doorbell item must not look like a green thread");
        self.seen.lock().push(self.number);
    }
}

#[test]
fn posts_of_one_thread_to_one_worker_are_rung_in_order() {
    runtime();
    for target in 0..2 {
        let from_host: Arc<Mutex<Vec<usize>>> = Arc::default();
        let from_green: Arc<Mutex<Vec<usize>>> = Arc::default();
        let green = from_green.clone();
        // On worker 0: its own worker once, another's once.
        spawn_on(0, move || {
            for number in 0..5_000 {
                post(
                    target,
                    Arc::new(Note {
                        number,
                        seen: green.clone(),
                    }),
                );
                if number % 97 == 0 {
                    yield_now();
                }
            }
        })
        .unwrap();
        let mut number = 0;
        while number < 5_000 {
            let next = (number + 50).min(5_000);
            if number % 100 == 0 {
                let mut items = (number..next).map(|number| {
                    Arc::new(Note {
                        number,
                        seen: from_host.clone(),
                    }) as Arc<dyn Rung>
                });
                post_all(target, &mut items);
            } else {
                for number in number..next {
                    post(
                        target,
                        Arc::new(Note {
                            number,
                            seen: from_host.clone(),
                        }),
                    );
                }
            }
            number = next;
        }
        eventually("all posts are rung", || {
            from_host.lock().len() == 5_000 && from_green.lock().len() == 5_000
        });
        assert!(from_host.lock().is_sorted());
        assert!(from_green.lock().is_sorted());
    }
}

struct Explosive;

impl Rung for Explosive {
    fn rung(self: Arc<Self>) {
        panic!("boom in a doorbell item");
    }
}

#[test]
fn a_panic_in_a_doorbell_item_is_contained_and_counted() {
    runtime();
    let before = counters().panics;
    let seen: Arc<Mutex<Vec<usize>>> = Arc::default();
    post(1, Arc::new(Explosive));
    post(
        1,
        Arc::new(Note {
            number: 7,
            seen: seen.clone(),
        }),
    );
    eventually("the item after it is rung", || *seen.lock() == [7]);
    assert!(counters().panics > before);
}

struct Waits;

impl Rung for Waits {
    fn rung(self: Arc<Self>) {
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_doorbell_item_that_waits_panics_instead_of_stopping_the_doorbell() {
    runtime();
    let before = counters().panics;
    post(0, Arc::new(Waits));
    eventually("the panic is counted", || counters().panics > before);
    assert!(on_green(0, is_green));
}

#[test]
fn a_panic_in_a_green_thread_is_contained_counted_and_unwinds() {
    runtime();
    let before = counters().panics;
    let (completer, completion) = oneshot::<()>();
    spawn_on(0, move || {
        let _held = completer;
        panic!("boom in a green thread");
    })
    .unwrap();
    assert_eq!(
        completion.wait(Some(Instant::now() + HANG)),
        Err(Incomplete::Abandoned)
    );
    eventually("the panic is counted", || counters().panics > before);
}

#[test]
fn a_destructor_that_waits_during_a_panic_does_not_hang() {
    struct WaitsWhenDropped(mpsc::Sender<bool>);
    impl Drop for WaitsWhenDropped {
        fn drop(&mut self) {
            let _ = self.0.send(park(None).timed_out);
        }
    }
    runtime();
    let (sender, told) = mpsc::channel();
    spawn_on(1, move || {
        let _guard = WaitsWhenDropped(sender);
        panic!("boom above a destructor that waits");
    })
    .unwrap();
    assert!(told.recv_timeout(HANG).unwrap());
}

#[test]
fn a_dropped_completer_is_abandoned_on_green_and_host_threads() {
    let (completer, completion) = oneshot::<u32>();
    drop(completer);
    assert_eq!(completion.wait(None), Err(Incomplete::Abandoned));
    let result = on_green(0, || {
        let (completer, completion) = oneshot::<u32>();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            drop(completer);
        });
        completion.wait(Some(Instant::now() + HANG))
    });
    assert_eq!(result, Err(Incomplete::Abandoned));
}

#[test]
fn a_completion_times_out_on_green_and_host_threads() {
    let soon = || Some(Instant::now() + Duration::from_millis(10));
    let (completer, completion) = oneshot::<u32>();
    assert_eq!(completion.wait(soon()), Err(Incomplete::TimedOut));
    completer.complete(1);
    let result = on_green(1, move || {
        let (completer, completion) = oneshot::<u32>();
        let result = completion.wait(soon());
        completer.complete(1);
        result
    });
    assert_eq!(result, Err(Incomplete::TimedOut));
}

#[test]
fn blocking_returns_the_jobs_value_and_its_panic() {
    let (value, panic, elsewhere) = on_green(0, || {
        let value = blocking(|| 6 * 7);
        let panic = blocking(|| -> u32 { panic!("boom in a job") });
        let elsewhere = blocking(worker);
        (value, panic, elsewhere)
    });
    assert_eq!(value, Ok(42));
    assert_eq!(panic, Err(BlockingError::Panicked("boom in a job".to_owned())));
    assert_eq!(elsewhere, Ok(None));
    assert_eq!(blocking(|| 1), Ok(1), "a host thread runs it at once");
}

#[test]
fn yielding_lets_socket_events_of_the_worker_through() {
    let turns = on_green(1, || {
        let heard = Arc::new(AtomicBool::new(false));
        let ready = Arc::new(AtomicBool::new(false));
        let (fd, mut peer) = pair();
        spawn_on(1, {
            let (heard, ready) = (heard.clone(), ready.clone());
            move || {
                let socket = Socket::register(fd).unwrap();
                ready.store(true, Ordering::Release);
                while !socket.wait(None).readable {}
                heard.store(true, Ordering::Release);
            }
        })
        .unwrap();
        while !ready.load(Ordering::Acquire) {
            yield_now();
        }
        peer.write_all(b"x").unwrap();
        let mut turns = 0;
        while !heard.load(Ordering::Acquire) && turns < 10_000 {
            yield_now();
            turns += 1;
        }
        turns
    });
    assert!(turns < 10, "the socket's event came after {turns} turns");
}

#[test]
fn two_green_threads_that_wake_each_other_all_the_time_do_not_shut_out_sockets() {
    on_green(0, || {
        let stop = Arc::new(AtomicBool::new(false));
        let players: Arc<Mutex<Vec<Green>>> = Arc::default();
        for me in 0..2 {
            let (stop, players) = (stop.clone(), players.clone());
            spawn_on(0, move || {
                players.lock().push(Green::current());
                while players.lock().len() < 2 {
                    yield_now();
                }
                let other = players.lock()[1 - me].clone();
                while !stop.load(Ordering::Acquire) {
                    other.wake();
                    park(None);
                }
                other.wake();
            })
            .unwrap();
        }
        let (fd, mut peer) = pair();
        let socket = Socket::register(fd).unwrap();
        let writer = std::thread::spawn(move || {
            for _ in 0..100 {
                peer.write_all(b"x").unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
            peer
        });
        let mut edges = 0;
        while edges < 20 {
            let wake = socket.wait(Some(Instant::now() + HANG));
            assert!(!wake.timed_out, "the socket was shut out");
            edges += usize::from(wake.readable);
        }
        stop.store(true, Ordering::Release);
        writer.join().unwrap();
    });
}

#[test]
fn a_doorbell_item_that_posts_itself_again_does_not_shut_out_sockets() {
    struct Again {
        stop: Arc<AtomicBool>,
    }
    impl Rung for Again {
        fn rung(self: Arc<Self>) {
            if !self.stop.load(Ordering::Acquire) {
                post(1, self);
            }
        }
    }
    let stop = Arc::new(AtomicBool::new(false));
    runtime();
    post(1, Arc::new(Again { stop: stop.clone() }));
    // Reaches the worker through its mailbox, then its socket through epoll, while the item goes round.
    on_green(1, || {
        let (fd, mut peer) = pair();
        let socket = Socket::register(fd).unwrap();
        let writer = std::thread::spawn(move || {
            peer.write_all(b"x").unwrap();
            peer
        });
        while !socket.wait(Some(Instant::now() + HANG)).readable {}
        writer.join().unwrap();
    });
    stop.store(true, Ordering::Release);
}
