//! Frames ready to be sent (RFC 6455 section 5.2).

use crate::{CloseFrame, FrameHead, Message, OpCode, Text, apply_mask};
use bytes::Bytes;
use std::fmt;

/// A whole unmasked frame: encoded once, then shared by everyone it goes to. A clone copies nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct EncodedFrame(Bytes);

impl EncodedFrame {
    /// A text message in one frame.
    pub fn text(text: &str) -> EncodedFrame {
        encode(OpCode::Text, &[text.as_bytes()])
    }

    /// A binary message in one frame.
    pub fn binary(bytes: &[u8]) -> EncodedFrame {
        encode(OpCode::Binary, &[bytes])
    }

    /// A message in one frame; copies its payload once.
    pub fn message(message: &Message) -> EncodedFrame {
        let opcode = if message.is_text() {
            OpCode::Text
        } else {
            OpCode::Binary
        };
        encode(opcode, &[message.as_bytes()])
    }

    /// A Ping. Only the first 125 octets of `payload` are sent, as no control frame holds more (section 5.5).
    pub fn ping(payload: &[u8]) -> EncodedFrame {
        encode(OpCode::Ping, &[&payload[..payload.len().min(MAX_CONTROL)]])
    }

    /// A Pong. Only the first 125 octets of `payload` are sent; that of a received Ping always fits.
    pub fn pong(payload: &[u8]) -> EncodedFrame {
        encode(OpCode::Pong, &[&payload[..payload.len().min(MAX_CONTROL)]])
    }

    /// A Close. `None`, or a code that must not be on the wire (1005, 1006), gives one without payload; a reason
    /// over [`CloseFrame::MAX_REASON`] octets is cut at a character boundary.
    pub fn close(close: Option<&CloseFrame>) -> EncodedFrame {
        match close.filter(|close| close.code.is_valid_on_wire()) {
            None => encode(OpCode::Close, &[]),
            Some(close) => {
                let code = close.code.as_u16().to_be_bytes();
                encode(OpCode::Close, &[&code, close.wire_reason().as_bytes()])
            }
        }
    }

    /// Head and payload, as they go on the wire.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Head and payload, without a copy.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Octets of payload.
    pub fn payload_len(&self) -> usize {
        self.0.len() - self.head_len()
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.0[self.head_len()..]
    }

    /// The message again, its payload shared with this frame; `None` for a control frame.
    pub fn to_message(&self) -> Option<Message> {
        let payload = self.0.slice(self.head_len()..);
        match OpCode::from_nibble(self.0[0] & 0x0f) {
            // Text was text when it was encoded: the check can't fail.
            Some(OpCode::Text) => Text::try_from(payload).ok().map(Message::Text),
            Some(OpCode::Binary) => Some(Message::Binary(payload)),
            _ => None,
        }
    }

    fn head_len(&self) -> usize {
        match self.0[1] {
            126 => 4,
            127 => 10,
            _ => 2,
        }
    }
}

impl From<&Message> for EncodedFrame {
    fn from(message: &Message) -> Self {
        EncodedFrame::message(message)
    }
}

impl AsRef<[u8]> for EncodedFrame {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for EncodedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let opcode = OpCode::from_nibble(self.0[0] & 0x0f);
        f.debug_struct("EncodedFrame")
            .field("opcode", &opcode)
            .field("payload_len", &self.payload_len())
            .finish()
    }
}

/// Longest payload of a control frame (section 5.5).
pub(crate) const MAX_CONTROL: usize = 125;

fn encode(opcode: OpCode, parts: &[&[u8]]) -> EncodedFrame {
    let len = parts.iter().map(|part| part.len()).sum();
    let head = FrameHead::server(opcode, true, len).encode();
    let mut bytes = Vec::with_capacity(head.len() + len);
    bytes.extend_from_slice(&head);
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    EncodedFrame(bytes.into())
}

/// Appends a client's frame to `out`, its payload masked with `mask`, which should be hard to predict for the
/// application that chose the payload (section 10.3).
pub fn encode_masked(opcode: OpCode, fin: bool, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
    let head = FrameHead::client(opcode, fin, payload.len(), mask).encode();
    out.reserve(head.len() + payload.len());
    out.extend_from_slice(&head);
    let start = out.len();
    out.extend_from_slice(payload);
    apply_mask(&mut out[start..], mask, 0);
}
