//! The summary in text.

use std::fmt::Write;

use crate::document::{ConfigPart, Document, ExpectedPart};
use crate::histogram::Summary;

/// From this share of waits on, it matters that they were too short to gather.
const TOO_SHORT_MIN: f64 = 0.5;

/// The whole text, with a newline at its end.
pub(crate) fn of(document: &Document) -> String {
    let mut text = String::new();
    write_into(&mut text, document).expect("a string takes all text");
    text
}

fn write_into(out: &mut String, document: &Document) -> std::fmt::Result {
    if let Some(error) = &document.preflight_error {
        return writeln!(out, "no run: {error}");
    }
    writeln!(out, "{} for {:.1} s", document.urls.join(" "), document.elapsed_s)?;
    writeln!(out, "  {}", load(&document.config, document.processes))?;
    if let Some(part) = &document.expected {
        writeln!(out, "  {}", expected(part, document))?;
    }
    writeln!(out, "\n  {:<14}{:>14.1} ok/s", "rate", document.rate_per_s)?;
    if let Some(offered) = document.offered_rate_per_s {
        writeln!(out, "  {:<14}{offered:>14.1} requests/s", "offered")?;
    }
    if let Some(peak) = document.backlog_peak {
        writeln!(out, "  {:<14}{peak:>14} requests due and not sent, at most", "backlog")?;
    }
    if document.elapsed_s > 0.0 {
        let bytes_per_s = document.bytes_in as f64 / document.elapsed_s;
        let (size, unit) = if bytes_per_s < 1e5 { (1e3, "kB/s") } else { (1e6, "MB/s") };
        writeln!(out, "  {:<14}{:>14.2} {unit}", "received", bytes_per_s / size)?;
    }
    let requests = &document.requests;
    writeln!(out, "  {:<14}{:>14} of {} requests", "ok", requests.ok, requests.scheduled)?;
    for (class, count) in document.classes.iter().filter(|(class, _)| *class != "ok") {
        if *count > 0 {
            writeln!(out, "  {class:<18}{count:>10}")?;
        }
    }
    if requests.scheduled == 0 {
        for (class, count) in &document.warmup.classes {
            if *count > 0 {
                writeln!(out, "  {class:<18}{count:>10} in the warm-up")?;
            }
        }
    }
    let count = |class| document.classes.get(class).copied().unwrap_or(0);
    let is_of_url = document.config.workload.is_none();
    if is_of_url && count("body_mismatch") + count("body_length") > 0 {
        writeln!(out, "    bodies differ from the expected one; if they may vary: --any-body")?;
    }
    for (code, count) in &document.status_codes {
        writeln!(out, "    status {code:<9}{count:>10}")?;
    }
    for (kind, count) in &document.malformed_kinds {
        writeln!(out, "    {kind:<16}{count:>10}")?;
    }
    for (errno, count) in &document.connect_errnos {
        let error = std::io::Error::from_raw_os_error(*errno);
        writeln!(out, "    errno {errno:<10}{count:>10}  {error}")?;
    }
    for (error, count) in document.tls.iter().flat_map(|tls| &tls.errors) {
        writeln!(out, "    {count:>26}  {error}")?;
    }
    writeln!(out)?;
    write_latency(out, document)?;
    write_http2(out, document)?;
    write_connections(out, document)?;
    write_client(out, document)
}

