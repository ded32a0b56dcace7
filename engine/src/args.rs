//! Parsing of the command line.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use lexopt::Arg::{Long, Short, Value};
use lexopt::{Parser, ValueExt};

use crate::arg_values::{
    arrival, at_least_one, backend, header, number, shard, text_or_file, token,
};
use crate::backend::Backend;
use crate::config::{Config, Expect, Pace};
use crate::duration;
use crate::error::{Error, Result};
use crate::null_server::NullServerConfig;
use crate::schedule::Arrival;
use crate::shard::Shard;
use crate::target::Target;
use crate::tls::{self, TlsOptions};
use crate::workload::Workload;

/// What the command line asks for.
pub(crate) enum Command {
    Load(Box<Config>),
    NullServer(NullServerConfig),
    /// Print this text.
    Print(String),
}

const HELP: &str = include_str!("help.txt");
const DEFAULT_TIMEOUT_NS: u64 = 10_000_000_000;
/// Length of a row of the series: default of a run, default of slices, and minimum.
const INTERVAL_NS: u64 = 100_000_000;
const SLICE_INTERVAL_NS: u64 = 10_000_000;
const LEAST_INTERVAL_NS: u64 = 1_000_000;
/// Most concurrent requests on a connection of HTTP/2.
const MAX_STREAMS: usize = 1000;
/// The headers that HTTP/2 forbids (RFC 9113, section 8.2.2).
const OF_CONNECTION: &[&str] =
    &["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// Parses the arguments that follow the program's name.
pub(crate) fn parse(args: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Command> {
    let mut arguments = CliArgs::default();
    let mut parser = Parser::from_args(args);
    while let Some(arg) = parser.next().map_err(|error| Error::usage(error.to_string()))? {
        let name = match &arg {
            Short(letter) => format!("-{letter}"),
            Long(name) => format!("--{name}"),
            Value(url) => {
                arguments.urls.push(url.to_string_lossy().into_owned());
                continue;
            }
        };
        match name.as_str() {
            "-h" | "--help" => return Ok(Command::Print(HELP.to_owned())),
            "-V" | "--version" => {
                return Ok(Command::Print(format!(
                    "deadheat-load {}\ntransports: http, https, h2, h2c; {}\n",
                    env!("CARGO_PKG_VERSION"),
                    tls::summary()
                )));
            }
            _ if arguments.flag(&name) => {}
            _ => {
                let value = parser.value().and_then(|value| value.string());
                let value = match value {
                    Ok(value) if CliArgs::takes(&name) => value,
                    _ if !CliArgs::takes(&name) => {
                        return Err(Error::usage(format!(
                            "{name}: unknown option; --help lists all options"
                        )));
                    }
                    _ => return Err(Error::usage(format!("{name}: missing value; see --help"))),
                };
                arguments.option(&name, &value).map_err(|error| error.of_option(&name))?;
            }
        }
    }
    arguments.command()
}

/// The arguments, not yet checked against each other.
#[derive(Default)]
struct CliArgs {
    urls: Vec<String>,
    connections: Option<usize>,
    threads: Option<usize>,
    duration_ns: Option<u64>,
    warmup_ns: Option<u64>,
    timeout_ns: Option<u64>,
    drain_ns: Option<u64>,
    interval_ns: Option<u64>,
    rate_per_s: Option<f64>,
    arrival: Option<Arrival>,
    seed: Option<u64>,
    deadline_ns: Option<u64>,
    close: bool,
    requests_per_connection: Option<u64>,
    pipeline: Option<usize>,
    http2: bool,
    streams: Option<usize>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    expect: Expect,
    workload: Option<Workload>,
    sources: Vec<IpAddr>,
    backend: Option<Backend>,
    no_gather: bool,
    json: bool,
    stream: bool,
    calibrate: bool,
    slices: bool,
    shard: Option<Shard>,
    tls: TlsOptions,
    null_port: Option<u16>,
    bind: Option<IpAddr>,
    null_work: Option<u64>,
    null_body: Option<String>,
}

const WITH_VALUE: &[&str] = &[
    "-c",
    "--connections",
    "-t",
    "--threads",
    "-d",
    "--duration",
    "--warmup",
    "--rate",
    "--arrival",
    "--seed",
    "--deadline",
    "--timeout",
    "--drain",
    "--interval",
    "--requests-per-connection",
    "--pipeline",
    "--streams",
    "--source",
    "--backend",
    "-X",
    "--method",
    "-H",
    "--header",
    "--body",
    "--expect-status",
    "--expect-type",
    "--expect-body",
    "--workload",
    "--null-server",
    "--bind",
    "--null-work",
    "--null-body",
    "--shard",
    "--cacert",
    "--cert",
    "--key",
];

impl CliArgs {
    fn takes(name: &str) -> bool {
        WITH_VALUE.contains(&name)
    }

    /// Sets an option that takes no value; false if there is no such option.
    fn flag(&mut self, name: &str) -> bool {
        let flag = match name {
            "--close" => &mut self.close,
            "--http2" => &mut self.http2,
            "--no-gather" => &mut self.no_gather,
            "--any-body" => &mut self.expect.any_body,
            "--json" => &mut self.json,
            "--stream" => &mut self.stream,
            "--calibrate" => &mut self.calibrate,
            "--slices" => &mut self.slices,
            "--insecure" => &mut self.tls.insecure,
            "--tls-resume" => &mut self.tls.resume,
            _ => return false,
        };
        *flag = true;
        true
    }

    fn option(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "-c" | "--connections" => self.connections = Some(at_least_one(value)?),
            "-t" | "--threads" => self.threads = Some(at_least_one(value)?),
            "-d" | "--duration" => self.duration_ns = Some(duration::parse_ns(value)?),
            "--warmup" => self.warmup_ns = Some(duration::parse_ns(value)?),
            "--timeout" => self.timeout_ns = Some(duration::parse_ns(value)?),
            "--drain" => self.drain_ns = Some(duration::parse_ns(value)?),
            "--interval" => self.interval_ns = Some(duration::parse_ns(value)?),
            "--deadline" => self.deadline_ns = Some(duration::parse_ns(value)?),
            "--rate" => self.rate_per_s = Some(number(value, "requests per second")?),
            "--arrival" => self.arrival = Some(arrival(value)?),
            "--seed" => self.seed = Some(number(value, "a whole number")?),
            "--requests-per-connection" => {
                self.requests_per_connection = Some(at_least_one(value)? as u64);
            }
            "--pipeline" => self.pipeline = Some(at_least_one(value)?),
            "--streams" => self.streams = Some(at_least_one(value)?),
            "--source" => self.sources.push(number(value, "an IP address")?),
            "--backend" => self.backend = backend(value)?,
            "-X" | "--method" => self.method = Some(token(value)?),
            "-H" | "--header" => self.headers.push(header(value)?),
            "--body" => self.body = Some(text_or_file(value)?),
            "--expect-status" => self.expect.status = Some(number(value, "a status code")?),
            "--expect-type" => self.expect.media_type = Some(value.to_owned()),
            "--expect-body" => self.expect.body = Some(text_or_file(value)?),
            "--workload" => self.workload = Some(Workload::parse(&text_or_file(value)?)?),
            "--shard" => self.shard = Some(shard(value)?),
            "--cacert" => self.tls.cacert = Some(value.to_owned()),
            "--cert" => self.tls.cert = Some(value.to_owned()),
            "--key" => self.tls.key = Some(value.to_owned()),
            "--null-server" => self.null_port = Some(number(value, "a port")?),
            "--bind" => self.bind = Some(number(value, "an IP address")?),
            "--null-work" => self.null_work = Some(number(value, "a whole number")?),
            "--null-body" => self.null_body = Some(value.to_owned()),
            _ => unreachable!("{name} is in WITH_VALUE"),
        }
        Ok(())
    }

    fn command(self) -> Result<Command> {
        if let Some(port) = self.null_port {
            if let Some(url) = self.urls.first() {
                return Err(Error::usage(format!(
                    "--null-server takes no URL, but {url} was given; run the load in another process"
                )));
            }
            return Ok(Command::NullServer(NullServerConfig {
                address: (self.bind.unwrap_or(Ipv4Addr::LOCALHOST.into()), port).into(),
                work: self.null_work.unwrap_or(0),
                body: self.null_body.unwrap_or_else(|| "Hello, World!".to_owned()),
                tls: tls::server(&self.tls)?,
            }));
        }
        self.load().map(|config| Command::Load(Box::new(config)))
    }

    fn load(self) -> Result<Config> {
        let targets: Vec<Target> =
            self.urls.iter().map(|url| Target::parse(url)).collect::<Result<_, _>>()?;
        let first = targets.first().ok_or_else(|| Error::usage("missing URL; see --help"))?;
        let place = |target: &Target| (target.address.clone(), target.tls_host.clone());
        if let Some(other) = targets.iter().find(|target| place(target) != place(first)) {
            return Err(Error::usage(format!(
                "{}: another server than {}; a run loads one server",
                other.url, first.url
            )));
        }
        if self.bind.is_some() || self.null_work.is_some() || self.null_body.is_some() {
            return Err(Error::usage("--bind, --null-work and --null-body need --null-server"));
        }
        if self.json && self.stream {
            return Err(Error::usage(
                "--json and --stream exclude each other; --stream ends with the same document",
            ));
        }
        let tls = self.tls_client(first.tls_host.as_deref())?;
        self.check_slices()?;
        self.check_workload(&targets)?;
        let interval_ns =
            self.interval_ns.unwrap_or(if self.slices { SLICE_INTERVAL_NS } else { INTERVAL_NS });
        if interval_ns < LEAST_INTERVAL_NS {
            return Err(Error::usage("--interval: expected 1ms or more"));
        }
        let pace = self.pace()?;
        let connections = self.connections.unwrap_or(10);
        let threads = self.threads.unwrap_or(1);
        if threads > connections {
            return Err(Error::usage(format!(
                "-t {threads}: expected at most one thread per connection (-c {connections})"
            )));
        }
        let pipeline = self.pipeline.unwrap_or(1);
        if pipeline > 1 && (self.close || pace != Pace::Closed) {
            return Err(Error::usage(
                "--pipeline needs a closed loop on kept connections; remove --close and --rate",
            ));
        }
        let streams = self.streams()?;
        if self.calibrate && pace != Pace::Closed {
            return Err(Error::usage("--calibrate needs a closed loop; remove --rate"));
        }
        if self.close && self.requests_per_connection.is_some() {
            return Err(Error::usage(
                "--close is one request per connection; remove --requests-per-connection",
            ));
        }
        let duration_ns = self.duration_ns.unwrap_or(10_000_000_000);
        if duration_ns == 0 {
            return Err(Error::usage("-d: expected more than 0s"));
        }
        let timeout_ns = self.timeout_ns.unwrap_or(DEFAULT_TIMEOUT_NS);
        if timeout_ns == 0 {
            return Err(Error::usage("--timeout: expected more than 0s"));
        }
        if self.expect.any_body && self.expect.body.is_some() {
            return Err(Error::usage("--any-body and --expect-body exclude each other"));
        }
        let default_method = if self.body.is_some() { "POST" } else { "GET" };
        Ok(Config {
            connections,
            threads,
            duration_ns,
            warmup_ns: self.warmup_ns.unwrap_or(1_000_000_000),
            timeout_ns,
            drain_ns: self.drain_ns.unwrap_or(timeout_ns),
            interval_ns,
            pace,
            close: self.close,
            gathers: !self.no_gather,
            requests_per_connection: self.requests_per_connection,
            pipeline,
            http2: self.http2,
            streams,
            method: self.method.unwrap_or_else(|| default_method.to_owned()),
            headers: self.headers,
            body: self.body.unwrap_or_default(),
            expect: self.expect,
            tls,
            workload: self.workload.map(Arc::new),
            sources: self.sources,
            backend: self.backend,
            json: self.json,
            stream: self.stream,
            calibrate: self.calibrate,
            slices: self.slices,
            shard: self.shard,
            targets,
        })
    }

    /// The concurrent requests on a connection; rejects the options that conflict with --http2.
    fn streams(&self) -> Result<usize> {
        let streams = self.streams.unwrap_or(1);
        if !self.http2 {
            return match self.streams {
                None => Ok(1),
                Some(_) => Err(Error::usage("--streams needs --http2")),
            };
        }
        if self.pipeline.is_some() {
            return Err(Error::usage("--pipeline is of HTTP/1.1; with --http2, use --streams"));
        }
        if streams > MAX_STREAMS {
            return Err(Error::usage(format!("--streams {streams}: expected 1 to {MAX_STREAMS}")));
        }
        if self.close && streams > 1 {
            return Err(Error::usage(
                "--close is one request per connection; remove --streams, or use \
                 --requests-per-connection",
            ));
        }
        let of_workload = self.workload.iter().flat_map(|workload| &workload.templates);
        let given = of_workload.flat_map(|template| &template.headers).chain(&self.headers);
        let mut names = given.map(|(name, _)| name);
        let is_of_connection =
            |name: &&String| OF_CONNECTION.iter().any(|other| name.eq_ignore_ascii_case(other));
        match names.find(is_of_connection) {
            Some(name) => Err(Error::usage(format!("-H {name}: HTTP/2 has no such header"))),
            None => Ok(streams),
        }
    }

    /// How to speak TLS with the host of an https URL; its options need one.
    fn tls_client(&self, host: Option<&str>) -> Result<Option<tls::Client>> {
        if let Some(host) = host {
            if self.calibrate {
                return Err(Error::usage("--calibrate measures http:// alone; remove it"));
            }
            if self.tls.insecure && self.tls.cacert.is_some() {
                return Err(Error::usage("--insecure and --cacert exclude each other"));
            }
            let protocol = if self.http2 { tls::HTTP_2 } else { tls::HTTP_1_1 };
            return tls::Client::new(&self.tls, host, &[protocol]).map(Some);
        }
        let options = [
            ("--cacert", self.tls.cacert.is_some()),
            ("--insecure", self.tls.insecure),
            ("--cert", self.tls.cert.is_some()),
            ("--key", self.tls.key.is_some()),
            ("--tls-resume", self.tls.resume),
        ];
        match options.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(Error::usage(format!("{name} needs a URL with https://"))),
            None => Ok(None),
        }
    }

    /// Rejects the options that conflict with --slices.
    fn check_slices(&self) -> Result<()> {
        let others = [
            ("-d", self.duration_ns.is_some()),
            ("--warmup", self.warmup_ns.is_some()),
            ("--json", self.json),
            ("--stream", self.stream),
            ("--calibrate", self.calibrate),
        ];
        match others.iter().find(|(_, given)| self.slices && *given) {
            Some((name, _)) => Err(Error::usage(format!(
                "{name} and --slices exclude each other; each line of input sets up its own slice"
            ))),
            None => Ok(()),
        }
    }

    /// Rejects the options that conflict with --workload.
    fn check_workload(&self, targets: &[Target]) -> Result<()> {
        let others = [
            ("a path in the URL", targets[0].path != "/"),
            ("a second URL", targets.len() > 1),
            ("-X", self.method.is_some()),
            ("--body", self.body.is_some()),
            ("--expect-status", self.expect.status.is_some()),
            ("--expect-type", self.expect.media_type.is_some()),
            ("--expect-body", self.expect.body.is_some()),
            ("--any-body", self.expect.any_body),
            ("--calibrate", self.calibrate),
        ];
        match others.iter().find(|(_, given)| self.workload.is_some() && *given) {
            Some((name, _)) => Err(Error::usage(format!(
                "{name} and --workload exclude each other; the workload has its own requests and \
                 expected responses"
            ))),
            None => Ok(()),
        }
    }

    fn pace(&self) -> Result<Pace> {
        let Some(rate_per_s) = self.rate_per_s else {
            return match self.arrival.is_some() || self.seed.is_some() || self.deadline_ns.is_some()
            {
                true => Err(Error::usage("--arrival, --seed and --deadline need --rate")),
                false => Ok(Pace::Closed),
            };
        };
        if !(0.001..=1e8).contains(&rate_per_s) {
            return Err(Error::usage(format!(
                "--rate {rate_per_s}: expected 0.001 to 100000000 requests/s"
            )));
        }
        Ok(Pace::Open {
            rate_per_s,
            arrival: self.arrival.unwrap_or(Arrival::Constant),
            seed: self.seed.unwrap_or(1),
            deadline_ns: self.deadline_ns,
        })
    }
}
