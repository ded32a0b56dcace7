//! Latency distributions: HdrHistogram, 3 digits, 1 us to 1 h.

use std::sync::OnceLock;

use crate::error::{Error, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

const MAX_US: u64 = 3_600_000_000;
const DIGITS: u8 = 3;

/// A distribution of durations, with their exact sum.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Wire", try_from = "Wire")]
pub(crate) struct Latency {
    histogram: Histogram<u64>,
    pub sum_ns: u128,
}

/// The figures of a distribution, in microseconds; a quantile q needs 100 / (1 - q) values.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    pub count: u64,
    pub min: Option<u64>,
    pub mean: Option<f64>,
    pub stdev: Option<f64>,
    pub max: Option<u64>,
    pub p50: Option<u64>,
    pub p75: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
    pub p99_9: Option<u64>,
    pub p99_99: Option<u64>,
    pub hdr_v2_base64: String,
}

impl Default for Latency {
    fn default() -> Self {
        // Grows with the longest duration; most histograms stay small.
        let histogram = Histogram::new(DIGITS).expect("HdrHistogram takes 3 digits");
        Self { histogram, sum_ns: 0 }
    }
}

impl Latency {
    /// Records a duration, rounded to the microsecond; more than an hour counts as an hour.
    #[inline]
    pub(crate) fn record(&mut self, duration_ns: u64) {
        let us = ((duration_ns + 500) / 1000).min(MAX_US);
        self.histogram.record(us).expect("a histogram that grows takes any duration");
        self.sum_ns += u128::from(duration_ns);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if other.count() == 0 {
            return;
        }
        self.histogram.add(&other.histogram).expect("a histogram that grows takes another");
        self.sum_ns += other.sum_ns;
    }

    pub(crate) fn count(&self) -> u64 {
        self.histogram.len()
    }

    pub(crate) fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The q-quantile in microseconds; `None` if there are too few values.
    pub(crate) fn quantile_us(&self, q: f64) -> Option<u64> {
        let enough = self.count() as f64 * (1.0 - q) >= 100.0 - 1e-6;
        enough.then(|| self.histogram.value_at_quantile(q))
    }

    /// Also of few durations; 0 without any.
    pub(crate) fn median_us(&self) -> u64 {
        self.histogram.value_at_quantile(0.5)
    }

    pub(crate) fn max_us(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.histogram.max())
    }

    pub(crate) fn summary(&self) -> Summary {
        let any = self.count() > 0;
        Summary {
            count: self.count(),
            min: any.then(|| self.histogram.min()),
            mean: self.mean_ns().map(|ns| ns / 1000.0),
            stdev: any.then(|| self.histogram.stdev()),
            max: self.max_us(),
            p50: self.quantile_us(0.5),
            p75: self.quantile_us(0.75),
            p90: self.quantile_us(0.9),
            p99: self.quantile_us(0.99),
            p99_9: self.quantile_us(0.999),
            p99_99: self.quantile_us(0.9999),
            hdr_v2_base64: self.encode(),
        }
    }

    /// Compression costs 0.1 ms, so empty distributions share one text.
    fn encode(&self) -> String {
        static EMPTY: OnceLock<String> = OnceLock::new();
        match self.count() {
            0 => EMPTY.get_or_init(|| Self::default().compress()).clone(),
            _ => self.compress(),
        }
    }

    fn compress(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.histogram, &mut bytes)
            .expect("a histogram can be written to memory");
        STANDARD.encode(bytes)
    }
}

/// A distribution as one process sends it to another.
#[derive(Serialize, Deserialize)]
struct Wire {
    sum_ns: u128,
    hdr_v2_base64: String,
}

impl From<Latency> for Wire {
    fn from(latency: Latency) -> Self {
        Self { sum_ns: latency.sum_ns, hdr_v2_base64: latency.encode() }
    }
}

impl TryFrom<Wire> for Latency {
    type Error = Error;

    fn try_from(wire: Wire) -> Result<Self> {
        let bytes = STANDARD.decode(&wire.hdr_v2_base64).map_err(unreadable)?;
        let read: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(unreadable)?;
        let mut latency = Self { sum_ns: wire.sum_ns, ..Self::default() };
        latency.histogram.add(&read).map_err(unreadable)?;
        Ok(latency)
    }
}

fn unreadable(error: impl std::fmt::Display) -> Error {
    Error::Process(format!("a process of the run sent a histogram that cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn quantile_needs_a_hundred_values_beyond_it() {
        let mut latency = Latency::default();
        (1..=9_999).for_each(|us| latency.record(us * 1000));
        assert_eq!(latency.quantile_us(0.99), None);
        latency.record(10_000_000);
        assert!(latency.quantile_us(0.99).is_some_and(|us| us.abs_diff(9_900) <= 10));
        assert_eq!(latency.quantile_us(0.999), None);
    }

    #[test]
    fn durations_are_rounded_to_the_microsecond() {
        let mut latency = Latency::default();
        [1_499, 1_500, 2_499].into_iter().for_each(|ns| latency.record(ns));
        assert_eq!(latency.histogram.count_at(1), 1);
        assert_eq!(latency.histogram.count_at(2), 2);
        assert_eq!(latency.sum_ns, 5_498, "the mean is exact");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn summary_has_the_quantiles_of_the_values() {
        const COUNT: u64 = 200_000;
        let mut latency = Latency::default();
        (1..=COUNT).for_each(|us| latency.record(us * 1000));
        let summary = latency.summary();
        let near = |value: Option<u64>, share: f64| {
            let wanted = COUNT as f64 * share;
            let value = value.unwrap_or_else(|| panic!("{share} is absent")) as f64;
            assert!((value / wanted - 1.0).abs() < 0.001, "{value} at {share}");
        };
        near(summary.p50, 0.5);
        near(summary.p75, 0.75);
        near(summary.p90, 0.9);
        near(summary.p99, 0.99);
        near(summary.p99_9, 0.999);
        near(summary.max, 1.0);
        assert_eq!((summary.count, summary.min, summary.p99_99), (COUNT, Some(1), None));
        assert_eq!(summary.mean, Some((COUNT + 1) as f64 / 2.0));
        let uniform = COUNT as f64 / 12f64.sqrt();
        assert!((summary.stdev.unwrap() / uniform - 1.0).abs() < 0.001);
    }

    #[test]
    fn distribution_survives_encoding() {
        let mut latency = Latency::default();
        for ns in [1_000, 42_500, 3_600_000_000_000, u64::MAX / 2] {
            latency.record(ns);
        }
        let wire = serde_json::to_string(&latency).unwrap();
        let read: Latency = serde_json::from_str(&wire).unwrap();
        assert_eq!((read.histogram, read.sum_ns), (latency.histogram, latency.sum_ns));
    }
}
