//! The head of a frame (RFC 6455 section 5.2): at most 14 octets before the payload.

use crate::{OpCode, ProtocolError};
use std::ops::Deref;

/// The parts of a frame's head. Its reserved bits are always 0, since no extension is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// Whether this is the last fragment of its message.
    pub fin: bool,
    /// What the frame is for.
    pub opcode: OpCode,
    /// The masking key; clients must have one, servers must not (section 5.1).
    pub mask: Option<[u8; 4]>,
    /// Octets of payload that follow.
    pub len: u64,
}

impl FrameHead {
    /// Longest head: two octets, eight of length, four of mask.
    pub const MAX_LEN: usize = 14;

    /// The head of an unmasked frame, as servers send it.
    pub fn server(opcode: OpCode, fin: bool, len: usize) -> FrameHead {
        FrameHead {
            fin,
            opcode,
            mask: None,
            len: len as u64,
        }
    }

    /// The head of a masked frame, as clients send it. The payload must be masked as well:
    /// [`apply_mask`](crate::apply_mask).
    pub fn client(opcode: OpCode, fin: bool, len: usize, mask: [u8; 4]) -> FrameHead {
        FrameHead {
            fin,
            opcode,
            mask: Some(mask),
            len: len as u64,
        }
    }

    /// The head's octets, for a vectored write in front of a payload that is not copied.
    pub fn encode(&self) -> EncodedHead {
        let mut bytes = [0; Self::MAX_LEN];
        bytes[0] = (self.fin as u8) << 7 | self.opcode as u8;
        let mut end = match self.len {
            len @ ..=125 => {
                bytes[1] = len as u8;
                2
            }
            len @ ..=0xffff => {
                bytes[1] = 126;
                bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
                4
            }
            len => {
                bytes[1] = 127;
                bytes[2..10].copy_from_slice(&len.to_be_bytes());
                10
            }
        };
        if let Some(mask) = self.mask {
            bytes[1] |= 0x80;
            bytes[end..end + 4].copy_from_slice(&mask);
            end += 4;
        }
        EncodedHead {
            bytes,
            len: end as u8,
        }
    }

    /// Reads a head from the start of `input`: the head and its length in octets, or `None` if there is more to
    /// come. Checks what can be checked without knowing the conversation, each as soon as its octets are there.
    ///
    /// # Errors
    /// See the sentences of RFC 6455 in the body.
    #[inline]
    pub fn decode(input: &[u8], masked: bool) -> Result<Option<(FrameHead, usize)>, ProtocolError> {
        let Some(&first) = input.first() else {
            return Ok(None);
        };
        // 5.2: "RSV1, RSV2, RSV3: MUST be 0 unless an extension is negotiated".
        if first & 0x70 != 0 {
            return Err(ProtocolError::ReservedBits);
        }
        // 5.2: "If an unknown opcode is received, the receiving endpoint MUST _Fail the WebSocket Connection_."
        let nibble = first & 0x0f;
        let opcode = OpCode::from_nibble(nibble).ok_or(ProtocolError::ReservedOpcode(nibble))?;
        let fin = first & 0x80 != 0;
        // 5.5: "All control frames [...] MUST NOT be fragmented."
        if opcode.is_control() && !fin {
            return Err(ProtocolError::FragmentedControl);
        }

        let Some(&second) = input.get(1) else {
            return Ok(None);
        };
        // 5.1: "The server MUST close the connection upon receiving a frame that is not masked. [...] A client
        // MUST close a connection if it detects a masked frame."
        if (second & 0x80 != 0) != masked {
            return Err(if masked {
                ProtocolError::Unmasked
            } else {
                ProtocolError::Masked
            });
        }
        let short = second & 0x7f;
        // 5.5: "All control frames MUST have a payload length of 125 bytes or less".
        if opcode.is_control() && short > 125 {
            return Err(ProtocolError::ControlTooLong);
        }

        // 5.2: "the minimal number of bytes MUST be used to encode the length" and, of 64 bits, "the most
        // significant bit MUST be 0".
        let (len, end) = match short {
            126 => {
                let Some(octets) = input[2..].first_chunk() else {
                    return Ok(None);
                };
                let len = u64::from(u16::from_be_bytes(*octets));
                if len <= 125 {
                    return Err(ProtocolError::LengthNotMinimal);
                }
                (len, 4)
            }
            127 => {
                let Some(octets) = input[2..].first_chunk() else {
                    return Ok(None);
                };
                let len = u64::from_be_bytes(*octets);
                if len >> 63 != 0 {
                    return Err(ProtocolError::LengthTopBit);
                }
                if len <= 0xffff {
                    return Err(ProtocolError::LengthNotMinimal);
                }
                (len, 10)
            }
            short => (u64::from(short), 2),
        };
        if !masked {
            return Ok(Some((
                FrameHead {
                    fin,
                    opcode,
                    mask: None,
                    len,
                },
                end,
            )));
        }
        let Some(mask) = input[end..].first_chunk() else {
            return Ok(None);
        };
        Ok(Some((
            FrameHead {
                fin,
                opcode,
                mask: Some(*mask),
                len,
            },
            end + 4,
        )))
    }
}

/// The octets of a [`FrameHead`]; a slice of 2 to 14 octets.
#[derive(Clone, Copy, Debug)]
pub struct EncodedHead {
    bytes: [u8; FrameHead::MAX_LEN],
    len: u8,
}

impl EncodedHead {
    /// The octets.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl Deref for EncodedHead {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}
