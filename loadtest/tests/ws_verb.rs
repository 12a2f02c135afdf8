//! `loadtest ws` against tiny servers, sound and faulty: the figures, the named errors and the exit statuses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

const GOOD: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// Listens on a free port; each connection gets `answer` to its request and then what `reply` makes of each payload.
fn serve(answer: &'static str, reply: fn(&[u8]) -> Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}/ws", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || converse(stream, answer, reply));
        }
    });
    url
}

fn converse(mut stream: TcpStream, answer: &str, reply: fn(&[u8]) -> Vec<u8>) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        request.push(byte[0]);
    }
    stream.write_all(answer.as_bytes())?;
    loop {
        let mut head = [0; 6];
        stream.read_exact(&mut head)?;
        let mut payload = vec![0; usize::from(head[1] & 0x7f)];
        stream.read_exact(&mut payload)?;
        payload
            .iter_mut()
            .zip(head[2..].iter().cycle())
            .for_each(|(byte, key)| *byte ^= key);
        // Slow enough that the generator is never the bottleneck.
        thread::sleep(Duration::from_millis(2));
        stream.write_all(&reply(&payload))?;
    }
}

fn echo(payload: &[u8]) -> Vec<u8> {
    [&[0x81, payload.len() as u8], payload].concat()
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadtest"))
        .args(arguments)
        .output()
        .unwrap()
}

/// The exit status and the JSON report of a short run on two connections.
fn ws(url: &str) -> (i32, serde_json::Value) {
    let output = run(&["ws", url, "-c", "2", "-d", "300ms", "-o", "json"]);
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap(), report)
}

#[test]
fn a_sound_server_passes_with_figures() {
    let (status, report) = ws(&serve(GOOD, echo));
    assert_eq!(status, 0, "{report}");
    assert_eq!(report["errors"], serde_json::json!({}));
    assert_eq!(report["open_at_end"], 2);
    assert!(report["messages"].as_u64().unwrap() > 0);
    // The server sleeps 2 ms for each message.
    assert!(report["latency_ms"]["p50"].as_f64().unwrap() >= 2.0, "{report}");
}

#[test]
fn a_wrong_accept_value_is_a_failed_handshake() {
    let answer = "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n";
    let (status, report) = ws(&serve(answer, echo));
    assert_eq!(
        (status, &report["errors"]),
        (4, &serde_json::json!({ "wrong accept": 2 }))
    );
}

#[test]
fn a_refusal_is_counted_by_its_status() {
    let (status, report) = ws(&serve(
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        echo,
    ));
    assert_eq!(
        (status, &report["errors"]),
        (4, &serde_json::json!({ "handshake status 403": 2 }))
    );
}

#[test]
fn a_changed_byte_is_a_wrong_echo() {
    let (status, report) = ws(&serve(GOOD, |payload| {
        let mut frame = echo(payload);
        *frame.last_mut().unwrap() ^= 1;
        frame
    }));
    assert_eq!(
        (status, &report["errors"]),
        (4, &serde_json::json!({ "wrong echo": 2 }))
    );
}

#[test]
fn a_close_is_counted_by_its_code() {
    let (status, report) = ws(&serve(GOOD, |_| b"\x88\x02\x03\xf3".to_vec()));
    assert_eq!(
        (status, &report["errors"]),
        (4, &serde_json::json!({ "close code 1011": 2 }))
    );
}

#[test]
fn nobody_listening_is_refused() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let (status, report) = ws(&format!("ws://127.0.0.1:{port}/"));
    assert_eq!(
        (status, &report["errors"]),
        (4, &serde_json::json!({ "refused": 2 }))
    );
    assert!(report["latency_ms"].is_null(), "a latency was invented: {report}");
}

#[test]
fn too_few_file_descriptors_are_the_generators_own_limit() {
    let url = serve(GOOD, echo);
    let script = format!(
        "ulimit -n 20; exec {} ws {url} -c 50 -d 100ms",
        env!("CARGO_BIN_EXE_loadtest")
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("fd limit: "),
        "{output:?}"
    );
}

#[test]
fn mistakes_of_usage_exit_with_2() {
    for arguments in [
        &["ws"][..],
        &["ws", "wss://127.0.0.1/"],
        &["ws", "ws://127.0.0.1/", "-c", "0"],
        &["nonsense"],
    ] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn help_shows_an_example_that_runs() {
    for arguments in [&["--help"][..], &["ws", "--help"]] {
        let output = run(arguments);
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("Example: loadtest ws ws://"),
            "{arguments:?}"
        );
    }
}
