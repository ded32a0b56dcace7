//! The phases of a run.

use serde::Serialize;

/// One phase; times are CLOCK_MONOTONIC nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Phase {
    /// `preflight`, `connect`, `warmup`, `measure`, `drain` or `close`.
    pub name: &'static str,
    pub start_ns: u64,
    pub end_ns: u64,
}
