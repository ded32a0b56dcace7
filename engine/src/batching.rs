//! How long a wait of a closed loop gathers answers before the client handles them and sends again.
//!
//! A client that takes each answer at once sends while the server still works on its batch, and
//! the two contend for sockets. A network card gathers, too. docs/engine.md states the rule.

use std::mem::MaybeUninit;

use serde::{Deserialize, Serialize};

use crate::clock;

/// A wait gathers for this part of the mean service time, so the server keeps most of the requests,
/// ...
const SERVICE_PART: f64 = 10.0;
/// ... but at most for this time, or for this time per busy connection. If a thread needs 4 us per
/// request (docs/engine-design.md), the latter is a 32nd of the least mean service time.
const LONGEST_NS: f64 = 30_000.0;
const LONGEST_NS_PER_BUSY: f64 = 125.0;
/// Up to this interval between answers a wait gathers in full, and from twice that on not at all.
const FULL_INTERVAL_NS: f64 = LONGEST_NS;
/// The interval between answers is a mean over at least this time.
const BLOCK_NS: u64 = 5_000_000;
/// The waits that measure how late a wait ends, and how long they are meant to be.
const TRIALS: usize = 15;
const TRIAL_NS: u64 = 5_000;

/// A call waits for `completions` responses for up to `gather_us`, then for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batching {
    pub completions: usize,
    pub gather_us: u32,
}

impl Batching {
    /// Returns as soon as there is a response.
    pub(crate) const NONE: Self = Self { completions: 1, gather_us: 0 };

    pub(crate) fn gather_ns(self) -> u64 {
        u64::from(self.gather_us) * 1000
    }
}

/// The waits of a closed loop, and how they gathered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Gathered {
    pub waits: u64,
    pub gathering: u64,
    /// Those that did not gather because the kernel cannot wait for so short a time.
    pub too_short: u64,
    /// The sum of the times to gather.
    pub gather_ns: f64,
}

impl Gathered {
    pub(crate) fn add(&mut self, part: &Self) {
        self.waits += part.waits;
        self.gathering += part.gathering;
        self.too_short += part.too_short;
        self.gather_ns += part.gather_ns;
    }

    /// The share of waits that a count is of; `None` without waits.
    pub(crate) fn share(&self, count: u64) -> Option<f64> {
        (self.waits > 0).then(|| count as f64 / self.waits as f64)
    }

    /// The mean time to gather, in microseconds.
    pub(crate) fn gather_us(&self) -> Option<f64> {
        (self.gathering > 0).then(|| self.gather_ns / self.gathering as f64 / 1000.0)
    }
}

/// Chooses how long each wait of a thread gathers.
#[derive(Debug)]
pub(crate) struct Gatherer {
    /// How much longer than asked a wait lasts; `None` if no wait is to gather.
    late_ns: Option<u64>,
    /// The start of the current block, and the number of answers until then.
    block_ns: u64,
    block_answers: u64,
    /// The mean time between answers in the last block.
    interval_ns: f64,
    gathered: Gathered,
}

impl Gatherer {
    /// One that takes each answer at once until [`Gatherer::begin`].
    pub(crate) fn new() -> Self {
        let (block_ns, block_answers, interval_ns) = (0, 0, f64::INFINITY);
        let gathered = Gathered::default();
        Self { late_ns: None, block_ns, block_answers, interval_ns, gathered }
    }

    /// Begins to gather, on the calling thread.
    pub(crate) fn begin(&mut self) {
        self.late_ns = Some(measured_late_ns());
    }

    /// The batching of a wait that begins now, while `busy` connections of a closed loop wait for
    /// an answer. `answers` counts all answers that were followed by a request on their connection.
    #[inline]
    pub(crate) fn choose(&mut self, now_ns: u64, busy: usize, answers: u64) -> Batching {
        let Some(late_ns) = self.late_ns.filter(|_| busy > 0) else { return Batching::NONE };
        let block_ns = now_ns - self.block_ns;
        if block_ns >= BLOCK_NS {
            self.interval_ns = block_ns as f64 / (answers - self.block_answers) as f64;
            (self.block_ns, self.block_answers) = (now_ns, answers);
        }
        self.gathered.waits += 1;
        let gather_ns = gather_ns(busy, self.interval_ns);
        let gather_us = ((gather_ns - late_ns as f64) / 1000.0).round() as u32;
        if gather_us == 0 {
            self.gathered.too_short += u64::from(gather_ns > 0.0);
            return Batching::NONE;
        }
        self.gathered.gathering += 1;
        self.gathered.gather_ns += gather_ns;
        Batching { completions: busy, gather_us }
    }

    /// The waits since the last call.
    pub(crate) fn take(&mut self) -> Gathered {
        std::mem::take(&mut self.gathered)
    }
}

