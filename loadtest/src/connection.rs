//! One WebSocket client connection, stepped by the loop that owns it: connect, handshake, then one expected message at a time.
//!
//! It holds no buffer while idle: bytes are read into the loop's buffer and compared where they lie.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, sockopt};

use crate::failure::Failure;
use crate::frame::{Messages, Read, Reader, encode};
use crate::handshake;
use crate::poller::{self, Poller};
use crate::target::Target;

/// What all connections of a run share.
#[derive(Debug)]
pub struct Plan {
    /// Where to.
    pub target: Target,
    /// The handshake's request.
    pub request: Vec<u8>,
    /// What is sent.
    pub messages: Messages,
}

/// What a step brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing yet.
    Waiting,
    /// The session is open.
    Opened,
    /// The expected message arrived, whole and equal.
    Delivered,
}

#[derive(Debug, PartialEq)]
enum Phase {
    Connecting,
    /// The answer's head so far.
    Handshake(Vec<u8>),
    Open,
}

/// A connection; dropping it closes the socket without a Close frame.
#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    token: usize,
    phase: Phase,
    reader: Reader,
    /// Number of the message that is sent and expected.
    current: usize,
    /// Bytes of the current frame that the socket has not taken yet.
    unsent: usize,
    /// A pong that waits for the frame before it.
    pong: Option<Box<[u8]>>,
    watches_write: bool,
}

impl Connection {
    /// Begins to connect; `token` is its number on `poller`.
    ///
    /// # Errors
    /// What kept it from even beginning.
    pub fn open(plan: &Plan, poller: &Poller, token: usize) -> Result<Self, Failure> {
        let socket = poller::connect(plan.target.address, token)?;
        poller.add(&socket, token, true)?;
        Ok(Self {
            socket,
            token,
            phase: Phase::Connecting,
            reader: Reader::default(),
            current: token,
            unsent: 0,
            pong: None,
            watches_write: true,
        })
    }

    /// True once the handshake is done.
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Expects message `number` without sending it: somebody else does.
    pub fn expect(&mut self, number: usize) {
        self.current = number;
    }

    /// Sends message `number` and expects it back. The last one must have been delivered.
    ///
    /// # Errors
    /// What the socket said.
    pub fn send(&mut self, plan: &Plan, poller: &Poller, number: usize) -> Result<(), Failure> {
        self.current = number;
        self.unsent = plan.messages.frame(number).len();
        self.flush(plan, poller)
    }

    /// The socket is ready: reads once into `buffer` and writes what waits.
    ///
    /// # Errors
    /// What ended the connection; drop it then.
    pub fn step(&mut self, plan: &Plan, poller: &Poller, buffer: &mut [u8]) -> Result<Step, Failure> {
        if self.phase == Phase::Connecting {
            sockopt::socket_error(&self.socket)??;
            if net::getpeername(&self.socket).is_err() {
                return Ok(Step::Waiting);
            }
            // A fresh socket takes a request whole; one that doesn't is broken.
            if net::send(&self.socket, &plan.request, SendFlags::NOSIGNAL)? != plan.request.len() {
                return Err(Failure::MalformedHandshake);
            }
            self.phase = Phase::Handshake(Vec::new());
            self.watch_write(poller, false)?;
            return Ok(Step::Waiting);
        }
        if self.watches_write {
            self.flush(plan, poller)?;
        }
        let length = match net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => return Err(Failure::EndOfStream),
            Ok((length, _)) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Step::Waiting),
            Err(error) => return Err(error.into()),
        };
        if let Phase::Handshake(answer) = &mut self.phase {
            answer.extend_from_slice(&buffer[..length]);
            return match handshake::check(answer)? {
                None => Ok(Step::Waiting),
                // Nothing was sent yet, so nothing can be echoed.
                Some(head) if head < answer.len() => Err(Failure::WrongEcho),
                Some(_) => {
                    self.phase = Phase::Open;
                    Ok(Step::Opened)
                }
            };
        }
        let mut input = &buffer[..length];
        let mut step = Step::Waiting;
        while !input.is_empty() {
            match self.reader.read(&mut input, &plan.messages, self.current)? {
                Read::More => {}
                Read::Message if step == Step::Delivered || self.unsent > 0 => {
                    return Err(Failure::WrongEcho);
                }
                Read::Message => step = Step::Delivered,
                Read::Ping(payload) => {
                    // Only the latest ping needs an answer (RFC 6455 section 5.5.3).
                    self.pong = Some(encode(10, &payload, [0; 4]).into());
                    self.flush(plan, poller)?;
                }
            }
        }
        Ok(step)
    }

    fn flush(&mut self, plan: &Plan, poller: &Poller) -> Result<(), Failure> {
        let frame = plan.messages.frame(self.current);
        while self.unsent > 0 {
            match net::send(
                &self.socket,
                &frame[frame.len() - self.unsent..],
                SendFlags::NOSIGNAL,
            ) {
                Ok(sent) => self.unsent -= sent,
                Err(Errno::AGAIN) => return self.watch_write(poller, true),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(pong) = self.pong.take() {
            // 131 bytes at most; a socket too full for them has an unread flood behind it, and the next ping brings another pong.
            match net::send(&self.socket, &pong, SendFlags::NOSIGNAL) {
                Ok(sent) if sent == pong.len() => {}
                Err(Errno::AGAIN) => {}
                Ok(_) => return Err(Failure::Reset),
                Err(error) => return Err(error.into()),
            }
        }
        if self.watches_write {
            self.watch_write(poller, false)
        } else {
            Ok(())
        }
    }

    fn watch_write(&mut self, poller: &Poller, write: bool) -> Result<(), Failure> {
        if self.watches_write != write {
            poller.set_write(&self.socket, self.token, write)?;
            self.watches_write = write;
        }
        Ok(())
    }
}
