//! RFC 6455 sections 5.5.1 and 7: the Close frame, its codes, and what comes after it.

mod support;

use greenroom_ws::{CloseCode, CloseFrame, EncodedFrame, Limits, OpCode, Protocol, ProtocolError, Role};
use support::{Heard, feed, frame, hear, server};

fn close(payload: &[u8]) -> Vec<Heard> {
    hear(&frame(OpCode::Close, true, payload))
}

#[test]
fn s05_5_1_w23_close_payload_of_one_octet_is_1002() {
    assert_eq!(close(&[3]), [Heard::Error(ProtocolError::CloseTooShort)]);
    assert_eq!(ProtocolError::CloseTooShort.close_code().as_u16(), 1002);
}

#[test]
fn s05_5_1_w23_close_reason_that_is_not_utf8_is_1007() {
    assert_eq!(
        close(b"\x03\xe8\xff"),
        [Heard::Error(ProtocolError::CloseReasonNotUtf8)]
    );
    assert_eq!(ProtocolError::CloseReasonNotUtf8.close_code().as_u16(), 1007);
}

#[test]
fn s07_1_5_w26_empty_close_is_no_code() {
    assert_eq!(close(b""), [Heard::Close(None)]);
    assert_eq!(EncodedFrame::close(None).as_bytes(), [0x88, 0]);
    for never_sent in [CloseCode::NO_STATUS, CloseCode::ABNORMAL] {
        assert_eq!(
            EncodedFrame::close(Some(&never_sent.into())).as_bytes(),
            [0x88, 0]
        );
    }
}

#[test]
fn s07_4_w24_w25_codes_valid_on_the_wire_and_no_others() {
    for code in 0..=u16::MAX {
        let valid = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
        let expected = match CloseCode::new(code) {
            Some(code) => Heard::Close(Some(code.into())),
            None => Heard::Error(ProtocolError::CloseCode(code)),
        };
        assert_eq!(CloseCode::new(code).is_some(), valid, "{code}");
        assert_eq!(close(&code.to_be_bytes()), [expected]);
    }
    assert_eq!(ProtocolError::CloseCode(5000).close_code().as_u16(), 1002);
}

#[test]
fn s05_5_1_close_is_read_as_written_and_a_long_reason_is_cut() {
    let bye = CloseFrame {
        code: CloseCode::GOING_AWAY,
        reason: "ü".repeat(100).into(),
    };
    let mut client = Protocol::new(Role::Client, Limits::default());
    let heard = feed(&mut client, EncodedFrame::close(Some(&bye)).as_bytes());
    assert_eq!(
        heard,
        [Heard::Close(Some(CloseFrame::new(
            CloseCode::GOING_AWAY,
            &"ü".repeat(61)
        )))]
    );
}

#[test]
fn s05_5_1_w27_data_after_a_received_close_is_ignored() {
    let input = [
        frame(OpCode::Close, true, b"\x03\xe8"),
        frame(OpCode::Ping, true, b"x"),
        frame(OpCode::Close, true, b""),
        vec![0xff; 20],
    ];
    assert_eq!(
        hear(&input.concat()),
        [Heard::Close(Some(CloseCode::NORMAL.into()))]
    );
}

#[test]
fn s05_5_1_w27_after_our_close_only_the_peers_close_is_reported() {
    let mut protocol = server();
    // Cut inside a fragmented message and inside a Ping.
    assert_eq!(feed(&mut protocol, &frame(OpCode::Text, false, b"half")), []);
    let ping = frame(OpCode::Ping, true, b"payload");
    assert_eq!(feed(&mut protocol, &ping[..9]), []);
    protocol.close_sent();
    assert_eq!(protocol.assembly_bytes(), 0);
    assert_eq!(feed(&mut protocol, &ping[9..]), []);
    let rest = [
        frame(OpCode::Continuation, true, b"\xff"),
        frame(OpCode::Binary, true, &vec![0; 10 << 20]), // over the limit, and nobody keeps it
        frame(OpCode::Close, true, b"\x0f\xa0bye"),
    ];
    let expected = CloseFrame::new(CloseCode::new(4000).unwrap(), "bye");
    assert_eq!(
        feed(&mut protocol, &rest.concat()),
        [Heard::Close(Some(expected))]
    );
}

#[test]
fn close_code_ranges() {
    assert!(CloseCode::new(4000).unwrap().is_application());
    assert!(!CloseCode::new(3999).unwrap().is_application());
    assert!(!CloseCode::NO_STATUS.is_valid_on_wire());
}
