//! File descriptors of the runtime: the kernel calls that std does not offer, and the rule which worker an fd belongs
//! to.
//!
//! `may` gives an fd to the event loop `fd % workers`. A green thread may only wait for fds of its own worker, so an
//! fd that does not fit is moved to a number that does ([`fit`]).
#![allow(unsafe_code, reason = "system calls that std and socket2 do not have")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// An fd as `may` sees it: a number that dropping does not close. It is deregistered first, by dropping the `CoIo`
/// around it, and closed afterwards by its owner.
#[derive(Debug)]
pub(super) struct Unowned(pub(super) RawFd);

impl AsRawFd for Unowned {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

/// Takes ownership of what a system call returned.
fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just made this fd and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

/// A new eventfd, non-blocking, closed on exec.
pub(super) fn event_fd() -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    owned(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })
}

/// A new timerfd on the monotonic clock, non-blocking, closed on exec.
pub(super) fn timer_fd() -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) })
}

/// Has `timer` expire once, at `at` nanoseconds of the monotonic clock (at once if that has passed).
pub(super) fn set_timer(timer: &OwnedFd, at: u64) {
    let never = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let at = libc::timespec {
        tv_sec: libc::time_t::try_from(at / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        // Zero would disarm it.
        tv_nsec: (at % 1_000_000_000).max(1) as libc::c_long,
    };
    let spec = libc::itimerspec {
        it_interval: never,
        it_value: at,
    };
    // SAFETY: `spec` lives across the call; the old value is not asked for. It can't fail: the fd is a timerfd and the
    // times are in range.
    unsafe {
        libc::timerfd_settime(
            timer.as_raw_fd(),
            libc::TFD_TIMER_ABSTIME,
            &spec,
            std::ptr::null_mut(),
        )
    };
}

/// The monotonic clock in nanoseconds.
pub(super) fn monotonic_nanos() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` lives across the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Moves `fd` to a number that is `worker` modulo `workers`; as it is if it fits already. The fd given is closed when
/// another takes its place, and also on an error.
///
/// # Errors
/// EMFILE when no fitting number is free.
pub(super) fn fit(fd: OwnedFd, worker: usize, workers: usize) -> io::Result<OwnedFd> {
    let number = fd.as_raw_fd() as usize;
    if number % workers == worker {
        return Ok(fd);
    }
    // Numbers above are free as a rule; those below only where something was closed.
    match fit_from(&fd, number + 1, worker, workers) {
        Err(_) => fit_from(&fd, 0, worker, workers),
        found => found,
    }
}

/// Duplicates `fd` to the lowest free fitting number from `low` on.
fn fit_from(fd: &OwnedFd, low: usize, worker: usize, workers: usize) -> io::Result<OwnedFd> {
    let mut low = low;
    loop {
        low += (worker + workers - low % workers) % workers;
        let min = libc::c_int::try_from(low).map_err(|_| io::Error::from_raw_os_error(libc::EMFILE))?;
        // SAFETY: no pointers are passed.
        let copy =
            owned(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, min) }).map_err(|e| {
                // EINVAL: `min` has passed the limit of open files.
                if e.raw_os_error() == Some(libc::EINVAL) {
                    io::Error::from_raw_os_error(libc::EMFILE)
                } else {
                    e
                }
            })?;
        let number = copy.as_raw_fd() as usize;
        if number % workers == worker {
            return Ok(copy);
        }
        // Taken up to there; the copy is closed and the search goes on above it.
        low = number + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_fd_moves_to_a_number_of_the_worker_and_stays_the_same_file() {
        let (ours, mut peer) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut fd = OwnedFd::from(ours);
        for workers in 1..6 {
            for worker in 0..workers {
                fd = fit(fd, worker, workers).unwrap();
                assert_eq!(fd.as_raw_fd() as usize % workers, worker);
            }
        }
        let mut ours = std::os::unix::net::UnixStream::from(fd);
        io::Write::write_all(&mut ours, b"still here").unwrap();
        let mut seen = [0; 10];
        io::Read::read_exact(&mut peer, &mut seen).unwrap();
        assert_eq!(&seen, b"still here");
        // The last copy is the only one left: closing it is what the peer sees.
        drop(ours);
        assert_eq!(io::Read::read(&mut peer, &mut seen).unwrap(), 0);
    }
}
