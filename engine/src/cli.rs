//! The commands, their output and their exit codes.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use crate::args::{self, Command};
use crate::classes::Class;
use crate::config::Config;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::null_server::{NullServer, NullServerConfig};
use crate::output::{say, to_json, warn};
use crate::phase::Phase;
use crate::plan::Plan;
use crate::{
    calibrate, clock, descriptors, load, preflight, process, report, signals, slices, stream,
    summary,
};

const SERVER_ERRORS: u8 = 3;
const CLIENT_LIMIT: u8 = 4;

/// Runs the command with these arguments; the help lists the exit codes.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let done = args::parse(args).and_then(|command| {
        descriptors::raise_limit();
        match command {
            Command::Print(text) => {
                // A reader that closes early, as head does, has what it wants.
                let _ = std::io::stdout().write_all(text.as_bytes());
                Ok(0)
            }
            Command::NullServer(config) => serve_nothing(&config),
            Command::Load(config) if config.shard.is_some() => load_as_child(&config),
            Command::Load(config) if config.slices => slices::serve(&config),
            Command::Load(config) => load(&config).and_then(|document| finish(&config, &document)),
        }
    });
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            warn(&format!("deadheat-load: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}

fn load(config: &Config) -> Result<Document> {
    let start_ns = clock::now_ns();
    let seen = match preflight::run(config) {
        Ok(seen) => seen,
        Err(error @ Error::Preflight { .. }) => {
            return Ok(report::of_preflight_error(config, error.to_string()));
        }
        Err(error) => return Err(error),
    };
    let phase = Phase { name: "preflight", start_ns, end_ns: clock::now_ns() };
    // Before this point there is nothing to report, and a signal ends the process.
    signals::install();
    let plan = Plan::new(config, seen.expected.clone(), seen.closes_unannounced);
    if config.stream {
        say(&stream::start(config))?;
    }
    let mut unsaid = Ok(());
    let run = load::run(config, &plan, |row| {
        if config.stream && unsaid.is_ok() {
            unsaid = say(&stream::row(row));
        }
    })?;
    unsaid?;
    let mut document = report::of_run(config, &seen, Some(phase), &run);
    if config.calibrate && !document.interrupted {
        let body_bytes = seen.expected[0].body.as_ref().map_or(0, Vec::len);
        let null_rate_per_s = calibrate::null_rate_per_s(config, body_bytes)?;
        report::add_calibration(&mut document, null_rate_per_s);
    }
    Ok(document)
}

/// Runs one of several processes of a load; the parent reports.
fn load_as_child(config: &Config) -> Result<u8> {
    let seen = preflight::run(config)?;
    signals::install();
    process::run_as_child(config, &Plan::new(config, seen.expected, seen.closes_unannounced))?;
    Ok(0)
}

/// Prints the document in the format of the options; returns the exit code.
fn finish(config: &Config, document: &Document) -> Result<u8> {
    match (config.stream, config.json) {
        (true, _) => say(&stream::end(document))?,
        (false, true) => say(&to_json(document))?,
        (false, false) => say(summary::of(document).trim_end())?,
    }
    let (scheduled, classed) = (document.requests.scheduled, document.classes.values().sum());
    match scheduled == classed {
        true => Ok(verdict(document)),
        false => Err(Error::Miscount { scheduled, classed }),
    }
}

fn verdict(document: &Document) -> u8 {
    let count = |class: &Class| document.classes.get(class.name()).copied().unwrap_or(0);
    let mut errors = Class::ALL.iter().filter(|class| class.is_server_error()).map(count);
    let connections = &document.connections;
    let stray = connections.unsolicited_idle > 0 || connections.unclosed > 0;
    // A silent server may hold the requests of the warm-up until the end. If the drain is shorter
    // than the timeout, they are unfinished.
    let unanswered = |class: &&Class| class.is_server_error() || **class == Class::Unfinished;
    let before = |class: &Class| document.warmup.classes.get(class.name()).copied().unwrap_or(0);
    let silent = document.connections.served == 0
        && Class::ALL.iter().filter(unanswered).any(|class| count(class) + before(class) > 0);
    match () {
        () if document.preflight_error.is_some() => SERVER_ERRORS,
        () if stray || errors.any(|count| count > 0) => SERVER_ERRORS,
        () if silent && !document.interrupted => SERVER_ERRORS,
        () if !document.limits.is_empty() => CLIENT_LIMIT,
        () => 0,
    }
}

fn serve_nothing(config: &NullServerConfig) -> Result<u8> {
    signals::install();
    let server = NullServer::bind(config)?;
    warn(&format!("listening on {}", server.local_address()?));
    let counts = server.run(|| signals::received() > 0)?;
    say(&to_json(&counts))?;
    Ok(0)
}
