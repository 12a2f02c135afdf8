//! HTTP/1.1 without I/O: bytes in, heads and bodies out; responses in, bytes out (RFC 9110, RFC 9112).
pub mod body;
pub mod date;
pub mod encode;
pub mod head;
pub mod response;
