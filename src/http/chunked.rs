//! The chunked transfer coding (RFC 9112 section 7.1).
use super::body::BodyStep;
use super::head::HeadError;
#[derive(Debug)]
pub(crate) struct Chunked;
impl Chunked {
    pub(crate) fn new(_max_body: u64) -> Chunked {
        Chunked
    }
    pub(crate) fn decode(&mut self, _input: &[u8]) -> Result<BodyStep, HeadError> {
        Err(HeadError::bad("chunked is not decoded yet"))
    }
    pub(crate) fn is_done(&self) -> bool {
        false
    }
}
