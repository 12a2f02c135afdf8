//! How much a peer may send before it is refused (RFC 6455 section 10.4).

/// Bounds on what a peer may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest message in octets; beyond it: 1009, as soon as the length is announced.
    pub max_message: usize,
    /// What the fragments of one message may cost together; beyond it: 1008. Each costs its octets and
    /// [`FRAGMENT_COST`](Self::FRAGMENT_COST), so that fragments which are tiny or empty have an end as well.
    pub fragment_budget: usize,
}

impl Limits {
    /// The fixed part of a fragment's cost: about what handling one costs in terms of copying octets.
    pub const FRAGMENT_COST: usize = 64;

    /// Limits for messages of `max_message` octets. The fragment budget is generous: twice that, and 4 MiB, so
    /// the longest message may come in pieces of 64 octets, and about 65,000 fragments are always allowed.
    pub const fn new(max_message: usize) -> Limits {
        Limits {
            max_message,
            fragment_budget: max_message.saturating_mul(2).saturating_add(4 << 20),
        }
    }
}

impl Default for Limits {
    /// 8 MiB: above what chat, documents and images in messages need, and few enough that some peers at once
    /// can't exhaust a small machine.
    fn default() -> Self {
        Limits::new(8 << 20)
    }
}
