//! A closed loop of keep-alive HTTP requests, one in flight on each connection, answers checked.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::Event;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};

use crate::failure::Failure;
use crate::poller::{Poller, connect};

const BODY: &[u8] = b"Hello, World!";
/// Holds any answer to /plaintext.
const BUFFER: usize = 16 * 1024;
/// A server that answers nothing for so long is stuck.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct HttpLoop {
    poller: Poller,
    request: Vec<u8>,
    /// Each connection, whether it awaits its first writability, and the part of an answer that has arrived.
    connections: Vec<(OwnedFd, bool, Vec<u8>)>,
    events: Vec<Event>,
    buffer: Vec<u8>,
}

impl HttpLoop {
    pub(super) fn new(port: u16, connections: usize) -> Result<Self, Failure> {
        let poller = Poller::new()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let connections = (0..connections)
            .map(|index| {
                let socket = connect(address, index)?;
                poller.add(&socket, index, true)?;
                Ok((socket, true, Vec::new()))
            })
            .collect::<Result<_, Failure>>()?;
        let request = format!("GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").into_bytes();
        Ok(Self {
            poller,
            request,
            connections,
            events: Vec::new(),
            buffer: vec![0; BUFFER],
        })
    }

    pub(super) fn run_until(&mut self, until: Instant) -> Result<u64, Failure> {
        let (mut answers, mut heard) = (0, Instant::now());
        while Instant::now() < until {
            self.poller.wait(&mut self.events, Duration::from_millis(50))?;
            if !self.events.is_empty() {
                heard = Instant::now();
            } else if heard.elapsed() > PATIENCE {
                return Err(Failure::TimeOut);
            }
            for event in &self.events {
                let index = event.data.u64() as usize;
                let (socket, connecting, partial) = &mut self.connections[index];
                if *connecting {
                    rustix::net::sockopt::socket_error(&*socket)??;
                    *connecting = false;
                    self.poller.set_write(&*socket, index, false)?;
                    net::send(&*socket, &self.request, SendFlags::NOSIGNAL)?;
                    continue;
                }
                let length = match net::recv(&*socket, &mut self.buffer[..], RecvFlags::empty()) {
                    Ok((0, _)) => return Err(Failure::EndOfStream),
                    Ok((length, _)) => length,
                    Err(Errno::AGAIN | Errno::INTR) => continue,
                    Err(error) => return Err(error.into()),
                };
                let bytes = &self.buffer[..length];
                let whole = if partial.is_empty() {
                    is_answer(bytes)? || {
                        partial.extend_from_slice(bytes);
                        false
                    }
                } else {
                    partial.extend_from_slice(bytes);
                    is_answer(partial)?
                };
                if whole {
                    partial.clear();
                    answers += 1;
                    net::send(&*socket, &self.request, SendFlags::NOSIGNAL)?;
                }
            }
        }
        Ok(answers)
    }
}

/// True for exactly one answer, false while it is incomplete.
fn is_answer(bytes: &[u8]) -> Result<bool, Failure> {
    const OK: &[u8] = b"HTTP/1.1 200 ";
    if !bytes.starts_with(&OK[..OK.len().min(bytes.len())]) {
        return Err(Failure::WrongEcho);
    }
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(false);
    };
    let body = &bytes[end + 4..];
    if body == BODY {
        Ok(true)
    } else if BODY.starts_with(body) {
        Ok(false)
    } else {
        Err(Failure::WrongEcho)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_only_whole_and_right() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!";
        for cut in 0..answer.len() {
            assert_eq!(is_answer(&answer[..cut]), Ok(false), "cut at {cut}");
        }
        assert_eq!(is_answer(answer), Ok(true));
        assert_eq!(
            is_answer(b"HTTP/1.1 404 Not Found\r\n\r\n"),
            Err(Failure::WrongEcho)
        );
        assert_eq!(
            is_answer(b"HTTP/1.1 200 OK\r\n\r\nHullo"),
            Err(Failure::WrongEcho)
        );
    }
}
