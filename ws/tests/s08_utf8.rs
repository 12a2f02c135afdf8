//! RFC 6455 section 8.1: text is UTF-8, and a fault is found when its octet arrives.

mod support;

use greenroom_ws::{FrameHead, OpCode, ProtocolError};
use support::{Heard, feed, frame, hear, server, text};

#[test]
fn w20_text_that_is_not_utf8_is_1007() {
    for bad in [
        &b"\xc0\xaf"[..],
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"ok \xf0\x9f\x98",
        b"\x80",
        b"a\xff",
    ] {
        assert_eq!(
            hear(&frame(OpCode::Text, true, bad)),
            [Heard::Error(ProtocolError::InvalidUtf8)],
            "{bad:?}"
        );
        let fragments = [
            frame(OpCode::Text, false, bad),
            frame(OpCode::Continuation, true, b""),
        ];
        assert_eq!(
            hear(&fragments.concat()),
            [Heard::Error(ProtocolError::InvalidUtf8)],
            "{bad:?}"
        );
        assert_eq!(hear(&frame(OpCode::Binary, true, bad)), [support::binary(bad)]);
    }
    assert_eq!(ProtocolError::InvalidUtf8.close_code().as_u16(), 1007);
}

#[test]
fn w21_code_points_split_over_frames_of_one_octet_are_accepted() {
    let words = "κόσμε \u{10ffff}\u{800} Hello-µ@ßöäüàá-UTF-8!!";
    let mut input = frame(OpCode::Text, false, b"");
    for octet in words.as_bytes() {
        input.extend(frame(OpCode::Continuation, false, &[*octet]));
    }
    input.extend(frame(OpCode::Continuation, true, b""));
    assert_eq!(hear(&input), [text(words)]);
}

#[test]
fn w22_bad_octet_in_the_first_half_of_a_huge_frame_is_1007_when_it_arrives() {
    let mut protocol = server();
    let head = FrameHead::client(OpCode::Text, true, 1 << 20, [0; 4]).encode();
    assert_eq!(feed(&mut protocol, &head), []);
    assert_eq!(feed(&mut protocol, "κόσμε".as_bytes()), []);
    assert_eq!(feed(&mut protocol, b"\xf4"), []);
    assert_eq!(
        feed(&mut protocol, b"\x90"),
        [Heard::Error(ProtocolError::InvalidUtf8)]
    );
}
