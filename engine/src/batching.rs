//! How many responses a system call waits for, so that one call handles many.

/// Minimum of busy connections per thread for which batching pays (bench/engine.py).
const LEAST_BUSY: usize = 256;

/// A thread with more time than this per response does not batch.
const RELAXED_NS: u64 = 10_000;

/// A call waits for `completions` responses for up to `gather_us`, then for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batching {
    pub completions: usize,
    pub gather_us: u32,
}

impl Batching {
    /// Returns as soon as there is a response.
    pub(crate) const NONE: Self = Self { completions: 1, gather_us: 0 };

    /// For `busy` connections that wait for a response in a closed loop, after a turn of `turn_ns`
    /// with this many `responses`. If a thread needs 4 us per request (docs/engine-design.md), the mean
    /// service time is at least 4 us times `busy` (Little's law); batching takes a 32nd of that.
    pub(crate) fn after(busy: usize, responses: usize, turn_ns: u64) -> Self {
        if busy < LEAST_BUSY || turn_ns > RELAXED_NS * responses as u64 {
            return Self::NONE;
        }
        Self { completions: busy / 4, gather_us: (busy / 8) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_thread_batches_for_a_small_share_of_the_service_time() {
        let batching = Batching::after(1000, 50, 250_000);
        assert_eq!(batching, Batching { completions: 250, gather_us: 125 });
    }

    #[test]
    fn does_not_batch_with_few_connections_or_spare_time() {
        assert_eq!(Batching::after(255, 50, 250_000), Batching::NONE);
        assert_eq!(Batching::after(1000, 50, 500_001), Batching::NONE);
        assert_eq!(Batching::after(1000, 0, 1), Batching::NONE);
    }
}
