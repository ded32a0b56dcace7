//! The settings of a load.

use std::net::IpAddr;
use std::sync::Arc;

use crate::backend::Backend;
use crate::schedule::Arrival;
use crate::shard::Shard;
use crate::target::Target;
use crate::tls;
use crate::workload::Workload;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// A response triggers the next request.
    Closed,
    /// Requests follow a schedule, independent of the responses.
    Open { rate_per_s: f64, arrival: Arrival, seed: u64, deadline_ns: Option<u64> },
}

/// The settings of one load; durations in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub targets: Vec<Target>,
    pub connections: usize,
    pub threads: usize,
    pub duration_ns: u64,
    pub warmup_ns: u64,
    pub timeout_ns: u64,
    pub drain_ns: u64,
    /// Length of a row of the series.
    pub interval_ns: u64,
    pub pace: Pace,
    /// A connection per request.
    pub close: bool,
    pub requests_per_connection: Option<u64>,
    pub pipeline: usize,
    /// HTTP/2, with this many concurrent requests on a connection.
    pub http2: bool,
    pub streams: usize,
    pub method: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub expect: Expect,
    /// How to speak TLS with the server; `None` without TLS.
    pub tls: Option<tls::Client>,
    /// The requests, instead of one to each URL.
    pub workload: Option<Arc<Workload>>,
    /// Local addresses to connect from; empty if the engine chooses.
    pub sources: Vec<IpAddr>,
    /// The backend; `None` if the engine chooses.
    pub backend: Option<Backend>,
    /// Gather answers in a closed loop, instead of taking each at once.
    pub gathers: bool,
    pub json: bool,
    pub stream: bool,
    pub calibrate: bool,
    /// Read requests for slices from standard input.
    pub slices: bool,
    /// The threads of this process, if it is one of several.
    pub shard: Option<Shard>,
}

/// What every response must be; the preflight sets what is `None` here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expect {
    pub status: Option<u16>,
    pub media_type: Option<String>,
    pub body: Option<Vec<u8>>,
    /// Do not compare bodies.
    pub any_body: bool,
}

/// One request as it is sent, and what its response must be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange<'c> {
    pub method: &'c str,
    /// Value of the Host header.
    pub host: &'c str,
    pub path: &'c str,
    /// Headers that only requests like this one have.
    pub headers: &'c [(String, String)],
    pub body: &'c [u8],
}

impl Config {
    /// The number of different requests.
    pub(crate) fn exchanges(&self) -> usize {
        self.workload.as_ref().map_or(self.targets.len(), |workload| workload.requests.len())
    }

    /// The requests that the preflight sends: one to each URL, or what the workload needs.
    pub(crate) fn preflights(&self) -> Vec<usize> {
        match &self.workload {
            None => (0..self.targets.len()).collect(),
            Some(workload) => workload.preflights().collect(),
        }
    }

    /// How many requests differ in more than their values: the URLs, or the templates.
    pub(crate) fn templates(&self) -> usize {
        self.workload.as_ref().map_or(self.targets.len(), |workload| workload.templates.len())
    }

    /// One of the requests, in the order of each connection.
    pub(crate) fn exchange(&self, number: usize) -> Exchange<'_> {
        let Some(workload) = &self.workload else {
            let Target { host, path, .. } = &self.targets[number];
            return Exchange { method: &self.method, host, path, headers: &[], body: &self.body };
        };
        let drawn = &workload.requests[number];
        let template = &workload.templates[drawn.template];
        Exchange {
            method: &template.method,
            host: &self.targets[0].host,
            path: &drawn.path,
            headers: &template.headers,
            body: &drawn.body,
        }
    }

    pub(crate) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
    }

    /// The threads of this process.
    pub(crate) fn shard(&self) -> Shard {
        let whole = Shard { first: 0, count: self.threads, total: self.threads };
        self.shard.unwrap_or(whole)
    }

    pub(crate) fn is_open_loop(&self) -> bool {
        matches!(self.pace, Pace::Open { .. })
    }
}
