//! Signs that the client, not the server, set the figures.

use serde::{Deserialize, Serialize};

/// One sign, with what was read, what is allowed, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    pub code: String,
    pub reading: f64,
    pub threshold: f64,
    pub advice: String,
}

/// The readings that limits are found in; an absent one is not judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Readings {
    pub busiest_thread_share: f64,
    pub run_wait_share: f64,
    pub steal_share: f64,
    pub little_law_error: Option<f64>,
    pub send_lag_us_p99: Option<f64>,
    pub response_us_p50: Option<f64>,
    pub client_limits: u64,
    pub unserved_connections: u64,
}

impl Readings {
    /// The limits that were reached.
    pub fn limits(&self) -> Vec<Limit> {
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
                self.send_lag_us_p99,
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
    pub fn of_calibration(share: f64) -> Option<Self> {
        let advice = "the null server is hardly faster: the client is the limit, use more threads";
        Self::above("calibration", share, 1.0 / 1.5, advice)
    }
}
