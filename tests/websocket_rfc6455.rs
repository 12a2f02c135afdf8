//! WebSockets on the wire, in the order of RFC 6455 and citing the rows of bad inputs. What the protocol's state machine
//! makes of single bytes is tested in `greenroom-ws`; here it is what a peer sees of it.

use greenroom::testing::{Answer, Client, Peer, Received, TestServer};
use greenroom::{App, Config, Message, Result, Session, SessionHandler, SessionRef, WsRoute};
use greenroom_ws::OpCode;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);
/// One size for the limits, so that tests need not send megabytes.
const MAX: usize = 100_000;

fn echo(session: Session) -> Result<()> {
    while let Some(message) = session.recv()? {
        session.send(message)?;
    }
    Ok(())
}

struct Echo;

impl SessionHandler for Echo {
    fn on_message(&mut self, session: &SessionRef, message: Message) -> Result<()> {
        let _ = session.send(message);
        Ok(())
    }
}

/// Both sorts of session: every test of frames runs on both.
const PATHS: [&str; 2] = ["/echo", "/callback"];

fn server() -> TestServer {
    let app = App::new()
        .ws("/echo", WsRoute::new(echo).max_message(MAX))
        .ws("/callback", WsRoute::callback(|| Echo).max_message(MAX))
        .ws("/default", echo)
        .ws("/named", WsRoute::new(echo).subprotocols(["v2", "v1"]))
        .ws("/listed", WsRoute::new(echo).origins(["https://chat.example"]));
    let config = Config {
        ws_close_timeout: Duration::from_millis(500),
        ..Config::default()
    };
    TestServer::start_with(app, config)
}

/// A handshake with one change to its lines, and what came of it.
fn refused(server: &TestServer, change: impl Fn(String) -> String) -> Answer {
    let mut peer = Peer::connect(server);
    peer.send(change(Client::request("host.example", "/echo", &[])));
    peer.answer()
}

fn without(name: &str) -> impl Fn(String) -> String {
    move |text| {
        let lines = text
            .split_inclusive("\r\n")
            .filter(|line| !line.starts_with(name));
        lines.collect()
    }
}

/// Sends raw bytes on both routes and expects a Close with `code`, then the end.
fn expect_fault(server: &TestServer, bytes: &[u8], code: u16) {
    for path in PATHS {
        let mut client = Client::connect(server, path);
        client.peer().send(bytes);
        match client.recv_any() {
            Received::Close(Some(close)) => assert_eq!(close.code.as_u16(), code, "{path} {bytes:02x?}"),
            other => panic!("{path} {bytes:02x?}: {other:?}"),
        }
        client.expect_end();
    }
}

/// A masked frame whose first octet is the test's own.
fn raw(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Client::frame(OpCode::Binary, true, payload);
    bytes[0] = first;
    bytes
}

#[test]
fn s4_2_1_w1_without_upgrade_or_connection_it_is_426() {
    let server = server();
    for name in ["Upgrade:", "Connection:"] {
        let answer = refused(&server, without(name));
        assert_eq!(
            (answer.status, answer.header("upgrade")),
            (426, Some("websocket")),
            "{name}"
        );
    }
    let odd = |text: String| {
        text.replace("Upgrade: websocket", "uPGRADE: h2c, WebSocket")
            .replace("Connection: Upgrade", "connection: keep-alive, UPGRADE")
    };
    let mut peer = Peer::connect(&server);
    peer.send(odd(Client::request("a", "/echo", &[])));
    assert_eq!(peer.answer_head().status, 101, "tokens in lists, in any case");
}

#[test]
fn s4_4_w2_another_version_is_426_with_the_version_that_is_spoken() {
    let server = server();
    for version in ["8", "12", "14", "013", "13, 8", ""] {
        let answer = refused(&server, |text| {
            text.replace("Version: 13", &format!("Version: {version}"))
        });
        assert_eq!(
            (answer.status, answer.header("sec-websocket-version")),
            (426, Some("13")),
            "{version}"
        );
    }
    assert_eq!(refused(&server, without("Sec-WebSocket-Version")).status, 426);
}

