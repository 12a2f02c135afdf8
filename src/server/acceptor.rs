//! The loop that takes new connections and spreads them over the workers.
//!
//! One green thread per server. It lives through every error of accept(2): one connection's faults are skipped, the
//! process's shortages are waited out, and whoever can't be served is told so with a 503 where that is possible.

use crate::net::drain::Seat;
use crate::net::listener::Listener;
use crate::net::stream::Stream;
use crate::rt;
use crate::server::connection::{self, Outcome};
use crate::server::shared::Shared;
use crate::server::upgraded;
use socket2::SockRef;
use std::fs::File;
use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Connections accepted before the worker's other green threads have their turn.
const BATCH: usize = 64;

/// The pause after a shortage; doubled each time up to the longest. Short enough at first that a burst is hardly
/// noticed, long enough in the end that a starved process isn't kept busy by it.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The answer to a connection for which there is no room. Sent without having read the request.
const NO_ROOM: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";

/// What an error of accept(2) asks for.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// The fault of one connection, which is gone: take the next (S9).
    OneConnection,
    /// The process or the system is short of something: pause (S8).
    Shortage,
}

fn fault(error: &io::Error) -> Fault {
    match error.raw_os_error() {
        Some(
            libc::ECONNABORTED
            | libc::EINTR
            | libc::EPROTO
            | libc::EPERM
            // Errors of the network that accept(2) passes on; its manual says to treat them like EAGAIN.
            | libc::ENETDOWN
            | libc::ENOPROTOOPT
            | libc::EHOSTDOWN
            | libc::ENONET
            | libc::EHOSTUNREACH
            | libc::EOPNOTSUPP
            | libc::ENETUNREACH,
        ) => Fault::OneConnection,
        // EMFILE, ENFILE, ENOBUFS, ENOMEM; and whatever else may come is no reason to stop or to spin either.
        _ => Fault::Shortage,
    }
}

/// The state of the loop between two rounds.
struct Acceptor {
    shared: Arc<Shared>,
    listener: Listener,
    /// Given up for a moment when no other fd is free, so that waiting connections can be told.
    reserve: Option<File>,
    pause: Duration,
    log: Throttle,
    /// The worker of the next connection, round robin. Begins with the acceptor's own, which is awake when the first
    /// connection of a fresh process comes.
    next: usize,
}

/// Accepts until the server drains. Runs on a green thread of its own; the listening socket is closed when it returns.
pub(crate) fn run(listener: OwnedFd, shared: Arc<Shared>, mut seat: Seat) {
    seat.enrol();
    let listener = match Listener::register(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "the listening socket can't be watched: the server accepts nothing");
            return;
        }
    };
    let mut acceptor = Acceptor {
        shared,
        listener,
        reserve: open_reserve(),
        pause: SHORTEST_PAUSE,
        log: Throttle::default(),
        next: rt::worker().unwrap_or_default(),
    };
    while !acceptor.shared.drain.is_draining() {
        acceptor.round();
    }
    // The socket first: who waits for the seat may bind the same address again at once.
    drop(acceptor);
    drop(seat);
}

impl Acceptor {
    /// Takes what is waiting, a batch at most, then parks, pauses or gives others their turn.
    fn round(&mut self) {
        for _ in 0..BATCH {
            match self.listener.try_accept() {
                Ok(Some((fd, peer))) => {
                    self.pause = SHORTEST_PAUSE;
                    self.welcome(fd, peer);
                }
                Ok(None) => return self.listener.wait(None),
                Err(error) => match fault(&error) {
                    Fault::OneConnection => {}
                    Fault::Shortage => return self.wait_out(&error),
                },
            }
        }
        rt::yield_now();
    }

    /// Starts a green thread for a new connection, or refuses it.
    fn welcome(&mut self, fd: OwnedFd, peer: SocketAddr) {
        let most = self.shared.config.max_connections;
        let Some(seat) = self.shared.drain.admit(most) else {
            self.refuse(&fd, "there are as many as max_connections allows");
            return;
        };
        let arrival = Arrival {
            fd: Some(fd),
            shared: self.shared.clone(),
        };
        let worker = self.next;
        self.next = (worker + 1) % rt::workers();
        match rt::spawn_on(worker, move || arrival.serve(peer, seat)) {
            Ok(()) => self.shared.here().accepted.add_one(),
            // The arrival has been told when it was dropped.
            Err(rt::SpawnError::MapLimit) => {
                self.shared.here().refused.add_one();
                self.log.line(|count| {
                    tracing::warn!(
                        count,
                        "connections refused with 503: no memory map is left for another stack; raise \
                         vm.max_map_count or lower max_connections"
                    );
                });
            }
        }
    }

    /// Refuses a connection for which there is no room.
    fn refuse(&mut self, fd: &OwnedFd, why: &'static str) {
        self.shared.here().refused.add_one();
        self.log
            .line(|count| tracing::warn!(count, "connections refused with 503: {why}"));
        tell_no_room(fd);
    }

