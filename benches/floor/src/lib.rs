//! The raw floors: servers that do nothing but the system calls that any server must make.
//!
//! `http_floor` answers every request with one fixed response, `ws_floor` echoes and fans out WebSocket messages. Both run one
//! epoll on one thread and check nothing, so their work per CPU-second is what the kernel alone costs: the mark that a real server
//! is measured beside. They are **not servers**: a hostile or merely unusual peer gets wrong answers from them.
//!
//! This crate is what the two share: [`Loop`], an epoll with its listening socket and a table of connections.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

/// As many connections as may wait to be accepted: more than a load test opens at once.
const BACKLOG: i32 = 4096;

/// One round of readiness. Larger rounds save few calls and let the first of them wait longer.
const EVENTS: usize = 512;

/// A connection and what its program keeps for it.
pub struct Peer<S> {
    socket: OwnedFd,
    /// The program's own state for this connection.
    pub state: S,
}

impl<S> Peer<S> {
    /// Sends all of `bytes`, waiting for a full socket to drain; what the peer no longer takes is dropped.
    #[inline]
    pub fn send(&self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match net::send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(io::Errno::AGAIN) if self.wait_writable() => {}
                Err(_) => return,
            }
        }
    }

    /// False when the socket stays full for a second or fails.
    fn wait_writable(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let second = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        matches!(poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], Some(&second)), Ok(ready) if ready > 0)
    }
}

/// What happened to a connection.
pub enum Happened<'a> {
    /// These bytes arrived.
    Bytes(&'a [u8]),
    /// The peer is gone; its entry is removed from the table after this call.
    Gone,
}

/// The connections, indexed by file descriptor.
pub type Peers<S> = Vec<Option<Peer<S>>>;

/// One epoll, its listening socket and its connections.
pub struct Loop<S> {
    epoll: OwnedFd,
    listener: OwnedFd,
    peers: Peers<S>,
}

impl<S: Default> Loop<S> {
    /// Listens on `port` of every local IPv4 address.
    ///
    /// # Errors
    /// What the kernel says to any of the calls, chiefly that the address is in use.
    pub fn bind(port: u16) -> io::Result<Self> {
        let listener = net::socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
            None,
        )?;
        sockopt::set_socket_reuseaddr(&listener, true)?;
        net::bind(&listener, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))?;
        net::listen(&listener, BACKLOG)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(
            &epoll,
            &listener,
            EventData::new_u64(listener.as_raw_fd() as u64),
            EventFlags::IN,
        )?;
        Ok(Self {
            epoll,
            listener,
            peers: Vec::new(),
        })
    }

    /// Serves for ever: `on_event(fd, peers, happened)` is called for each connection that has something to read, once for each
    /// readiness, with what one `recv` into a buffer of `buffer` bytes gave.
    ///
    /// # Errors
    /// Only when epoll itself fails.
    pub fn run(
        mut self,
        buffer: usize,
        mut on_event: impl FnMut(usize, &mut Peers<S>, Happened<'_>),
    ) -> io::Result<()> {
        let mut buffer = vec![0_u8; buffer];
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(io::Errno::INTR) => {}
                Err(error) => return Err(error),
            }
            for event in &events {
                let fd = event.data.u64() as usize;
                if fd == self.listener.as_raw_fd() as usize {
                    self.accept_all();
                    continue;
                }
                let Some(Some(peer)) = self.peers.get(fd) else {
                    continue;
                };
                match net::recv(&peer.socket, &mut buffer[..], RecvFlags::empty()) {
                    Err(io::Errno::AGAIN) => {}
                    Ok((0, _)) | Err(_) => {
                        on_event(fd, &mut self.peers, Happened::Gone);
                        self.peers[fd] = None;
                    }
                    Ok((length, _)) => on_event(fd, &mut self.peers, Happened::Bytes(&buffer[..length])),
                }
            }
        }
    }

    fn accept_all(&mut self) {
        while let Ok(socket) = net::accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)
        {
            let fd = socket.as_raw_fd() as usize;
            let interest = EventFlags::IN | EventFlags::ET;
            // A connection that can't be set up is dropped: there is nobody to tell.
            if sockopt::set_tcp_nodelay(&socket, true).is_err()
                || epoll::add(&self.epoll, &socket, EventData::new_u64(fd as u64), interest).is_err()
            {
                continue;
            }
            if self.peers.len() <= fd {
                self.peers.resize_with(fd + 1, || None);
            }
            self.peers[fd] = Some(Peer {
                socket,
                state: S::default(),
            });
        }
    }
}

/// The port that the command line names, as every floor takes it: `NAME PORT`.
///
/// # Errors
/// A sentence for the user when it is missing or no port.
pub fn port_argument() -> Result<u16, String> {
    let argument = std::env::args()
        .nth(1)
        .ok_or("usage: give the port to listen on as the only argument")?;
    argument.parse().map_err(|_| format!("{argument} is not a port"))
}
