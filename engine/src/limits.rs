//! Signs that the client, not the server, set the figures.

use serde::Serialize;

/// One sign, with what was read, what is allowed, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Limit {
    pub code: String,
    pub reading: f64,
    pub threshold: f64,
    pub advice: String,
}

/// The readings that limits are found in; an absent one is not judged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Readings {
    pub busiest_thread_share: f64,
    pub run_wait_share: f64,
    pub steal_share: f64,
    pub little_law_error: Option<f64>,
    pub client_lag_us_p99: Option<f64>,
    pub response_us_p50: Option<f64>,
    pub client_limits: u64,
    pub unserved_connections: u64,
}

impl Readings {
    /// The limits that were reached.
    pub(crate) fn limits(&self) -> Vec<Limit> {
        let lag_us = (self.response_us_p50.unwrap_or(0.0) * 0.05).max(100.0);
        let checks = [
            ("client_cpu", Some(self.busiest_thread_share), 0.85, "use more threads (-t) or cores"),
            (
                "run_wait",
                Some(self.run_wait_share),
                0.02,
                "the client waits for a CPU: give it cores of its own",
            ),
            (
                "steal",
                Some(self.steal_share),
                0.01,
                "the hypervisor takes CPU time: use a quieter machine",
            ),
            (
                "little_law",
                self.little_law_error.map(f64::abs),
                0.03,
                "connections were not in use all the time: run longer, with fewer connections",
            ),
            (
                "send_lag",
                self.client_lag_us_p99,
                lag_us,
                "requests left late: use more threads or connections, or a lower --rate",
            ),
            (
                "client_resources",
                Some(self.client_limits as f64),
                0.0,
                "out of ports or descriptors: add --source addresses, raise ulimit -n",
            ),
            (
                "unserved_connections",
                Some(self.unserved_connections as f64),
                0.0,
                "connections without one response: run longer, or with fewer connections",
            ),
        ];
        checks
            .into_iter()
            .filter_map(|(code, reading, threshold, advice)| {
                Limit::above(code, reading?, threshold, advice)
            })
            .collect()
    }
}

impl Limit {
    fn above(code: &str, reading: f64, threshold: f64, advice: &str) -> Option<Self> {
        let (code, advice) = (code.to_owned(), advice.to_owned());
        (reading > threshold).then_some(Self { code, reading, threshold, advice })
    }

    /// The limit that a rate of this share of the null server's is.
    pub(crate) fn of_calibration(share: f64) -> Option<Self> {
        let advice = "the null server is hardly faster: the client is the limit, use more threads";
        Self::above("calibration", share, 1.0 / 1.5, advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings of a run in which the server set the figures.
    const FINE: Readings = Readings {
        busiest_thread_share: 0.85,
        run_wait_share: 0.02,
        steal_share: 0.01,
        little_law_error: Some(-0.03),
        client_lag_us_p99: Some(100.0),
        response_us_p50: Some(2000.0),
        client_limits: 0,
        unserved_connections: 0,
    };

    #[test]
    fn what_is_at_its_threshold_is_no_limit() {
        assert_eq!(FINE.limits(), []);
        assert_eq!(Readings::default().limits(), [], "what was not read is not judged");
    }

    #[test]
    fn each_reading_past_its_threshold_is_its_limit() {
        for (code, readings) in [
            ("client_cpu", Readings { busiest_thread_share: 0.851, ..FINE }),
            ("run_wait", Readings { run_wait_share: 0.021, ..FINE }),
            ("steal", Readings { steal_share: 0.011, ..FINE }),
            ("little_law", Readings { little_law_error: Some(0.031), ..FINE }),
            ("little_law", Readings { little_law_error: Some(-0.031), ..FINE }),
            ("send_lag", Readings { client_lag_us_p99: Some(101.0), ..FINE }),
            ("client_resources", Readings { client_limits: 1, ..FINE }),
            ("unserved_connections", Readings { unserved_connections: 1, ..FINE }),
        ] {
            let limits = readings.limits();
            assert_eq!(limits.iter().map(|limit| &limit.code).collect::<Vec<_>>(), [code]);
            assert!(limits[0].reading > limits[0].threshold);
        }
    }

    #[test]
    fn a_lag_is_allowed_a_twentieth_of_a_slow_servers_response_time() {
        let slow = Readings { response_us_p50: Some(10_000.0), ..FINE };
        assert_eq!(Readings { client_lag_us_p99: Some(500.0), ..slow }.limits(), []);
        let limits = Readings { client_lag_us_p99: Some(501.0), ..slow }.limits();
        assert_eq!(limits.iter().map(|limit| limit.threshold).collect::<Vec<_>>(), [500.0]);
    }

    #[test]
    fn two_thirds_of_the_null_servers_rate_are_the_clients_limit() {
        assert_eq!(Limit::of_calibration(0.66), None);
        assert!(Limit::of_calibration(0.67).is_some());
    }
}
