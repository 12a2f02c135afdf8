//! A value that many threads may hold a handle to but only one worker may touch.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::rc::Rc;

/// An `Rc` inside a shared object, reachable only on the worker that put it there.
///
/// The shared half of a session is known to every thread that sends to it, its socket belongs to one worker. This is
/// where that worker finds the socket again when it is rung. Elsewhere [`Owned::get`] answers `None`.
pub(crate) struct Owned<T> {
    worker: usize,
    value: UnsafeCell<Option<Rc<T>>>,
}

// SAFETY: `value` is read and written only after `is_here` has compared the calling thread with the owning worker
// (also in `drop`), a worker is one OS thread for the life of the process, and no reference into the cell is handed
// out: `get` clones the `Rc` and `take` moves it. So all accesses come from one thread, as `Rc` and the cell require.
unsafe impl<T> Send for Owned<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Owned<T> {}

impl<T> Owned<T> {
    /// Keeps `value` for the calling worker.
    ///
    /// # Panics
    /// On a host thread.
    pub(crate) fn new(value: Rc<T>) -> Self {
        let worker = super::worker().expect("owned values are made on a worker");
        Self {
            worker,
            value: UnsafeCell::new(Some(value)),
        }
    }

    /// The worker that may touch the value.
    pub(crate) fn worker(&self) -> usize {
        self.worker
    }

    fn is_here(&self) -> bool {
        super::worker() == Some(self.worker)
    }

    /// The value, on its own worker and until it is taken.
    pub(crate) fn get(&self) -> Option<Rc<T>> {
        if !self.is_here() {
            return None;
        }
        // SAFETY: this is the owning thread; `Rc::clone` runs no code that could come back here.
        unsafe { (*self.value.get()).clone() }
    }

    /// Takes the value out for good, on its own worker.
    pub(crate) fn take(&self) -> Option<Rc<T>> {
        if !self.is_here() {
            return None;
        }
        // SAFETY: this is the owning thread; the value is moved out, nothing is dropped in place.
        unsafe { (*self.value.get()).take() }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_here()
            && let Some(value) = self.value.get_mut().take()
        {
            // Dropping an `Rc` on another thread would race with its owner. Owners take their values out, so this
            // is a leak that only a bug of ours can cause.
            std::mem::forget(value);
        }
    }
}
