//! The queue without a socket: what a kernel of the test's own takes, step by step.

use super::*;
use greenroom_ws::{Event, Limits, Protocol, Role};

/// What one write would hand to the kernel.
fn batch(outbox: &Outbox) -> Vec<u8> {
    let mut copied = Vec::new();
    match outbox.gather(&mut copied) {
        Gathered::Copied => {}
        Gathered::Large { payload, skip } => copied.extend_from_slice(&payload[skip..]),
        Gathered::Nothing | Gathered::CloseSent => assert!(copied.is_empty()),
    }
    copied
}

/// A kernel that takes at most `room` bytes of the next write.
fn write(outbox: &Outbox, room: usize, wire: &mut Vec<u8>) {
    let bytes = batch(outbox);
    if bytes.is_empty() {
        return;
    }
    let taken = bytes.len().min(room);
    wire.extend_from_slice(&bytes[..taken]);
    outbox.written(taken, taken < bytes.len());
}

/// What a client makes of it: messages by their first byte and length, controls by name.
fn read(mut wire: Vec<u8>) -> Vec<String> {
    let mut protocol = Protocol::new(Role::Client, Limits::default());
    let (mut at, mut seen) = (0, Vec::new());
    loop {
        let step = protocol.decode(&mut wire[at..]);
        at += step.consumed;
        seen.push(match step.event.expect("whole frames") {
            None => break,
            Some(Event::Message(message)) => {
                let message = message.into_message();
                format!(
                    "{} x {}",
                    message.as_bytes().first().copied().unwrap_or(0),
                    message.len()
                )
            }
            Some(Event::Pong(payload)) => format!("pong {payload:?}"),
            Some(Event::Close(close)) => format!("close {:?}", close.map(|close| close.code.as_u16())),
            Some(other) => panic!("{other:?}"),
        });
    }
    assert!(!protocol.is_partial(), "nothing is cut short");
    seen
}

fn message(byte: u8, len: usize) -> Entry {
    Entry::message(Message::from(vec![byte; len]))
}

#[test]
fn small_messages_go_out_in_one_write() {
    let outbox = Outbox::new(1 << 20);
    for n in 0..1000 {
        assert_eq!(outbox.push(message(n as u8, 10)), SendStatus::Sent);
    }
    let bytes = batch(&outbox);
    assert_eq!(bytes.len(), 12_000);
    outbox.written(bytes.len(), false);
    assert!(batch(&outbox).is_empty());
    assert_eq!(outbox.room(), 1 << 20, "all of the cost is given back");
}

#[test]
fn any_division_of_writes_gives_the_same_frames() {
    for room in [1, 2, 3, 7, 1000, 2050, 70_000] {
        let outbox = Outbox::new(1 << 20);
        for (byte, len) in [(1, 0), (2, 5), (3, 3000), (4, 200), (5, 70_000), (6, 1)] {
            assert!(outbox.push(message(byte, len)).is_accepted());
        }
        outbox.close(Some(CloseCode::NORMAL), "");
        let mut wire = Vec::new();
        for _ in 0..80_000 {
            write(&outbox, room, &mut wire);
        }
        let expected = [
            "0 x 0",
            "2 x 5",
            "3 x 3000",
            "4 x 200",
            "5 x 70000",
            "6 x 1",
            "close Some(1000)",
        ];
        assert_eq!(read(wire), expected, "{room}");
        assert_eq!(outbox.queue.lock().cost, 0);
        assert_eq!(outbox.queue.lock().phase, Phase::CloseSent);
    }
}

#[test]
fn an_empty_outbox_admits_one_message_of_any_size() {
    let outbox = Outbox::new(10);
    assert_eq!(outbox.push(message(1, 100_000)), SendStatus::Sent);
    assert_eq!(outbox.push(message(2, 0)), SendStatus::Dropped);
    assert_eq!(outbox.push(message(3, 0)), SendStatus::Closed);
    assert_eq!(outbox.close_code(), Some(CloseCode::TRY_AGAIN_LATER));
}

#[test]
fn an_own_message_that_does_not_fit_comes_back_and_changes_nothing() {
    let outbox = Outbox::new(1000);
    assert!(outbox.try_push(message(1, 600)).is_ok());
    let Err(back) = outbox.try_push(message(2, 600)) else {
        panic!("there is no room");
    };
    assert!(outbox.is_open() && !outbox.is_full() && !outbox.takes(&back));
    let mut wire = Vec::new();
    write(&outbox, usize::MAX, &mut wire);
    assert!(outbox.takes(&back) && outbox.try_push(back).is_ok());
}

