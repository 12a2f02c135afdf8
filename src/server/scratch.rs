//! The memory that a connection borrows from its worker while it has requests to answer.
//!
//! A head and an output buffer grow to what requests need and are then passed from connection to connection; an idle
//! connection has neither.

use crate::http::head::Head;
use std::cell::RefCell;

/// Sets that a worker keeps. One is in use unless requests wait in the middle of something.
const KEPT: usize = 4;

/// An output buffer that has grown beyond this is not kept.
const LARGEST_KEPT: usize = 64 * 1024;

thread_local! {
    // Boxed, so that lending one moves a pointer.
    #[allow(clippy::vec_box)]
    static POOL: RefCell<Vec<Box<Scratch>>> = const { RefCell::new(Vec::new()) };
}

/// One set of reusable memory.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The request's head, to be swapped into the request.
    pub(crate) head: Head,
    /// Answers that were not yet sent.
    pub(crate) out: Vec<u8>,
}

/// Borrows a set; its buffers are empty.
pub(crate) fn take() -> Box<Scratch> {
    POOL.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Gives a set back, whatever is in it.
pub(crate) fn put(mut scratch: Box<Scratch>) {
    scratch.head.clear();
    scratch.out.clear();
    if scratch.out.capacity() > LARGEST_KEPT {
        scratch.out = Vec::new();
    }
    POOL.with_borrow_mut(|pool| {
        if pool.len() < KEPT {
            pool.push(scratch);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reused_but_not_hoarded() {
        let mut scratch = take();
        scratch.out.extend_from_slice(&[0; 1000]);
        put(scratch);
        let mut scratch = take();
        assert!(scratch.out.is_empty() && scratch.out.capacity() >= 1000);
        scratch.out.reserve(2 * LARGEST_KEPT);
        put(scratch);
        assert_eq!(take().out.capacity(), 0);
        (0..KEPT + 3).map(|_| Box::default()).for_each(put);
        assert_eq!(POOL.with_borrow(Vec::len), KEPT);
    }
}
