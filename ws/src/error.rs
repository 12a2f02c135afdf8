//! What a peer can do wrong, and the close code that tells it so.

use crate::CloseCode;
use std::fmt;

/// A breach of RFC 6455 or of a limit by the peer.
///
/// The right reaction is to send a Close with [`close_code`](Self::close_code) and then drop the connection
/// (section 7.1.7). The [`Protocol`](crate::Protocol) that reported it ignores everything after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// RSV1, RSV2 or RSV3 is set, though no extension was negotiated (section 5.2).
    ReservedBits,
    /// An opcode that section 5.2 reserves: 3 to 7, 11 to 15.
    ReservedOpcode(u8),
    /// A control frame without FIN (section 5.5).
    FragmentedControl,
    /// A control frame with more than 125 octets (section 5.5).
    ControlTooLong,
    /// A client's frame without a mask (section 5.1).
    Unmasked,
    /// A server's frame with a mask (section 5.1).
    Masked,
    /// A length in more octets than it needs (section 5.2).
    LengthNotMinimal,
    /// A 64-bit length with the top bit set (section 5.2).
    LengthTopBit,
    /// A continuation frame though no message has begun (section 5.4).
    UnexpectedContinuation,
    /// A new message inside a fragmented one (section 5.4).
    ExpectedContinuation,
    /// Text that is not UTF-8 (section 8.1).
    InvalidUtf8,
    /// A Close payload of one octet: too short for a code (section 5.5.1).
    CloseTooShort,
    /// A close code that must not be on the wire (section 7.4).
    CloseCode(u16),
    /// A close reason that is not UTF-8 (section 5.5.1).
    CloseReasonNotUtf8,
    /// The message is, or by its announced length will be, longer than [`Limits::max_message`](crate::Limits).
    MessageTooBig,
    /// The message comes in so many fragments that they cost more than
    /// [`Limits::fragment_budget`](crate::Limits).
    TooManyFragments,
    /// There is no memory for the message.
    OutOfMemory,
}

impl ProtocolError {
    /// The code for our Close: 1002, 1007, 1008, 1009 or, out of memory, 1013.
    pub fn close_code(&self) -> CloseCode {
        match self {
            Self::ReservedBits
            | Self::ReservedOpcode(_)
            | Self::FragmentedControl
            | Self::ControlTooLong
            | Self::Unmasked
            | Self::Masked
            | Self::LengthNotMinimal
            | Self::LengthTopBit
            | Self::UnexpectedContinuation
            | Self::ExpectedContinuation
            | Self::CloseTooShort
            | Self::CloseCode(_) => CloseCode::PROTOCOL_ERROR,
            Self::InvalidUtf8 | Self::CloseReasonNotUtf8 => CloseCode::INVALID_PAYLOAD,
            Self::TooManyFragments => CloseCode::POLICY_VIOLATION,
            Self::MessageTooBig => CloseCode::TOO_BIG,
            Self::OutOfMemory => CloseCode::TRY_AGAIN_LATER,
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::ReservedBits => "reserved bits set without an extension",
            Self::ReservedOpcode(opcode) => return write!(f, "reserved opcode {opcode}"),
            Self::FragmentedControl => "fragmented control frame",
            Self::ControlTooLong => "control frame longer than 125 octets",
            Self::Unmasked => "client frame without a mask",
            Self::Masked => "server frame with a mask",
            Self::LengthNotMinimal => "length not in its shortest form",
            Self::LengthTopBit => "length with the top bit set",
            Self::UnexpectedContinuation => "continuation of nothing",
            Self::ExpectedContinuation => "new message inside a fragmented one",
            Self::InvalidUtf8 => "text is not UTF-8",
            Self::CloseTooShort => "close payload of one octet",
            Self::CloseCode(code) => return write!(f, "invalid close code {code}"),
            Self::CloseReasonNotUtf8 => "close reason is not UTF-8",
            Self::MessageTooBig => "message too big",
            Self::TooManyFragments => "message in too many fragments",
            Self::OutOfMemory => "no memory for the message",
        };
        f.write_str(what)
    }
}

impl std::error::Error for ProtocolError {}
