//! Segments of our connections that were lost, as the kernel counts them.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Losses {
    /// Segments that the client sent again.
    pub retransmits: u64,
    /// Segments of the server that arrived before an earlier one; `None` before Linux 5.5.
    pub out_of_order: Option<u64>,
}

impl Losses {
    pub(crate) fn add(&mut self, other: &Self) {
        self.retransmits += other.retransmits;
        self.out_of_order = self.out_of_order.zip(other.out_of_order).map(|(sum, part)| sum + part);
    }

    fn since(&self, earlier: &Self) -> Self {
        let out_of_order = self.out_of_order.zip(earlier.out_of_order);
        Self {
            retransmits: self.retransmits.saturating_sub(earlier.retransmits),
            out_of_order: out_of_order.map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

/// The losses of a driver's connections. A connection counts from its start, so those open and
/// those closed add up to a total that never falls.
pub(crate) struct LossMeter {
    closed: Losses,
    taken: Losses,
    /// False after a connection without a reading.
    complete: bool,
}

impl Default for LossMeter {
    fn default() -> Self {
        let none = Losses { retransmits: 0, out_of_order: Some(0) };
        Self { closed: none, taken: none, complete: true }
    }
}

impl LossMeter {
    /// Adds a connection that is about to be closed.
    pub(crate) fn close(&mut self, losses: Option<Losses>) {
        match losses {
            Some(losses) => self.closed.add(&losses),
            None => self.complete = false,
        }
    }

    /// The losses since the last call; `open` are the readings of the open connections. `None` if a
    /// connection had no reading, as unix sockets have none.
    pub(crate) fn take(&mut self, open: impl Iterator<Item = Option<Losses>>) -> Option<Losses> {
        let mut total = self.closed;
        for losses in open {
            total.add(&losses?);
        }
        let losses = total.since(&self.taken);
        self.taken = total;
        self.complete.then_some(losses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(retransmits: u64, out_of_order: u64) -> Option<Losses> {
        Some(Losses { retransmits, out_of_order: Some(out_of_order) })
    }

    #[test]
    fn each_slice_counts_only_its_own_losses() {
        let mut meter = LossMeter::default();
        assert_eq!(meter.take([losses(2, 0), losses(1, 5)].into_iter()), losses(3, 5));
        assert_eq!(meter.take([losses(2, 0), losses(1, 5)].into_iter()), losses(0, 0));
        assert_eq!(meter.take([losses(2, 1), losses(4, 5)].into_iter()), losses(3, 1));
    }

    #[test]
    fn losses_of_closed_connections_count_once() {
        let mut meter = LossMeter::default();
        assert_eq!(meter.take([losses(2, 0)].into_iter()), losses(2, 0));
        meter.close(losses(5, 1));
        assert_eq!(meter.take([losses(1, 0)].into_iter()), losses(4, 1), "3 old and 1 new");
        meter.close(losses(1, 0));
        assert_eq!(meter.take([].into_iter()), losses(0, 0));
    }

    #[test]
    fn connection_without_a_reading_leaves_the_count_unknown() {
        assert_eq!(LossMeter::default().take([losses(1, 0), None].into_iter()), None);
        let mut meter = LossMeter::default();
        meter.close(None);
        assert_eq!(meter.take([].into_iter()), None);
    }

    #[test]
    fn old_kernel_reports_retransmissions_alone() {
        let old = Some(Losses { retransmits: 3, out_of_order: None });
        assert_eq!(LossMeter::default().take([old].into_iter()), old);
    }
}
