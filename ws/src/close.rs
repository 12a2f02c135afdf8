//! Close codes and the payload of a Close frame (RFC 6455 sections 5.5.1 and 7.4).

use crate::{ProtocolError, Text};
use std::fmt;

/// A close code (RFC 6455 section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CloseCode(u16);

impl CloseCode {
    /// 1000: the purpose is fulfilled.
    pub const NORMAL: Self = Self(1000);
    /// 1001: the server shuts down, or the page was left.
    pub const GOING_AWAY: Self = Self(1001);
    /// 1002: the peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1002);
    /// 1003: a kind of data that this endpoint does not take (binary where only text makes sense).
    pub const UNSUPPORTED_DATA: Self = Self(1003);
    /// 1005, never on the wire: the Close carried no code.
    pub const NO_STATUS: Self = Self(1005);
    /// 1006, never on the wire: the connection ended without a Close.
    pub const ABNORMAL: Self = Self(1006);
    /// 1007: data that contradicts its kind, such as text that is not UTF-8.
    pub const INVALID_PAYLOAD: Self = Self(1007);
    /// 1008: a policy was broken and no other code fits.
    pub const POLICY_VIOLATION: Self = Self(1008);
    /// 1009: the message is too big to process.
    pub const TOO_BIG: Self = Self(1009);
    /// 1010: the client misses an extension in the server's answer.
    pub const MANDATORY_EXTENSION: Self = Self(1010);
    /// 1011: the server met an unexpected condition.
    pub const INTERNAL_ERROR: Self = Self(1011);
    /// 1012 (IANA registry): the service restarts.
    pub const SERVICE_RESTART: Self = Self(1012);
    /// 1013 (IANA registry): overloaded, come back later.
    pub const TRY_AGAIN_LATER: Self = Self(1013);
    /// 1014 (IANA registry): a gateway got an invalid answer from upstream.
    pub const BAD_GATEWAY: Self = Self(1014);

    /// The code, if it may be sent in a Close frame; see [`is_valid_on_wire`](Self::is_valid_on_wire).
    pub const fn new(code: u16) -> Option<Self> {
        let code = Self(code);
        if code.is_valid_on_wire() { Some(code) } else { None }
    }

    /// The number itself.
    pub const fn as_u16(self) -> u16 {
        self.0
    }

    /// Whether a Close frame may carry it: 1000 to 1003 and 1007 to 1014 (defined by RFC 6455 or the IANA
    /// registry), 3000 to 3999 (registered by libraries), 4000 to 4999 (private use). Section 7.4.2.
    pub const fn is_valid_on_wire(self) -> bool {
        matches!(self.0, 1000..=1003 | 1007..=1014 | 3000..=4999)
    }

    /// Whether it is in the range that applications may define for themselves, 4000 to 4999 (section 7.4.2).
    pub const fn is_application(self) -> bool {
        matches!(self.0, 4000..=4999)
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A close code and its reason: what a Close frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseFrame {
    /// Why the conversation ends.
    pub code: CloseCode,
    /// More about it, for people; often empty. On the wire it has at most [`MAX_REASON`](Self::MAX_REASON) octets.
    pub reason: Text,
}

impl CloseFrame {
    /// Longest reason on the wire, in octets: a control frame's 125 less the code (section 5.5).
    pub const MAX_REASON: usize = 123;

    /// A close frame; a reason over [`MAX_REASON`](Self::MAX_REASON) octets is cut at a character boundary.
    pub fn new(code: CloseCode, reason: &str) -> CloseFrame {
        CloseFrame {
            code,
            reason: Text::from(cut(reason)),
        }
    }

    /// Reads the payload of a Close frame. `None` means empty: there is no code (1005 if one must be named).
    ///
    /// # Errors
    /// "If there is a body, the first two bytes of the body MUST be a 2-byte unsigned integer" (section 5.5.1):
    /// one octet, a code that must not be on the wire, or a reason that is not UTF-8.
    pub fn parse(payload: &[u8]) -> Result<Option<CloseFrame>, ProtocolError> {
        let (code, reason) = match payload {
            [] => return Ok(None),
            [_] => return Err(ProtocolError::CloseTooShort),
            [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
        };
        let code = CloseCode::new(code).ok_or(ProtocolError::CloseCode(code))?;
        let reason = std::str::from_utf8(reason).map_err(|_| ProtocolError::CloseReasonNotUtf8)?;
        Ok(Some(CloseFrame {
            code,
            reason: Text::from(reason),
        }))
    }

    /// The reason as it goes on the wire.
    pub(crate) fn wire_reason(&self) -> &str {
        cut(self.reason.as_str())
    }
}

impl From<CloseCode> for CloseFrame {
    fn from(code: CloseCode) -> Self {
        CloseFrame {
            code,
            reason: Text::default(),
        }
    }
}

fn cut(reason: &str) -> &str {
    &reason[..reason.floor_char_boundary(CloseFrame::MAX_REASON)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_reason_is_cut_at_a_character() {
        let reason = "é".repeat(100);
        let frame = CloseFrame::new(CloseCode::NORMAL, &reason);
        assert_eq!(frame.reason.as_str(), "é".repeat(61));
        assert_eq!(CloseFrame::new(CloseCode::NORMAL, "bye").reason.as_str(), "bye");
    }
}
