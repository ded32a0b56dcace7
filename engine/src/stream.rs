//! The JSON lines of `--stream`: `start`, a `row` per interval, and `end` with the document.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::classes::Class;
use crate::config::Config;
use crate::document::{Document, SCHEMA};
use crate::output::to_json;
use crate::report::seconds;
use crate::series::Row;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Start {
        schema: &'static str,
        urls: Vec<&'a str>,
        connections: usize,
        warmup_s: f64,
        duration_s: f64,
    },
    Row(Box<RowLine>),
    End {
        document: &'a Document,
    },
}

/// One interval; in the warm-up, `at_s` <= 0.
#[derive(Serialize)]
struct RowLine {
    at_s: f64,
    sent: u64,
    ok: u64,
    errors: u64,
    classes: BTreeMap<&'static str, u64>,
    bytes_in: u64,
    bytes_out: u64,
    open_connections: u64,
    client_cpu_s: f64,
    service_us_mean: Option<f64>,
    send_lag_us_mean: Option<f64>,
}

/// The first line.
pub(crate) fn start(config: &Config) -> String {
    to_json(&Line::Start {
        schema: SCHEMA,
        urls: config.targets.iter().map(|target| target.url.as_str()).collect(),
        connections: config.connections,
        warmup_s: seconds(config.warmup_ns),
        duration_s: seconds(config.duration_ns),
    })
}

pub(crate) fn row(row: &Row) -> String {
    let classes = Class::ALL.iter().map(|class| (class.name(), row.count(*class))).collect();
    to_json(&Line::Row(Box::new(RowLine {
        at_s: row.at_ns as f64 / 1e9,
        sent: row.sent,
        ok: row.count(Class::Ok),
        errors: row.errors(),
        classes,
        bytes_in: row.bytes_in,
        bytes_out: row.bytes_out,
        open_connections: row.open_connections,
        client_cpu_s: seconds(row.cpu_ns),
        service_us_mean: row.service_us_mean(),
        send_lag_us_mean: row.lag_us_mean(),
    })))
}

/// The last line.
pub(crate) fn end(document: &Document) -> String {
    to_json(&Line::End { document })
}
