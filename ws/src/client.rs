//! The opening handshake as the client makes and checks it (RFC 6455 section 4.1).

use crate::handshake::{AcceptKey, has_token, is_token, only, values};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt;

/// What a client asks for.
#[derive(Clone, Copy, Debug)]
pub struct ClientHandshake<'a> {
    /// Host and port for the Host field.
    pub host: &'a str,
    /// Path and query, with its leading slash.
    pub path: &'a str,
    /// The nonce, chosen anew at random for each connection.
    pub key: [u8; 16],
    /// Subprotocols, most wanted first.
    pub protocols: &'a [&'a str],
    /// Further fields, such as Origin, Authorization or Cookie.
    pub headers: &'a [(&'a str, &'a str)],
}

/// Why there is no WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError {
    /// A part of the request can't be sent: a line break in a value, a name that is not a token, a path with a
    /// space.
    InvalidRequest,
    /// The server answered with this status instead of 101.
    Status(u16),
    /// The answer does not name the `websocket` upgrade.
    NoUpgrade,
    /// Sec-WebSocket-Accept does not answer our key.
    AcceptKey,
    /// The server took up an extension, and none was offered.
    Extension,
    /// The server chose a subprotocol that was not offered.
    Protocol,
}

impl<'a> ClientHandshake<'a> {
    /// Appends the request to `out`.
    ///
    /// # Errors
    /// [`AnswerError::InvalidRequest`], and then `out` is as before.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), AnswerError> {
        let visible = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_graphic());
        let value = |text: &str| {
            text.bytes()
                .all(|octet| octet == b'\t' || (octet >= b' ' && octet != 0x7f))
        };
        let good = visible(self.host)
            && visible(self.path)
            && self.path.starts_with('/')
            && self
                .protocols
                .iter()
                .all(|protocol| is_token(protocol.as_bytes()))
            && self
                .headers
                .iter()
                .all(|(name, text)| is_token(name.as_bytes()) && value(text));
        if !good {
            return Err(AnswerError::InvalidRequest);
        }
        let mut line = |parts: &[&str]| {
            parts
                .iter()
                .for_each(|part| out.extend_from_slice(part.as_bytes()));
            out.extend_from_slice(b"\r\n");
        };
        line(&["GET ", self.path, " HTTP/1.1"]);
        line(&["Host: ", self.host]);
        line(&["Upgrade: websocket"]);
        line(&["Connection: Upgrade"]);
        line(&["Sec-WebSocket-Version: 13"]);
        line(&["Sec-WebSocket-Key: ", &STANDARD.encode(self.key)]);
        if !self.protocols.is_empty() {
            line(&["Sec-WebSocket-Protocol: ", &self.protocols.join(", ")]);
        }
        for (name, text) in self.headers {
            line(&[name, ": ", text]);
        }
        line(&[]);
        Ok(())
    }

    /// Checks the answer, and gives the subprotocol that the server chose.
    ///
    /// # Errors
    /// What section 4.1 demands and the answer lacks; the connection must then be closed.
    pub fn check<'h>(
        &self,
        status: u16,
        headers: impl Iterator<Item = (&'h str, &'h [u8])> + Clone,
    ) -> Result<Option<&'a str>, AnswerError> {
        // "If the status code received from the server is not 101, the client handles the response per HTTP".
        if status != 101 {
            return Err(AnswerError::Status(status));
        }
        // "If the response lacks an |Upgrade| header field or [...] the |Connection| header field doesn't
        // contain a token that is an ASCII case-insensitive match for the value "Upgrade"".
        if !has_token(headers.clone(), "upgrade", "websocket")
            || !has_token(headers.clone(), "connection", "upgrade")
        {
            return Err(AnswerError::NoUpgrade);
        }
        let expected = AcceptKey::derive(STANDARD.encode(self.key).as_bytes());
        if only(headers.clone(), "sec-websocket-accept") != Some(expected.as_bytes()) {
            return Err(AnswerError::AcceptKey);
        }
        // "this header field indicates the use of an extension that was not present in the client's handshake".
        if values(headers.clone(), "sec-websocket-extensions").any(|value| !value.is_empty()) {
            return Err(AnswerError::Extension);
        }
        // "this header field indicates the use of a subprotocol that was not present in the client's handshake".
        let mut chosen = values(headers, "sec-websocket-protocol");
        let Some(first) = chosen.next() else {
            return Ok(None);
        };
        let offered = self
            .protocols
            .iter()
            .find(|protocol| protocol.as_bytes() == first);
        match (offered, chosen.next()) {
            (Some(protocol), None) => Ok(Some(protocol)),
            _ => Err(AnswerError::Protocol),
        }
    }
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidRequest => "the handshake request can't be written",
            Self::Status(status) => return write!(f, "the server answered {status} instead of 101"),
            Self::NoUpgrade => "the answer does not upgrade to websocket",
            Self::AcceptKey => "Sec-WebSocket-Accept does not answer our key",
            Self::Extension => "the server chose an extension that was not offered",
            Self::Protocol => "the server chose a subprotocol that was not offered",
        })
    }
}

impl std::error::Error for AnswerError {}
