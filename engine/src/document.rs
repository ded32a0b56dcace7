//! The JSON document that `--json` prints; docs/engine-schema.json describes it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::backend::Backend;
use crate::histogram::Summary;
use crate::limits::Limit;
use crate::phase::Phase;

pub(crate) const SCHEMA: &str = "deadheat-load/1";

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Document {
    pub schema: String,
    pub version: String,
    pub urls: Vec<String>,
    /// `closed` or `open`.
    pub mode: String,
    /// `None` if the preflight failed.
    pub backend: Option<Backend>,
    pub processes: usize,
    /// A signal ended the run early.
    pub interrupted: bool,
    /// Why the preflight failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preflight_error: Option<String>,
    pub config: ConfigPart,
    pub expected: Option<ExpectedPart>,
    pub requests: RequestsPart,
    /// Of a slice of a closed loop: the cycles of the counted requests over the connections.
    pub elapsed_s: f64,
    /// Length of the window in which counted requests were sent.
    pub window_s: f64,
    pub rate_per_s: f64,
    /// Stretches in which no answer came although requests were out, in a closed loop.
    pub pauses: PausesPart,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub classes: BTreeMap<String, u64>,
    pub status_codes: BTreeMap<u16, u64>,
    pub malformed_kinds: BTreeMap<String, u64>,
    pub connect_errnos: BTreeMap<i32, u64>,
    /// The load before the measured window.
    pub warmup: WarmupPart,
    pub connections: ConnectionsPart,
    pub latency: LatencyPart,
    /// With `--http2`.
    pub http2: Option<Http2Part>,
    /// With https.
    pub tls: Option<TlsPart>,
    pub client: ClientPart,
    /// With `--calibrate`.
    pub calibration: Option<CalibrationPart>,
    pub limits: Vec<Limit>,
    /// X * R / N - 1 in a closed loop.
    pub little_law_error: Option<f64>,
    pub offered_rate_per_s: Option<f64>,
    pub backlog_peak: Option<u64>,
    pub phases: Vec<Phase>,
    pub series: Vec<SeriesRow>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ConfigPart {
    pub connections: usize,
    pub threads: usize,
    pub duration_s: f64,
    pub warmup_s: f64,
    pub rate_per_s: Option<f64>,
    pub arrival: Option<String>,
    pub seed: Option<u64>,
    pub deadline_s: Option<f64>,
    pub close: bool,
    pub requests_per_connection: Option<u64>,
    pub pipeline: usize,
    pub http2: bool,
    pub streams: usize,
    pub timeout_s: f64,
    pub drain_s: f64,
    pub interval_s: f64,
    pub method: String,
    pub request_body_bytes: usize,
    /// With `--workload`; `method` and `request_body_bytes` are then of its first request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadPart>,
}

/// Stretches longer than twice the median service time, and at least 4 ms.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct PausesPart {
    pub total_s: f64,
    pub longest_us: u64,
}

/// The requests of a workload, drawn before the run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WorkloadPart {
    pub name: String,
    pub seed: u64,
    /// The number of different requests.
    pub requests: usize,
    /// The number of templates that they were drawn from.
    pub templates: usize,
}

/// Of the first URL.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ExpectedPart {
    pub status: u16,
    pub content_type: String,
    /// `none`, `length`, `chunked`, `until_close`, or `frames` in HTTP/2.
    pub framing: &'static str,
    /// `None` if bodies are not compared.
    pub body_bytes: Option<usize>,
    pub head_bytes: usize,
    pub closes_unannounced: bool,
    /// Version, cipher suite and key exchange; `None` without TLS.
    pub tls: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct RequestsPart {
    pub scheduled: u64,
    pub ok: u64,
    /// Requests before the run, in no class.
    pub preflight: usize,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct CalibrationPart {
    /// Rate of the same load on a null server.
    pub null_rate_per_s: f64,
    /// The measured rate divided by it.
    pub share: f64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct WarmupPart {
    pub scheduled: u64,
    pub classes: BTreeMap<String, u64>,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ConnectionsPart {
    pub asked: usize,
    /// Most open at a time.
    pub established: u64,
    /// Connections with a measured response; in a slice, with any.
    pub served: u64,
    /// Opened in the run or slice.
    pub opened: u64,
    pub responses_min: u64,
    pub responses_max: u64,
    /// (sum x)^2 / (n * sum x^2) over the responses of the slots (Jain 1984).
    pub jain_fairness: Option<f64>,
    pub closed_by_server: u64,
    pub closed_by_client: u64,
    pub failed_without_request: u64,
    pub unsolicited_idle: u64,
    pub unclosed: u64,
    pub stale_reuse: u64,
    /// Segments that the client sent again, from the connects to the end of the drain.
    pub retransmits: Option<u64>,
    /// Those of them that the server's kernel had already.
    pub spurious_retransmits: Option<u64>,
    /// Segments of the server that arrived before an earlier one.
    pub out_of_order: Option<u64>,
    /// Segments of the server, with data or without; those with data; and the client's.
    pub packets_in: Option<u64>,
    pub data_packets_in: Option<u64>,
    pub packets_out: Option<u64>,
    /// Sockets in TIME_WAIT in this network namespace at the end.
    pub time_wait: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct LatencyPart {
    pub connect_us: Summary,
    pub first_byte_us: Summary,
    pub service_us: Summary,
    pub response_us: Option<Summary>,
    pub error_us: Summary,
    pub send_lag_us: Option<Summary>,
    pub client_lag_us: Option<Summary>,
}

/// With kept connections, also of those that were opened before the measured window.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TlsPart {
    /// Complete handshakes, and those of them that resumed a session.
    pub handshakes: u64,
    pub resumed: u64,
    /// Handshakes by version, cipher suite and key exchange.
    pub parameters: BTreeMap<String, u64>,
    pub errors: BTreeMap<String, u64>,
    /// Connections that the server closed without a close_notify.
    pub closed_without_notify: u64,
    pub handshake_us: Summary,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Http2Part {
    /// Concurrent requests that the server allows on a connection; `None` if it sets no limit.
    pub allowed_streams: Option<u32>,
    /// The error codes of the class `stream_reset`.
    pub reset_codes: BTreeMap<String, u64>,
    /// Connections that the server ended with GOAWAY, by its error code.
    pub goaways: BTreeMap<String, u64>,
    /// How often a request was sent again, because the server did not process it.
    pub retried: u64,
    /// Those of them whose stream the server refused; the others were above the last of a GOAWAY.
    pub refused: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ClientPart {
    pub cpu_s: f64,
    pub user_s: f64,
    pub system_s: f64,
    pub cpu_us_per_request: Option<f64>,
    pub busiest_thread_share: f64,
    pub polled_share: f64,
    pub run_wait_share: f64,
    pub steal_share: f64,
    /// The mean time that a wait gathered for, of those that did.
    pub gather_us: Option<f64>,
    /// Of the waits of a closed loop.
    pub gathered_share: Option<f64>,
    pub too_short_to_gather_share: Option<f64>,
}

/// One interval; the last row is the drain.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SeriesRow {
    /// End of the interval, from the start of the measured window.
    pub at_s: f64,
    pub sent: u64,
    pub ok: u64,
    pub errors: u64,
    pub bytes_in: u64,
    pub open_connections: u64,
    pub client_cpu_s: f64,
    pub service_us_mean: Option<f64>,
}