#[test]
fn w32_a_full_outbox_finishes_the_frame_begun_then_closes() {
    let outbox = Outbox::new(1100);
    assert!(outbox.push(message(1, 400)).is_accepted());
    assert!(outbox.push(message(2, 400)).is_accepted());
    let mut wire = Vec::new();
    write(&outbox, 100, &mut wire);
    assert_eq!(outbox.push(message(3, 10)), SendStatus::Queued);
    assert_eq!(outbox.push(message(4, 400)), SendStatus::Dropped);
    write(&outbox, usize::MAX, &mut wire);
    assert_eq!(read(wire), ["1 x 400", "close Some(1013)"]);
}

#[test]
fn w32_the_close_by_policy_outlasts_short_writes_of_the_frame_begun() {
    for len in [400, 50_000] {
        let outbox = Outbox::new(60_000);
        assert!(outbox.push(message(1, len)).is_accepted());
        let mut wire = Vec::new();
        write(&outbox, 100, &mut wire);
        assert!(outbox.push(message(2, 5_000)).is_accepted());
        outbox.abandon(CloseCode::TRY_AGAIN_LATER, "too slow");
        for _ in 0..60 {
            write(&outbox, 1000.min(len / 4), &mut wire);
        }
        assert_eq!(read(wire), [format!("1 x {len}"), "close Some(1013)".into()]);
    }
}

#[test]
fn w32_a_close_by_policy_during_a_write_keeps_what_the_write_has_taken() {
    let outbox = Outbox::new(1000);
    for byte in 1..=3 {
        assert!(outbox.push(message(byte, 200)).is_accepted());
    }
    let bytes = batch(&outbox);
    assert_eq!(outbox.push(message(4, 800)), SendStatus::Dropped);
    let mut wire = bytes[..250].to_vec();
    outbox.written(250, true);
    write(&outbox, usize::MAX, &mut wire);
    assert_eq!(read(wire), ["1 x 200", "2 x 200", "close Some(1013)"]);
}

#[test]
fn w30_pings_in_one_go_are_answered_one_by_one_in_order() {
    let outbox = Outbox::new(1 << 20);
    let mut wire = Vec::new();
    for n in 0..10 {
        outbox.pong(&[n]);
    }
    write(&outbox, usize::MAX, &mut wire);
    let expected: Vec<_> = (0..10).map(|n| format!("pong [{n}]")).collect();
    assert_eq!(read(wire), expected);
}

#[test]
fn w30_the_pongs_that_wait_stay_bounded_however_many_pings_come() {
    let outbox = Outbox::new(1 << 20);
    let mut wire = Vec::new();
    assert!(outbox.push(message(1, 10)).is_accepted());
    write(&outbox, 5, &mut wire);
    for n in 0..10_000u32 {
        outbox.pong(&n.to_be_bytes());
        write(&outbox, 0, &mut wire);
        let queue = outbox.queue.lock();
        assert!(queue.pongs.as_ref().map_or(0, Entry::len) <= PONGS_MAX && queue.entries.len() <= 1);
    }
    write(&outbox, usize::MAX, &mut wire);
    let read = read(wire);
    let newest = format!("pong {:?}", 9_999u32.to_be_bytes());
    assert_eq!(
        (read.first().unwrap().as_str(), read.last()),
        ("1 x 10", Some(&newest))
    );
    assert_eq!(outbox.room(), 1 << 20);
}

#[test]
fn w30_a_pong_that_has_begun_is_finished_before_a_newer_one() {
    let outbox = Outbox::new(1 << 20);
    let mut wire = Vec::new();
    outbox.pong(b"old");
    write(&outbox, 2, &mut wire);
    outbox.pong(b"new");
    assert!(outbox.push(message(1, 3)).is_accepted());
    write(&outbox, usize::MAX, &mut wire);
    assert_eq!(
        read(wire),
        ["pong [111, 108, 100]", "pong [110, 101, 119]", "1 x 3"]
    );
}

#[test]
fn after_a_failed_write_everything_is_given_up_and_refused() {
    let outbox = Outbox::new(1 << 20);
    assert!(outbox.push(message(1, 10)).is_accepted());
    assert!(!batch(&outbox).is_empty());
    outbox.shut();
    assert!(outbox.is_lost() && !outbox.is_open());
    assert_eq!(outbox.push(message(2, 10)), SendStatus::Closed);
    outbox.close(Some(CloseCode::NORMAL), "");
    assert!(batch(&outbox).is_empty());
}

#[test]
fn a_close_without_a_code_or_with_one_that_may_not_be_sent_is_empty() {
    for code in [None, Some(CloseCode::NO_STATUS), Some(CloseCode::ABNORMAL)] {
        let outbox = Outbox::new(1000);
        outbox.close(code, "reason");
        let mut wire = Vec::new();
        write(&outbox, usize::MAX, &mut wire);
        assert_eq!(wire, b"\x88\x00");
    }
}
