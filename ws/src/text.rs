//! Text that is known to be UTF-8 and cheap to clone.
//!
//! `String` would copy on every clone and `Bytes` would have to be checked on every look. The check is made once,
//! here or by the [`Assembly`](crate::assembly::Assembly) while the octets arrive.
#![allow(
    unsafe_code,
    reason = "as_str(): checking again on every look would cost as much as receiving"
)]

use bytes::Bytes;
use std::fmt;
use std::ops::Deref;

/// Immutable UTF-8 text over shared [`Bytes`]: a clone counts a reference and copies nothing.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Bytes); // always UTF-8

impl Text {
    /// Text that lives in the program itself: nothing is copied or counted.
    pub const fn from_static(text: &'static str) -> Text {
        Text(Bytes::from_static(text.as_bytes()))
    }

    /// Takes octets that are UTF-8 already.
    ///
    /// # Safety
    /// `bytes` must be valid UTF-8.
    pub(crate) unsafe fn from_utf8_unchecked(bytes: Bytes) -> Text {
        debug_assert!(std::str::from_utf8(&bytes).is_ok());
        Text(bytes)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // SAFETY: every constructor takes a str, checks, or demands UTF-8; the bytes can't be changed since.
        unsafe { std::str::from_utf8_unchecked(&self.0) }
    }

    /// The text's octets, without a copy.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text(Bytes::from(text))
    }
}

/// Checks, and takes the bytes without a copy.
impl TryFrom<Bytes> for Text {
    type Error = std::str::Utf8Error;
    fn try_from(bytes: Bytes) -> Result<Self, Self::Error> {
        std::str::from_utf8(&bytes)?;
        Ok(Text(bytes))
    }
}

impl From<Text> for Bytes {
    fn from(text: Text) -> Self {
        text.0
    }
}

impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
