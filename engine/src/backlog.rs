//! Open loop: the requests that are due and not yet sent, without a queue to hold them.

use crate::schedule::Arrivals;

/// Two walks over one schedule: how far requests were sent, and how far they are due.
#[derive(Debug)]
pub(crate) struct Backlog {
    head: Arrivals,
    due: Arrivals,
    end_ns: u64,
    /// Most requests that ever waited at once.
    pub peak: u64,
}

impl Backlog {
    /// Before [`Backlog::begin`] nothing is due.
    pub(crate) fn new(arrivals: Arrivals) -> Self {
        Self { head: arrivals.clone(), due: arrivals, end_ns: 0, peak: 0 }
    }

    pub(crate) fn begin(&mut self, start_ns: u64, end_ns: u64) {
        self.head.start(start_ns);
        self.due.start(start_ns);
        self.end_ns = end_ns;
    }

    /// Forgets what is left of the schedule, for one that goes on with the same random numbers.
    pub(crate) fn restart(&mut self) {
        self.head.restart();
        self.due = self.head.clone();
        self.end_ns = 0;
        self.peak = 0;
    }

    pub(crate) fn stop(&mut self, end_ns: u64) {
        self.end_ns = self.end_ns.min(end_ns);
    }

    /// When the oldest unsent request is wanted; `None` when the schedule is over.
    #[inline]
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let next_ns = self.head.next_ns();
        (next_ns < self.end_ns).then_some(next_ns)
    }

    /// Takes the oldest unsent request off.
    pub(crate) fn take(&mut self) -> Option<u64> {
        let next_ns = self.next_ns()?;
        self.head.pass();
        Some(next_ns)
    }

    /// Notes how many requests wait now.
    pub(crate) fn note(&mut self, now_ns: u64) {
        while self.due.next_ns() <= now_ns && self.due.next_ns() < self.end_ns {
            self.due.pass();
        }
        self.peak = self.peak.max(self.due.count().saturating_sub(self.head.count()));
    }
}
