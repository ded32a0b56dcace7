//! Open loop: the requests that are due but not sent, counted without a queue.

use crate::schedule::Arrivals;

/// Two positions in one schedule: the next request to send, and the next to become due.
#[derive(Debug)]
pub(crate) struct Backlog {
    head: Arrivals,
    due: Arrivals,
    end_ns: u64,
    /// Largest number of requests that waited at a time.
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

    /// Drops the rest of the schedule; the next one continues the sequence of random numbers.
    pub(crate) fn restart(&mut self) {
        self.head.restart();
        self.due = self.head.clone();
        self.end_ns = 0;
        self.peak = 0;
    }

    pub(crate) fn stop(&mut self, end_ns: u64) {
        self.end_ns = self.end_ns.min(end_ns);
    }

    /// When the oldest unsent request is due; `None` after the end of the schedule.
    #[inline]
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let next_ns = self.head.next_ns();
        (next_ns < self.end_ns).then_some(next_ns)
    }

    /// Removes the oldest unsent request.
    pub(crate) fn take(&mut self) -> Option<u64> {
        let next_ns = self.next_ns()?;
        self.head.pass();
        Some(next_ns)
    }

    /// Updates the peak with the requests that wait now.
    pub(crate) fn note(&mut self, now_ns: u64) {
        while self.due.next_ns() <= now_ns && self.due.next_ns() < self.end_ns {
            self.due.pass();
        }
        self.peak = self.peak.max(self.due.count().saturating_sub(self.head.count()));
    }
}
