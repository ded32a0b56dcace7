//! The schedule of an open loop, in whole nanoseconds.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Arrival {
    Constant,
    Poisson,
}

/// The arrivals of one thread; those of all threads make the whole rate.
///
/// Constant: the n-th arrival of all is n / rate after the start, and thread i of T takes every
/// T-th. Poisson: each thread has its own seeded process of rate / T, and independent Poisson
/// processes add up to one of the summed rate.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    start_ns: u64,
    arrival: Arrival,
    /// Arrivals in 1000 s over all threads.
    millirate: u128,
    threads: u64,
    thread: u64,
    count: u64,
    elapsed_ns: f64,
    random: SplitMix64,
}

impl Arrivals {
    pub(crate) fn new(
        arrival: Arrival,
        rate_per_s: f64,
        seed: u64,
        thread: u64,
        threads: u64,
    ) -> Self {
        let mut random = SplitMix64(seed);
        for _ in 0..=thread {
            random = SplitMix64(random.next());
        }
        let mut arrivals = Self {
            start_ns: 0,
            arrival,
            millirate: ((rate_per_s * 1000.0).round() as u128).max(1),
            threads,
            thread,
            count: 0,
            elapsed_ns: 0.0,
            random,
        };
        arrivals.draw();
        arrivals
    }

    pub(crate) fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// Starts over, with the next random numbers.
    pub(crate) fn restart(&mut self) {
        self.count = 0;
        self.elapsed_ns = 0.0;
        self.draw();
    }

    /// When the next request is due.
    pub(crate) fn next_ns(&self) -> u64 {
        self.start_ns + self.offset_ns()
    }

    /// Number of arrivals passed.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Moves to the next arrival.
    pub(crate) fn pass(&mut self) {
        self.count += 1;
        self.draw();
    }

    fn offset_ns(&self) -> u64 {
        match self.arrival {
            Arrival::Constant => {
                let nth = u128::from(self.count * self.threads + self.thread);
                (nth * 1_000_000_000_000 / self.millirate) as u64
            }
            Arrival::Poisson => self.elapsed_ns as u64,
        }
    }

    /// Exponential gap by inversion: -ln(1 - U) / rate.
    fn draw(&mut self) {
        if self.arrival == Arrival::Poisson {
            let mean_ns = 1e12 * self.threads as f64 / self.millirate as f64;
            self.elapsed_ns += -(1.0 - self.random.uniform()).ln() * mean_ns;
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct SplitMix64(pub u64);

impl SplitMix64 {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1), 53 bits.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(arrivals: &mut Arrivals, n: usize) -> Vec<u64> {
        let mut out = Vec::new();
        for _ in 0..n {
            out.push(arrivals.next_ns());
            arrivals.pass();
        }
        out
    }

    #[test]
    fn constant_arrivals_of_two_threads_interleave_without_drift() {
        let mut even = Arrivals::new(Arrival::Constant, 3.0, 0, 0, 2);
        let mut odd = Arrivals::new(Arrival::Constant, 3.0, 0, 1, 2);
        assert_eq!(times(&mut even, 3), [0, 666_666_666, 1_333_333_333]);
        assert_eq!(times(&mut odd, 3), [333_333_333, 1_000_000_000, 1_666_666_666]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn poisson_arrivals_have_exponential_gaps() {
        let mut arrivals = Arrivals::new(Arrival::Poisson, 1000.0, 7, 0, 1);
        let times = times(&mut arrivals, 100_000);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "mean gap {mean} ns");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "an exponential's deviation");
    }

    #[test]
    fn same_seed_repeats_and_threads_differ() {
        let new = |seed, thread| Arrivals::new(Arrival::Poisson, 10.0, seed, thread, 2);
        assert_eq!(times(&mut new(1, 0), 9), times(&mut new(1, 0), 9));
        assert_ne!(times(&mut new(1, 0), 9), times(&mut new(1, 1), 9));
        assert_ne!(times(&mut new(1, 0), 9), times(&mut new(2, 0), 9));
    }
}
