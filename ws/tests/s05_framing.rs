//! RFC 6455 section 5: frames, fragments, masks, limits. Row ids are those of the project's list of bad inputs.

mod support;

use greenroom_ws::{
    EncodedFrame, Event, FrameHead, Limits, OpCode, Protocol, ProtocolError, Received, Role, encode_masked,
};
use support::{Heard, binary, feed, frame, hear, server, text};

#[test]
fn s05_1_w9_unmasked_client_frame_is_1002_and_never_delivered() {
    let frame = EncodedFrame::text("hello");
    assert_eq!(hear(frame.as_bytes()), [Heard::Error(ProtocolError::Unmasked)]);
    assert_eq!(ProtocolError::Unmasked.close_code().as_u16(), 1002);
}

#[test]
fn s05_1_client_takes_unmasked_frames_and_refuses_masked_ones() {
    let mut client = Protocol::new(Role::Client, Limits::default());
    assert_eq!(
        feed(&mut client, EncodedFrame::text("hello").as_bytes()),
        [text("hello")]
    );
    assert_eq!(
        feed(&mut client, &frame(OpCode::Text, true, b"x")),
        [Heard::Error(ProtocolError::Masked)]
    );
}

#[test]
fn s05_2_w10_reserved_bits_are_1002() {
    for bit in [0x40, 0x20, 0x10] {
        assert_eq!(hear(&[0x81 | bit]), [Heard::Error(ProtocolError::ReservedBits)]);
    }
    assert_eq!(ProtocolError::ReservedBits.close_code().as_u16(), 1002);
}

#[test]
fn s05_2_w11_reserved_opcodes_are_1002() {
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        assert_eq!(
            hear(&[0x80 | opcode]),
            [Heard::Error(ProtocolError::ReservedOpcode(opcode))]
        );
    }
}

#[test]
fn s05_2_w15_length_with_the_top_bit_set_is_1002() {
    let input = [0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 1];
    assert_eq!(hear(&input), [Heard::Error(ProtocolError::LengthTopBit)]);
    assert_eq!(
        hear(&[0x82, 0xff, 255, 255, 255, 255, 255, 255, 255, 255]),
        [Heard::Error(ProtocolError::LengthTopBit)]
    );
}