#[test]
fn s4_2_1_w3_a_bad_key_is_400() {
    let server = server();
    assert_eq!(refused(&server, without("Sec-WebSocket-Key")).status, 400);
    for key in ["", "short", "dGhlIHNhbXBsZSBub25jZQ=", "!!!!IHNhbXBsZSBub25jZQ=="] {
        let answer = refused(&server, |text| text.replace("dGhlIHNhbXBsZSBub25jZQ==", key));
        assert_eq!(answer.status, 400, "{key}");
    }
    let twice = |text: String| {
        text.replace(
            "Upgrade: w",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nUpgrade: w",
        )
    };
    assert_eq!(refused(&server, twice).status, 400);
}

#[test]
fn s4_2_1_w4_other_methods_versions_and_bodies_never_get_a_101() {
    let server = server();
    assert_eq!(refused(&server, |text| text.replace("GET", "POST")).status, 405);
    assert_eq!(
        refused(&server, |text| text.replace("HTTP/1.1", "HTTP/1.0")).status,
        426
    );
    assert_eq!(refused(&server, without("Host:")).status, 400);
    let body = |text: String| text.replace("\r\n\r\n", "\r\nContent-Length: 2\r\n\r\nhi");
    assert_eq!(refused(&server, body).status, 400);
}

#[test]
fn s10_2_w5_foreign_origins_are_403() {
    let server = server();
    let same = format!("http://{}", server.address());
    let of = |path: &str, origin: &str| {
        Client::try_connect(&server, path, &[("Origin", origin)])
            .err()
            .map(|a| a.status)
    };
    assert_eq!(of("/echo", &same), None);
    for origin in [
        "null",
        "https://evil.example",
        &format!("{same}.evil.example"),
        "http://127.0.0.1",
    ] {
        assert_eq!(of("/echo", origin), Some(403), "{origin}");
    }
    assert_eq!(of("/listed", "https://chat.example"), None);
    for origin in [
        "http://chat.example",
        "https://chat.example.evil",
        "https://chat.example:444",
        &same,
    ] {
        assert_eq!(of("/listed", origin), Some(403), "{origin}");
    }
    // No browser: allowed.
    Client::connect(&server, "/listed");
}

#[test]
fn s4_2_2_w6_one_offered_subprotocol_is_chosen_in_the_servers_order() {
    let server = server();
    let offer = |names: &str| Client::connect_with(&server, "/named", &[("Sec-WebSocket-Protocol", names)]);
    assert_eq!(offer("v1, v2").subprotocol(), Some("v2"));
    assert_eq!(offer("v0,v1").subprotocol(), Some("v1"));
    assert_eq!(offer("V1, other").subprotocol(), None);
    let many = (0..9000).map(|n| format!("p{n}")).collect::<Vec<_>>().join(",");
    assert_eq!(offer(&format!("{many},v1")).subprotocol(), Some("v1"));
}

#[test]
fn s9_1_w7_no_extension_is_ever_negotiated() {
    let server = server();
    for offer in [
        "permessage-deflate; client_max_window_bits",
        "permessage-deflate; server_max_window_bits=99",
        "constructor, __proto__",
    ] {
        // The client asserts that the answer names none.
        let mut client = Client::connect_with(&server, "/echo", &[("Sec-WebSocket-Extensions", offer)]);
        client.send("plain");
        assert_eq!(client.recv_text(), "plain");
    }
}

#[test]
fn w8_frames_behind_the_handshake_in_one_segment_are_kept() {
    let server = server();
    for path in PATHS {
        let mut peer = Peer::connect(&server);
        let mut bytes = Client::request("a", path, &[]).into_bytes();
        bytes.extend(Client::frame(OpCode::Text, true, b"one"));
        bytes.extend(&Client::frame(OpCode::Text, true, b"two")[..4]);
        peer.send(bytes);
        assert_eq!(peer.answer_head().status, 101);
        assert_eq!(peer.take(5), b"\x81\x03one");
        peer.send(&Client::frame(OpCode::Text, true, b"two")[4..]);
        assert_eq!(
            peer.take(5),
            b"\x81\x03two",
            "unmasked, as a server's frames are (section 5.1)"
        );
    }
}

#[test]
fn s5_1_w9_an_unmasked_frame_is_1002() {
    expect_fault(&server(), b"\x81\x02hi", 1002);
}

#[test]
fn s5_2_w10_w11_reserved_bits_and_opcodes_are_1002() {
    let server = server();
    for bits in [0x40, 0x20, 0x10] {
        expect_fault(&server, &raw(0x82 | bits, b"x"), 1002);
    }
    for opcode in [3, 7, 11, 15] {
        expect_fault(&server, &raw(0x80 | opcode, b""), 1002);
    }
}

