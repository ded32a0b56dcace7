//! One short load on connections that are kept from one to the next.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How often a thread that waits for others looks for them.
pub(crate) const AGREE_POLL_NS: u64 = 250_000;

/// What the threads are asked to do, and when they do it.
pub(crate) struct Slice {
    pub duration_ns: u64,
    /// What is left out before the measured part, at least: a time, and requests of all threads.
    pub discard_ns: u64,
    pub discard_requests: usize,
    pub drain_ns: u64,
    pub timeout_ns: u64,
    /// All connections are closed and opened before the load.
    pub renew: bool,
    pub threads: usize,
    /// When the load starts, and when measuring does.
    pub load: Moment,
    pub measure: Moment,
}

impl Slice {
    /// Lets the other threads of a slice go on without one that failed.
    pub(crate) fn give_up(&self, now_ns: u64) {
        self.load.set(now_ns);
        self.measure.set(now_ns);
    }
}

/// A moment that comes once every thread has arrived at it.
pub(crate) struct Moment {
    waiting: AtomicUsize,
    /// From the last arrival to the moment, so that all threads see it before.
    lead_ns: u64,
    /// 0 before it is known.
    at_ns: AtomicU64,
}

impl Moment {
    pub(crate) fn new(threads: usize) -> Self {
        let lead_ns = if threads > 1 { 2 * AGREE_POLL_NS } else { 0 };
        Self { waiting: AtomicUsize::new(threads), lead_ns, at_ns: AtomicU64::new(0) }
    }

    /// Called once by each thread.
    pub(crate) fn arrive(&self, now_ns: u64) {
        if self.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.set(now_ns + self.lead_ns);
        }
    }

    /// When it is, once that is known.
    #[inline]
    pub(crate) fn agreed_ns(&self) -> Option<u64> {
        match self.at_ns.load(Ordering::Acquire) {
            0 => None,
            at_ns => Some(at_ns),
        }
    }

    fn set(&self, at_ns: u64) {
        // Who comes second changes nothing.
        let _ = self.at_ns.compare_exchange(0, at_ns, Ordering::AcqRel, Ordering::Acquire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moment_is_known_when_the_last_thread_arrives() {
        let moment = Moment::new(2);
        moment.arrive(100);
        assert_eq!(moment.agreed_ns(), None);
        moment.arrive(200);
        assert_eq!(moment.agreed_ns(), Some(200 + 2 * AGREE_POLL_NS));
    }

    #[test]
    fn moment_of_one_thread_is_its_arrival() {
        let moment = Moment::new(1);
        moment.arrive(100);
        assert_eq!(moment.agreed_ns(), Some(100));
    }

    #[test]
    fn failed_thread_lets_the_others_go_on_and_moves_no_moment() {
        let moments = || Moment::new(2);
        let slice = Slice {
            duration_ns: 0,
            discard_ns: 0,
            discard_requests: 0,
            drain_ns: 0,
            timeout_ns: 0,
            renew: false,
            threads: 2,
            load: moments(),
            measure: moments(),
        };
        slice.load.set(50);
        slice.give_up(100);
        assert_eq!((slice.load.agreed_ns(), slice.measure.agreed_ns()), (Some(50), Some(100)));
    }
}
