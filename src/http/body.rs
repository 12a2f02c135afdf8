//! The body of a request: by length or chunked (RFC 9112 sections 6 and 7).

use super::head::{Framing, HeadError};

/// Decodes one body out of the bytes that follow a head. No I/O, no buffer of its own.
pub struct BodyDecoder {
    _p: (),
}

/// One step: `consumed` bytes of the input were used; `data` (a range of the input) is body content.
#[derive(Debug, PartialEq, Eq)]
pub struct BodyStep {
    pub consumed: usize,
    pub data: std::ops::Range<usize>,
    pub done: bool,
}

impl BodyDecoder {
    /// `max_body`: total content allowed (413 beyond).
    pub fn new(_framing: Framing, _max_body: u64) -> Result<BodyDecoder, HeadError> {
        todo!()
    }
    pub fn decode(&mut self, _input: &[u8]) -> Result<BodyStep, HeadError> {
        todo!()
    }
    pub fn is_done(&self) -> bool {
        todo!()
    }
    /// Bytes still to come if known (by length).
    pub fn remaining(&self) -> Option<u64> {
        todo!()
    }
}
