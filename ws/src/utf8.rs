//! UTF-8 checked while it arrives (RFC 6455 section 8.1).
//!
//! A text message may be cut anywhere, also inside a character. At most three octets of state carry over a cut;
//! everything between goes through the standard library's check. A fault is found at the octet that makes it
//! certain, which is what "fail the connection" as early as possible needs for a fault early in a huge message.

/// The text is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidUtf8;

/// A check that accepts text in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Validator {
    /// The octets so far of a character that the last piece did not finish.
    pending: [u8; 3],
    pending_len: u8,
}

impl Validator {
    /// Checks the next piece.
    pub(crate) fn feed(&mut self, mut piece: &[u8]) -> Result<(), InvalidUtf8> {
        while self.pending_len > 0 {
            let Some((&next, rest)) = piece.split_first() else {
                return Ok(());
            };
            piece = rest;
            let len = usize::from(self.pending_len);
            let mut character = [0; 4];
            character[..len].copy_from_slice(&self.pending[..len]);
            character[len] = next;
            match std::str::from_utf8(&character[..=len]) {
                Ok(_) => self.pending_len = 0,
                // A prefix of a character has at most three octets, so there is room for `next`.
                Err(error) if error.error_len().is_none() => {
                    self.pending[len] = next;
                    self.pending_len += 1;
                }
                Err(_) => return Err(InvalidUtf8),
            }
        }
        let Err(error) = std::str::from_utf8(piece) else {
            return Ok(());
        };
        if error.error_len().is_some() {
            return Err(InvalidUtf8);
        }
        let tail = &piece[error.valid_up_to()..];
        self.pending[..tail.len()].copy_from_slice(tail);
        self.pending_len = tail.len() as u8;
        Ok(())
    }

    /// Whether the text may end here: not inside a character.
    pub(crate) fn is_complete(&self) -> bool {
        self.pending_len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Feeds octet by octet; the number of octets that were accepted, and whether the text may end there.
    fn octets_accepted(text: &[u8]) -> (usize, bool) {
        let mut validator = Validator::default();
        for (i, octet) in text.iter().enumerate() {
            if validator.feed(std::slice::from_ref(octet)).is_err() {
                return (i, false);
            }
        }
        (text.len(), validator.is_complete())
    }

    #[test]
    fn w20_overlong_surrogate_and_too_large_fail_at_the_octet_that_makes_it_certain() {
        assert_eq!(octets_accepted(b"\xc0\x80"), (0, false));
        assert_eq!(octets_accepted(b"\xe0\x80\x80"), (1, false));
        assert_eq!(octets_accepted(b"\xed\xa0\x80"), (1, false));
        assert_eq!(octets_accepted(b"\xf4\x90\x80\x80"), (1, false));
        assert_eq!(octets_accepted(b"\xf5"), (0, false));
        assert_eq!(octets_accepted(b"a\xe2\x82z"), (3, false));
        assert_eq!(
            octets_accepted("κόσμε\u{10ffff}".as_bytes()),
            ("κόσμε\u{10ffff}".len(), true)
        );
        assert_eq!(octets_accepted(b"\xf0\x9f\x98"), (3, false));
    }

    proptest! {
        /// Mostly UTF-8, sometimes with an octet spoilt; cut in three anywhere.
        #[test]
        fn pieces_agree_with_std(text in "\\PC{0,24}", spoil in proptest::option::of((any::<prop::sample::Index>(), any::<u8>()))) {
            let mut octets = text.into_bytes();
            if let (Some((at, octet)), false) = (spoil, octets.is_empty()) {
                let at = at.index(octets.len());
                octets[at] = octet;
            }
            let whole = std::str::from_utf8(&octets);
            for first in 0..=octets.len() {
                for second in first..=octets.len() {
                    let mut validator = Validator::default();
                    let fed = [&octets[..first], &octets[first..second], &octets[second..]]
                        .into_iter()
                        .try_for_each(|piece| validator.feed(piece));
                    prop_assert_eq!(fed.is_ok() && validator.is_complete(), whole.is_ok());
                    // Incomplete at the end is not yet a fault.
                    let certain = whole.is_err_and(|error| error.error_len().is_some());
                    prop_assert_eq!(fed.is_err(), certain);
                }
            }
        }
    }
}
