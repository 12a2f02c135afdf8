//! WebSocket frames (RFC 6455 section 5.2) as a load generator needs them: encoded once and sent often, and compared with what is
//! expected as they stream in, so that a connection in the middle of a large message holds no buffer.

use crate::failure::Failure;

/// How many different messages a connection sends in turn: an echo of another connection's or of the last message is told apart.
const VARIANTS: usize = 16;

/// The messages of a run, masked and framed once for all connections.
#[derive(Debug)]
pub struct Messages {
    opcode: u8,
    payloads: Vec<Vec<u8>>,
    frames: Vec<Vec<u8>>,
}

impl Messages {
    /// Messages of `size` bytes each: text (ASCII) or binary.
    pub fn new(size: usize, binary: bool) -> Self {
        let opcode = if binary { 2 } else { 1 };
        let payloads: Vec<Vec<u8>> = (0..VARIANTS)
            .map(|variant| {
                let byte = |at: usize| {
                    if binary {
                        (at * 7 + variant) as u8
                    } else {
                        b'A' + ((at + variant) % 26) as u8
                    }
                };
                (0..size).map(byte).collect()
            })
            .collect();
        let frames = payloads
            .iter()
            .map(|payload| encode(opcode, payload, *b"\x37\xfa\x21\x3d"))
            .collect();
        Self {
            opcode,
            payloads,
            frames,
        }
    }

    /// The whole frame of message `index`, which wraps round.
    pub fn frame(&self, index: usize) -> &[u8] {
        &self.frames[index % VARIANTS]
    }

    fn payload(&self, index: usize) -> &[u8] {
        &self.payloads[index % VARIANTS]
    }
}

/// One final frame as a client sends it (section 5.3: masked).
pub fn encode(opcode: u8, payload: &[u8], key: [u8; 4]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.push(0x80 | opcode);
    match payload.len() {
        length @ ..126 => frame.push(0x80 | length as u8),
        length @ 126..65_536 => {
            frame.push(0xfe);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0xff);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(key);
    frame.extend(
        payload
            .iter()
            .zip(key.iter().cycle())
            .map(|(byte, key)| byte ^ key),
    );
    frame
}

/// What the bytes so far amount to.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    /// The expected message is not complete yet.
    More,
    /// It came back whole and equal.
    Message,
    /// A ping that must be answered with this payload.
    Ping(Vec<u8>),
}

/// Reads a server's frames and compares them with the message that is expected.
#[derive(Debug, Default)]
pub struct Reader {
    head: [u8; 10],
    have: u8,
    /// Bytes of the current frame's payload still to come; meaningful once `in_payload`.
    left: u64,
    in_payload: bool,
    in_message: bool,
    /// How much of the expected message has been seen equal.
    matched: usize,
    /// Payload of a control frame: at most 125 bytes, and no allocation until one comes.
    control: Vec<u8>,
}

impl Reader {
    /// Takes bytes off the front of `input` until something has happened or all are used.
    ///
    /// # Errors
    /// A frame no server may send, a close, or a message that differs from number `expected` of `messages`.
    pub fn read(&mut self, input: &mut &[u8], messages: &Messages, expected: usize) -> Result<Read, Failure> {
        loop {
            if !self.in_payload {
                while usize::from(self.have) < self.head_length() {
                    let Some((byte, rest)) = input.split_first() else {
                        return Ok(Read::More);
                    };
                    self.head[usize::from(self.have)] = *byte;
                    self.have += 1;
                    *input = rest;
                }
                self.begin(messages)?;
            }
            let take = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
            let (bytes, rest) = input.split_at(take);
            *input = rest;
            self.left -= take as u64;
            if self.is_control() {
                self.control.extend_from_slice(bytes);
            } else {
                let wanted = messages.payload(expected).get(self.matched..self.matched + take);
                if wanted != Some(bytes) {
                    return Err(Failure::WrongEcho);
                }
                self.matched += take;
            }
            if self.left > 0 {
                return Ok(Read::More);
            }
            if let Some(read) = self.end(messages.payload(expected).len())? {
                return Ok(read);
            }
        }
    }

    fn head_length(&self) -> usize {
        match (self.have, self.head[1] & 0x7f) {
            (0 | 1, _) => 2,
            (_, 126) => 4,
            (_, 127) => 10,
            _ => 2,
        }
    }

    fn is_control(&self) -> bool {
        self.head[0] & 0x08 != 0
    }