/// How long a wait gathers while `busy` connections wait for an answer, and answers come
/// `interval_ns` apart. The mean service time is the product of the two (Little's law).
fn gather_ns(busy: usize, interval_ns: f64) -> f64 {
    let fullness = (2.0 - interval_ns / FULL_INTERVAL_NS).clamp(0.0, 1.0);
    if busy < 2 || fullness == 0.0 {
        return 0.0;
    }
    let longest_ns = LONGEST_NS.max(LONGEST_NS_PER_BUSY * busy as f64);
    (busy as f64 * interval_ns / SERVICE_PART).min(longest_ns) * fullness
}

/// How much longer than asked a short sleep of this thread lasts: the median of some.
fn measured_late_ns() -> u64 {
    let mut late_ns = [0; TRIALS];
    for late_ns in &mut late_ns {
        let start_ns = clock::now_ns();
        sleep(TRIAL_NS);
        *late_ns = (clock::now_ns() - start_ns).saturating_sub(TRIAL_NS);
    }
    late_ns.sort_unstable();
    late_ns[TRIALS / 2]
}

/// Sleeps for less than a second; a signal ends it.
pub(crate) fn sleep(ns: u64) {
    // SAFETY: zeroes are a valid timespec.
    let mut time: libc::timespec = unsafe { MaybeUninit::zeroed().assume_init() };
    time.tv_nsec = ns as libc::c_long;
    // SAFETY: `time` is valid for the call, and what a signal left of it is not wanted.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &time, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather_us(busy: usize, interval_us: f64) -> f64 {
        gather_ns(busy, interval_us * 1000.0) / 1000.0
    }

    #[test]
    fn gathers_for_a_tenth_of_the_mean_service_time_up_to_a_limit() {
        assert_eq!(gather_us(10, 10.0), 10.0);
        assert_eq!(gather_us(50, 5.0), 25.0);
        assert_eq!(gather_us(100, 10.0), 30.0);
        assert_eq!(gather_us(1000, 5.0), 125.0);
    }

    #[test]
    fn does_not_gather_for_a_slow_server_or_a_single_connection() {
        assert_eq!(gather_us(100, 30.0), 30.0);
        assert_eq!(gather_us(100, 45.0), 15.0, "no step between fast and slow");
        for (busy, interval_us) in [(100, 60.0), (100, 160.0), (100, f64::INFINITY), (1, 10.0)] {
            assert_eq!(gather_us(busy, interval_us), 0.0);
        }
    }

    /// A gatherer whose last block had one answer per `interval_ns`, and the end of that block.
    fn gatherer(late_ns: u64, interval_ns: u64) -> (Gatherer, u64) {
        let mut gatherer = Gatherer { late_ns: Some(late_ns), ..Gatherer::new() };
        assert_eq!(gatherer.choose(BLOCK_NS, 100, 0), Batching::NONE, "nothing is known yet");
        gatherer.choose(2 * BLOCK_NS, 100, BLOCK_NS / interval_ns);
        gatherer.take();
        (gatherer, 2 * BLOCK_NS)
    }

    #[test]
    fn asks_the_kernel_for_less_as_it_wakes_late() {
        let (mut gatherer, now_ns) = gatherer(3_500, 10_000);
        let batching = gatherer.choose(now_ns, 100, 500);
        assert_eq!(batching, Batching { completions: 100, gather_us: 27 });
        let gathered = gatherer.take();
        assert_eq!((gathered.waits, gathered.gathering, gathered.too_short), (1, 1, 0));
        assert_eq!(gathered.gather_us(), Some(30.0));
        assert_eq!(gathered.share(gathered.gathering), Some(1.0));
        assert_eq!(gatherer.take(), Gathered::default());
    }

    #[test]
    fn counts_waits_that_are_too_short_for_the_kernel() {
        let (mut gatherer, now_ns) = gatherer(3_500, 5_000);
        assert_eq!(gatherer.choose(now_ns, 7, 1_000), Batching::NONE);
        let gathered = gatherer.take();
        assert_eq!((gathered.waits, gathered.gathering, gathered.too_short), (1, 0, 1));
        assert_eq!(gathered.gather_us(), None);
    }

    /// gunicorn half-closes a connection, and serves nobody until the client has closed it too.
    #[test]
    fn does_not_gather_while_the_server_closes_after_each_answer() {
        let (mut gatherer, now_ns) = gatherer(0, 10_000);
        let answers = BLOCK_NS / 10_000;
        let later_ns = now_ns + BLOCK_NS;
        assert_eq!(gatherer.choose(later_ns, 100, answers), Batching::NONE, "none was kept");
    }

    #[test]
    fn open_loop_does_not_gather() {
        let (mut gatherer, now_ns) = gatherer(0, 10_000);
        assert_eq!(gatherer.choose(now_ns, 0, 500), Batching::NONE);
        assert_eq!(gatherer.take(), Gathered::default());
    }

    #[test]
    fn takes_each_answer_at_once_unless_begun() {
        let (gatherer, now_ns) = gatherer(0, 10_000);
        let mut gatherer = Gatherer { late_ns: None, ..gatherer };
        assert_eq!(gatherer.choose(now_ns, 100, 500), Batching::NONE);
    }
}
