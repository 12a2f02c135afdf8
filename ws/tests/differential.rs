//! The same octets to us and to tungstenite: the same events, the same kind of fault.
//!
//! Allowed differences:
//! - Close codes: tungstenite reports every code and answers invalid ones itself; we refuse them (W24). A Close
//!   with an invalid payload ends the comparison.
//! - Lengths not in their shortest form, and a top bit: we refuse both, tungstenite takes the first and calls the
//!   second too big (W15, W16). So does a control frame that puts 125 octets or fewer into the longer form.
//! - Of two faults in one frame the other may be named; a fault is found earlier by us.

mod support;

use greenroom_ws::{Message, ProtocolError};
use proptest::prelude::*;
use std::io::{self, Cursor, Read, Write};
use support::{Heard, any_stream, good_stream, hear};
use tungstenite::protocol::{Role, WebSocket, WebSocketConfig};

/// Octets to read; what is written disappears.
struct Script(Cursor<Vec<u8>>);

impl Read for Script {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            n => Ok(n),
        }
    }
}

impl Write for Script {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What both can say.
#[derive(Debug, PartialEq)]
enum Said {
    Message(Message),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<(u16, String)>),
    Fault,
}

fn oracle(stream: &[u8]) -> Vec<Said> {
    let config = WebSocketConfig::default()
        .max_message_size(Some(8 << 20))
        .max_frame_size(Some(8 << 20));
    let mut socket =
        WebSocket::from_raw_socket(Script(Cursor::new(stream.to_vec())), Role::Server, Some(config));
    let mut said = Vec::new();
    loop {
        said.push(match socket.read() {
            Ok(tungstenite::Message::Text(text)) => Said::Message(Message::from(text.as_str())),
            Ok(tungstenite::Message::Binary(bytes)) => Said::Message(Message::from(bytes)),
            Ok(tungstenite::Message::Ping(payload)) => Said::Ping(payload.to_vec()),
            Ok(tungstenite::Message::Pong(payload)) => Said::Pong(payload.to_vec()),
            Ok(tungstenite::Message::Close(close)) => {
                said.push(Said::Close(
                    close.map(|c| (c.code.into(), c.reason.as_str().to_owned())),
                ));
                return said;
            }
            Ok(tungstenite::Message::Frame(_)) => unreachable!("read() never gives frames"),
            Err(tungstenite::Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => return said,
            Err(_) => {
                said.push(Said::Fault);
                return said;
            }
        });
    }
}

/// Ours, and whether the last fault is one in which we are allowed to differ.
fn ours(stream: &[u8]) -> (Vec<Said>, bool) {
    let mut differs = false;
    let said = hear(stream)
        .into_iter()
        .map(|heard| match heard {
            Heard::Message(message) => Said::Message(message),
            Heard::Ping(payload) => Said::Ping(payload),
            Heard::Pong(payload) => Said::Pong(payload),
            Heard::Close(close) => Said::Close(close.map(|c| (c.code.as_u16(), c.reason.to_string()))),
            Heard::Error(error) => {
                differs = matches!(
                    error,
                    ProtocolError::LengthNotMinimal
                        | ProtocolError::ControlTooLong
                        | ProtocolError::LengthTopBit
                        | ProtocolError::CloseCode(_)
                );
                // Found before the frame is complete, which tungstenite waits for.
                Said::Fault
            }
        })
        .collect();
    (said, differs)
}

fn compare(stream: &[u8]) -> Result<(), TestCaseError> {
    let ((mut ours, differs), mut oracle) = (ours(stream), oracle(stream));
    if ours.last() == Some(&Said::Fault) {
        ours.pop();
        if differs {
            oracle.truncate(ours.len());
        } else if oracle.last() == Some(&Said::Fault) {
            oracle.pop();
        }
    }
    prop_assert_eq!(ours, oracle);
    Ok(())
}

proptest! {
    #[test]
    fn good_streams_are_heard_alike(stream in good_stream()) {
        let (ours, _) = ours(&stream);
        prop_assert!(!ours.contains(&Said::Fault));
        prop_assert_eq!(ours, oracle(&stream));
    }

    #[test]
    fn spoilt_streams_are_heard_alike(stream in any_stream()) {
        compare(&stream)?;
    }

    #[test]
    fn octets_at_random_are_heard_alike(stream in proptest::collection::vec(any::<u8>(), 0..64)) {
        compare(&stream)?;
    }
}
