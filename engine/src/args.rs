//! The command line.

use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use lexopt::Arg::{Long, Short, Value};
use lexopt::{Parser, ValueExt};

use crate::backend::Backend;
use crate::config::{Config, Expect, Pace, Team};
use crate::duration;
use crate::null_server::NullServerConfig;
use crate::schedule::Arrival;
use crate::target::Target;

/// What to do.
pub enum Command {
    Load(Box<Config>),
    NullServer(NullServerConfig),
    /// Print this and leave.
    Print(String),
}

const HELP: &str = include_str!("help.txt");
const DEFAULT_TIMEOUT_NS: u64 = 10_000_000_000;
/// Rows of a series: of a run, of a slice, and the shortest that can be asked for.
const INTERVAL_NS: u64 = 100_000_000;
const SLICE_INTERVAL_NS: u64 = 10_000_000;
const LEAST_INTERVAL_NS: u64 = 1_000_000;

/// Reads the arguments after the program's name.
pub fn parse(args: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Command, String> {
    let mut given = Given::default();
    let mut parser = Parser::from_args(args);
    while let Some(arg) = parser.next().map_err(|error| error.to_string())? {
        let name = match &arg {
            Short(letter) => format!("-{letter}"),
            Long(name) => format!("--{name}"),
            Value(url) => {
                given.urls.push(url.to_string_lossy().into_owned());
                continue;
            }
        };
        match name.as_str() {
            "-h" | "--help" => return Ok(Command::Print(HELP.to_owned())),
            "-V" | "--version" => {
                return Ok(Command::Print(format!(
                    "deadheat-load {}\n",
                    env!("CARGO_PKG_VERSION")
                )));
            }
            _ if given.flag(&name) => {}
            _ => {
                let value = parser.value().and_then(|value| value.string());
                let value = match value {
                    Ok(value) if Given::takes(&name) => value,
                    _ if !Given::takes(&name) => {
                        return Err(format!("{name} is no option; --help lists them all"));
                    }
                    _ => return Err(format!("{name} wants a value; see --help")),
                };
                given.option(&name, &value).map_err(|error| format!("{name}: {error}"))?;
            }
        }
    }
    given.command()
}

/// The arguments as given, before they are checked against each other.
#[derive(Default)]
struct Given {
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
    method: Option<String>,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    expect: Expect,
    sources: Vec<IpAddr>,
    backend: Option<Backend>,
    json: bool,
    stream: bool,
    calibrate: bool,
    slices: bool,
    team: Option<Team>,
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
    "--null-server",
    "--bind",
    "--null-work",
    "--null-body",
    "--team",
];

impl Given {
    fn takes(name: &str) -> bool {
        WITH_VALUE.contains(&name)
    }

    /// Sets an option without a value; false when it is none.
    fn flag(&mut self, name: &str) -> bool {
        let flag = match name {
            "--close" => &mut self.close,
            "--any-body" => &mut self.expect.any_body,
            "--json" => &mut self.json,
            "--stream" => &mut self.stream,
            "--calibrate" => &mut self.calibrate,
            "--slices" => &mut self.slices,
            _ => return false,
        };
        *flag = true;
        true
    }

    fn option(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "-c" | "--connections" => self.connections = Some(at_least_one(value)?),
            "-t" | "--threads" => self.threads = Some(at_least_one(value)?),
            "-d" | "--duration" => self.duration_ns = Some(duration::parse_ns(value)?),
            "--warmup" => self.warmup_ns = Some(duration::parse_ns(value)?),
            "--timeout" => self.timeout_ns = Some(duration::parse_ns(value)?),
            "--drain" => self.drain_ns = Some(duration::parse_ns(value)?),
            "--interval" => self.interval_ns = Some(duration::parse_ns(value)?),
            "--deadline" => self.deadline_ns = Some(duration::parse_ns(value)?),
            "--rate" => self.rate_per_s = Some(number(value)?),
            "--arrival" => self.arrival = Some(arrival(value)?),
            "--seed" => self.seed = Some(number(value)?),
            "--requests-per-connection" => {
                self.requests_per_connection = Some(at_least_one(value)? as u64);
            }
            "--pipeline" => self.pipeline = Some(at_least_one(value)?),
            "--source" => self.sources.push(number(value)?),
            "--backend" => self.backend = backend(value)?,
            "-X" | "--method" => self.method = Some(token(value)?),
            "-H" | "--header" => self.headers.push(header(value)?),
            "--body" => self.body = Some(text_or_file(value)?),
            "--expect-status" => self.expect.status = Some(number(value)?),
            "--expect-type" => self.expect.media_type = Some(value.to_owned()),
            "--expect-body" => self.expect.body = Some(text_or_file(value)?),
            "--team" => self.team = Some(team(value)?),
            "--null-server" => self.null_port = Some(number(value)?),
            "--bind" => self.bind = Some(number(value)?),
            "--null-work" => self.null_work = Some(number(value)?),
            "--null-body" => self.null_body = Some(value.to_owned()),
            _ => unreachable!("{name} is in WITH_VALUE"),
        }
        Ok(())
    }

    fn command(self) -> Result<Command, String> {
        if let Some(port) = self.null_port {
            if let Some(url) = self.urls.first() {
                return Err(format!("--null-server loads nothing; leave {url} out"));
            }
            return Ok(Command::NullServer(NullServerConfig {
                address: (self.bind.unwrap_or(Ipv4Addr::LOCALHOST.into()), port).into(),
                work: self.null_work.unwrap_or(0),
                body: self.null_body.unwrap_or_else(|| "Hello, World!".to_owned()),
            }));
        }
        self.load().map(|config| Command::Load(Box::new(config)))
    }

    fn load(self) -> Result<Config, String> {
        let targets: Vec<Target> =
            self.urls.iter().map(|url| Target::parse(url)).collect::<Result<_, _>>()?;
        let first = targets.first().ok_or("no URL given; see --help")?;
        if let Some(other) = targets.iter().find(|target| target.address != first.address) {
            return Err(format!("{} is on another server than {}", other.url, first.url));
        }
        if self.bind.is_some() || self.null_work.is_some() || self.null_body.is_some() {
            return Err("--bind, --null-work and --null-body want a --null-server".to_owned());
        }
        if self.json && self.stream {
            return Err("--stream ends with the document; leave --json out".to_owned());
        }
        self.check_slices()?;
        let interval_ns =
            self.interval_ns.unwrap_or(if self.slices { SLICE_INTERVAL_NS } else { INTERVAL_NS });
        if interval_ns < LEAST_INTERVAL_NS {
            return Err("--interval: must be 1ms or longer".to_owned());
        }
        let pace = self.pace()?;
        let connections = self.connections.unwrap_or(10);
        let threads = self.threads.unwrap_or(1);
        if threads > connections {
            return Err(format!("-t {threads}: more threads than the {connections} connections"));
        }
        let pipeline = self.pipeline.unwrap_or(1);
        if pipeline > 1 && (self.close || pace != Pace::Closed) {
            return Err("--pipeline wants a closed loop on kept connections; \
                        leave --close and --rate out"
                .to_owned());
        }
        if self.calibrate && pace != Pace::Closed {
            return Err("--calibrate wants a closed loop; leave --rate out".to_owned());
        }
        if self.close && self.requests_per_connection.is_some() {
            return Err("--close is one request per connection; \
                        leave --requests-per-connection out"
                .to_owned());
        }
        let duration_ns = self.duration_ns.unwrap_or(10_000_000_000);
        if duration_ns == 0 {
            return Err("-d: a run must last longer than 0s".to_owned());
        }
        let timeout_ns = self.timeout_ns.unwrap_or(DEFAULT_TIMEOUT_NS);
        if timeout_ns == 0 {
            return Err("--timeout: must be longer than 0s".to_owned());
        }
        if self.expect.any_body && self.expect.body.is_some() {
            return Err("--any-body contradicts --expect-body; leave one out".to_owned());
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
            requests_per_connection: self.requests_per_connection,
            pipeline,
            method: self.method.unwrap_or_else(|| default_method.to_owned()),
            headers: self.headers,
            body: self.body.unwrap_or_default(),
            expect: self.expect,
            sources: self.sources,
            backend: self.backend,
            json: self.json,
            stream: self.stream,
            calibrate: self.calibrate,
            slices: self.slices,
            team: self.team,
            targets,
        })
    }

    /// A slice says on its own line how long it is, and is answered with a line.
    fn check_slices(&self) -> Result<(), String> {
        let others = [
            ("-d", self.duration_ns.is_some()),
            ("--warmup", self.warmup_ns.is_some()),
            ("--json", self.json),
            ("--stream", self.stream),
            ("--calibrate", self.calibrate),
        ];
        match others.iter().find(|(_, given)| self.slices && *given) {
            Some((name, _)) => Err(format!("--slices takes no {name}: each line asks for a slice")),
            None => Ok(()),
        }
    }

    fn pace(&self) -> Result<Pace, String> {
        let Some(rate_per_s) = self.rate_per_s else {
            return match self.arrival.is_some() || self.seed.is_some() || self.deadline_ns.is_some()
            {
                true => Err("--arrival, --seed and --deadline want a --rate".to_owned()),
                false => Ok(Pace::Closed),
            };
        };
        if !(0.001..=1e8).contains(&rate_per_s) {
            return Err(format!("--rate {rate_per_s}: expected 0.001 to 100000000 a second"));
        }
        Ok(Pace::Open {
            rate_per_s,
            arrival: self.arrival.unwrap_or(Arrival::Constant),
            seed: self.seed.unwrap_or(1),
            deadline_ns: self.deadline_ns,
        })
    }
}

