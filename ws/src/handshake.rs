//! The opening handshake as the server checks it (RFC 6455 section 4.2).
//!
//! It looks at a request that was parsed already and says yes or which answer refuses it. Whether the Origin is
//! welcome is [`OriginPolicy`](crate::OriginPolicy)'s business; the answers are written by the HTTP side.

use base64::Engine as _;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD};
use sha1::{Digest, Sha1};
use std::fmt;

/// A request as far as the handshake looks at it. `headers` yields name and value of each field in order.
#[derive(Clone, Debug)]
pub struct UpgradeRequest<'h, H> {
    /// The method, as sent.
    pub method: &'h str,
    /// Whether the version is HTTP/1.1 (or a later 1.x).
    pub http11: bool,
    /// All header fields.
    pub headers: H,
    /// Whether the request is framed with a body, even an empty chunked one.
    pub has_body: bool,
}

/// A request that may become a WebSocket.
#[derive(Clone, Debug)]
pub struct Accept<H> {
    key: AcceptKey,
    headers: H,
}

/// The value of Sec-WebSocket-Accept: 28 octets of base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptKey([u8; 28]);

/// Why a request doesn't become a WebSocket, and with that the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Not GET: 405.
    Method,
    /// HTTP/1.0: 426.
    HttpVersion,
    /// No `websocket` in Upgrade or no `upgrade` in Connection: 426.
    NoUpgrade,
    /// The request has a body: 400.
    Body,
    /// Sec-WebSocket-Version is missing, repeated, or not 13: 426.
    Version,
    /// Sec-WebSocket-Key is missing, repeated, or not 16 octets in base64: 400.
    Key,
    /// Sec-WebSocket-Protocol is not a list of tokens: 400.
    Protocols,
    /// Sec-WebSocket-Extensions is not a list of extensions: 400.
    Extensions,
}

impl<'h, H> UpgradeRequest<'h, H>
where
    H: Iterator<Item = (&'h str, &'h [u8])> + Clone,
{
    /// Checks the request.
    ///
    /// # Errors
    /// The first of RFC 6455's demands that is not met; its sentences stand beside the checks.
    pub fn accept(self) -> Result<Accept<H>, Refusal> {
        // 4.1: "The method of the request MUST be GET, and the HTTP version MUST be at least 1.1."
        if self.method != "GET" {
            return Err(Refusal::Method);
        }
        if !self.http11 {
            return Err(Refusal::HttpVersion);
        }
        // 4.2.1: "An |Upgrade| header field containing the value "websocket", treated as an ASCII
        // case-insensitive value."
        // 4.2.1: "A |Connection| header field that includes the token "Upgrade", treated as an ASCII
        // case-insensitive value."
        if !has_token(self.headers.clone(), "upgrade", "websocket")
            || !has_token(self.headers.clone(), "connection", "upgrade")
        {
            return Err(Refusal::NoUpgrade);
        }
        // A GET has no body to speak of (RFC 9110 section 9.3.1), and its octets must never be taken for frames.
        if self.has_body {
            return Err(Refusal::Body);
        }
        // 4.2.1: "A |Sec-WebSocket-Version| header field, with a value of 13."
        if only(self.headers.clone(), "sec-websocket-version") != Some(b"13") {
            return Err(Refusal::Version);
        }
        // 4.2.1: "A |Sec-WebSocket-Key| header field with a base64-encoded value that, when decoded, is 16 bytes
        // in length." 11.3.1: it "MUST NOT appear more than once in an HTTP request".
        let key = only(self.headers.clone(), "sec-websocket-key").ok_or(Refusal::Key)?;
        if !is_key(key) {
            return Err(Refusal::Key);
        }
        // 4.1: "The elements that comprise this value MUST be non-empty strings with characters in the range
        // U+0021 to U+007E not including separator characters".
        let mut fields = values(self.headers.clone(), "sec-websocket-protocol");
        if !fields.all(|value| is_list(value, is_token)) {
            return Err(Refusal::Protocols);
        }
        // 9.1: "If a value is received by either the client or the server during negotiation that does not
        // conform to the ABNF below, the recipient of such malformed data MUST immediately _Fail the WebSocket
        // Connection_." Well-formed ones are not taken up.
        let mut fields = values(self.headers.clone(), "sec-websocket-extensions");
        if !fields.all(is_extension_list) {
            return Err(Refusal::Extensions);
        }
        Ok(Accept {
            key: AcceptKey::derive(key),
            headers: self.headers,
        })
    }
}

