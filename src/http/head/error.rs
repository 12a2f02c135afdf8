//! Why a request is refused.

use ::http::StatusCode;

/// A request that is refused: the status of the answer (after which the connection closes) and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadError {
    /// 400, 413, 414, 417, 431, 501 or 505.
    pub(crate) status: StatusCode,
    /// One line for the answer and the log; holds nothing that the peer sent.
    pub(crate) reason: &'static str,
}

impl HeadError {
    /// Any status.
    pub(crate) const fn new(status: StatusCode, reason: &'static str) -> HeadError {
        HeadError { status, reason }
    }

    /// A 400.
    pub(crate) const fn bad(reason: &'static str) -> HeadError {
        HeadError::new(StatusCode::BAD_REQUEST, reason)
    }

    /// A 431 (RFC 6585 section 5).
    pub(crate) const fn too_large(reason: &'static str) -> HeadError {
        HeadError::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, reason)
    }
}
