//! Thousands of sessions kept busy by everything that can reach them at once; no green thread ever changes its OS
//! thread, no wake-up is lost, and what one publisher sends arrives in order.
//!
//! Three seconds by default, `GREENROOM_SOAK_SECONDS` for a soak:
//! `GREENROOM_SOAK_SECONDS=3600 cargo test --release --lib busy`.

use super::super::*;
use super::child;
use super::{eventually, pair, runtime};
use parking_lot::Mutex;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const SESSIONS: usize = 2_400;
const HOST_PUBLISHERS: usize = 2;
/// Messages on their way beyond which publishers pause, so that the inboxes stay bounded.
const IN_FLIGHT: u64 = 100_000;

fn soak() -> Duration {
    let seconds = std::env::var("GREENROOM_SOAK_SECONDS")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(3);
    Duration::from_secs(seconds)
}

#[test]
fn busy_sessions_stay_on_their_threads_and_lose_nothing_with_two_workers() {
    child::passes(
        "rt::tests::busy::a_storm_of_sessions",
        &[("GREENROOM_TEST_WORKERS", "2")],
        soak(),
    );
}

#[test]
fn busy_sessions_stay_on_their_threads_and_lose_nothing_with_three_workers() {
    child::passes(
        "rt::tests::busy::a_storm_of_sessions",
        &[("GREENROOM_TEST_WORKERS", "3")],
        soak(),
    );
}

struct Session {
    /// Publisher and number of each message.
    inbox: Mutex<Vec<(usize, u64)>>,
    green: Mutex<Option<Green>>,
    stop: AtomicBool,
}

/// A message that goes to several sessions of one worker by its doorbell.
struct Cast {
    sessions: Arc<Vec<Arc<Session>>>,
    range: std::ops::Range<usize>,
    message: (usize, u64),
    worker: usize,
}

impl Rung for Cast {
    fn rung(self: Arc<Self>) {
        for session in &self.sessions[self.range.clone()] {
            let green = session.green.lock().clone();
            if let Some(green) = green.filter(|green| green.worker() == self.worker) {
                session.inbox.lock().push(self.message);
                green.wake();
            }
        }
    }
}

#[derive(Default)]
struct Totals {
    sent: AtomicU64,
    received: AtomicU64,
    bytes_sent: AtomicU64,
    bytes_received: AtomicU64,
    resumes: AtomicU64,
    moved: AtomicU64,
    out_of_order: AtomicU64,
    sleeps: AtomicU64,
    jobs: AtomicU64,
    early: AtomicU64,
    ended: AtomicUsize,
}

impl Totals {
    fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }

    fn get(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::SeqCst)
    }

    /// After each resume of a session.
    fn resumed(&self, thread: i32) {
        Self::add(&self.resumes, 1);
        if watchdog::thread_id() != thread {
            Self::add(&self.moved, 1);
        }
    }
}

/// Both ends of a connection: every other one TCP, every other one a Unix pair.
fn connection(n: usize, listener: &TcpListener) -> (OwnedFd, OwnedFd) {
    if n.is_multiple_of(2) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        client.set_nonblocking(true).unwrap();
        (server.into(), client.into())
    } else {
        let (server, client) = pair();
        client.set_nonblocking(true).unwrap();
        (server, client.into())
    }
}

/// Reads and writes of any fd, through std.
fn stream_of(fd: &OwnedFd) -> UnixStream {
    UnixStream::from(fd.try_clone().unwrap())
}

fn session(n: usize, fd: OwnedFd, me: &Session, totals: &Totals, publishers: usize) {
    let thread = watchdog::thread_id();
    *me.green.lock() = Some(Green::current());
    // A second descriptor for std's read; the registered one is what is waited for.
    let mut reader = stream_of(&fd);
    let socket = Socket::register(fd).unwrap();
    let mut last = vec![0u64; publishers];
    let mut turn = n;
    loop {
        let stopping = me.stop.load(Ordering::Acquire);
        let messages = std::mem::take(&mut *me.inbox.lock());
        for &(publisher, number) in &messages {
            // Per publisher the numbers of one session ascend; none may be skipped.
            if number != last[publisher] + 1 {
                Totals::add(&totals.out_of_order, 1);
            }
            last[publisher] = number;
        }
        Totals::add(&totals.received, messages.len() as u64);
        let mut buffer = [0u8; 64];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => panic!("the peer has gone"),
                Ok(n) => Totals::add(&totals.bytes_received, n as u64),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => panic!("{e}"),
            }
        }
        if stopping && messages.is_empty() {
            break;
        }
        turn += 1;
        match turn % 16 {
            3 => {
                let (start, length) = (Instant::now(), Duration::from_micros((turn % 3_000) as u64));
                sleep(length);
                Totals::add(&totals.early, u64::from(start.elapsed() < length));
                Totals::add(&totals.sleeps, 1);
            }
            7 => {
                assert_eq!(blocking(move || turn * 2), Ok(turn * 2));
                Totals::add(&totals.jobs, 1);
            }
            11 => yield_now(),
            13 => {
                socket.wait(Some(Instant::now() + Duration::from_millis(2)));
            }
            _ => {
                // Long, so that a lost wake would be a hang and not just a delay.
                socket.wait(Some(Instant::now() + super::HANG * 1000));
            }
        }
        totals.resumed(thread);
    }
}

