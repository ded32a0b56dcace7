//! Counts of connections.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ConnectionStats {
    /// Connections opened in the run or slice.
    pub opened: u64,
    /// Most connections open at a time.
    pub established: u64,
    pub closed_by_server: u64,
    pub closed_by_client: u64,
    /// Failed connects that no request waited for.
    pub failed_without_request: u64,
    /// Connections that received bytes without a request in flight.
    pub unsolicited_idle: u64,
    /// Connections that the server kept open after it had announced their close: for a second, or
    /// for half of one at the end of a load.
    pub unclosed: u64,
    /// Requests lost on kept connections that the server may have been closing.
    pub stale_reuse: u64,
    /// HTTP/2: connections that the server ended with GOAWAY, by the error code.
    pub goaways: BTreeMap<u32, u64>,
    /// HTTP/2: how often a request was sent again, because the server did not process it.
    pub retried: u64,
    /// Those of them whose stream the server refused.
    pub refused: u64,
}

impl ConnectionStats {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.opened += other.opened;
        self.established += other.established;
        self.closed_by_server += other.closed_by_server;
        self.closed_by_client += other.closed_by_client;
        self.failed_without_request += other.failed_without_request;
        self.unsolicited_idle += other.unsolicited_idle;
        self.unclosed += other.unclosed;
        self.stale_reuse += other.stale_reuse;
        for (code, count) in &other.goaways {
            *self.goaways.entry(*code).or_default() += count;
        }
        self.retried += other.retried;
        self.refused += other.refused;
    }
}
