//! Signs that the client, not the server, was the limit.
//!
//! The gates of a campaign have the same names and thresholds; see docs/engine-document.md.

use serde::Serialize;

use crate::usage::Steal;

/// Shares of one core, of wall time, of all CPU time, and of the null server's rate.
const CLIENT_CPU_MAX: f64 = 0.80;
const CLIENT_WAIT_MAX: f64 = 0.05;
const STEAL_MAX: f64 = 0.01;
const CEILING_MAX: f64 = 0.70;
/// Allowed error of Little's law.
const LITTLE_LAW_MAX: f64 = 0.05;
/// Allowed 99th percentile of the client's lag: the larger of this and a share of the median
/// response time.
const SEND_LAG_US_MAX: f64 = 100.0;
const SEND_LAG_SHARE_MAX: f64 = 0.05;

/// One sign, with its reading, its threshold and advice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Limit {
    pub code: &'static str,
    pub reading: f64,
    pub threshold: f64,
    pub advice: &'static str,
}

/// The readings that are judged; an absent one is not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Readings {
    pub busiest_thread_share: f64,
    pub run_wait_share: f64,
    pub steal: Steal,
    pub little_law_error: Option<f64>,
    pub client_lag_us_p99: Option<f64>,
    pub response_us_p50: Option<f64>,
    pub client_limits: u64,
    /// Connections with a measured response, of those asked for.
    pub served: Option<[u64; 2]>,
}

impl Readings {
    /// The limits that the readings exceed.
    pub(crate) fn limits(&self) -> Vec<Limit> {
        let lag_us_max =
            (self.response_us_p50.unwrap_or(0.0) * SEND_LAG_SHARE_MAX).max(SEND_LAG_US_MAX);
        let above = [
            (
                "client_cpu",
                Some(self.busiest_thread_share),
                CLIENT_CPU_MAX,
                "the client was near its own limit: use more threads (-t) or cores",
            ),
            (
                "client_wait",
                Some(self.run_wait_share),
                CLIENT_WAIT_MAX,
                "the client waited for a CPU: give it cores that nothing else uses",
            ),
            (
                "steal",
                Some(self.steal.share),
                STEAL_MAX + self.steal.resolution,
                "the hypervisor took CPU time: use a quieter machine",
            ),
            (
                "little_law",
                self.little_law_error.map(f64::abs),
                LITTLE_LAW_MAX,
                "connections were idle for a part of the time: run longer, with fewer connections",
            ),
            (
                "send_lag",
                self.client_lag_us_p99,
                lag_us_max,
                "requests left late: use more threads or connections, or a lower --rate",
            ),
            (
                "client_resources",
                Some(self.client_limits as f64),
                0.0,
                "the client ran out of ports or descriptors: add --source addresses, raise ulimit -n",
            ),
        ];
        let above = above.into_iter().filter_map(|(code, reading, threshold, advice)| {
            Limit::above(code, reading?, threshold, advice)
        });
        above.chain(self.unserved()).collect()
    }

    fn unserved(&self) -> Option<Limit> {
        let [served, asked] = self.served?;
        let advice = "some connections never got a response: run longer, with fewer connections";
        let (reading, threshold) = (served as f64, asked as f64);
        (served < asked).then_some(Limit { code: "served", reading, threshold, advice })
    }
}

impl Limit {
    fn above(
        code: &'static str,
        reading: f64,
        threshold: f64,
        advice: &'static str,
    ) -> Option<Self> {
        (reading > threshold).then_some(Self { code, reading, threshold, advice })
    }

    /// Judges the share of the null server's rate.
    pub(crate) fn of_ceiling(share: f64) -> Option<Self> {
        let advice = "the rate is near what the client gets from the null server: use more threads";
        Self::above("ceiling", share, CEILING_MAX, advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings exactly at their thresholds.
    const FINE: Readings = Readings {
        busiest_thread_share: 0.80,
        run_wait_share: 0.05,
        steal: Steal { share: 0.01, resolution: 0.0 },
        little_law_error: Some(-0.05),
        client_lag_us_p99: Some(100.0),
        response_us_p50: Some(2000.0),
        client_limits: 0,
        served: Some([3, 3]),
    };

    #[test]
    fn accepts_readings_at_their_thresholds() {
        assert_eq!(FINE.limits(), []);
        assert_eq!(Readings::default().limits(), [], "what was not read is not judged");
    }

    #[test]
    fn reports_each_reading_above_its_threshold() {
        for (code, readings) in [
            ("client_cpu", Readings { busiest_thread_share: 0.801, ..FINE }),
            ("client_wait", Readings { run_wait_share: 0.051, ..FINE }),
            ("steal", Readings { steal: Steal { share: 0.011, resolution: 0.0 }, ..FINE }),
            ("little_law", Readings { little_law_error: Some(0.051), ..FINE }),
            ("little_law", Readings { little_law_error: Some(-0.051), ..FINE }),
            ("send_lag", Readings { client_lag_us_p99: Some(101.0), ..FINE }),
            ("client_resources", Readings { client_limits: 1, ..FINE }),
        ] {
            let limits = readings.limits();
            assert_eq!(limits.iter().map(|limit| limit.code).collect::<Vec<_>>(), [code]);
            assert!(limits[0].reading > limits[0].threshold);
        }
    }

    #[test]
    fn allows_a_lag_of_a_twentieth_of_the_response_time() {
        let slow = Readings { response_us_p50: Some(10_000.0), ..FINE };
        assert_eq!(Readings { client_lag_us_p99: Some(500.0), ..slow }.limits(), []);
        let limits = Readings { client_lag_us_p99: Some(501.0), ..slow }.limits();
        assert_eq!(limits.iter().map(|limit| limit.threshold).collect::<Vec<_>>(), [500.0]);
    }

    #[test]
    fn reports_a_rate_near_the_ceiling() {
        assert_eq!(Limit::of_ceiling(0.70), None);
        assert!(Limit::of_ceiling(0.71).is_some());
    }

    #[test]
    fn reports_connections_without_response() {
        let limits = Readings { served: Some([2, 3]), ..FINE }.limits();
        let read: Vec<_> = limits.iter().map(|l| (l.code, l.reading, l.threshold)).collect();
        assert_eq!(read, [("served", 2.0, 3.0)]);
    }

    #[test]
    fn thresholds_include_the_resolution_of_the_reading() {
        let short = Readings { steal: Steal { share: 0.05, resolution: 0.05 }, ..FINE };
        assert_eq!(short.limits(), []);
    }
}
