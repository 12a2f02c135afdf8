//! The application's unit: a whole text or binary message (RFC 6455 section 5.6).

use crate::Text;
use bytes::Bytes;
use std::fmt;

/// A whole message. Cloning counts a reference and copies nothing.
#[derive(Clone, PartialEq, Eq)]
pub enum Message {
    /// UTF-8 text.
    Text(Text),
    /// Arbitrary octets.
    Binary(Bytes),
}

impl Message {
    /// A text message.
    pub fn text(text: impl Into<Text>) -> Message {
        Message::Text(text.into())
    }

    /// A binary message.
    pub fn binary(bytes: impl Into<Bytes>) -> Message {
        Message::Binary(bytes.into())
    }

    /// The text, if it is a text message.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Message::Text(text) => Some(text.as_str()),
            Message::Binary(_) => None,
        }
    }

    /// The octets of either kind.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
        }
    }

    /// The octets of either kind, without a copy.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Message::Text(text) => text.into_bytes(),
            Message::Binary(bytes) => bytes,
        }
    }

    /// Length in octets.
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether it has no octets at all, which is a legal message.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// Whether it is text.
    pub fn is_text(&self) -> bool {
        matches!(self, Message::Text(_))
    }

    /// Whether it is binary.
    pub fn is_binary(&self) -> bool {
        matches!(self, Message::Binary(_))
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Message::Text(text.into())
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Message::Text(text.into())
    }
}

impl From<Text> for Message {
    fn from(text: Text) -> Self {
        Message::Text(text)
    }
}

impl From<&[u8]> for Message {
    fn from(bytes: &[u8]) -> Self {
        Message::Binary(Bytes::copy_from_slice(bytes))
    }
}

impl From<Vec<u8>> for Message {
    fn from(bytes: Vec<u8>) -> Self {
        Message::Binary(bytes.into())
    }
}

impl From<Bytes> for Message {
    fn from(bytes: Bytes) -> Self {
        Message::Binary(bytes)
    }
}

/// Text as it is; of binary only the length.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Text(text) => fmt::Display::fmt(text, f),
            Message::Binary(bytes) => write!(f, "[{} bytes]", bytes.len()),
        }
    }
}

/// Cut to a length that suits a log line.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 64;
        match self {
            Message::Text(text) if text.len() <= SHOWN => write!(f, "Text({:?})", text.as_str()),
            Message::Text(text) => {
                let start = &text[..text.floor_char_boundary(SHOWN)];
                write!(f, "Text({start:?}... {} bytes)", text.len())
            }
            Message::Binary(bytes) if bytes.len() <= SHOWN => write!(f, "Binary({bytes:?})"),
            Message::Binary(bytes) => {
                write!(f, "Binary({:?}... {} bytes)", bytes.slice(..SHOWN), bytes.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_is_cut_to_a_length() {
        assert_eq!(format!("{:?}", Message::from("hi")), "Text(\"hi\")");
        let long = format!("{:?}", Message::from("é".repeat(10_000)));
        assert!(long.len() < 200 && long.ends_with("... 20000 bytes)"), "{long}");
        let long = format!("{:?}", Message::from(vec![0; 10_000]));
        assert!(long.len() < 400 && long.ends_with("... 10000 bytes)"), "{long}");
    }

    #[test]
    fn into_bytes_does_not_copy() {
        let bytes = Bytes::from(vec![b'a'; 100]);
        let address = bytes.as_ptr();
        let text = Text::try_from(bytes).unwrap();
        assert_eq!(Message::from(text.clone()).into_bytes().as_ptr(), address);
        assert!(Text::try_from(Bytes::from_static(b"\xff")).is_err());
    }
}
