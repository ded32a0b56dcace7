//! The same load on a null server: the client's own limit.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::classes::Class;
use crate::config::{Config, Expect};
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::target::Target;
use crate::{load, preflight, process};

/// Longest measured time on the null server.
const MAX_DURATION_NS: u64 = 2_000_000_000;
/// Longest body of the null server.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Responses per second from a null server with bodies of `body_bytes`, with at most the
/// connections of one process.
pub(crate) fn null_rate_per_s(config: &Config, body_bytes: usize) -> Result<f64> {
    let server = NullProcess::start(body_bytes.min(MAX_BODY_BYTES))?;
    let config = Config {
        connections: config.connections.min(process::room(config)),
        targets: vec![Target::parse(&server.url)?],
        duration_ns: config.duration_ns.min(MAX_DURATION_NS),
        warmup_ns: config.warmup_ns.min(MAX_DURATION_NS),
        expect: Expect::default(),
        workload: None,
        sources: Vec::new(),
        ..config.clone()
    };
    let seen = preflight::run(&config)?;
    let plan = Plan::new(&config, seen.expected, seen.closes_unannounced);
    let run = load::run(&config, &plan, |_| ())?;
    Ok(run.tallies[1].count(Class::Ok) as f64 * 1e9 / run.elapsed_ns.max(1) as f64)
}

/// A null server in another process, which is killed on drop.
struct NullProcess {
    child: Child,
    url: String,
}

impl NullProcess {
    fn start(body_bytes: usize) -> Result<Self> {
        let program = std::env::current_exe().map_err(Error::system("null server"))?;
        let mut child = Command::new(program)
            .args(["--null-server", "0", "--null-body", &"x".repeat(body_bytes)])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::system("null server"))?;
        let mut line = String::new();
        if let Some(output) = child.stderr.take() {
            BufReader::new(output).read_line(&mut line).map_err(Error::system("null server"))?;
        }
        let mut server = Self { child, url: String::new() };
        let address = line
            .strip_prefix("listening on ")
            .ok_or_else(|| Error::Process(format!("the null server said {line:?}")))?;
        server.url = format!("http://{}/", address.trim());
        Ok(server)
    }
}

impl Drop for NullProcess {
    fn drop(&mut self) {
        // Both fail if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