impl<'h, H> Accept<H>
where
    H: Iterator<Item = (&'h str, &'h [u8])> + Clone,
{
    /// The value of Sec-WebSocket-Accept.
    pub fn key(&self) -> AcceptKey {
        self.key
    }

    /// The subprotocols that the client offers, most wanted first.
    pub fn offered(&self) -> impl Iterator<Item = &'h str> + use<'h, H> {
        values(self.headers.clone(), "sec-websocket-protocol")
            .flat_map(elements)
            .filter_map(|element| std::str::from_utf8(element).ok())
    }

    /// The first of `supported` that the client offers, compared exactly (section 4.2.2: "The absence of such a
    /// field is equivalent to the null value", hence `None`: leave the field out). Time grows with the number
    /// of offers times the number supported.
    pub fn select<'s>(&self, supported: &'s [impl AsRef<str>]) -> Option<&'s str> {
        let mut best = supported.len();
        for offered in self.offered() {
            if let Some(rank) = supported[..best]
                .iter()
                .position(|known| known.as_ref() == offered)
            {
                best = rank;
            }
        }
        supported.get(best).map(AsRef::as_ref)
    }
}

impl AcceptKey {
    /// From the value of Sec-WebSocket-Key. 4.2.2: "constructed by concatenating /key/ [...] with the string
    /// "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", taking the SHA-1 hash of this concatenated value to obtain a
    /// 20-byte value and base64-encoding [...] this 20-byte hash".
    pub fn derive(key: &[u8]) -> AcceptKey {
        let digest = Sha1::new().chain_update(key).chain_update(GUID).finalize();
        let mut encoded = [b'='; 28];
        // 20 octets are 28 of base64, so it always fits.
        let _ = STANDARD.encode_slice(digest, &mut encoded);
        AcceptKey(encoded)
    }

    /// The octets for the header field.
    pub fn as_bytes(&self) -> &[u8; 28] {
        &self.0
    }

    /// The text for the header field.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

impl Refusal {
    /// The status of the answer.
    pub fn status(self) -> u16 {
        match self {
            Refusal::Method => 405,
            Refusal::HttpVersion | Refusal::NoUpgrade | Refusal::Version => 426,
            Refusal::Body | Refusal::Key | Refusal::Protocols | Refusal::Extensions => 400,
        }
    }

    /// The header field, beyond the usual, that the answer must have.
    pub fn header(self) -> Option<(&'static str, &'static str)> {
        match self {
            // RFC 9110 15.5.6: "The origin server MUST generate an Allow header field in a 405 response".
            Refusal::Method => Some(("allow", "GET")),
            // RFC 9110 15.5.22: "The server MUST send an Upgrade header field in a 426 response".
            Refusal::HttpVersion | Refusal::NoUpgrade => Some(("upgrade", "websocket")),
            // RFC 6455 4.2.2: "an appropriate HTTP error code (such as 426 Upgrade Required) and a
            // |Sec-WebSocket-Version| header field indicating the version(s) the server is capable of
            // understanding".
            Refusal::Version => Some(("sec-websocket-version", "13")),
            Refusal::Body | Refusal::Key | Refusal::Protocols | Refusal::Extensions => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Method => "a WebSocket handshake is a GET",
            Refusal::HttpVersion => "a WebSocket handshake needs HTTP/1.1",
            Refusal::NoUpgrade => {
                "this is a WebSocket: Upgrade: websocket and Connection: Upgrade are needed"
            }
            Refusal::Body => "a WebSocket handshake has no body",
            Refusal::Version => "Sec-WebSocket-Version must be 13",
            Refusal::Key => "Sec-WebSocket-Key must be there once, 16 bytes in base64",
            Refusal::Protocols => "malformed Sec-WebSocket-Protocol",
            Refusal::Extensions => "malformed Sec-WebSocket-Extensions",
        })
    }
}

