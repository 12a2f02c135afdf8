//! A range of a head's bytes.
//!
//! Four bytes a bound, and `Copy`, unlike `Range<usize>`: a head of a hundred fields then takes 1.6 KB of them, and
//! the buffer they point into can be moved and reused freely.

/// A range within one head; meaningless in any other buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The longest buffer that spans can point into, in bytes; beyond any sensible limit on a head.
    pub(crate) const MAX: usize = u32::MAX as usize;

    /// From `start` up to `end`, which is at most [`Span::MAX`].
    pub(crate) fn new(start: usize, end: usize) -> Span {
        debug_assert!(start <= end && u32::try_from(end).is_ok());
        Span {
            start: start as u32,
            end: end as u32,
        }
    }

    /// Where `part` lies within `whole`, of which it must be a piece.
    pub(crate) fn locate(part: &[u8], whole: &[u8]) -> Span {
        let start = part.as_ptr() as usize - whole.as_ptr() as usize;
        debug_assert!(start + part.len() <= whole.len());
        Span::new(start, start + part.len())
    }

    /// The same range of a buffer in which everything lies `by` bytes further back.
    pub(crate) fn shifted(self, by: usize) -> Span {
        Span::new(self.start as usize + by, self.end as usize + by)
    }

    /// The bytes meant.
    pub(crate) fn of(self, whole: &[u8]) -> &[u8] {
        &whole[self.start as usize..self.end as usize]
    }

    /// How many bytes that are.
    pub(crate) fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}
