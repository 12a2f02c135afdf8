//! What a frame is for (RFC 6455 section 5.2).

/// The opcode of a frame. Values that section 5.2 reserves have no variant: they are an error when they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum OpCode {
    /// A further fragment of the message that a text or binary frame began.
    Continuation = 0,
    /// A text message or its first fragment.
    Text = 1,
    /// A binary message or its first fragment.
    Binary = 2,
    /// The end of the conversation (section 5.5.1).
    Close = 8,
    /// A question for life (section 5.5.2).
    Ping = 9,
    /// The answer to a Ping, or unsolicited (section 5.5.3).
    Pong = 10,
}

impl OpCode {
    /// The opcode in the low four bits of a frame's first octet, `None` if it is reserved.
    pub fn from_nibble(nibble: u8) -> Option<OpCode> {
        Some(match nibble {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return None,
        })
    }

    /// Close, Ping and Pong: at most 125 octets, never fragmented, allowed between fragments (section 5.5).
    pub fn is_control(self) -> bool {
        self as u8 & 0x8 != 0
    }
}
