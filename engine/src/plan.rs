//! What the threads of a run share, read-only.

use crate::config::{Config, Pace};
use crate::expected::Expected;
use crate::h2;
use crate::request::RequestBook;
use crate::template::Template;
use crate::tls;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub book: RequestBook,
    /// The requests in HTTP/2, with `--http2`.
    pub http2: Option<h2::Book>,
    /// One per URL, in the order of the book.
    pub expected: Vec<Expected>,
    /// One per URL: its template, which URLs share if their responses have the same head.
    pub templates: Vec<u32>,
    /// How far apart the connections begin in the rotation.
    pub stride: usize,
    pub pace: Pace,
    /// Open a connection for each request.
    pub per_request: bool,
    /// The server closes after a response without announcing it.
    pub closes_unannounced: bool,
    pub requests_per_connection: u64,
    pub pipeline: usize,
    /// How to speak TLS with the server; `None` without TLS.
    pub tls: Option<tls::Client>,
    pub timeout_ns: u64,
    pub interval_ns: u64,
}

impl Plan {
    pub(crate) fn new(config: &Config, expected: Vec<Expected>, closes_unannounced: bool) -> Self {
        Self {
            book: RequestBook::new(config),
            http2: config.http2.then(|| h2::Book::new(config)),
            templates: match &config.workload {
                None => (0..expected.len() as u32).collect(),
                Some(workload) => workload.kinds(&expected),
            },
            stride: config.workload.as_ref().map_or(1, |workload| workload.stride()),
            expected,
            pace: config.pace,
            per_request: config.close,
            closes_unannounced,
            requests_per_connection: match config.close {
                true => 1,
                false => config.requests_per_connection.unwrap_or(u64::MAX),
            },
            pipeline: config.pipeline,
            tls: config.tls.clone(),
            timeout_ns: config.timeout_ns,
            interval_ns: config.interval_ns,
        }
    }

    /// The templates of one thread, which have learned nothing yet.
    pub(crate) fn blank_templates(&self) -> Vec<Template> {
        let count = self.templates.iter().max().map_or(0, |last| *last as usize + 1);
        let is_shared = count < self.templates.len();
        (0..count).map(|_| Template::new(is_shared)).collect()
    }

    /// Approximate size of the longest response; the size of its head is a guess.
    pub(crate) fn response_bytes(&self) -> usize {
        let bodies = self.expected.iter().filter_map(|expected| expected.body.as_ref());
        1024 + bodies.map(Vec::len).max().unwrap_or(0)
    }

    /// How long a request may take before it is shed or late.
    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        match self.pace {
            Pace::Open { deadline_ns, .. } => deadline_ns,
            Pace::Closed => None,
        }
    }
}
