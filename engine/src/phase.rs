//! The parts of a run, stamped.

use serde::{Deserialize, Serialize};

/// One part of a run, CLOCK_MONOTONIC nanoseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Phase<N = &'static str> {
    /// `preflight`, `connect`, `warmup`, `measure`, `drain` or `close`.
    pub name: N,
    pub start_ns: u64,
    pub end_ns: u64,
}