    /// After EMFILE and its like: logs, tells those who wait, and lets time pass.
    fn wait_out(&mut self, error: &io::Error) {
        self.shared.here().accept_errors.add_one();
        self.log
            .line(|count| tracing::warn!(count, %error, "accept failed; pausing"));
        // At first a descriptor may come free any moment, and waiting is kinder than a refusal.
        if self.pause > 4 * SHORTEST_PAUSE && self.reserve.take().is_some() {
            for _ in 0..BATCH {
                let Ok(Some((fd, _))) = self.listener.try_accept() else {
                    break;
                };
                self.refuse(&fd, "no file descriptor is free");
            }
            self.reserve = open_reserve();
        } else if self.reserve.is_none() {
            self.reserve = open_reserve();
        }
        let until = Instant::now() + self.pause;
        self.pause = (2 * self.pause).min(LONGEST_PAUSE);
        // Parked rather than asleep, so that a drain needn't wait for it.
        while !self.shared.drain.is_draining() && !rt::park(Some(until)).timed_out {}
    }
}

/// A connection on its way to its green thread. If that can't be started, dropping it tells the peer.
struct Arrival {
    fd: Option<OwnedFd>,
    shared: Arc<Shared>,
}

impl Arrival {
    /// Everything that happens to one connection, on its own green thread.
    fn serve(mut self, peer: SocketAddr, mut seat: Seat) {
        let Some(fd) = self.fd.take() else { return };
        let stream = match Stream::new(fd) {
            Ok(stream) => stream,
            Err(error) => {
                tracing::debug!(%error, "a connection could not be registered");
                return;
            }
        };
        seat.enrol();
        match connection::run(Rc::new(stream), peer, &self.shared) {
            Outcome::Closed => {}
            Outcome::Upgraded(upgraded) => {
                // The frames of the HTTP phase are gone; so are, from here on, the pages that they used.
                rt::trim_stack();
                upgraded::run(upgraded, peer, &seat, &self.shared);
            }
        }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        if let Some(fd) = &self.fd {
            tell_no_room(fd);
        }
    }
}

/// Answers 503 as far as that works without waiting.
fn tell_no_room(fd: &OwnedFd) {
    let socket = SockRef::from(fd);
    let told = socket.set_nonblocking(true).is_ok()
        && socket.send_with_flags(NO_ROOM, libc::MSG_NOSIGNAL).is_ok()
        && socket.shutdown(Shutdown::Write).is_ok();
    if told {
        // What has come already is read, or the close would reset the connection before the answer is seen. On the
        // heap, since stacks are small.
        let _ = (&*socket).read(&mut vec![0; 4096]);
    }
}

fn open_reserve() -> Option<File> {
    File::open("/dev/null").ok()
}

/// One log line a second at most, with the number of events since the last.
#[derive(Default)]
struct Throttle {
    last: Option<Instant>,
    count: u64,
}

impl Throttle {
    fn line(&mut self, log: impl FnOnce(u64)) {
        self.count += 1;
        let now = Instant::now();
        if self.last.is_none_or(|last| now - last >= Duration::from_secs(1)) {
            self.last = Some(now);
            log(std::mem::take(&mut self.count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s8_s9_no_error_of_accept_ends_the_loop() {
        for code in [libc::ECONNABORTED, libc::EINTR, libc::EPROTO, libc::EPERM] {
            assert_eq!(
                fault(&io::Error::from_raw_os_error(code)),
                Fault::OneConnection,
                "{code}"
            );
        }
        for code in [
            libc::EMFILE,
            libc::ENFILE,
            libc::ENOBUFS,
            libc::ENOMEM,
            libc::EINVAL,
        ] {
            assert_eq!(
                fault(&io::Error::from_raw_os_error(code)),
                Fault::Shortage,
                "{code}"
            );
        }
    }

    #[test]
    fn s8_the_log_gets_one_line_a_second() {
        let mut throttle = Throttle::default();
        let mut lines = Vec::new();
        for _ in 0..1000 {
            throttle.line(|count| lines.push(count));
        }
        assert_eq!(lines[0], 1);
        // A thousand rounds take well under a second each.
        assert!(lines.len() < 1000, "{}", lines.len());
        throttle.last = Instant::now().checked_sub(Duration::from_secs(2));
        let pending = throttle.count;
        throttle.line(|count| lines.push(count));
        assert_eq!(lines.last(), Some(&(pending + 1)), "what was not told is counted");
    }

    #[test]
    fn the_refusal_is_a_whole_answer() {
        let text = std::str::from_utf8(NO_ROOM).unwrap();
        assert!(
            text.ends_with("\r\n\r\n") && text.contains("Content-Length: 0") && text.contains("Retry-After")
        );
    }
}
