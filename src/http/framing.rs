//! How a request's body is delimited, out of Content-Length and Transfer-Encoding (RFC 9112 section 6).
//!
//! Strict throughout: whatever two servers could read differently is refused, since a disagreement about where a
//! request ends is request smuggling. It decodes no body; see [`super::body`].

use super::head::HeadError;
use super::token;
use ::http::{StatusCode, Version};

/// How the request's body is delimited (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Framing {
    /// No body.
    #[default]
    None,
    /// This many bytes.
    Length(u64),
    /// In chunks, with an end of its own.
    Chunked,
}

/// The framing fields met so far in one head.
#[derive(Default)]
pub(crate) struct FramingFields {
    length: Option<u64>,
    chunked: bool,
}

impl FramingFields {
    /// Takes a Content-Length field.
    ///
    /// # Errors
    /// 400 unless it is the first one and nothing but digits that fit 64 bits (H14, H15). RFC 9110 section 8.6 lets a
    /// server accept repeated equal values; no honest client sends them.
    pub(crate) fn content_length(&mut self, value: &[u8]) -> Result<(), HeadError> {
        if self.length.is_some() {
            return Err(HeadError::bad("more than one Content-Length"));
        }
        self.length = Some(decimal(value).ok_or(HeadError::bad("Content-Length is not a number"))?);
        Ok(())
    }

    /// Takes a Transfer-Encoding field.
    ///
    /// # Errors
    /// 501 for well-formed codings other than chunked; 400 if it is the second such field, malformed, or names
    /// chunked anywhere but last (H17).
    pub(crate) fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), HeadError> {
        if self.chunked {
            return Err(HeadError::bad("more than one Transfer-Encoding"));
        }
        if !value.eq_ignore_ascii_case(b"chunked") {
            return Err(other_coding(value));
        }
        self.chunked = true;
        Ok(())
    }

    /// What the fields amount to.
    ///
    /// # Errors
    /// 400 for both fields together (H12) and for Transfer-Encoding in HTTP/1.0, which has none (H13).
    pub(crate) fn framing(&self, version: Version) -> Result<Framing, HeadError> {
        match (self.length, self.chunked) {
            (Some(_), true) => Err(HeadError::bad("both Content-Length and Transfer-Encoding")),
            (None, true) if version == Version::HTTP_10 => {
                Err(HeadError::bad("Transfer-Encoding in HTTP/1.0"))
            }
            (None, true) => Ok(Framing::Chunked),
            (Some(length), false) => Ok(Framing::Length(length)),
            (None, false) => Ok(Framing::None),
        }
    }
}

/// Digits only, checked: no sign, no space, no underscore, no wrap.
fn decimal(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// What to answer to codings that aren't chunked alone.
fn other_coding(value: &[u8]) -> HeadError {
    let is_chunked = |coding: &[u8]| coding.eq_ignore_ascii_case(b"chunked");
    let count = token::list(value).count();
    let sound = token::list(value)
        .enumerate()
        .all(|(index, coding)| token::is_token(coding) && (!is_chunked(coding) || index + 1 == count));
    if sound {
        HeadError::new(
            StatusCode::NOT_IMPLEMENTED,
            "the transfer coding is not implemented",
        )
    } else {
        HeadError::bad("malformed Transfer-Encoding")
    }
}
