//! Latency as an HDR histogram: merged across threads, never averaged.

use std::time::Duration;

use hdrhistogram::Histogram;

/// The least latency told apart and the most, in nanoseconds: 100 ns to 10 minutes. What lies outside counts as the bound.
const BOUNDS: (u64, u64) = (100, 600_000_000_000);

/// Latencies of one run, three digits exact.
#[derive(Clone, Debug)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        // Only bounds out of order or more than five digits fail, and these are constants.
        Self(Histogram::new_with_bounds(BOUNDS.0, BOUNDS.1, 3).expect("constant bounds are in order"))
    }
}

impl Latency {
    /// Counts one.
    #[inline]
    pub fn record(&mut self, latency: Duration) {
        self.0
            .saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds another thread's.
    pub fn merge(&mut self, other: &Self) {
        // Equal bounds on both sides: adding can't fail.
        self.0.add(&other.0).expect("histograms share their bounds");
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The percentiles that are reported, named, in milliseconds.
    pub fn percentiles(&self) -> [(&'static str, f64); 5] {
        let at = |quantile| self.0.value_at_quantile(quantile) as f64 / 1e6;
        [
            ("p50", at(0.5)),
            ("p90", at(0.9)),
            ("p99", at(0.99)),
            ("p99.9", at(0.999)),
            ("max", self.0.max() as f64 / 1e6),
        ]
    }
}
