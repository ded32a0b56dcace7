//! Builds the document of a run.

use std::collections::BTreeMap;

use crate::classes::{Class, MalformedKind};
use crate::config::{Config, Pace};
use crate::document::{
    CalibrationPart, ClientPart, ConfigPart, ConnectionsPart, Document, ExpectedPart, Http2Part,
    LatencyPart, PausesPart, RequestsPart, SCHEMA, SeriesRow, TlsPart, WarmupPart, WorkloadPart,
};
use crate::h2;
use crate::histogram::Latency;
use crate::limits::{Limit, Readings};
use crate::phase::Phase;
use crate::preflight::Preflight;
use crate::run::Run;
use crate::schedule::Arrival;
use crate::series::Row;
use crate::signals;
use crate::tally::Tally;
use crate::usage::{ThreadUsage, time_wait_sockets};

/// The document of a run or of a slice; a slice has no preflight phase.
pub(crate) fn of_run(
    config: &Config,
    preflight: &Preflight,
    preflight_phase: Option<Phase>,
    run: &Run,
) -> Document {
    let [warmup, tally] = &run.tallies;
    let mut document = empty(config);
    document.backend = run.backend;
    document.processes = run.processes;
    document.interrupted = signals::received() > 0;
    document.expected = Some(expected_part(preflight));
    document.requests = RequestsPart {
        scheduled: tally.scheduled,
        ok: tally.count(Class::Ok),
        preflight: match preflight_phase {
            Some(_) => config.preflights().len() * preflights(run.processes),
            None => 0,
        },
    };
    document.window_s = seconds(run.elapsed_ns);
    document.elapsed_s = elapsed_s(config, run);
    document.rate_per_s = per_second(document.requests.ok, document.elapsed_s);
    document.bytes_in = tally.bytes_in;
    document.bytes_out = tally.bytes_out;
    document.classes = classes(tally);
    document.status_codes = tally.status_codes.clone();
    document.malformed_kinds = malformed_kinds(tally);
    document.connect_errnos = tally.connect_errnos.clone();
    document.warmup = WarmupPart {
        scheduled: warmup.scheduled,
        classes: classes(warmup),
        bytes_in: warmup.bytes_in,
        bytes_out: warmup.bytes_out,
    };
    document.connections = connections_part(config, run);
    document.latency = latency_part(config, &run.tallies);
    document.http2 = config.http2.then(|| http2_part(preflight, run));
    document.tls = config.tls.as_ref().map(|_| tls_part(config, run));
    document.client = client_part(run);
    document.pauses = pauses_part(config, run);
    if config.is_open_loop() {
        document.offered_rate_per_s = Some(per_second(tally.scheduled, document.elapsed_s));
        document.backlog_peak = run.backlog_peak;
    } else {
        document.little_law_error = little_law_error(config, run);
    }
    document.phases = preflight_phase.into_iter().chain(run.phases.iter().copied()).collect();
    document.series = run.rows.iter().filter(|row| row.at_ns > 0).map(series_row).collect();
    document.limits = readings(config, run, &document).limits();
    document
}

/// Adds the rate of the same load on a null server.
pub(crate) fn add_calibration(document: &mut Document, null_rate_per_s: f64) {
    let share = document.rate_per_s / null_rate_per_s.max(1e-9);
    document.calibration = Some(CalibrationPart { null_rate_per_s, share });
    document.limits.extend(Limit::of_ceiling(share));
}

/// The document of a failed preflight.
pub(crate) fn of_preflight_error(config: &Config, error: String) -> Document {
    Document { preflight_error: Some(error), ..empty(config) }
}

fn empty(config: &Config) -> Document {
    let tallies = <[Tally; 2]>::default();
    let [_, tally] = &tallies;
    Document {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        urls: config.targets.iter().map(|target| target.url.clone()).collect(),
        mode: if config.is_open_loop() { "open" } else { "closed" }.to_owned(),
        backend: None,
        processes: 1,
        interrupted: false,
        preflight_error: None,
        config: config_part(config),
        expected: None,
        requests: RequestsPart::default(),
        elapsed_s: 0.0,
        window_s: 0.0,
        pauses: PausesPart::default(),
        rate_per_s: 0.0,
        bytes_in: 0,
        bytes_out: 0,
        classes: classes(tally),
        status_codes: BTreeMap::new(),
        malformed_kinds: malformed_kinds(tally),
        connect_errnos: BTreeMap::new(),
        warmup: WarmupPart { classes: classes(tally), ..WarmupPart::default() },
        connections: ConnectionsPart { asked: config.connections, ..Default::default() },
        latency: latency_part(config, &tallies),
        http2: None,
        tls: None,
        client: ClientPart::default(),
        calibration: None,
        limits: Vec::new(),
        little_law_error: None,
        offered_rate_per_s: None,
        backlog_peak: None,
        phases: Vec::new(),
        series: Vec::new(),
    }
}

