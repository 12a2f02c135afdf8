//! The buffer that a connection reads into, borrowed from its worker while there is something in it.
//!
//! An idle connection holds no buffer. One that has bytes to look at has a worker's 64 KiB buffer, taken from a small
//! thread-local pool and given back as soon as the connection parks. A connection that parks with part of a head or
//! frame keeps only as much memory as that part needs, so that thousands of slow peers don't hold 64 KiB each.

use super::stream::Stream;
use std::cell::RefCell;
use std::io;

/// One read takes up to this much: enough that a large upload or a batch of small messages is few system calls, small
/// enough to stay in a core's second-level cache.
const POOLED: usize = 64 * 1024;

/// Buffers that a worker keeps. Usually one is in use, since a connection gives its own back before the next one runs.
const KEPT: usize = 4;

/// The least that a parked connection with unread bytes keeps.
const SMALLEST: usize = 1024;

thread_local! {
    static POOL: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// What [`ReadBuffer::fill`] came back with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// So many more bytes are there, at least one.
    Bytes(usize),
    /// Nothing now: wait for the stream.
    Nothing,
    /// The peer has finished.
    End,
    /// No room: consume, or [`grow`](ReadBuffer::grow).
    Full,
}

/// Bytes that were read and not yet consumed. Has no memory until it is first filled.
#[derive(Default)]
pub(crate) struct ReadBuffer {
    /// What was read; the capacity beyond it is the room to read into, which nobody has to clear.
    bytes: Vec<u8>,
    /// How much of it was consumed.
    start: usize,
}

impl ReadBuffer {
    /// An empty buffer without memory.
    pub(crate) fn new() -> ReadBuffer {
        ReadBuffer::default()
    }

    /// The bytes that nobody has consumed.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// The same, to be changed in place (unmasking).
    pub(crate) fn unread_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }

    /// True if everything was consumed.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// Marks the first `count` unread bytes as done with.
    ///
    /// # Panics
    /// If there are fewer.
    pub(crate) fn consume(&mut self, count: usize) {
        assert!(
            count <= self.bytes.len() - self.start,
            "consumed more than was read"
        );
        self.start += count;
        if self.is_empty() {
            self.start = 0;
            self.bytes.clear();
        }
    }

    /// Reads once, behind what is unread, if the stream may have something. Doesn't wait.
    ///
    /// # Errors
    /// The connection has failed.
    pub(crate) fn fill(&mut self, stream: &Stream) -> io::Result<Filled> {
        if !stream.is_readable() {
            return Ok(Filled::Nothing);
        }
        if self.bytes.len() == self.bytes.capacity() && !self.make_room() {
            return Ok(Filled::Full);
        }
        Ok(match stream.try_read(&mut self.bytes)? {
            None => Filled::Nothing,
            Some(0) => Filled::End,
            Some(read) => Filled::Bytes(read),
        })
    }

    /// Doubles the memory of a full buffer, to at most `most` bytes; false if it has that much already.
    pub(crate) fn grow(&mut self, most: usize) -> bool {
        let size = (self.bytes.capacity().max(SMALLEST) * 2).min(most);
        if size <= self.bytes.capacity() {
            return false;
        }
        self.move_to(Vec::with_capacity(size));
        true
    }

    /// To be called before every wait: gives the memory back to the worker, or all but what the unread bytes need.
    pub(crate) fn park(&mut self) {
        if self.is_empty() {
            *self = ReadBuffer::new();
        } else if self.bytes.capacity() >= POOLED {
            // Twice what is there: a peer that trickles makes the bytes be copied a constant number of times each.
            let size = (2 * self.unread().len()).max(SMALLEST);
            if size <= self.bytes.capacity() / 2 {
                self.move_to(Vec::with_capacity(size));
            }
        }
    }

    /// Room at the end: by moving the unread bytes to the front, or by going over to a worker's buffer.
    fn make_room(&mut self) -> bool {
        if self.bytes.capacity() < POOLED {
            let pooled = POOL.with_borrow_mut(Vec::pop);
            self.move_to(pooled.unwrap_or_else(|| Vec::with_capacity(POOLED)));
        } else if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        } else {
            return false;
        }
        true
    }

    /// Goes over to other memory, empty and large enough.
    fn move_to(&mut self, mut bytes: Vec<u8>) {
        bytes.extend_from_slice(self.unread());
        // The old memory goes the way of every dropped buffer.
        *self = ReadBuffer { bytes, start: 0 };
    }
}

