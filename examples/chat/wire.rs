//! What goes over the wire, and what is accepted: each text from outside becomes a type that only valid text can make.

use greenroom::Message;
use serde::{Deserialize, Serialize};

/// Declares a checked text: its bounds in characters, and what characters it may have.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $most:expr, $valid:expr, $says:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize, Serialize)]
        #[serde(try_from = "String")]
        pub struct $name(pub String);

        impl TryFrom<String> for $name {
            type Error = &'static str;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                let fits = (1..=$most).contains(&text.chars().count());
                if fits && text.trim() == text && text.chars().all($valid) { Ok(Self(text)) } else { Err($says) }
            }
        }
    };
}

checked_text!(
    /// A room's name, as it stands in its address.
    RoomName,
    40,
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_',
    "a room is named with 1 to 40 of a-z, 0-9, '-' and '_'"
);
checked_text!(
    /// What a member is called.
    Name,
    32,
    |c| !c.is_control() && !is_invisible(c),
    "a name has 1 to 32 visible characters"
);
checked_text!(
    /// What a member says.
    Speech,
    2000,
    |c| !c.is_control() || c == '\n' || c == '\t',
    "a message has 1 to 2000 characters"
);
checked_text!(
    /// The sender's own name for a message, so that a repeat is known as one.
    MessageId,
    36,
    |c| c.is_ascii_alphanumeric() || c == '-',
    "a message id has 1 to 36 letters and digits"
);

/// Marks that reorder or hide text: in a name they would let one member pass for another.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// From the page.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Command {
    Say { id: MessageId, text: Speech },
    Name { name: Name },
}

impl Command {
    /// Reads a command; the error is a sentence for the person who typed.
    pub fn parse(message: &Message) -> Result<Self, String> {
        let text = message.as_text().ok_or("commands are text messages")?;
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

/// To the page.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Event<'a> {
    Welcome {
        member: u64,
        room: &'a str,
    },
    Said {
        id: &'a str,
        member: u64,
        name: &'a str,
        text: &'a str,
        at: u64,
    },
    Members {
        members: &'a [Member],
    },
    Refused {
        reason: &'a str,
    },
}

/// One person in a room.
#[derive(Clone, Serialize)]
pub struct Member {
    pub id: u64,
    pub name: String,
}

impl From<&Event<'_>> for Message {
    fn from(event: &Event<'_>) -> Self {
        Message::text(serde_json::to_string(event).expect("strings and numbers always serialise"))
    }
}