impl std::error::Error for Refusal {}

/// The values of the fields of that name (lower case), without surrounding white space.
pub(crate) fn values<'h>(
    headers: impl Iterator<Item = (&'h str, &'h [u8])>,
    name: &'static str,
) -> impl Iterator<Item = &'h [u8]> {
    headers
        .filter(move |(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| trim(value))
}

/// The value of the only field of that name; `None` if there is none or another.
pub(crate) fn only<'h>(
    headers: impl Iterator<Item = (&'h str, &'h [u8])>,
    name: &'static str,
) -> Option<&'h [u8]> {
    let mut values = values(headers, name);
    values.next().filter(|_| values.next().is_none())
}

/// Whether the fields of that name, each a comma-separated list, contain the token in any case.
pub(crate) fn has_token<'h>(
    headers: impl Iterator<Item = (&'h str, &'h [u8])>,
    name: &'static str,
    token: &str,
) -> bool {
    values(headers, name)
        .flat_map(elements)
        .any(|element| element.eq_ignore_ascii_case(token.as_bytes()))
}

fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// The elements of a list; empty ones are passed over (RFC 9110 section 5.6.1.2).
fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|octet| *octet == b',')
        .map(trim)
        .filter(|element| !element.is_empty())
}

/// Whether there is an element, and all are good.
fn is_list(list: &[u8], good: impl Fn(&[u8]) -> bool) -> bool {
    elements(list).next().is_some() && elements(list).all(good)
}

/// RFC 9110 section 5.6.2.
pub(crate) fn is_token(octets: &[u8]) -> bool {
    !octets.is_empty()
        && octets
            .iter()
            .all(|octet| octet.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(octet))
}

fn is_key(key: &[u8]) -> bool {
    // Some clients choose the last digit at random, and its low four bits mean nothing.
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    key.len() == 24 && LENIENT.decode_slice(key, &mut [0; 18]) == Ok(16)
}

/// 9.1: `extension-list = 1#extension`, `extension = token *( ";" token [ "=" (token | quoted-string) ] )`, and
/// "the value after quoted-string unescaping MUST conform to the 'token' ABNF", so a quoted comma or semicolon
/// is malformed as well and the text can be split at them.
fn is_extension_list(list: &[u8]) -> bool {
    is_list(list, |extension| {
        let mut parts = extension.split(|octet| *octet == b';').map(trim);
        parts.next().is_some_and(is_token) && parts.all(is_extension_parameter)
    })
}

fn is_extension_parameter(parameter: &[u8]) -> bool {
    let Some(equals) = parameter.iter().position(|octet| *octet == b'=') else {
        return is_token(parameter);
    };
    let (name, value) = (trim(&parameter[..equals]), trim(&parameter[equals + 1..]));
    is_token(name)
        && match value {
            [b'"', quoted @ .., b'"'] => is_quoted_token(quoted),
            value => is_token(value),
        }
}

/// A token in which any octet may have a backslash before it.
fn is_quoted_token(mut quoted: &[u8]) -> bool {
    let mut empty = true;
    while let [b'\\', octet, rest @ ..] | [octet, rest @ ..] = quoted {
        if !is_token(std::slice::from_ref(octet)) {
            return false;
        }
        (quoted, empty) = (rest, false);
    }
    !empty
}
