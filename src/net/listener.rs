//! The bound socket.
//!
//! It binds and accepts; what to do about errors and overload is the acceptor's business (`server::acceptor`).

use crate::error::{Error, Kind};
use crate::rt::Socket;
use socket2::{Domain, Protocol, SockRef, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Instant;

/// Connections that the kernel holds for the acceptor. 4,096 is the kernel's own default ceiling (`somaxconn`): a
/// burst of reconnects after a restart fits, and more would only wait longer.
const BACKLOG: i32 = 4096;

/// Binds `address` and starts listening, before any green thread has to exist; returns the socket and the address
/// that it really has (the port, if 0 was asked for).
///
/// # Errors
/// Says which address it was and, for a port in use or a port that needs privileges, what can be done.
pub(crate) fn bind(address: SocketAddr) -> Result<(OwnedFd, SocketAddr), Error> {
    let listen = || {
        // `Socket::new` sets CLOEXEC.
        let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        let bound = socket.local_addr()?.as_socket();
        Ok((OwnedFd::from(socket), bound.unwrap_or(address)))
    };
    listen().map_err(|error: io::Error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                ": another program listens there; stop it or choose another port (PORT)"
            }
            io::ErrorKind::AddrNotAvailable => ": this machine has no such address (CN1_HTTP_ADDR)",
            io::ErrorKind::PermissionDenied => {
                ": ports below 1024 need privileges; choose another port (PORT)"
            }
            _ => "",
        };
        Error::with_source(Kind::Io, format!("cannot listen on {address}: {error}{advice}"))
    })
}

/// A listening socket on the worker of the green thread that registered it.
pub(crate) struct Listener {
    socket: Socket,
}

impl Listener {
    /// Registers a bound socket with the calling green thread's worker.
    ///
    /// # Errors
    /// What registration failed with; the socket is closed then.
    pub(crate) fn register(fd: OwnedFd) -> io::Result<Listener> {
        Ok(Listener {
            socket: Socket::register(fd)?,
        })
    }

    /// Takes the next waiting connection: `Ok(None)` = none waits now. The new socket has CLOEXEC set.
    ///
    /// # Errors
    /// accept(2)'s, one connection's faults (`ECONNABORTED`) and the process's shortages (`EMFILE`) alike.
    pub(crate) fn try_accept(&self) -> io::Result<Option<(OwnedFd, SocketAddr)>> {
        match SockRef::from(&self.socket).accept() {
            Ok((socket, peer)) => {
                // An IP listener has no other peers.
                let peer = peer.as_socket().ok_or(io::ErrorKind::InvalidData)?;
                Ok(Some((socket.into(), peer)))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Parks until connections may be waiting, the green thread is woken, or `until`.
    pub(crate) fn wait(&self, until: Option<Instant>) {
        self.socket.wait(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o17_a_port_in_use_is_a_clear_error() {
        let (_held, address) = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        assert_ne!(address.port(), 0, "the real port is told");
        let text = bind(address).unwrap_err().to_string();
        assert!(
            text.contains(&address.to_string()) && text.contains("another program listens there"),
            "{text}"
        );
    }

    #[test]
    fn o17_a_foreign_address_is_a_clear_error() {
        let text = bind("192.0.2.1:0".parse().unwrap()).unwrap_err().to_string();
        assert!(text.contains("no such address"), "{text}");
    }

    #[test]
    fn o10_the_listening_socket_is_not_inherited_by_children() {
        use std::os::fd::AsRawFd;
        let (socket, _) = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", socket.as_raw_fd())).unwrap();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
        let flags = i32::from_str_radix(flags.trim(), 8).unwrap();
        assert_ne!(flags & libc::O_CLOEXEC, 0);
        assert_ne!(flags & libc::O_NONBLOCK, 0);
    }
}
