//! What the [`Protocol`](crate::Protocol) reports.

use crate::{CloseFrame, Message};

/// One thing that the peer said. It borrows the input, so look at it or keep a copy before decoding on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A whole message.
    Message(Received<'a>),
    /// A Ping, to be answered by a Pong with the same payload "as soon as is practical" (section 5.5.2); of
    /// several the newest is enough (section 5.5.3).
    Ping(&'a [u8]),
    /// A Pong, solicited or not (section 5.5.3).
    Pong(&'a [u8]),
    /// A Close, to be answered by a Close with the same code unless one was sent already (section 5.5.1);
    /// `None` if it had no payload. Nothing is decoded after it.
    Close(Option<CloseFrame>),
}

/// A message that has arrived: where it lay in one piece it still does, in the input, unmasked in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// Text in the input.
    Text(&'a str),
    /// Octets in the input.
    Binary(&'a [u8]),
    /// Came in pieces and was put together in a buffer of its own.
    Assembled(Message),
}

impl Received<'_> {
    /// The message for keeps: copies what lies in the input, hands on what was assembled.
    pub fn into_message(self) -> Message {
        match self {
            Received::Text(text) => Message::from(text),
            Received::Binary(bytes) => Message::from(bytes),
            Received::Assembled(message) => message,
        }
    }

    /// The octets of either kind.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Received::Text(text) => text.as_bytes(),
            Received::Binary(bytes) => bytes,
            Received::Assembled(message) => message.as_bytes(),
        }
    }

    /// The text, if it is a text message.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Received::Text(text) => Some(text),
            Received::Binary(_) => None,
            Received::Assembled(message) => message.as_text(),
        }
    }

    /// Whether it is text.
    pub fn is_text(&self) -> bool {
        self.as_text().is_some()
    }

    /// Length in octets.
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether it has no octets at all, which is a legal message.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }
}