#[test]
fn s05_2_w16_length_in_more_octets_than_needed_is_1002() {
    assert_eq!(
        hear(&[0x82, 0xfe, 0, 125]),
        [Heard::Error(ProtocolError::LengthNotMinimal)]
    );
    let input = [0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    assert_eq!(hear(&input), [Heard::Error(ProtocolError::LengthNotMinimal)]);
}

#[test]
fn s05_2_heads_are_read_as_written_at_every_border_of_length() {
    for len in [0, 1, 125, 126, 127, 65535, 65536, 70000] {
        for head in [
            FrameHead::server(OpCode::Binary, true, len),
            FrameHead::client(OpCode::Text, false, len, support::MASK),
        ] {
            let masked = head.mask.is_some();
            let octets = head.encode();
            assert_eq!(FrameHead::decode(&octets, masked), Ok(Some((head, octets.len()))));
            for cut in 0..octets.len() {
                assert_eq!(FrameHead::decode(&octets[..cut], masked), Ok(None));
            }
        }
        let payload = vec![b'x'; len];
        assert_eq!(EncodedFrame::binary(&payload).payload(), payload);
        assert_eq!(hear(&frame(OpCode::Binary, true, &payload)), [binary(&payload)]);
    }
}

#[test]
fn s05_2_example_octets_of_section_5_7() {
    assert_eq!(
        EncodedFrame::text("Hello").as_bytes(),
        [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]
    );
    let mut masked = Vec::new();
    encode_masked(
        OpCode::Text,
        true,
        b"Hello",
        [0x37, 0xfa, 0x21, 0x3d],
        &mut masked,
    );
    assert_eq!(
        masked,
        [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]
    );
    assert_eq!(hear(&masked), [text("Hello")]);
}

#[test]
fn s05_4_w13_continuation_of_nothing_and_interleaved_message_are_1002() {
    let nothing_begun = frame(OpCode::Continuation, true, b"x");
    assert_eq!(
        hear(&nothing_begun),
        [Heard::Error(ProtocolError::UnexpectedContinuation)]
    );
    let after_a_whole_one = [frame(OpCode::Text, true, b"a"), nothing_begun].concat();
    assert_eq!(
        hear(&after_a_whole_one),
        [text("a"), Heard::Error(ProtocolError::UnexpectedContinuation)]
    );
    let interleaved = [
        frame(OpCode::Text, false, b"a"),
        frame(OpCode::Binary, true, b"b"),
    ]
    .concat();
    assert_eq!(
        hear(&interleaved),
        [Heard::Error(ProtocolError::ExpectedContinuation)]
    );
}

#[test]
fn s05_4_w14_control_frames_between_fragments_are_handled_at_once_and_in_order() {
    let input = [
        frame(OpCode::Text, false, b"one "),
        frame(OpCode::Ping, true, b"p1"),
        frame(OpCode::Continuation, false, b""),
        frame(OpCode::Pong, true, b"p2"),
        frame(OpCode::Continuation, true, b"message"),
        frame(OpCode::Binary, true, b"next"),
    ]
    .concat();
    let expected = [
        Heard::Ping(b"p1".into()),
        Heard::Pong(b"p2".into()),
        text("one message"),
        binary(b"next"),
    ];
    assert_eq!(hear(&input), expected);
}

#[test]
fn s05_5_w12_long_or_fragmented_control_frames_are_1002() {
    for opcode in [8, 9, 10] {
        assert_eq!(
            hear(&[0x80 | opcode, 0xfe]),
            [Heard::Error(ProtocolError::ControlTooLong)]
        );
        assert_eq!(hear(&[opcode]), [Heard::Error(ProtocolError::FragmentedControl)]);
    }
    let longest = vec![7; 125];
    assert_eq!(hear(&frame(OpCode::Ping, true, &longest)), [Heard::Ping(longest)]);
}

#[test]
fn s05_6_message_in_one_piece_is_handed_on_without_a_copy() {
    let mut input = frame(OpCode::Text, true, b"in place");
    let start = input.as_ptr() as usize + 6;
    let mut protocol = server();
    match protocol.decode(&mut input).event {
        Ok(Some(Event::Message(Received::Text(text)))) => assert_eq!(text.as_ptr() as usize, start),
        other => panic!("{other:?}"),
    }
    assert_eq!(protocol.assembly_bytes(), 0);
}

#[test]
fn w17_announced_length_over_the_limit_is_1009_at_the_head() {
    let head = FrameHead::client(OpCode::Binary, true, 4 << 30, support::MASK).encode();
    assert_eq!(hear(&head), [Heard::Error(ProtocolError::MessageTooBig)]);
    assert_eq!(ProtocolError::MessageTooBig.close_code().as_u16(), 1009);
}

#[test]
fn w17_memory_grows_with_octets_received_not_with_the_length_announced() {
    let mut protocol = server();
    let head = FrameHead::client(OpCode::Binary, true, 8 << 20, support::MASK).encode();
    assert_eq!(feed(&mut protocol, &head), []);
    assert_eq!(protocol.assembly_bytes(), 0);
    assert!(protocol.is_partial());
    assert_eq!(feed(&mut protocol, &[0; 1000]), []);
    assert!(protocol.assembly_bytes() <= 2000, "{}", protocol.assembly_bytes());
}

#[test]
fn w18_fragments_that_pass_the_limit_together_are_1009() {
    let mut protocol = Protocol::new(Role::Server, Limits::new(10));
    assert_eq!(feed(&mut protocol, &frame(OpCode::Binary, false, &[1; 6])), []);
    let crossing = frame(OpCode::Continuation, true, &[1; 5]);
    assert_eq!(
        feed(&mut protocol, &crossing[..6]),
        [Heard::Error(ProtocolError::MessageTooBig)]
    );
    assert_eq!(protocol.assembly_bytes(), 0);

    let mut protocol = Protocol::new(Role::Server, Limits::new(10));
    feed(&mut protocol, &frame(OpCode::Binary, false, &[1; 6]));
    assert_eq!(
        feed(&mut protocol, &frame(OpCode::Continuation, true, &[1; 4])),
        [binary(&[1; 10])]
    );
}

#[test]
fn w19_endless_empty_fragments_are_1008_and_hold_no_memory() {
    let mut protocol = server();
    feed(&mut protocol, &frame(OpCode::Binary, false, b""));
    let empty = frame(OpCode::Continuation, false, b"");
    for _ in 0..1_000_000 {
        match feed(&mut protocol, &empty).as_slice() {
            [] => assert_eq!(protocol.assembly_bytes(), 0),
            heard => {
                assert_eq!(heard, [Heard::Error(ProtocolError::TooManyFragments)]);
                assert_eq!(ProtocolError::TooManyFragments.close_code().as_u16(), 1008);
                return;
            }
        }
    }
    panic!("a million empty fragments went through");
}

#[test]
fn w19_65536_fragments_of_64_octets_pass_and_the_budget_is_per_message() {
    let mut protocol = Protocol::new(Role::Server, Limits::new(4 << 20));
    for _ in 0..2 {
        feed(&mut protocol, &frame(OpCode::Binary, false, &[b'*'; 64]));
        let piece = frame(OpCode::Continuation, false, &[b'*'; 64]);
        for _ in 0..65_534 {
            assert_eq!(feed(&mut protocol, &piece), []);
        }
        let heard = feed(&mut protocol, &frame(OpCode::Continuation, true, &[b'*'; 64]));
        assert!(matches!(heard.as_slice(), [Heard::Message(m)] if m.len() == 4 << 20));
        assert!(!protocol.is_partial());
    }
}

#[test]
fn idle_conversation_is_small() {
    assert!(size_of::<Protocol>() <= 96, "{}", size_of::<Protocol>());
}

#[test]
fn after_an_error_everything_is_ignored() {
    let mut protocol = server();
    assert_eq!(
        feed(&mut protocol, &[0xf1]),
        [Heard::Error(ProtocolError::ReservedBits)]
    );
    assert_eq!(feed(&mut protocol, &frame(OpCode::Text, true, b"x")), []);
    assert!(!protocol.is_partial());
}
