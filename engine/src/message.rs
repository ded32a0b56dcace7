//! Messages from the threads of a load.

use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::batching::Gathered;
use crate::connection_stats::ConnectionStats;
use crate::error::Result;
use crate::packets::Packets;
use crate::series::Row;
use crate::tally::Tally;
use crate::usage::ThreadUsage;

/// A message to the collector.
pub(crate) enum Message {
    Row {
        thread: usize,
        tick: i64,
        row: Box<Row>,
    },
    /// A thread is ready to measure with other processes, or has measured.
    Reached,
    End {
        thread: usize,
        outcome: Box<Result<Outcome>>,
    },
}

/// The result of one thread.
#[derive(Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub backend: Backend,
    pub tallies: [Tally; 2],
    pub stats: ConnectionStats,
    /// `None` if the kernel has no count.
    pub packets: Option<Packets>,
    pub gathered: Gathered,
    pub responses: Vec<u64>,
    /// Connection slots with an answer, and with one since the process began.
    pub answered: u64,
    pub reached: u64,
    pub backlog_peak: Option<u64>,
    /// At the start and the end of the measured window, and at the end of the drain.
    pub usage: [ThreadUsage; 3],
    /// When sending stopped, and when the drain ended.
    pub stopped_ns: u64,
    pub ended_ns: u64,
}
