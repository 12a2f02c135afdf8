//! The opening handshake of a client (RFC 6455 section 4.1): the request, and the check of the answer.

use crate::failure::Failure;
use crate::target::Target;

/// The key sent by every connection: the sample of RFC 6455 section 1.3. A load test asks for no secrecy of it, one request serves
/// all connections, and the raw floors can answer it without a hash.
pub const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
/// The accept value that belongs to [`KEY`].
pub const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// An answer whose head is longer than this is not waited for.
pub const MAX_ANSWER: usize = 16 * 1024;

/// The request, with the subprotocol and the further headers that the user asked for.
pub fn request(target: &Target, subprotocol: Option<&str>, headers: &[String]) -> Vec<u8> {
    let mut request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
Sec-WebSocket-Key: {KEY}\r\n",
        target.path, target.host
    );
    if let Some(subprotocol) = subprotocol {
        request.push_str(&format!("Sec-WebSocket-Protocol: {subprotocol}\r\n"));
    }
    for header in headers {
        request.push_str(header);
        request.push_str("\r\n");
    }
    request.push_str("\r\n");
    request.into_bytes()
}

/// Checks an answer: how many bytes its head took, or `None` while it is incomplete.
///
/// # Errors
/// Why it opens no session.
pub fn check(answer: &[u8]) -> Result<Option<usize>, Failure> {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else {
        return if answer.len() > MAX_ANSWER {
            Err(Failure::MalformedHandshake)
        } else {
            Ok(None)
        };
    };
    let head = std::str::from_utf8(&answer[..end]).map_err(|_| Failure::MalformedHandshake)?;
    let mut lines = head.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    let status = status_line
        .strip_prefix("HTTP/1.1 ")
        .or_else(|| status_line.strip_prefix("HTTP/1.0 "))
        .and_then(|rest| rest.get(..3))
        .and_then(|digits| digits.parse().ok())
        .ok_or(Failure::MalformedHandshake)?;
    if status != 101 {
        return Err(Failure::HandshakeStatus(status));
    }
    let (mut upgrade, mut connection, mut accept) = (false, false, false);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("upgrade") {
            upgrade = value.eq_ignore_ascii_case("websocket");
        } else if name.eq_ignore_ascii_case("connection") {
            connection |= value
                .split(',')
                .any(|token| token.trim().eq_ignore_ascii_case("upgrade"));
        } else if name.eq_ignore_ascii_case("sec-websocket-accept") {
            accept = value == ACCEPT;
        }
    }
    match (upgrade && connection, accept) {
        (false, _) => Err(Failure::MalformedHandshake),
        (true, false) => Err(Failure::WrongAccept),
        (true, true) => Ok(Some(end + 4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(accept: &str) -> Vec<u8> {
        format!("HTTP/1.1 101 X\r\nUpgrade: WebSocket\r\nconnection: keep-alive, upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n")
            .into_bytes()
    }

    #[test]
    fn only_the_accept_value_of_the_key_opens() {
        let good = answer(ACCEPT);
        assert_eq!(check(&good), Ok(Some(good.len())));
        assert_eq!(check(&good[..good.len() - 1]), Ok(None));
        assert_eq!(check(&answer("AAAA")), Err(Failure::WrongAccept));
    }

    #[test]
    fn a_refusal_keeps_its_status_and_nonsense_is_malformed() {
        assert_eq!(
            check(b"HTTP/1.1 403 Forbidden\r\n\r\n"),
            Err(Failure::HandshakeStatus(403))
        );
        assert_eq!(check(b"HTTP/1.1 101 X\r\n\r\n"), Err(Failure::MalformedHandshake));
        assert_eq!(check(b"SSH-2.0\r\n\r\n"), Err(Failure::MalformedHandshake));
        assert_eq!(check(&[b'a'; MAX_ANSWER + 1]), Err(Failure::MalformedHandshake));
    }
}
