//! One short load on connections that are kept.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How often a thread checks for the others.
pub(crate) const AGREE_POLL_NS: u64 = 250_000;

/// The settings of a slice, and the moments that its threads agree on.
pub(crate) struct Slice {
    pub duration_ns: u64,
    /// Minimum to discard before the measured window: a time, and a number of requests.
    pub discard_ns: u64,
    pub discard_requests: usize,
    pub drain_ns: u64,
    pub timeout_ns: u64,
    /// Close and reopen all connections before the load.
    pub renew: bool,
    /// Close all connections after the load.
    pub hang_up: bool,
    /// Other processes load at the same time: wait for a word before the measured window, and
    /// for the next before the load ends.
    pub together: bool,
    pub threads: usize,
    /// The start of the load, and of the measured window.
    pub load: Moment,
    pub measure: Moment,
    /// The end of the load, when every request of the window has ended.
    pub stop: Moment,
}

impl Slice {
    /// Sets the moments that are not set, so that the other threads do not wait for a failed one.
    pub(crate) fn give_up(&self, now_ns: u64) {
        self.load.set(now_ns);
        self.measure.set(now_ns);
        self.stop.set(now_ns);
    }
}

/// A moment that is set when the last thread arrives.
pub(crate) struct Moment {
    waiting: AtomicUsize,
    /// Time from the last arrival to the moment; all threads see it set before it comes.
    lead_ns: u64,
    /// 0 if it is not set.
    at_ns: AtomicU64,
}

impl Moment {
    pub(crate) fn new(threads: usize) -> Self {
        let lead_ns = if threads > 1 { 2 * AGREE_POLL_NS } else { 0 };
        Self { waiting: AtomicUsize::new(threads), lead_ns, at_ns: AtomicU64::new(0) }
    }

    /// Notes the arrival of a thread; each calls it once.
    pub(crate) fn arrive(&self, now_ns: u64) {
        if self.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.set(now_ns + self.lead_ns);
        }
    }

    /// The moment, if it is set.
    #[inline]
    pub(crate) fn agreed_ns(&self) -> Option<u64> {
        match self.at_ns.load(Ordering::Acquire) {
            0 => None,
            at_ns => Some(at_ns),
        }
    }

    fn set(&self, at_ns: u64) {
        // A moment is set once.
        let _ = self.at_ns.compare_exchange(0, at_ns, Ordering::AcqRel, Ordering::Acquire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moment_is_set_when_the_last_thread_arrives() {
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
    fn failed_thread_sets_only_the_moments_that_are_not_set() {
        let moments = || Moment::new(2);
        let slice = Slice {
            duration_ns: 0,
            discard_ns: 0,
            discard_requests: 0,
            drain_ns: 0,
            timeout_ns: 0,
            renew: false,
            hang_up: false,
            together: false,
            threads: 2,
            load: moments(),
            measure: moments(),
            stop: Moment::new(1),
        };
        slice.load.set(50);
        slice.give_up(100);
        assert_eq!((slice.load.agreed_ns(), slice.measure.agreed_ns()), (Some(50), Some(100)));
    }
}
