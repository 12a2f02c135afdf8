//! Responses to bytes.

use super::response::Response;

/// What the encoding depends on beside the response.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    pub head_request: bool,
    pub http11: bool,
    /// The connection stays open after this response.
    pub keep_alive: bool,
}

/// Appends status line and fields (Date, Content-Length, Connection where the version's default differs) to `out`.
/// The body is not appended; `body_follows` tells whether it is to be sent (not for HEAD, 1xx, 204, 304).
pub fn head(_out: &mut Vec<u8>, _response: &Response, _context: Context) -> bool {
    todo!()
}
