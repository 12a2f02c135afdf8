//! Why connections end, counted by cause and never lumped together.

use std::collections::BTreeMap;
use std::fmt;

use rustix::io::Errno;

/// What ended a connection, or kept it from opening.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// Nothing listens there.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The peer closed the TCP connection without a Close frame.
    EndOfStream,
    /// This process has no file descriptor left: the generator's limit, not the server's.
    FdLimit,
    /// This machine has no port left for the address: the generator's limit, not the server's.
    PortExhaustion,
    /// The upgrade was answered with this status instead of 101.
    HandshakeStatus(u16),
    /// The upgrade's answer was no HTTP response or lacked what RFC 6455 section 4.1 demands.
    MalformedHandshake,
    /// `Sec-WebSocket-Accept` does not fit the key.
    WrongAccept,
    /// The peer closed with this code; 1005 stands for a Close without one (RFC 6455 section 7.1.5).
    Close(u16),
    /// A frame that no server may send.
    ProtocolFault,
    /// No answer within the time allowed.
    TimeOut,
    /// What came back is not what was sent.
    WrongEcho,
    /// Any other word of the kernel.
    Io(i32),
}

impl Failure {
    /// True when the generator's own machine is to blame.
    pub fn is_own_limit(&self) -> bool {
        matches!(self, Self::FdLimit | Self::PortExhaustion)
    }
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::CONNREFUSED => Self::Refused,
            Errno::CONNRESET | Errno::PIPE => Self::Reset,
            Errno::MFILE | Errno::NFILE => Self::FdLimit,
            Errno::ADDRNOTAVAIL => Self::PortExhaustion,
            Errno::TIMEDOUT => Self::TimeOut,
            other => Self::Io(other.raw_os_error()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("refused"),
            Self::Reset => f.write_str("reset"),
            Self::EndOfStream => f.write_str("closed without a Close frame"),
            Self::FdLimit => f.write_str("fd limit"),
            Self::PortExhaustion => f.write_str("port exhaustion"),
            Self::HandshakeStatus(status) => write!(f, "handshake status {status}"),
            Self::MalformedHandshake => f.write_str("malformed handshake"),
            Self::WrongAccept => f.write_str("wrong accept"),
            Self::Close(code) => write!(f, "close code {code}"),
            Self::ProtocolFault => f.write_str("protocol fault"),
            Self::TimeOut => f.write_str("time-out"),
            Self::WrongEcho => f.write_str("wrong echo"),
            Self::Io(errno) => write!(f, "{}", std::io::Error::from_raw_os_error(*errno)),
        }
    }
}

/// How many connections each cause ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failures(BTreeMap<Failure, u64>);

impl Failures {
    /// Counts one.
    pub fn add(&mut self, failure: Failure) {
        *self.0.entry(failure).or_default() += 1;
    }

    /// Adds another thread's counts.
    pub fn merge(&mut self, other: Self) {
        for (failure, count) in other.0 {
            *self.0.entry(failure).or_default() += count;
        }
    }

    /// Every cause that occurred, with its count.
    pub fn iter(&self) -> impl Iterator<Item = (&Failure, u64)> {
        self.0.iter().map(|(failure, count)| (failure, *count))
    }

    /// All of them together.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}
