//! HTTP/1.1 without I/O: bytes in, heads and bodies out; responses in, bytes out (RFC 9110, RFC 9112).
//!
//! Incoming: [`head`] (with [`request_line`], [`target`], [`host`], [`framing`] for its parts), then [`body`] (with
//! [`chunked`]). Outgoing: [`response`], [`encode`], [`date`]. No module here reads a socket, a clock other than for
//! Date, or a setting; sizes come in as arguments. Methods, versions and statuses are those of the `http` crate.

pub(crate) mod body;
mod chunked;
pub(crate) mod date;
pub(crate) mod encode;
mod framing;
pub(crate) mod head;
mod host;
mod request_line;
pub(crate) mod response;
mod span;
mod target;
mod token;