#[test]
fn s5_5_w12_long_or_fragmented_control_frames_are_1002() {
    let server = server();
    expect_fault(&server, &raw(0x89, &[0; 126]), 1002);
    expect_fault(&server, &raw(0x09, b"x"), 1002);
    expect_fault(&server, &raw(0x88, &[0; 126]), 1002);
}

#[test]
fn s5_4_w13_fragments_out_of_order_are_1002() {
    let server = server();
    expect_fault(&server, &raw(0x80, b"x"), 1002);
    let mut inside = Client::frame(OpCode::Text, false, b"a");
    inside.extend(Client::frame(OpCode::Text, true, b"b"));
    expect_fault(&server, &inside, 1002);
}

#[test]
fn s5_4_w14_control_frames_between_fragments_are_answered_in_order() {
    let server = server();
    for path in PATHS {
        let mut client = Client::connect(&server, path);
        client.send_frame(OpCode::Text, false, b"a");
        client.send_frame(OpCode::Ping, true, b"between");
        assert_eq!(
            client.recv_any(),
            Received::Pong(b"between".to_vec()),
            "{path}: at once"
        );
        client.send_frame(OpCode::Continuation, false, b"");
        client.send_frame(OpCode::Pong, true, b"nobody asked");
        client.send_frame(OpCode::Continuation, true, b"b");
        assert_eq!(client.recv_text(), "ab");
        client.send_frame(OpCode::Text, false, b"a");
        assert_eq!(client.close(1000).unwrap().code.as_u16(), 1000);
    }
}

#[test]
fn s5_2_w15_w16_w17_lengths() {
    let server = server();
    let head = |length: &[u8]| [&[0x82][..], length, &[0; 4]].concat();
    let long = |length: u64| head(&[&[0xff][..], &length.to_be_bytes()].concat());
    expect_fault(&server, &long(1 << 63), 1002);
    expect_fault(&server, &long(u64::MAX), 1002);
    expect_fault(&server, &long(65_535), 1002);
    expect_fault(&server, &head(&[0xfe, 0, 125]), 1002);
    // At the head, nothing of the payload having come.
    expect_fault(&server, &long(4 << 30), 1009);
}

#[test]
fn s5_6_messages_of_every_length_class_come_back_whole() {
    let server = server();
    let mut client = Client::connect(&server, "/default").patience(LONG);
    for len in [0, 1, 125, 126, 127, 65_535, 65_536, 1 << 20, 8 << 20] {
        let bytes: Vec<u8> = (0..len).map(|n| n as u8).collect();
        let mut writer = client.peer().stream().try_clone().unwrap();
        let frame = Client::frame(OpCode::Binary, true, &bytes);
        let writing = std::thread::spawn(move || std::io::Write::write_all(&mut writer, &frame));
        let back = client.recv().unwrap();
        assert!(back.is_binary() && back.as_bytes() == bytes, "{len}");
        writing.join().unwrap().unwrap();
    }
}

#[test]
fn s7_4_1_w17_w18_a_routes_own_limit_holds_to_the_byte() {
    let server = server();
    for path in PATHS {
        let mut client = Client::connect(&server, path);
        client.send(vec![1; MAX]);
        assert_eq!(client.recv().unwrap().len(), MAX, "{path}");
        client.send_frame(OpCode::Binary, true, &vec![1; MAX + 1]);
        assert_eq!(client.recv_close().unwrap().code.as_u16(), 1009, "{path}");
    }
    let mut sum = Client::frame(OpCode::Binary, false, &vec![0; MAX]);
    // The head of the frame that crosses it is enough.
    sum.extend(&Client::frame(OpCode::Continuation, true, b"x")[..6]);
    expect_fault(&server, &sum, 1009);
}

#[test]
fn w19_unending_empty_fragments_come_to_an_end() {
    let server = server();
    let mut client = Client::connect(&server, "/echo").patience(LONG);
    let pieces = Client::frame(OpCode::Continuation, false, b"").repeat(1000);
    client.send_frame(OpCode::Text, false, b"");
    while client.peer().try_send(&pieces).is_ok() {}
    assert!(matches!(client.recv_any(), Received::Close(Some(close)) if close.code.as_u16() == 1008));
}