/// The settings, in one line.
fn load(config: &ConfigPart, processes: usize) -> String {
    // Each process has at least one thread.
    let threads = config.threads.max(processes);
    let pace = match (config.rate_per_s, &config.arrival) {
        (Some(rate), Some(arrival)) => format!("open loop, {rate} requests/s, {arrival}"),
        _ => "closed loop".to_owned(),
    };
    let deadline = config.deadline_s.map(|s| format!("deadline {}", duration(Some(s * 1e6))));
    let requests = config.requests_per_connection;
    let parts = [
        Some(format!("{} connections", config.connections)),
        Some(format!("{threads} threads")),
        (processes > 1).then(|| format!("{processes} processes")),
        Some(pace),
        deadline,
        config.close.then(|| "one connection per request".to_owned()),
        requests.map(|requests| format!("{requests} requests per connection")),
        (config.pipeline > 1).then(|| format!("pipeline depth {}", config.pipeline)),
        config.http2.then(|| match config.streams {
            1 => "HTTP/2".to_owned(),
            streams => format!("HTTP/2 with {streams} streams each"),
        }),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn write_http2(out: &mut String, document: &Document) -> std::fmt::Result {
    let Some(http2) = &document.http2 else { return Ok(()) };
    for (code, count) in &http2.reset_codes {
        writeln!(out, "  {count} streams reset with {code}")?;
    }
    for (code, count) in &http2.goaways {
        writeln!(out, "  {count} connections ended with GOAWAY {code}")?;
    }
    for (count, why) in [
        (http2.retried - http2.refused, "after a GOAWAY"),
        (http2.refused, "because the server refused their stream"),
    ] {
        if count > 0 {
            writeln!(out, "  {count} requests sent again {why}")?;
        }
    }
    Ok(())
}

/// What the answers are compared with.
fn expected(part: &ExpectedPart, document: &Document) -> String {
    let many = document.urls.len() > 1 || document.config.workload.is_some();
    let body = match part.body_bytes {
        None => "any body".to_owned(),
        Some(bytes) => format!("a body of {bytes} bytes"),
    };
    let media_type = match part.content_type.as_str() {
        "" => String::new(),
        media_type => format!(" {media_type},"),
    };
    let of = if many { " of the first URL" } else { "" };
    format!("expected{of}: status {},{media_type} {body}", part.status)
}

fn write_latency(out: &mut String, document: &Document) -> std::fmt::Result {
    writeln!(
        out,
        "  {:<14}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "latency", "mean", "p50", "p90", "p99", "p99.9", "max"
    )?;
    let latency = &document.latency;
    let rows = [
        ("response", latency.response_us.as_ref()),
        ("service", Some(&latency.service_us)),
        ("first byte", Some(&latency.first_byte_us)),
        ("connect", Some(&latency.connect_us)),
        ("handshake", document.tls.as_ref().map(|tls| &tls.handshake_us)),
        ("send lag", latency.send_lag_us.as_ref()),
        ("client lag", latency.client_lag_us.as_ref()),
        ("errors", Some(&latency.error_us)),
    ];
    for (name, summary) in rows {
        if let Some(summary) = summary.filter(|summary| summary.count > 0) {
            write_quantiles(out, name, summary)?;
        }
    }
    Ok(())
}

fn write_quantiles(out: &mut String, name: &str, summary: &Summary) -> std::fmt::Result {
    write!(out, "  {name:<14}{:>10}", duration(summary.mean))?;
    for value in [summary.p50, summary.p90, summary.p99, summary.p99_9, summary.max] {
        write!(out, "{:>10}", duration(value.map(|us| us as f64)))?;
    }
    writeln!(out)
}

fn duration(us: Option<f64>) -> String {
    match us {
        None => "-".to_owned(),
        Some(us) if us < 1000.0 => format!("{us:.0}us"),
        Some(us) if us < 1e6 => format!("{:.2}ms", us / 1e3),
        Some(us) => format!("{:.2}s", us / 1e6),
    }
}

fn write_connections(out: &mut String, document: &Document) -> std::fmt::Result {
    let part = &document.connections;
    write!(
        out,
        "\n  connections: {} asked, {} at once, {} served",
        part.asked, part.established, part.served
    )?;
    write!(out, " ({} to {} responses each", part.responses_min, part.responses_max)?;
    match part.jain_fairness {
        Some(jain) => writeln!(out, ", fairness {jain:.3})")?,
        None => writeln!(out, ")")?,
    }
    writeln!(
        out,
        "  opened {}, closed by server {}, by client {}; {} sockets in TIME_WAIT",
        part.opened,
        part.closed_by_server,
        part.closed_by_client,
        part.time_wait.map_or("unknown".to_owned(), |sockets| sockets.to_string())
    )?;
    if let Some(tls) = &document.tls {
        let parameters: Vec<_> = tls.parameters.keys().map(String::as_str).collect();
        writeln!(
            out,
            "  TLS: {} handshakes, {} of them resumed ({})",
            tls.handshakes,
            tls.resumed,
            parameters.join("; ")
        )?;
    }
    for (count, what) in [
        (
            part.stale_reuse,
            "requests lost on connections that the server may have been closing (stale reuse)",
        ),
        (part.unsolicited_idle, "connections with unsolicited bytes"),
        (part.unclosed, "connections that stayed open after their announced close"),
        (part.failed_without_request, "failed connects without a request"),
        (
            part.retransmits.unwrap_or(0).saturating_sub(part.spurious_retransmits.unwrap_or(0)),
            "segments were lost and sent again",
        ),
    ] {
        if count > 0 {
            writeln!(out, "  {count} {what}")?;
        }
    }
    Ok(())
}

fn write_client(out: &mut String, document: &Document) -> std::fmt::Result {
    let client = &document.client;
    write!(out, "  client: {:.2} s CPU", client.cpu_s)?;
    if let Some(cpu_us) = client.cpu_us_per_request {
        write!(out, ", {cpu_us:.2} us per request")?;
    }
    write!(out, ", busiest thread {:.0} %", client.busiest_thread_share * 100.0)?;
    if client.polled_share >= 0.005 {
        write!(out, " and {:.0} % polling", client.polled_share * 100.0)?;
    }
    writeln!(out)?;
    if let (Some(gather_us), Some(share)) = (client.gather_us, client.gathered_share) {
        writeln!(
            out,
            "  gathered answers for {gather_us:.0} us in {:.0} % of its waits",
            share * 100.0
        )?;
    }
    if client.too_short_to_gather_share.is_some_and(|share| share >= TOO_SHORT_MIN) {
        writeln!(
            out,
            "  the kernel cannot wait for as short a time as answers are to be gathered for: the rate \
             depends on how fast the client answers"
        )?;
    }
    if let Some(calibration) = &document.calibration {
        let (null_rate, share) = (calibration.null_rate_per_s, calibration.share * 100.0);
        writeln!(
            out,
            "  calibration: a null server reached {null_rate:.1} ok/s; this is {share:.0} % of it"
        )?;
    }
    for limit in &document.limits {
        writeln!(
            out,
            "  LIMIT {}: {:.3}, allowed {:.3}; {}",
            limit.code, limit.reading, limit.threshold, limit.advice
        )?;
    }
    if document.interrupted {
        writeln!(out, "  ended early by a signal")?;
    }
    Ok(())
}
