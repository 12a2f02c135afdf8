//! The WebSocket floor: a connection whose request starts with `GET /fan` sends each message to all of its kind, one send a
//! delivery; any other gets its own messages back. The handshake's answer is fixed and fits only the key of RFC 6455 section 1.3.
//!
//! Run: `cargo run --release -p greenroom-floor --bin ws_floor 8082`

use greenroom_floor::{Happened, Loop, port_argument};

const SWITCHING: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// Holds several messages of the largest size that is measured.
const BUFFER: usize = 256 * 1024;

#[derive(Clone, Copy, Default, PartialEq)]
enum Phase {
    /// No request has been seen yet.
    #[default]
    New,
    Echo,
    Fan,
}

#[derive(Default)]
struct Session {
    phase: Phase,
    /// Bytes of frames not yet answered.
    pending: Vec<u8>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut subscribers: Vec<usize> = Vec::new();
    let mut answer: Vec<u8> = Vec::with_capacity(BUFFER);
    Loop::<Session>::bind(port_argument()?)?.run(BUFFER, |fd, peers, happened| {
        let bytes = match happened {
            Happened::Bytes(bytes) => bytes,
            Happened::Gone => return subscribers.retain(|subscriber| *subscriber != fd),
        };
        let Some(peer) = &mut peers[fd] else { return };
        if peer.state.phase == Phase::New {
            if bytes.starts_with(b"GET /fan") {
                peer.state.phase = Phase::Fan;
                subscribers.push(fd);
            } else {
                peer.state.phase = Phase::Echo;
            }
            return peer.send(SWITCHING);
        }
        answer.clear();
        let pending = &mut peer.state.pending;
        pending.extend_from_slice(bytes);
        let mut done = 0;
        while let Some(length) = unmask_frame(&pending[done..], &mut answer) {
            done += length;
        }
        pending.drain(..done);
        if peer.state.phase == Phase::Echo {
            peer.send(&answer);
        } else {
            subscribers
                .iter()
                .filter_map(|subscriber| peers[*subscriber].as_ref())
                .for_each(|peer| peer.send(&answer));
        }
    })?;
    Ok(())
}

/// Appends the first frame of `input` to `out` as a server sends it (RFC 6455 section 5.2, without the mask) and returns how many
/// bytes of input it took, or `None` while it is incomplete.
fn unmask_frame(input: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let short = usize::from(*input.get(1)? & 0x7f);
    let (head, length) = match short {
        126 => (
            4,
            usize::from(u16::from_be_bytes(input.get(2..4)?.try_into().ok()?)),
        ),
        127 => (
            10,
            usize::try_from(u64::from_be_bytes(input.get(2..10)?.try_into().ok()?)).ok()?,
        ),
        _ => (2, short),
    };
    let key: [u8; 4] = input.get(head..head + 4)?.try_into().ok()?;
    let payload = input.get(head + 4..(head + 4).checked_add(length)?)?;
    out.push(input[0]);
    out.push(short as u8);
    out.extend_from_slice(&input[2..head]);
    let start = out.len();
    out.extend_from_slice(payload);
    unmask(&mut out[start..], key);
    Some(head + 4 + length)
}

/// Undoes the mask (RFC 6455 section 5.3), eight bytes a step.
fn unmask(payload: &mut [u8], key: [u8; 4]) {
    let word = u64::from(u32::from_ne_bytes(key));
    let wide = (word << 32) | word;
    let (words, rest) = payload.as_chunks_mut::<8>();
    for bytes in words {
        *bytes = (u64::from_ne_bytes(*bytes) ^ wide).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The masked "Hello" of RFC 6455 section 5.7.
    const HELLO: [u8; 11] = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];

    #[test]
    fn a_masked_frame_comes_back_unmasked_and_only_when_whole() {
        let mut out = Vec::new();
        for cut in 0..HELLO.len() {
            assert_eq!(unmask_frame(&HELLO[..cut], &mut out), None);
        }
        assert!(out.is_empty());
        assert_eq!(unmask_frame(&HELLO, &mut out), Some(11));
        assert_eq!(out, b"\x81\x05Hello");
    }

    #[test]
    fn extended_lengths_and_odd_tails_are_unmasked() {
        for length in [126_usize, 131, 65_535, 65_536, 65_543] {
            let payload: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let mut head = vec![0x82];
            if length < 65_536 {
                head.push(126);
                head.extend((length as u16).to_be_bytes());
            } else {
                head.push(127);
                head.extend((length as u64).to_be_bytes());
            }
            let key = [1, 2, 3, 4];
            let mut input = head.clone();
            input[1] |= 0x80;
            input.extend(key);
            input.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ key[at % 4]));
            let mut out = Vec::new();
            assert_eq!(unmask_frame(&input, &mut out), Some(input.len()));
            assert_eq!(out, [head, payload].concat());
        }
    }
}
