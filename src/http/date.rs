//! The Date field, formatted once a second.

/// Calls `f` with the 29 bytes of the current IMF-fixdate; cached per thread.
pub fn with_date<R>(_f: impl FnOnce(&[u8; 29]) -> R) -> R {
    todo!()
}
