//! Epoll and non-blocking TCP sockets, as the generators use them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::{self, Errno};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

/// One round of readiness.
const EVENTS: usize = 512;

/// So many connections share a source address: safely below the 28,232 ports of the kernel's default range.
const PER_SOURCE: usize = 20_000;

/// One epoll instance, level-triggered.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    /// A new, empty one.
    ///
    /// # Errors
    /// What the kernel says, chiefly that no file descriptor is left.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
        })
    }

    /// Watches `socket` for reading, and for writing too if `write`; its events carry `token`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn add(&self, socket: impl AsFd, token: usize, write: bool) -> io::Result<()> {
        epoll::add(
            &self.epoll,
            socket,
            EventData::new_u64(token as u64),
            interest(write),
        )
    }

    /// Changes whether a watched socket is watched for writing.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_write(&self, socket: impl AsFd, token: usize, write: bool) -> io::Result<()> {
        epoll::modify(
            &self.epoll,
            socket,
            EventData::new_u64(token as u64),
            interest(write),
        )
    }

    /// Waits for `timeout` at most and fills `events` with the tokens that are ready.
    ///
    /// # Errors
    /// What the kernel says; an interruption by a signal counts as a round without events.
    pub fn wait(&self, events: &mut Vec<Event>, timeout: Duration) -> io::Result<()> {
        events.clear();
        events.reserve(EVENTS);
        let timeout = Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(events),
            Some(&timeout),
        ) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn interest(write: bool) -> EventFlags {
    if write {
        EventFlags::IN | EventFlags::OUT
    } else {
        EventFlags::IN
    }
}

/// Begins to connect to `address`; the socket turns writable once it has worked or failed.
///
/// On IPv4 loopback the connections beyond the first 20,000 start from 127.0.0.2 and on, `index` being the connection's number.
///
/// # Errors
/// What the kernel says at once: no file descriptor, no port, refused.
pub fn connect(address: SocketAddr, index: usize) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let socket = net::socket_with(
        family,
        SocketType::STREAM,
        SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
        None,
    )?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    if let (IpAddr::V4(to), Some(offset @ 1..=200)) = (address.ip(), u8::try_from(index / PER_SOURCE).ok())
        && to.is_loopback()
    {
        net::bind(
            &socket,
            &SocketAddr::from((Ipv4Addr::new(127, 0, 0, 1 + offset), 0)),
        )?;
    }
    match net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// Raises the limit of open files as far as this process may.
pub fn raise_fd_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Without it the run meets the old limit and says so.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}
