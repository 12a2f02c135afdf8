//! The one error type of the public API: opaque, with predicates that say what the caller can do.
//!
//! It does not describe HTTP answers: a handler that returns `Err` makes the server answer 500 (or close a session
//! with 1011) and the text goes to the log only.

use greenroom_ws::CloseCode;
use std::error::Error as StdError;
use std::fmt;
use std::io;

/// `std::result::Result` with Greenroom's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong in a call to Greenroom.
///
/// The predicates say what to do about it; [`std::error::Error::source`] keeps the cause.
///
/// ```
/// use greenroom::Error;
/// let error = Error::from(std::io::Error::from(std::io::ErrorKind::TimedOut));
/// assert!(error.is_timeout() && !error.is_closed());
/// ```
pub struct Error {
    kind: Kind,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The peer or the server has closed the connection; with the code of the close if there was one.
    Closed(Option<CloseCode>),
    /// A deadline passed.
    Timeout,
    /// A bounded queue was full.
    Overloaded,
    /// A setting is wrong.
    Config,
    /// The operating system said no.
    Io,
    /// Anything else, a handler's own errors above all.
    Other,
}

impl Error {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, source: None }
    }

    pub(crate) fn with_source(kind: Kind, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            kind,
            source: Some(source.into()),
        }
    }

    pub(crate) fn closed(code: Option<CloseCode>) -> Self {
        Self::new(Kind::Closed(code))
    }

    /// An error of the caller's own, for handlers that return [`Result`].
    pub fn other(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::with_source(Kind::Other, source)
    }

    /// The connection is over: stop using it. Nothing that was sent after this will arrive.
    pub fn is_closed(&self) -> bool {
        matches!(self.kind, Kind::Closed(_))
    }

    /// A deadline passed before the operation was done; it may be tried again.
    pub fn is_timeout(&self) -> bool {
        self.kind == Kind::Timeout
    }

    /// A bounded queue was full; try again later or shed the work.
    pub fn is_overloaded(&self) -> bool {
        self.kind == Kind::Overloaded
    }

    /// A setting is wrong; the text names it and says what is accepted.
    pub fn is_config(&self) -> bool {
        self.kind == Kind::Config
    }

    /// The WebSocket close code that ended the session, if one was sent or received.
    pub fn close_code(&self) -> Option<CloseCode> {
        match &self.kind {
            Kind::Closed(code) => *code,
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kind, &self.source) {
            (Kind::Closed(Some(code)), _) => write!(f, "the connection is closed (code {})", code.as_u16()),
            (Kind::Closed(None), _) => f.write_str("the connection is closed"),
            (Kind::Timeout, _) => f.write_str("the deadline passed"),
            (Kind::Overloaded, _) => f.write_str("overloaded: a bounded queue is full"),
            (Kind::Config | Kind::Io | Kind::Other, Some(source)) => source.fmt(f),
            (Kind::Config, None) => f.write_str("a setting is wrong"),
            (Kind::Io, None) => f.write_str("an operation of the operating system failed"),
            (Kind::Other, None) => f.write_str("the handler failed"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `fn main() -> greenroom::Result<()>` prints this form: make it the readable one.
        write!(f, "{self}")?;
        let mut cause = self.source.as_ref().and_then(|source| source.source());
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_ref()
            .map(|source| &**source as &(dyn StdError + 'static))
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::TimedOut => Kind::Timeout,
            io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::UnexpectedEof => Kind::Closed(None),
            _ => Kind::Io,
        };
        Self::with_source(kind, error)
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::other(error)
    }
}

impl From<std::str::Utf8Error> for Error {
    fn from(error: std::str::Utf8Error) -> Self {
        Self::other(error)
    }
}

impl From<std::fmt::Error> for Error {
    fn from(error: std::fmt::Error) -> Self {
        Self::other(error)
    }
}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self::other(text)
    }
}

impl From<&str> for Error {
    fn from(text: &str) -> Self {
        Self::other(text)
    }
}

impl From<Box<dyn StdError + Send + Sync>> for Error {
    fn from(source: Box<dyn StdError + Send + Sync>) -> Self {
        Self::other(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_tell_what_to_do() {
        assert!(Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).is_closed());
        assert!(Error::from(io::Error::from(io::ErrorKind::TimedOut)).is_timeout());
        assert!(Error::new(Kind::Overloaded).is_overloaded());
        let closed = Error::closed(Some(CloseCode::GOING_AWAY));
        assert_eq!(closed.close_code(), Some(CloseCode::GOING_AWAY));
        assert_eq!(closed.to_string(), "the connection is closed (code 1001)");
    }

    #[test]
    fn the_cause_is_kept() {
        let error = Error::other("disk on fire");
        assert_eq!(error.to_string(), "disk on fire");
        assert!(error.source().is_some());
    }
}