#[test]
#[ignore = "run by the tests above in processes of their own"]
fn a_storm_of_sessions() {
    runtime();
    let workers = workers();
    // Hosts, one green publisher a worker, one caster (host) and one byte writer (not a publisher).
    let publishers = HOST_PUBLISHERS + workers + 1;
    let totals: Arc<Totals> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peers = Vec::new();
    let sessions: Arc<Vec<Arc<Session>>> = Arc::new(
        (0..SESSIONS)
            .map(|_| {
                Arc::new(Session {
                    inbox: Mutex::default(),
                    green: Mutex::default(),
                    stop: AtomicBool::new(false),
                })
            })
            .collect(),
    );
    for (n, me) in sessions.iter().enumerate() {
        let (fd, peer) = connection(n, &listener);
        peers.push(peer);
        let (me, totals) = (me.clone(), totals.clone());
        spawn_on(next_worker(), move || {
            session(n, fd, &me, &totals, publishers);
            totals.ended.fetch_add(1, Ordering::AcqRel);
        })
        .unwrap();
    }
    eventually("all sessions have started", || {
        sessions.iter().all(|s| s.green.lock().is_some())
    });

    let end = Instant::now() + soak();
    let publishing = Arc::new(AtomicUsize::new(0));
    let publish = {
        let (sessions, totals, publishing) = (sessions.clone(), totals.clone(), publishing.clone());
        move |publisher: usize| {
            let mut next = vec![0u64; SESSIONS];
            let mut seed = publisher as u64 + 1;
            while Instant::now() < end {
                if Totals::get(&totals.sent) - Totals::get(&totals.received) > IN_FLIGHT {
                    sleep(Duration::from_millis(1));
                    continue;
                }
                for _ in 0..64 {
                    seed = seed
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let to = (seed >> 33) as usize % SESSIONS;
                    next[to] += 1;
                    Totals::add(&totals.sent, 1);
                    sessions[to].inbox.lock().push((publisher, next[to]));
                    let green = sessions[to].green.lock().clone();
                    green.unwrap().wake();
                }
                // A green publisher must let its worker go on.
                yield_now();
            }
            publishing.fetch_sub(1, Ordering::AcqRel);
        }
    };
    let mut hosts = Vec::new();
    for publisher in 0..publishers - 1 {
        publishing.fetch_add(1, Ordering::AcqRel);
        let publish = publish.clone();
        if publisher < HOST_PUBLISHERS {
            hosts.push(std::thread::spawn(move || publish(publisher)));
        } else {
            spawn_on(publisher - HOST_PUBLISHERS, move || publish(publisher)).unwrap();
        }
    }
    // The caster: one item per worker for everyone there, by `post`.
    hosts.push(std::thread::spawn({
        let (sessions, totals) = (sessions.clone(), totals.clone());
        move || {
            let mut number = 0;
            while Instant::now() < end {
                if Totals::get(&totals.sent) - Totals::get(&totals.received) <= IN_FLIGHT {
                    number += 1;
                    Totals::add(&totals.sent, SESSIONS as u64);
                    for worker in 0..workers {
                        for part in 0..4 {
                            let range = part * SESSIONS / 4..(part + 1) * SESSIONS / 4;
                            let message = (publishers - 1, number);
                            post(
                                worker,
                                Arc::new(Cast {
                                    sessions: sessions.clone(),
                                    range,
                                    message,
                                    worker,
                                }),
                            );
                        }
                    }
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }));
    // Bytes for the sockets.
    hosts.push(std::thread::spawn({
        let totals = totals.clone();
        let mut streams: Vec<UnixStream> = peers.iter().map(stream_of).collect();
        move || {
            while Instant::now() < end {
                for stream in &mut streams {
                    match stream.write(b"bytes") {
                        Ok(n) => Totals::add(&totals.bytes_sent, n as u64),
                        Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
                    }
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }));
    for host in hosts {
        host.join().unwrap();
    }
    eventually("green publishers end", || publishing.load(Ordering::Acquire) == 0);
    eventually("every message and byte has arrived", || {
        Totals::get(&totals.received) == Totals::get(&totals.sent)
            && Totals::get(&totals.bytes_received) == Totals::get(&totals.bytes_sent)
    });
    for session in sessions.iter() {
        session.stop.store(true, Ordering::Release);
        let green = session.green.lock().clone();
        green.unwrap().wake();
    }
    eventually("every session has ended", || {
        totals.ended.load(Ordering::Acquire) == SESSIONS
    });
    eventually("no green thread is left", || green_threads() == 0);
    let get = Totals::get;
    eprintln!(
        "{workers} workers: {} messages, {} bytes, {} resumes, {} sleeps, {} jobs",
        get(&totals.received),
        get(&totals.bytes_received),
        get(&totals.resumes),
        get(&totals.sleeps),
        get(&totals.jobs)
    );
    assert_eq!(get(&totals.moved), 0, "resumes on another thread");
    assert_eq!(get(&totals.out_of_order), 0, "messages out of order");
    assert_eq!(get(&totals.early), 0, "sleeps that ended early");
    assert_eq!(counters().panics, 0);
    // It was a storm.
    assert!(get(&totals.resumes) > 10 * SESSIONS as u64);
    assert!(get(&totals.sleeps) > 0 && get(&totals.jobs) > 0 && get(&totals.bytes_received) > 0);
}