fn number<T: FromStr>(value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{value:?} is not what it takes; see --help"))
}

fn at_least_one(value: &str) -> Result<usize, String> {
    match value.parse() {
        Ok(count) if (1..=10_000_000).contains(&count) => Ok(count),
        _ => Err(format!("{value:?}: expected a whole number, 1 or more")),
    }
}

fn arrival(value: &str) -> Result<Arrival, String> {
    match value {
        "constant" => Ok(Arrival::Constant),
        "poisson" => Ok(Arrival::Poisson),
        _ => Err(format!("{value:?}: expected constant or poisson")),
    }
}

fn backend(value: &str) -> Result<Option<Backend>, String> {
    match value {
        "auto" => Ok(None),
        "epoll" => Ok(Some(Backend::Epoll)),
        "io_uring" => Ok(Some(Backend::IoUring)),
        _ => Err(format!("{value:?}: expected auto, epoll or io_uring")),
    }
}

/// FIRST/COUNT/TOTAL: which threads of a run are this process's. Not for people to type.
fn team(value: &str) -> Result<Team, String> {
    let parts: Vec<usize> = value.split('/').map(number).collect::<Result<_, _>>()?;
    match parts[..] {
        [first, count, total] if count > 0 && first + count <= total => {
            Ok(Team { first, count, total })
        }
        _ => Err(format!("{value:?}: expected FIRST/COUNT/TOTAL")),
    }
}

fn token(value: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    match !value.is_empty() && value.bytes().all(fits) {
        true => Ok(value.to_owned()),
        false => Err(format!("{value:?} is no HTTP token")),
    }
}

fn header(value: &str) -> Result<(String, String), String> {
    let (name, content) =
        value.split_once(':').ok_or_else(|| format!("{value:?}: expected 'NAME: VALUE'"))?;
    if content.bytes().any(|byte| byte == b'\r' || byte == b'\n') {
        return Err(format!("{value:?}: a header is one line"));
    }
    Ok((token(name)?, content.trim().to_owned()))
}

fn text_or_file(value: &str) -> Result<Vec<u8>, String> {
    match value.strip_prefix('@') {
        Some(path) => std::fs::read(path).map_err(|error| format!("{path}: {error}")),
        None => Ok(value.as_bytes().to_vec()),
    }
}
