//! A WebSocket client for tests: every wait has a deadline.

use super::peer::{Answer, Peer};
use greenroom_ws::{
    CloseCode, CloseFrame, EncodedFrame, Event, Limits, Message, OpCode, Protocol, Role, encode_masked,
};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// The key of every handshake: RFC 6455's own sample. Tests need no surprise.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// What a client received.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// A whole message.
    Message(Message),
    /// A ping, which the client has answered.
    Ping(Vec<u8>),
    /// A pong.
    Pong(Vec<u8>),
    /// A Close, with its code and reason if it has them.
    Close(Option<CloseFrame>),
    /// The end of the stream.
    End,
}

/// A WebSocket client under a test's control. It answers pings, nothing else.
pub struct Client {
    peer: Peer,
    protocol: Protocol,
    subprotocol: Option<String>,
    received: VecDeque<Received>,
}

impl Client {
    /// Connects to a path and upgrades.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn connect(to: impl Into<SocketAddr>, path: &str) -> Self {
        Self::connect_with(to, path, &[])
    }

    /// Connects with further header fields (an `Origin`, a `Sec-WebSocket-Protocol`, a `Cookie`).
    ///
    /// # Panics
    /// If the server refuses.
    pub fn connect_with(to: impl Into<SocketAddr>, path: &str, headers: &[(&str, &str)]) -> Self {
        match Self::try_connect(to, path, headers) {
            Ok(client) => client,
            Err(answer) => panic!("the upgrade was refused: {answer:?}"),
        }
    }

    /// Connects with further header fields, or gives the answer with which the server refused.
    ///
    /// # Errors
    /// Any answer but a right 101.
    ///
    /// # Panics
    /// If no answer comes, or a 101 that breaks RFC 6455.
    pub fn try_connect(
        to: impl Into<SocketAddr>,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<Self, Box<Answer>> {
        let to = to.into();
        let mut peer = Peer::connect(to);
        peer.send(Self::request(&to.to_string(), path, headers));
        let mut answer = peer.answer_head();
        if answer.status != 101 {
            if let Some(length) = answer
                .header("content-length")
                .and_then(|length| length.parse().ok())
            {
                answer.body = peer.take(length);
            }
            return Err(Box::new(answer));
        }
        let accept = greenroom_ws::AcceptKey::derive(KEY.as_bytes());
        assert_eq!(
            answer.header("sec-websocket-accept"),
            Some(accept.as_str()),
            "RFC 6455 section 4.1"
        );
        assert_eq!(
            answer.header("sec-websocket-extensions"),
            None,
            "none was offered"
        );
        let subprotocol = answer.header("sec-websocket-protocol").map(str::to_owned);
        // As much as a server may send: tests bound themselves.
        let protocol = Protocol::new(Role::Client, Limits::new(1 << 30));
        Ok(Self {
            peer,
            protocol,
            subprotocol,
            received: VecDeque::new(),
        })
    }

    /// The text of an upgrade request, for tests that send more in the same packet.
    pub fn request(host: &str, path: &str, headers: &[(&str, &str)]) -> String {
        let mut text = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n"
        );
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text + "\r\n"
    }

    /// Sets how long every later wait may take.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.peer = self.peer.patience(patience);
        self
    }

    /// The subprotocol that the server chose.
    pub fn subprotocol(&self) -> Option<&str> {
        self.subprotocol.as_deref()
    }

    /// The connection underneath, for bytes of the test's own making.
    pub fn peer(&mut self) -> &mut Peer {
        &mut self.peer
    }

    /// Sends a message in one frame.
    ///
    /// # Panics
    /// If the connection has failed.
    pub fn send(&mut self, message: impl Into<Message>) {
        let message = message.into();
        let opcode = if message.is_text() {
            OpCode::Text
        } else {
            OpCode::Binary
        };
        self.send_frame(opcode, true, message.as_bytes());
    }

    /// Sends one frame as said.
    ///
    /// # Panics
    /// If the connection has failed.
    pub fn send_frame(&mut self, opcode: OpCode, fin: bool, payload: &[u8]) {
        self.peer.send(Self::frame(opcode, fin, payload));
    }

    /// The bytes of one masked frame.
    pub fn frame(opcode: OpCode, fin: bool, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(payload.len() + 14);
        encode_masked(opcode, fin, payload, [0x37, 0xfa, 0x21, 0x3d], &mut bytes);
        bytes
    }

    /// Whatever comes next.
    ///
    /// # Panics
    /// If nothing comes within the patience, or the server breaks the protocol.
    pub fn recv_any(&mut self) -> Received {
        loop {
            if let Some(received) = self.received.pop_front() {
                return received;
            }
            let Some(mut bytes) = self.peer.some() else {
                return Received::End;
            };
            self.take_in(&mut bytes);
        }
    }

    fn take_in(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        loop {
            let step = self.protocol.decode(&mut bytes[at..]);
            at += step.consumed;
            let received = match step.event.expect("the server keeps to RFC 6455") {
                None => return,
                Some(Event::Message(message)) => Received::Message(message.into_message()),
                Some(Event::Ping(payload)) => Received::Ping(payload.to_vec()),
                Some(Event::Pong(payload)) => Received::Pong(payload.to_vec()),
                Some(Event::Close(frame)) => Received::Close(frame),
            };
            if let Received::Ping(payload) = &received {
                // The server may be gone already.
                let _ = self.peer.try_send(Self::frame(OpCode::Pong, true, payload));
            }
            self.received.push_back(received);
        }
    }

    /// The next message; pings and pongs before it are passed over. `None` after a Close or at the end.
    ///
    /// # Panics
    /// If nothing comes within the patience.
    pub fn recv(&mut self) -> Option<Message> {
        loop {
            match self.recv_any() {
                Received::Message(message) => return Some(message),
                Received::Ping(_) | Received::Pong(_) => {}
                Received::Close(_) | Received::End => return None,
            }
        }
    }

    /// The next message, which must be text.
    ///
    /// # Panics
    /// If something else comes, or nothing within the patience.
    pub fn recv_text(&mut self) -> String {
        match self.recv() {
            Some(Message::Text(text)) => text.as_str().to_owned(),
            other => panic!("a text message expected: {other:?}"),
        }
    }

    /// Waits for the server's Close, passing over everything before it. `None`: it came without a code.
    ///
    /// # Panics
    /// If the stream ends without one, or none comes within the patience.
    pub fn recv_close(&mut self) -> Option<CloseFrame> {
        loop {
            match self.recv_any() {
                Received::Close(frame) => return frame,
                Received::End => panic!("the connection ended without a Close"),
                _ => {}
            }
        }
    }

    /// Sends a Close with this code and waits for the server's, passing over everything before it.
    ///
    /// # Panics
    /// If none comes, or the code is not one that may be sent (RFC 6455 section 7.4).
    pub fn close(&mut self, code: u16) -> Option<CloseFrame> {
        let code = CloseCode::new(code).expect("a code that may be sent");
        let frame = EncodedFrame::close(Some(&CloseFrame::new(code, "")));
        self.send_frame(OpCode::Close, true, frame.payload());
        self.recv_close()
    }

    /// Asserts that the connection ends without another frame.
    ///
    /// # Panics
    /// If it doesn't.
    pub fn expect_end(&mut self) {
        assert_eq!(self.received, VecDeque::new());
        self.peer.expect_end();
    }
}