fn config_part(config: &Config) -> ConfigPart {
    let (rate_per_s, arrival, seed, deadline_s) = match config.pace {
        Pace::Closed => (None, None, None, None),
        Pace::Open { rate_per_s, arrival, seed, deadline_ns } => {
            let arrival = match arrival {
                Arrival::Constant => "constant",
                Arrival::Poisson => "poisson",
            };
            (Some(rate_per_s), Some(arrival.to_owned()), Some(seed), deadline_ns.map(seconds))
        }
    };
    ConfigPart {
        connections: config.connections,
        threads: config.threads,
        duration_s: seconds(config.duration_ns),
        warmup_s: seconds(config.warmup_ns),
        rate_per_s,
        arrival,
        seed,
        deadline_s,
        close: config.close,
        requests_per_connection: config.requests_per_connection,
        pipeline: config.pipeline,
        http2: config.http2,
        streams: config.streams,
        timeout_s: seconds(config.timeout_ns),
        drain_s: seconds(config.drain_ns),
        interval_s: seconds(config.interval_ns),
        method: config.exchange(0).method.to_owned(),
        request_body_bytes: config.exchange(0).body.len(),
        workload: config.workload.as_ref().map(|workload| WorkloadPart {
            name: workload.name.clone(),
            seed: workload.seed,
            requests: workload.requests.len(),
            templates: workload.templates.len(),
        }),
    }
}

pub(crate) fn expected_part(preflight: &Preflight) -> ExpectedPart {
    let first = &preflight.expected[0];
    let media_type = first.media_type.as_deref().unwrap_or_default();
    ExpectedPart {
        status: first.status,
        content_type: String::from_utf8_lossy(media_type).into_owned(),
        framing: preflight.framing,
        body_bytes: first.body.as_ref().map(Vec::len),
        head_bytes: preflight.head_bytes,
        closes_unannounced: preflight.closes_unannounced,
        tls: preflight.tls.clone(),
    }
}

/// Each child process has its own preflight.
fn preflights(processes: usize) -> usize {
    if processes == 1 { 1 } else { 1 + processes }
}

/// Every class by name, with zeros.
pub(crate) fn classes(tally: &Tally) -> BTreeMap<String, u64> {
    Class::ALL.iter().map(|class| (class.name().to_owned(), tally.count(*class))).collect()
}

fn malformed_kinds(tally: &Tally) -> BTreeMap<String, u64> {
    let count = |kind: &MalformedKind| tally.malformed_kinds[*kind as usize];
    MalformedKind::ALL
        .iter()
        .filter(|kind| count(kind) > 0)
        .map(|kind| (kind.name().to_owned(), count(kind)))
        .collect()
}

fn connections_part(config: &Config, run: &Run) -> ConnectionsPart {
    let responses = &run.responses;
    let sum: f64 = responses.iter().map(|count| *count as f64).sum();
    let squares: f64 = responses.iter().map(|count| (*count as f64).powi(2)).sum();
    ConnectionsPart {
        asked: config.connections,
        established: run.stats.established,
        served: match config.slices {
            true => run.answered,
            false => responses.iter().filter(|count| **count > 0).count() as u64,
        },
        opened: run.stats.opened,
        responses_min: responses.iter().copied().min().unwrap_or(0),
        responses_max: responses.iter().copied().max().unwrap_or(0),
        jain_fairness: (sum > 0.0).then(|| sum * sum / (responses.len() as f64 * squares)),
        closed_by_server: run.stats.closed_by_server,
        closed_by_client: run.stats.closed_by_client,
        failed_without_request: run.stats.failed_without_request,
        unsolicited_idle: run.stats.unsolicited_idle,
        unclosed: run.stats.unclosed,
        stale_reuse: run.stats.stale_reuse,
        retransmits: run.packets.map(|packets| packets.retransmits),
        spurious_retransmits: run.packets.and_then(|packets| packets.spurious),
        out_of_order: run.packets.and_then(|packets| packets.out_of_order),
        packets_in: run.packets.and_then(|packets| packets.packets_in),
        data_packets_in: run.packets.and_then(|packets| packets.data_packets_in),
        packets_out: run.packets.and_then(|packets| packets.packets_out),
        time_wait: time_wait_sockets(),
    }
}

fn latency_part(config: &Config, [warmup, tally]: &[Tally; 2]) -> LatencyPart {
    let mut connect = Latency::default();
    connect.merge(&tally.connect);
    if !config.close {
        connect.merge(&warmup.connect);
    }
    let open = config.is_open_loop();
    LatencyPart {
        connect_us: connect.summary(),
        first_byte_us: tally.first_byte.summary(),
        service_us: tally.service.summary(),
        response_us: open.then(|| tally.response.summary()),
        error_us: tally.error.summary(),
        send_lag_us: open.then(|| tally.send_lag.summary()),
        client_lag_us: open.then(|| tally.client_lag.summary()),
    }
}

fn http2_part(preflight: &Preflight, run: &Run) -> Http2Part {
    let named = |codes: &BTreeMap<u32, u64>| {
        codes.iter().map(|(code, count)| (h2::code_name(*code), *count)).collect()
    };
    Http2Part {
        allowed_streams: preflight.allowed_streams,
        reset_codes: named(&run.tallies[1].reset_codes),
        goaways: named(&run.stats.goaways),
        retried: run.stats.retried,
        refused: run.stats.refused,
    }
}

