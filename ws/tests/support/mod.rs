//! Feeding a `Protocol` and writing down what it says.
#![allow(dead_code)] // each test file uses its part

use greenroom_ws::{
    CloseFrame, Event, Limits, Message, OpCode, Protocol, ProtocolError, Role, encode_masked,
};
use proptest::prelude::*;

pub(crate) const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// An event that owns its payload.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Heard {
    Message(Message),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<CloseFrame>),
    Error(ProtocolError),
}

pub(crate) fn server() -> Protocol {
    Protocol::new(Role::Server, Limits::default())
}

/// Decodes one input to its end.
pub(crate) fn feed(protocol: &mut Protocol, input: &[u8]) -> Vec<Heard> {
    let mut input = input.to_vec();
    let (mut at, mut heard) = (0, Vec::new());
    loop {
        let step = protocol.decode(&mut input[at..]);
        at += step.consumed;
        heard.push(match step.event {
            Ok(Some(Event::Message(message))) => Heard::Message(message.into_message()),
            Ok(Some(Event::Ping(payload))) => Heard::Ping(payload.to_vec()),
            Ok(Some(Event::Pong(payload))) => Heard::Pong(payload.to_vec()),
            Ok(Some(Event::Close(close))) => Heard::Close(close),
            Err(error) => Heard::Error(error),
            Ok(None) => {
                assert_eq!(at, input.len(), "without an event all of the input is consumed");
                return heard;
            }
        });
    }
}

/// What a fresh server hears of these octets.
pub(crate) fn hear(input: &[u8]) -> Vec<Heard> {
    feed(&mut server(), input)
}

pub(crate) fn frame(opcode: OpCode, fin: bool, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_masked(opcode, fin, payload, MASK, &mut out);
    out
}

pub(crate) fn text(text: &str) -> Heard {
    Heard::Message(Message::from(text))
}

pub(crate) fn binary(bytes: &[u8]) -> Heard {
    Heard::Message(Message::from(bytes))
}

pub(crate) fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let opcode = prop_oneof![
        3 => Just(OpCode::Text),
        2 => Just(OpCode::Binary),
        3 => Just(OpCode::Continuation),
        1 => Just(OpCode::Ping),
        1 => Just(OpCode::Pong),
        1 => Just(OpCode::Close),
    ];
    let payload = prop_oneof![
        4 => "\\PC{0,12}".prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
        1 => (0x03e8u16..0x03f0).prop_map(|code| code.to_be_bytes().to_vec()),
        1 => "[a-z]{120,140}".prop_map(String::into_bytes),
    ];
    (opcode, any::<bool>(), payload, any::<[u8; 4]>()).prop_map(|(opcode, fin, payload, mask)| {
        let mut out = Vec::new();
        encode_masked(opcode, fin || opcode.is_control(), &payload, mask, &mut out);
        out
    })
}

/// Frames, some of them spoilt.
pub(crate) fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let spoil = proptest::option::weighted(0.3, (any::<prop::sample::Index>(), any::<u8>()));
    (proptest::collection::vec(any_frame(), 1..6), spoil).prop_map(|(frames, spoil)| {
        let mut stream = frames.concat();
        if let Some((at, octet)) = spoil {
            let at = at.index(stream.len());
            stream[at] = octet;
        }
        stream
    })
}

/// A conversation without a fault: whole and fragmented messages, control frames between.
pub(crate) fn good_stream() -> impl Strategy<Value = Vec<u8>> {
    let message = (
        "\\PC{0,40}",
        any::<bool>(),
        proptest::collection::vec(0usize..40, 0..4),
        any::<bool>(),
    );
    proptest::collection::vec((message, any::<[u8; 4]>()), 1..6).prop_map(|messages| {
        let mut out = Vec::new();
        for ((content, is_text, cuts, ping), mask) in messages {
            let mut rest = content.as_bytes();
            let mut opcode = if is_text { OpCode::Text } else { OpCode::Binary };
            for cut in cuts {
                let (piece, behind) = rest.split_at(cut.min(rest.len()));
                encode_masked(opcode, false, piece, mask, &mut out);
                if ping {
                    encode_masked(OpCode::Ping, true, piece, mask, &mut out);
                }
                (rest, opcode) = (behind, OpCode::Continuation);
            }
            encode_masked(opcode, true, rest, mask, &mut out);
        }
        out
    })
}
