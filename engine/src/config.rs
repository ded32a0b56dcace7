//! What was asked for, frozen.

use std::net::IpAddr;

use crate::backend::Backend;
use crate::schedule::Arrival;
use crate::shard::Shard;
use crate::target::Target;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// The next request goes out when a response is in.
    Closed,
    /// Requests go out by a schedule, whatever the responses do.
    Open { rate_per_s: f64, arrival: Arrival, seed: u64, deadline_ns: Option<u64> },
}

/// One load run; durations in nanoseconds.
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
    pub method: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub expect: Expect,
    /// Local addresses to connect from; chosen by the engine where none is given.
    pub sources: Vec<IpAddr>,
    /// The driver asked for; chosen by the engine where none is.
    pub backend: Option<Backend>,
    pub json: bool,
    pub stream: bool,
    pub calibrate: bool,
    /// Slices are asked for on the standard input.
    pub slices: bool,
    /// Set where this process is one of several of a run.
    pub shard: Option<Shard>,
}

/// What the command line expects of every response; the preflight fills in what it leaves open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expect {
    pub status: Option<u16>,
    pub media_type: Option<String>,
    pub body: Option<Vec<u8>>,
    /// Bodies are not compared.
    pub any_body: bool,
}

impl Config {
    pub(crate) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
    }

    /// The threads of this process: all of them, unless others have their part.
    pub(crate) fn shard(&self) -> Shard {
        let whole = Shard { first: 0, count: self.threads, total: self.threads };
        self.shard.unwrap_or(whole)
    }

    pub(crate) fn is_open_loop(&self) -> bool {
        matches!(self.pace, Pace::Open { .. })
    }
}
