//! The body of a request: by length or chunked (RFC 9112 sections 6 and 7).
//!
//! Tells which of the bytes that follow a head are content. No I/O and no buffer: content is handed out as a range of
//! the input, so that it is copied once at most, by whoever collects it.

use super::chunked::Chunked;
use super::head::{Framing, HeadError};
use ::http::StatusCode;
use std::ops::Range;

/// Decodes one body out of the bytes that follow a head.
#[derive(Debug)]
pub(crate) struct BodyDecoder {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Bytes still to come.
    Length(u64),
    Chunked(Chunked),
}

/// One step of decoding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BodyStep {
    /// How many bytes of the input were used.
    pub(crate) consumed: usize,
    /// The part of the input that is content; may be empty.
    pub(crate) data: Range<usize>,
    /// The body is complete; what follows in the input is the next request.
    pub(crate) done: bool,
}

/// The 413 of RFC 9110 section 15.5.14.
pub(super) const TOO_LARGE: HeadError =
    HeadError::new(StatusCode::PAYLOAD_TOO_LARGE, "the request body is too large");

impl BodyDecoder {
    /// A decoder of a body of at most `max_body` bytes of content.
    ///
    /// # Errors
    /// 413 at once if the announced length is beyond that (H16).
    pub(crate) fn new(framing: Framing, max_body: u64) -> Result<BodyDecoder, HeadError> {
        let kind = match framing {
            Framing::None => Kind::Length(0),
            Framing::Length(length) if length > max_body => return Err(TOO_LARGE),
            Framing::Length(length) => Kind::Length(length),
            Framing::Chunked => Kind::Chunked(Chunked::new(max_body)),
        };
        Ok(BodyDecoder { kind })
    }

    /// Takes what it can from the start of `input`: up to the end of it, of a piece of content, or of the body. Call
    /// it again with what follows until the input is used up or the body is done.
    ///
    /// # Errors
    /// 400 for malformed chunking, 413 where the content passes the limit, 431 for too many trailer fields. The
    /// connection can't be used any more then.
    pub(crate) fn decode(&mut self, input: &[u8]) -> Result<BodyStep, HeadError> {
        match &mut self.kind {
            Kind::Length(remaining) => {
                let len =
                    usize::try_from(*remaining).map_or(input.len(), |remaining| remaining.min(input.len()));
                *remaining -= len as u64;
                Ok(BodyStep {
                    consumed: len,
                    data: 0..len,
                    done: *remaining == 0,
                })
            }
            Kind::Chunked(chunked) => chunked.decode(input),
        }
    }

    /// True once the last byte of the body was consumed; at once if there is none.
    pub(crate) fn is_done(&self) -> bool {
        match &self.kind {
            Kind::Length(remaining) => *remaining == 0,
            Kind::Chunked(chunked) => chunked.is_done(),
        }
    }

    /// Bytes still to come, if that is known.
    pub(crate) fn remaining(&self) -> Option<u64> {
        match &self.kind {
            Kind::Length(remaining) => Some(*remaining),
            Kind::Chunked(chunked) => chunked.is_done().then_some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc9112_6_3_a_request_without_framing_has_no_body() {
        let mut decoder = BodyDecoder::new(Framing::None, 0).expect("nothing is too large");
        assert!(decoder.is_done() && decoder.remaining() == Some(0));
        assert_eq!(
            decoder.decode(b"GET /"),
            Ok(BodyStep {
                consumed: 0,
                data: 0..0,
                done: true
            })
        );
    }

    #[test]
    fn rfc9112_6_2_a_length_is_counted_over_all_pieces_and_not_beyond() {
        let mut decoder = BodyDecoder::new(Framing::Length(5), 5).expect("within the limit");
        assert_eq!(decoder.remaining(), Some(5));
        let step = |consumed, done| BodyStep {
            consumed,
            data: 0..consumed,
            done,
        };
        assert_eq!(decoder.decode(b"abc"), Ok(step(3, false)));
        assert_eq!(decoder.decode(b""), Ok(step(0, false)));
        assert_eq!(decoder.remaining(), Some(2));
        assert_eq!(decoder.decode(b"deGET"), Ok(step(2, true)));
        assert!(decoder.is_done());
        assert_eq!(decoder.decode(b"GET"), Ok(step(0, true)));
    }

    #[test]
    fn h16_a_length_above_the_limit_is_413_before_anything_is_read() {
        for length in [6, u64::MAX] {
            let error = BodyDecoder::new(Framing::Length(length), 5).expect_err("too large");
            assert_eq!(error.status, 413);
        }
    }

    #[test]
    fn a_decoder_is_small_enough_for_a_small_stack() {
        assert!(size_of::<BodyDecoder>() <= 80, "{}", size_of::<BodyDecoder>());
    }
}
