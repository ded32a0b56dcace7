//! How long a turn gathers responses, so that one call serves many of them.

/// Connections of a thread from which on gathering pays (bench/engine.py).
const LEAST_BUSY: usize = 256;

/// A client that has this long for each response is not short of time, and gathers none.
const RELAXED_NS: u64 = 10_000;

/// What a call waits for: `completions` of them for up to `gather_us`, and for one after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batching {
    pub completions: usize,
    pub gather_us: u32,
}

impl Batching {
    /// Goes on as soon as there is something to do.
    pub(crate) const NONE: Self = Self { completions: 1, gather_us: 0 };

    /// With `busy` connections that await a response in a closed loop, after a turn of `turn_ns`
    /// that brought `responses`. Where a thread takes 4 us for a request (docs/engine.md), the mean
    /// service time is, by Little's law, 4 us times `busy` or more: a 32nd of that is gathered for.
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
    fn a_thread_short_of_time_gathers_for_a_small_share_of_the_service_time() {
        let batching = Batching::after(1000, 50, 250_000);
        assert_eq!(batching, Batching { completions: 250, gather_us: 125 });
    }

    #[test]
    fn few_connections_or_time_to_spare_mean_no_gathering() {
        assert_eq!(Batching::after(255, 50, 250_000), Batching::NONE);
        assert_eq!(Batching::after(1000, 50, 500_001), Batching::NONE);
        assert_eq!(Batching::after(1000, 0, 1), Batching::NONE);
    }
}
