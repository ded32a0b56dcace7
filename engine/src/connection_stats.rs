//! Counts about connections rather than requests.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ConnectionStats {
    /// Connections opened over the whole run.
    pub opened: u64,
    /// Most connections open at once.
    pub established: u64,
    pub closed_by_server: u64,
    pub closed_by_client: u64,
    /// Connects that failed while no request waited for one.
    pub failed_without_request: u64,
    /// Connections on which bytes came while no request was out.
    pub unsolicited_idle: u64,
    /// Requests lost because the server closed a kept connection as they were sent.
    pub stale_reuse: u64,
}

impl ConnectionStats {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.opened += other.opened;
        self.established += other.established;
        self.closed_by_server += other.closed_by_server;
        self.closed_by_client += other.closed_by_client;
        self.failed_without_request += other.failed_without_request;
        self.unsolicited_idle += other.unsolicited_idle;
        self.stale_reuse += other.stale_reuse;
    }
}