#[test]
fn s8_1_w20_w21_w22_text_must_be_utf8() {
    let server = server();
    for bad in [
        &b"\xc0\xaf"[..],
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"ab\xff",
        b"\xe2\x82",
    ] {
        expect_fault(&server, &Client::frame(OpCode::Text, true, bad), 1007);
    }
    for path in PATHS {
        let mut client = Client::connect(&server, path);
        for (n, byte) in "κ€😀".bytes().enumerate() {
            let opcode = if n == 0 {
                OpCode::Text
            } else {
                OpCode::Continuation
            };
            client.send_frame(opcode, false, &[byte]);
        }
        client.send_frame(OpCode::Continuation, true, b"");
        assert_eq!(client.recv_text(), "κ€😀");
        // The rest of the frame never comes.
        let mut frame = Client::frame(OpCode::Text, true, &[0xff; 1000]);
        frame.truncate(20);
        client.peer().send(frame);
        assert_eq!(client.recv_close().unwrap().code.as_u16(), 1007, "{path}");
    }
}

#[test]
fn s5_5_1_w23_w24_bad_close_payloads() {
    let server = server();
    let close = |payload: &[u8]| Client::frame(OpCode::Close, true, payload);
    expect_fault(&server, &close(b"\x03"), 1002);
    expect_fault(&server, &close(b"\x03\xe8\xff"), 1007);
    for code in [0u16, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535] {
        expect_fault(&server, &close(&code.to_be_bytes()), 1002);
    }
}

#[test]
fn s7_1_1_w25_w26_a_close_is_answered_with_its_code_and_the_server_ends_the_connection() {
    let server = server();
    for path in PATHS {
        for code in [1000, 1001, 1003, 1007, 1014, 3000, 4999] {
            let mut client = Client::connect(&server, path);
            assert_eq!(client.close(code).unwrap().code.as_u16(), code, "{path}");
            client.expect_end();
        }
        let mut client = Client::connect(&server, path);
        client.send_frame(OpCode::Close, true, b"");
        assert_eq!(client.recv_close(), None, "{path}");
        client.expect_end();
    }
}

#[test]
fn s5_5_1_w27_what_follows_a_close_is_ignored() {
    let server = server();
    for path in PATHS {
        let mut client = Client::connect(&server, path);
        let mut bytes = Client::frame(OpCode::Text, true, b"before");
        bytes.extend(Client::frame(OpCode::Close, true, &1000u16.to_be_bytes()));
        bytes.extend(Client::frame(OpCode::Text, true, b"after"));
        bytes.extend(Client::frame(OpCode::Close, true, &4000u16.to_be_bytes()));
        client.peer().send(bytes);
        assert_eq!(client.recv_text(), "before");
        assert_eq!(client.recv_close().unwrap().code.as_u16(), 1000);
        client.expect_end();
    }
}

#[test]
fn s5_5_3_w30_of_many_pings_the_newest_is_answered_and_too_many_are_1008() {
    let server = server();
    for path in PATHS {
        let mut client = Client::connect(&server, path);
        let pings = |from: u8, to: u8| {
            (from..to)
                .flat_map(|n| Client::frame(OpCode::Ping, true, &[n]))
                .collect::<Vec<_>>()
        };
        client.peer().send(pings(0, 50));
        let mut last = None;
        while last != Some(49) {
            match client.recv_any() {
                Received::Pong(payload) => {
                    assert!(last < Some(payload[0]), "in order, none twice");
                    last = Some(payload[0]);
                }
                other => panic!("{other:?}"),
            }
        }
        client.peer().send(pings(50, 255));
        assert_eq!(client.recv_close().unwrap().code.as_u16(), 1008, "{path}");
    }
}

#[test]
fn s5_5_3_w31_an_unsolicited_pong_is_ignored() {
    let server = server();
    for path in PATHS {
        let mut client = Client::connect(&server, path);
        client.send_frame(OpCode::Pong, true, &[7; 125]);
        client.send("next");
        assert_eq!(client.recv_any(), Received::Message("next".into()), "{path}");
    }
}

#[test]
fn w28_a_peer_that_finishes_sending_without_a_close_still_gets_its_answers() {
    let server = server();
    for path in PATHS {
        let mut client = Client::connect(&server, path);
        client
            .peer()
            .send(Client::frame(OpCode::Text, true, b"last words"));
        client.peer().finish();
        assert_eq!(client.recv_text(), "last words", "{path}");
    }
}
