//! Where a message is put together that did not arrive in one piece.
//!
//! One buffer that grows with the octets received, never with a length that was only announced; text is checked
//! as it comes, so that nothing needs a second look at the end.

use crate::utf8::Validator;
use crate::{Message, ProtocolError, Text};
use bytes::Bytes;

/// A message of which a part is here.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    bytes: Vec<u8>,
    /// Has seen exactly `bytes` if it is text, nothing if it is binary.
    validator: Validator,
    is_text: bool,
}

impl Assembly {
    pub(crate) fn new(is_text: bool) -> Assembly {
        Assembly {
            bytes: Vec::new(),
            validator: Validator::default(),
            is_text,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Appends a piece. `to_come` octets of its frame follow: growing further than to their end would be waste
    /// if the frame is the message's last (`last`).
    pub(crate) fn push(&mut self, piece: &[u8], to_come: u64, last: bool) -> Result<(), ProtocolError> {
        if self.is_text {
            self.validator
                .feed(piece)
                .map_err(|_| ProtocolError::InvalidUtf8)?;
        }
        let len = self.bytes.len() + piece.len();
        if len > self.bytes.capacity() {
            // Doubling keeps the copying linear.
            let doubled = len.max(self.bytes.capacity().saturating_mul(2));
            let end = usize::try_from(to_come).unwrap_or(usize::MAX).saturating_add(len);
            let capacity = if last { doubled.min(end) } else { doubled };
            self.bytes
                .try_reserve_exact(capacity - self.bytes.len())
                .map_err(|_| ProtocolError::OutOfMemory)?;
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// The message, if it may end here.
    #[allow(unsafe_code, reason = "the text was checked as it came")]
    pub(crate) fn finish(self) -> Result<Message, ProtocolError> {
        let bytes = Bytes::from(self.bytes);
        if !self.is_text {
            return Ok(Message::Binary(bytes));
        }
        if !self.validator.is_complete() {
            return Err(ProtocolError::InvalidUtf8);
        }
        // SAFETY: `push` is the only way into `bytes`, and every piece went through the validator, which found
        // no fault and is not inside a character.
        Ok(Message::Text(unsafe { Text::from_utf8_unchecked(bytes) }))
    }
}