    /// The head is complete: check it.
    fn begin(&mut self, messages: &Messages) -> Result<(), Failure> {
        let (opcode, fin) = (self.head[0] & 0x0f, self.head[0] & 0x80 != 0);
        self.left = match self.head[1] {
            126 => u64::from(u16::from_be_bytes([self.head[2], self.head[3]])),
            127 => self.head[2..10]
                .iter()
                .fold(0, |length, byte| (length << 8) | u64::from(*byte)),
            short => u64::from(short),
        };
        // No reserved bit without an extension, no mask from a server (sections 5.2 and 5.1).
        let mut legal = self.head[0] & 0x70 == 0 && self.head[1] & 0x80 == 0;
        if self.is_control() {
            legal &= fin && self.left <= 125 && (8..=10).contains(&opcode);
            self.control.clear();
        } else {
            legal &= (opcode == 0) == self.in_message && opcode <= 2;
        }
        if !legal {
            return Err(Failure::ProtocolFault);
        }
        if !self.is_control() && opcode != 0 {
            if opcode != messages.opcode {
                return Err(Failure::WrongEcho);
            }
            self.matched = 0;
            self.in_message = true;
        }
        self.in_payload = true;
        Ok(())
    }

    /// The payload is complete: what does the frame mean?
    fn end(&mut self, expected_length: usize) -> Result<Option<Read>, Failure> {
        (self.in_payload, self.have) = (false, 0);
        match self.head[0] & 0x0f {
            8 => Err(match *self.control {
                [high, low, ..] => Failure::Close(u16::from_be_bytes([high, low])),
                [_] => Failure::ProtocolFault,
                [] => Failure::Close(1005),
            }),
            9 => Ok(Some(Read::Ping(std::mem::take(&mut self.control)))),
            10 => Ok(None),
            _ if self.head[0] & 0x80 == 0 => Ok(None),
            _ => {
                self.in_message = false;
                if self.matched == expected_length {
                    Ok(Some(Read::Message))
                } else {
                    Err(Failure::WrongEcho)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_split(bytes: &[u8], cut: usize, messages: &Messages) -> Result<Read, Failure> {
        let mut reader = Reader::default();
        let (mut first, mut second) = bytes.split_at(cut);
        match reader.read(&mut first, messages, 0)? {
            Read::More => reader.read(&mut second, messages, 0),
            done => Ok(done),
        }
    }

    fn unmasked(head: &[u8], payload: &[u8]) -> Vec<u8> {
        [head, payload].concat()
    }

    #[test]
    fn section_5_3_a_clients_frame_is_masked() {
        assert_eq!(
            encode(1, b"Hello", [0x37, 0xfa, 0x21, 0x3d]),
            b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"
        );
    }

    #[test]
    fn the_expected_message_is_known_at_every_split_and_in_fragments() {
        let messages = Messages::new(5, false);
        let whole = unmasked(b"\x81\x05", b"ABCDE");
        let fragments = [&b"\x01\x02AB"[..], b"\x8a\x00", b"\x80\x03CDE"].concat();
        for bytes in [whole, fragments] {
            for cut in 0..=bytes.len() {
                assert_eq!(
                    read_split(&bytes, cut, &messages),
                    Ok(Read::Message),
                    "cut at {cut}"
                );
            }
        }
    }

    #[test]
    fn extended_lengths_are_read() {
        for size in [126, 65_535, 65_536] {
            let messages = Messages::new(size, true);
            let mut bytes = encode(2, messages.payload(0), [0; 4]);
            bytes[1] &= 0x7f;
            let head = if size < 65_536 { 4 } else { 10 };
            bytes.drain(head..head + 4);
            assert_eq!(read_split(&bytes, 3, &messages), Ok(Read::Message));
        }
    }

    #[test]
    fn a_message_that_differs_in_bytes_length_or_sort_is_a_wrong_echo() {
        let messages = Messages::new(5, false);
        for bytes in [
            &b"\x81\x05ABCDF"[..],
            b"\x81\x04ABCD",
            b"\x81\x06ABCDEF",
            b"\x82\x05ABCDE",
        ] {
            assert_eq!(
                read_split(bytes, 0, &messages),
                Err(Failure::WrongEcho),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn faults_closes_and_pings_are_told_apart() {
        let messages = Messages::new(5, false);
        for bytes in [
            &b"\xc1\x05"[..],
            b"\x81\x85",
            b"\x80\x01",
            b"\x09\x00",
            b"\x83\x00",
            b"\x89\x7e\x00\x80",
        ] {
            assert_eq!(
                read_split(bytes, 0, &messages),
                Err(Failure::ProtocolFault),
                "{bytes:?}"
            );
        }
        assert_eq!(
            read_split(b"\x88\x02\x03\xf3", 0, &messages),
            Err(Failure::Close(1011))
        );
        assert_eq!(read_split(b"\x88\x00", 0, &messages), Err(Failure::Close(1005)));
        assert_eq!(
            read_split(b"\x89\x01x", 0, &messages),
            Ok(Read::Ping(b"x".to_vec()))
        );
    }
}
