//! The HTTP floor: every request, whatever it asks, gets the same 13 bytes.
//!
//! Run: `cargo run --release -p greenroom-floor --bin http_floor 8081`

use greenroom_floor::{Happened, Loop, port_argument};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\nContent-Type: text/plain\r\nServer: F\r\n\
Date: Mon, 30 Nov 2026 21:50:16 GMT\r\n\r\nHello, World!";

/// Requests are small: this holds a long pipeline of them.
const BUFFER: usize = 16 * 1024;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    Loop::<()>::bind(port_argument()?)?.run(BUFFER, |fd, peers, happened| {
        let (Happened::Bytes(bytes), Some(peer)) = (happened, &peers[fd]) else {
            return;
        };
        let requests = bytes.windows(4).filter(|window| *window == b"\r\n\r\n").count();
        for _ in 0..requests {
            peer.send(RESPONSE);
        }
    })?;
    Ok(())
}
