//! What the threads of a run share, read-only: made from the configuration and the preflight.

use crate::config::{Config, Pace};
use crate::expected::Expected;
use crate::request::RequestBook;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub book: RequestBook,
    /// One a URL, in the order of the book.
    pub expected: Vec<Expected>,
    pub pace: Pace,
    /// A connection per request: connections are opened for a request, not ahead of it.
    pub per_request: bool,
    /// The server closes after a response without saying so.
    pub closes_unannounced: bool,
    pub requests_per_connection: u64,
    pub pipeline: usize,
    pub timeout_ns: u64,
    pub interval_ns: u64,
}

impl Plan {
    pub(crate) fn new(config: &Config, expected: Vec<Expected>, closes_unannounced: bool) -> Self {
        Self {
            book: RequestBook::new(config),
            expected,
            pace: config.pace,
            per_request: config.close,
            closes_unannounced,
            requests_per_connection: match config.close {
                true => 1,
                false => config.requests_per_connection.unwrap_or(u64::MAX),
            },
            pipeline: config.pipeline,
            timeout_ns: config.timeout_ns,
            interval_ns: config.interval_ns,
        }
    }

    /// About as long as the longest response: its body is known, its head is not.
    pub(crate) fn response_bytes(&self) -> usize {
        let bodies = self.expected.iter().filter_map(|expected| expected.body.as_ref());
        1024 + bodies.map(Vec::len).max().unwrap_or(0)
    }

    /// How long a request may wait before it is shed, or be late.
    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        match self.pace {
            Pace::Open { deadline_ns, .. } => deadline_ns,
            Pace::Closed => None,
        }
    }
}