impl Drop for ReadBuffer {
    fn drop(&mut self) {
        if self.bytes.capacity() == POOLED {
            let mut bytes = std::mem::take(&mut self.bytes);
            bytes.clear();
            // Fails only while the thread ends.
            let _ = POOL.try_with(|pool| {
                let mut pool = pool.borrow_mut();
                if pool.len() < KEPT {
                    pool.push(bytes);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A buffer that has `content` unread, as if it had been read behind `consumed` other bytes.
    fn holding(consumed: usize, content: &[u8]) -> ReadBuffer {
        let mut buffer = ReadBuffer::new();
        assert!(buffer.make_room());
        buffer.bytes.resize(consumed, 0);
        buffer.bytes.extend_from_slice(content);
        buffer.start = consumed;
        buffer
    }

    #[test]
    fn an_empty_buffer_has_no_memory_and_gives_it_back_when_parked() {
        let mut buffer = holding(0, b"abc");
        assert_eq!(buffer.bytes.capacity(), POOLED);
        buffer.consume(3);
        buffer.park();
        assert_eq!(buffer.bytes.capacity(), 0);
        assert!(POOL.with_borrow(|pool| pool.len() <= KEPT && !pool.is_empty()));
    }

    #[test]
    fn a_parked_buffer_keeps_little_more_than_its_unread_bytes() {
        let mut buffer = holding(60_000, b"GET / HT");
        buffer.park();
        assert_eq!(buffer.unread(), b"GET / HT");
        assert_eq!(buffer.bytes.capacity(), SMALLEST);
        buffer.park();
        assert_eq!(buffer.unread(), b"GET / HT");
    }

    #[test]
    fn a_small_buffer_that_is_full_goes_over_to_a_pooled_one() {
        let mut buffer = holding(0, &[7; 600]);
        buffer.park();
        assert_eq!(buffer.bytes.capacity(), 1200);
        buffer.bytes.resize(1200, 0);
        assert!(buffer.make_room());
        assert_eq!(buffer.bytes.capacity(), POOLED);
        assert_eq!(&buffer.unread()[..600], &[7; 600]);
        assert_eq!(buffer.unread().len(), 1200);
    }

    #[test]
    fn room_is_made_by_moving_the_unread_bytes_to_the_front() {
        let mut buffer = holding(POOLED - 3, b"abc");
        assert!(buffer.make_room());
        assert_eq!((buffer.start, buffer.bytes.len()), (0, 3));
        assert_eq!(buffer.unread(), b"abc");
    }

    #[test]
    fn a_full_buffer_grows_to_its_bound_and_no_further() {
        let mut buffer = holding(0, &[9; POOLED]);
        assert!(!buffer.make_room());
        assert!(buffer.grow(100_000));
        assert_eq!(buffer.bytes.capacity(), 100_000);
        assert_eq!(buffer.unread(), &[9; POOLED]);
        assert!(!buffer.grow(100_000));
    }

    #[test]
    fn the_pool_is_bounded() {
        let buffers: Vec<_> = (0..KEPT + 3).map(|_| holding(0, b"x")).collect();
        drop(buffers);
        assert_eq!(POOL.with_borrow(Vec::len), KEPT);
    }

    #[test]
    #[should_panic(expected = "consumed more")]
    fn consuming_more_than_was_read_is_a_bug() {
        holding(0, b"abc").consume(4);
    }
}