fn tls_part(config: &Config, run: &Run) -> TlsPart {
    let [warmup, tally] = &run.tallies;
    let mut sum = Tally::default();
    sum.merge(tally);
    if !config.close {
        sum.merge(warmup);
    }
    TlsPart {
        handshakes: sum.handshake.count(),
        resumed: sum.tls_resumed,
        handshake_us: sum.handshake.summary(),
        parameters: sum.tls_parameters,
        errors: tally.tls_errors.clone(),
        closed_without_notify: sum.tls_unnotified,
    }
}

fn client_part(run: &Run) -> ClientPart {
    let total =
        |of: fn(&ThreadUsage) -> u64| -> u64 { run.usage.iter().map(|[_, whole]| of(whole)).sum() };
    // An empty window, after a signal in the warm-up, has no shares.
    let measured = run.elapsed_ns > 0;
    let share = |of: fn(&ThreadUsage) -> u64| {
        let windows = run.usage.iter().filter(|_| measured).map(|[window, _]| window);
        windows.map(|window| of(window) as f64 / wall(window)).fold(0.0, f64::max)
    };
    let cpu_s = seconds(total(|usage| usage.cpu_ns()));
    let requests = run.tallies[1].scheduled;
    ClientPart {
        cpu_s,
        user_s: seconds(total(|usage| usage.user_ns)),
        system_s: seconds(total(|usage| usage.system_ns)),
        cpu_us_per_request: (requests > 0).then(|| cpu_s * 1e6 / requests as f64),
        busiest_thread_share: share(|usage| usage.busy_ns()),
        polled_share: share(|usage| usage.polled_ns),
        run_wait_share: share(|usage| usage.wait_ns),
        steal_share: run.steal.share,
        gather_us: run.gathered.gather_us(),
        gathered_share: run.gathered.share(run.gathered.gathering),
        too_short_to_gather_share: run.gathered.share(run.gathered.too_short),
    }
}

/// What the rate is over. In a slice of a closed loop, the mean over the connections of the time
/// that the counted requests took, each from the end of the one before: requests / this is the
/// number of connections / the mean cycle (docs/engine-slices.md). Connections that the server never
/// answered have no cycles, so they do not count.
fn elapsed_s(config: &Config, run: &Run) -> f64 {
    match config.slices && !config.is_open_loop() {
        true => {
            let lanes = (run.reached * config.streams as u64).max(1);
            run.tallies[1].cycle_ns as f64 / 1e9 / lanes as f64
        }
        false => seconds(run.elapsed_ns),
    }
}

/// Each thread sees its own connections; a pause of the server is seen by all.
fn pauses_part(config: &Config, run: &Run) -> PausesPart {
    let [discarded, tally] = &run.tallies;
    let mut service = discarded.service.clone();
    service.merge(&tally.service);
    let least_ns = service.median_us() * 2000;
    let pauses_ns = tally.gaps_ns.iter().filter(|gap_ns| **gap_ns > least_ns);
    let total_ns: u64 = pauses_ns.clone().sum();
    PausesPart {
        total_s: seconds(total_ns) / config.threads.max(1) as f64,
        longest_us: pauses_ns.max().copied().unwrap_or(0) / 1000,
    }
}

/// The wall time of a reading, never zero.
fn wall(usage: &ThreadUsage) -> f64 {
    usage.at_ns.max(1) as f64
}

/// N = X * R: the time that requests were in flight in the window, over the time available, minus
/// one.
fn little_law_error(config: &Config, run: &Run) -> Option<f64> {
    let in_flight = config.connections * config.pipeline * config.streams;
    let capacity_ns = run.elapsed_ns as f64 * in_flight as f64;
    (run.tallies[1].scheduled > 0).then(|| run.tallies[1].busy_ns as f64 / capacity_ns - 1.0)
}

fn readings(config: &Config, run: &Run, document: &Document) -> Readings {
    let tally = &run.tallies[1];
    let has_window = run.elapsed_ns > 0;
    let served = [document.connections.served, config.connections as u64];
    Readings {
        busiest_thread_share: document.client.busiest_thread_share,
        run_wait_share: document.client.run_wait_share,
        steal: run.steal,
        little_law_error: document.little_law_error.filter(|_| tally.not_ok() == 0),
        client_lag_us_p99: tally.client_lag.quantile_us(0.99).map(|us| us as f64),
        response_us_p50: tally.response.quantile_us(0.5).map(|us| us as f64),
        client_limits: tally.client_limits(),
        served: (!config.is_open_loop() && has_window).then_some(served),
    }
}

pub(crate) fn series_row(row: &Row) -> SeriesRow {
    SeriesRow {
        at_s: row.at_ns as f64 / 1e9,
        sent: row.sent,
        ok: row.count(Class::Ok),
        errors: row.errors(),
        bytes_in: row.bytes_in,
        open_connections: row.open_connections,
        client_cpu_s: seconds(row.cpu_ns),
        service_us_mean: row.service_us_mean(),
    }
}

pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn per_second(count: u64, elapsed_s: f64) -> f64 {
    if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 }
}
