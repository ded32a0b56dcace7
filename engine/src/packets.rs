//! TCP segments of our connections, and those that were lost, as the kernel counts them.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Packets {
    /// Segments that the client sent again.
    pub retransmits: u64,
    /// Those of them that the server's kernel had already, so that nothing was lost: it reported a
    /// duplicate (DSACK, RFC 2883). `None` before Linux 4.19.
    pub spurious: Option<u64>,
    /// Segments of the server that arrived before an earlier one; `None` before Linux 5.5.
    pub out_of_order: Option<u64>,
    /// Segments of the server, with data or without; those with data; and the client's. `None`
    /// before Linux 4.6.
    pub packets_in: Option<u64>,
    pub data_packets_in: Option<u64>,
    pub packets_out: Option<u64>,
}

impl Packets {
    pub(crate) fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b);
        self.retransmits += other.retransmits;
        self.spurious = sum(self.spurious, other.spurious);
        self.out_of_order = sum(self.out_of_order, other.out_of_order);
        self.packets_in = sum(self.packets_in, other.packets_in);
        self.data_packets_in = sum(self.data_packets_in, other.data_packets_in);
        self.packets_out = sum(self.packets_out, other.packets_out);
    }

    fn since(&self, earlier: &Self) -> Self {
        let growth = |now: Option<u64>, then: Option<u64>| {
            now.zip(then).map(|(now, then)| now.saturating_sub(then))
        };
        Self {
            retransmits: self.retransmits.saturating_sub(earlier.retransmits),
            spurious: growth(self.spurious, earlier.spurious),
            out_of_order: growth(self.out_of_order, earlier.out_of_order),
            packets_in: growth(self.packets_in, earlier.packets_in),
            data_packets_in: growth(self.data_packets_in, earlier.data_packets_in),
            packets_out: growth(self.packets_out, earlier.packets_out),
        }
    }
}

/// The counts of a driver's connections. A connection counts from its start, so those open and
/// those closed add up to a total that never falls.
pub(crate) struct PacketMeter {
    closed: Packets,
    taken: Packets,
    /// False after a connection without a reading.
    complete: bool,
}

impl Default for PacketMeter {
    fn default() -> Self {
        let none = Packets {
            retransmits: 0,
            spurious: Some(0),
            out_of_order: Some(0),
            packets_in: Some(0),
            data_packets_in: Some(0),
            packets_out: Some(0),
        };
        Self { closed: none, taken: none, complete: true }
    }
}

impl PacketMeter {
    /// Adds a connection that is about to be closed.
    pub(crate) fn close(&mut self, packets: Option<Packets>) {
        match packets {
            Some(packets) => self.closed.add(&packets),
            None => self.complete = false,
        }
    }

    /// The counts since the last call; `open` are the readings of the open connections. `None` if a
    /// connection had no reading, as unix sockets have none.
    pub(crate) fn take(&mut self, open: impl Iterator<Item = Option<Packets>>) -> Option<Packets> {
        let mut total = self.closed;
        for counts in open {
            total.add(&counts?);
        }
        let counts = total.since(&self.taken);
        self.taken = total;
        self.complete.then_some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(retransmits: u64, out_of_order: u64) -> Option<Packets> {
        let zeros = PacketMeter::default().closed;
        Some(Packets { retransmits, out_of_order: Some(out_of_order), ..zeros })
    }

    #[test]
    fn each_slice_counts_only_its_own_losses() {
        let mut meter = PacketMeter::default();
        assert_eq!(meter.take([losses(2, 0), losses(1, 5)].into_iter()), losses(3, 5));
        assert_eq!(meter.take([losses(2, 0), losses(1, 5)].into_iter()), losses(0, 0));
        assert_eq!(meter.take([losses(2, 1), losses(4, 5)].into_iter()), losses(3, 1));
    }

    #[test]
    fn losses_of_closed_connections_count_once() {
        let mut meter = PacketMeter::default();
        assert_eq!(meter.take([losses(2, 0)].into_iter()), losses(2, 0));
        meter.close(losses(5, 1));
        assert_eq!(meter.take([losses(1, 0)].into_iter()), losses(4, 1), "3 old and 1 new");
        meter.close(losses(1, 0));
        assert_eq!(meter.take([].into_iter()), losses(0, 0));
    }

    #[test]
    fn packets_of_open_and_closed_connections_are_counted_by_slice() {
        let part = |count| {
            let packets_in = Some(count);
            let data_packets_in = Some(count / 2);
            let packets_out = Some(count + 1);
            let zeros = losses(0, 0)?;
            Some(Packets { packets_in, data_packets_in, packets_out, ..zeros })
        };
        let mut meter = PacketMeter::default();
        assert_eq!(meter.take([part(10)].into_iter()), part(10));
        meter.close(part(14));
        let taken = meter.take([].into_iter()).unwrap();
        let counts = (taken.packets_in, taken.data_packets_in, taken.packets_out);
        assert_eq!(counts, (Some(4), Some(2), Some(4)));
    }

    #[test]
    fn connection_without_a_reading_leaves_the_count_unknown() {
        assert_eq!(PacketMeter::default().take([losses(1, 0), None].into_iter()), None);
        let mut meter = PacketMeter::default();
        meter.close(None);
        assert_eq!(meter.take([].into_iter()), None);
    }

    #[test]
    fn old_kernel_reports_retransmissions_alone() {
        let old = Some(Packets { retransmits: 3, ..Packets::default() });
        assert_eq!(PacketMeter::default().take([old].into_iter()), old);
    }

    #[test]
    fn spurious_retransmissions_are_counted_by_slice_too() {
        let part = |retransmits, spurious| {
            Some(Packets { spurious: Some(spurious), ..losses(retransmits, 0)? })
        };
        let mut meter = PacketMeter::default();
        assert_eq!(meter.take([part(2, 1), part(3, 3)].into_iter()), part(5, 4));
        assert_eq!(meter.take([part(2, 2), part(4, 4)].into_iter()), part(1, 2));
    }
}
