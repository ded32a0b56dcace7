//! The series: a row per interval, added up over the threads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::classes::{Class, ClassCounts};
use crate::session::Session;
use crate::tally::Tally;

/// One interval. `open_connections` is at its end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Row {
    /// End of the interval, nanoseconds from the start of the measured window; negative before it.
    pub at_ns: i64,
    pub sent: u64,
    pub classes: ClassCounts,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub open_connections: u64,
    pub cpu_ns: u64,
    pub service_count: u64,
    pub service_sum_ns: u64,
    pub lag_count: u64,
    pub lag_sum_ns: u64,
}

impl Row {
    /// The totals of a session, of its warm-up or of its measured window.
    pub(crate) fn totals(session: &Session, measured: bool, cpu_ns: u64) -> Self {
        let tally: &Tally = &session.tallies[usize::from(measured)];
        Self {
            at_ns: 0,
            sent: tally.scheduled,
            classes: tally.classes.clone(),
            bytes_in: tally.bytes_in,
            bytes_out: tally.bytes_out,
            open_connections: session.open_connections() as u64,
            cpu_ns,
            service_count: tally.service.count(),
            service_sum_ns: tally.service.sum_ns as u64,
            lag_count: tally.send_lag.count(),
            lag_sum_ns: tally.send_lag.sum_ns as u64,
        }
    }

    /// The difference from the totals `before`: an interval.
    pub(crate) fn since(&self, before: &Self, at_ns: i64) -> Self {
        let mut row = self.clone();
        row.at_ns = at_ns;
        row.combine(before, u64::wrapping_sub);
        row.open_connections = self.open_connections;
        row
    }

    /// Adds another thread's part of the same interval.
    pub(crate) fn add(&mut self, other: &Self) {
        self.at_ns = self.at_ns.max(other.at_ns);
        self.combine(other, u64::wrapping_add);
    }

    fn combine(&mut self, other: &Self, with: fn(u64, u64) -> u64) {
        for (to, from) in self.classes.iter_mut().zip(other.classes.iter()) {
            *to = with(*to, *from);
        }
        for (to, from) in [
            (&mut self.sent, other.sent),
            (&mut self.bytes_in, other.bytes_in),
            (&mut self.bytes_out, other.bytes_out),
            (&mut self.open_connections, other.open_connections),
            (&mut self.cpu_ns, other.cpu_ns),
            (&mut self.service_count, other.service_count),
            (&mut self.service_sum_ns, other.service_sum_ns),
            (&mut self.lag_count, other.lag_count),
            (&mut self.lag_sum_ns, other.lag_sum_ns),
        ] {
            *to = with(*to, from);
        }
    }

    pub(crate) fn count(&self, class: Class) -> u64 {
        self.classes[class as usize]
    }

    /// Requests that ended in any class except ok.
    pub(crate) fn errors(&self) -> u64 {
        self.classes.iter().sum::<u64>() - self.count(Class::Ok)
    }

    pub(crate) fn service_us_mean(&self) -> Option<f64> {
        mean_us(self.service_sum_ns, self.service_count)
    }

    pub(crate) fn lag_us_mean(&self) -> Option<f64> {
        mean_us(self.lag_sum_ns, self.lag_count)
    }
}

fn mean_us(sum_ns: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum_ns as f64 / count as f64 / 1000.0)
}

/// Adds up the rows of several threads, and returns an interval when all have sent it.
#[derive(Debug)]
pub(crate) struct Collector {
    pending: BTreeMap<i64, Row>,
    /// The last interval of each thread.
    latest: Vec<i64>,
}

impl Collector {
    pub(crate) fn new(threads: usize) -> Self {
        Self { pending: BTreeMap::new(), latest: vec![i64::MIN; threads] }
    }

    /// Adds one thread's row of interval `tick`.
    pub(crate) fn add(&mut self, thread: usize, tick: i64, row: &Row) {
        self.pending.entry(tick).or_default().add(row);
        self.latest[thread] = tick;
    }

    /// Notes that a thread has ended.
    pub(crate) fn end(&mut self, thread: usize) {
        self.latest[thread] = i64::MAX;
    }

    /// The next complete interval.
    pub(crate) fn pop(&mut self) -> Option<Row> {
        let whole = self.latest.iter().min().copied()?;
        let (tick, _) = self.pending.first_key_value()?;
        if *tick > whole {
            return None;
        }
        self.pending.pop_first().map(|(_, row)| row)
    }
}
