//! The WebSocket protocol of RFC 6455 without I/O.
#![allow(missing_docs)] // skeleton only
use bytes::Bytes;

/// A close code (RFC 6455 section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CloseCode(u16);
impl CloseCode {
    pub const NORMAL: Self = Self(1000);
    pub const GOING_AWAY: Self = Self(1001);
    pub const PROTOCOL_ERROR: Self = Self(1002);
    pub const UNSUPPORTED_DATA: Self = Self(1003);
    pub const INVALID_PAYLOAD: Self = Self(1007);
    pub const POLICY_VIOLATION: Self = Self(1008);
    pub const TOO_BIG: Self = Self(1009);
    pub const INTERNAL_ERROR: Self = Self(1011);
    pub const TRY_AGAIN_LATER: Self = Self(1013);
    pub fn as_u16(self) -> u16 {
        self.0
    }
}
