//! The command: what is printed where, and the exit code.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use crate::args::{self, Command};
use crate::classes::Class;
use crate::config::Config;
use crate::document::Document;
use crate::null_server::{NullServer, NullServerConfig};
use crate::phase::Phase;
use crate::plan::Plan;
use crate::slices::{self, Failure};
use crate::{
    calibrate, clock, descriptors, preflight, process, report, run, signals, stream, summary,
};

const INTERNAL: u8 = 1;
const USAGE: u8 = 2;
const SERVER_ERRORS: u8 = 3;
const CLIENT_LIMIT: u8 = 4;

/// Runs the command line; see the help text for the exit codes.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let command = match args::parse(args) {
        Ok(command) => command,
        Err(error) => return fail(USAGE, &error),
    };
    descriptors::raise_limit();
    match command {
        Command::Print(text) => {
            // Whoever reads no further has seen enough.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Command::NullServer(config) => serve_nothing(&config),
        Command::Load(config) if config.team.is_some() => match load_as_child(&config) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(INTERNAL, &error),
        },
        Command::Load(config) if config.slices => match slices::serve(&config) {
            Ok(()) => ExitCode::SUCCESS,
            Err(Failure::Preflight) => ExitCode::from(SERVER_ERRORS),
            Err(Failure::Usage(error)) => fail(USAGE, &error),
            Err(Failure::Internal(error)) => fail(INTERNAL, &error),
        },
        Command::Load(config) => match load(&config) {
            Ok(document) => finish(&config, &document),
            Err(error) => fail(INTERNAL, &error),
        },
    }
}

fn load(config: &Config) -> Result<Document, String> {
    let start_ns = clock::now_ns();
    let seen = match preflight::run(config) {
        Ok(seen) => seen,
        Err(error) => return Ok(report::of_preflight_error(config, error)),
    };
    let phase = Phase { name: "preflight", start_ns, end_ns: clock::now_ns() };
    // Until here there is nothing to report, and a signal ends the process at once.
    signals::install();
    let plan = Plan::new(config, seen.expected.clone(), seen.closes_unannounced);
    if config.stream {
        say(&stream::start(config))?;
    }
    let mut unsaid = Ok(());
    let run = run::run(config, &plan, |row| {
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

/// Loads as one of several processes; the parent reports.
fn load_as_child(config: &Config) -> Result<(), String> {
    let seen = preflight::run(config)?;
    signals::install();
    process::run_as_child(config, &Plan::new(config, seen.expected, seen.closes_unannounced))
}

/// Prints a line at once.
pub fn say(line: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| format!("stdout: {error}"))
}

fn finish(config: &Config, document: &Document) -> ExitCode {
    let said = match (config.stream, config.json) {
        (true, _) => say(&stream::end(document)),
        (false, true) => serde_json::to_string(document)
            .map_err(|error| error.to_string())
            .and_then(|json| say(&json)),
        (false, false) => say(summary::of(document).trim_end()),
    };
    if let Err(error) = said {
        return fail(INTERNAL, &error);
    }
    let classed: u64 = document.classes.values().sum();
    let scheduled = document.requests.scheduled;
    if classed != scheduled {
        let error = format!("{scheduled} requests scheduled, {classed} classed: this is a bug");
        return fail(INTERNAL, &error);
    }
    ExitCode::from(verdict(document))
}

fn verdict(document: &Document) -> u8 {
    let count = |class: &Class| document.classes.get(class.name()).copied().unwrap_or(0);
    let mut errors = Class::ALL.iter().filter(|class| class.is_server_error()).map(count);
    let stray = document.connections.unsolicited_idle > 0;
    // A drain that is shorter than the timeout leaves a silent server without any other class.
    let silent = document.connections.served == 0 && count(&Class::Unfinished) > 0;
    match () {
        () if document.preflight_error.is_some() => SERVER_ERRORS,
        () if stray || errors.any(|count| count > 0) => SERVER_ERRORS,
        () if silent && !document.interrupted => SERVER_ERRORS,
        () if !document.limits.is_empty() => CLIENT_LIMIT,
        () => 0,
    }
}

fn serve_nothing(config: &NullServerConfig) -> ExitCode {
    signals::install();
    let served = NullServer::bind(config).and_then(|server| {
        eprintln!("listening on {}", server.local_address()?);
        server.run(|| signals::received() > 0)
    });
    match served.and_then(|counts| serde_json::to_string(&counts).map_err(|e| e.to_string())) {
        Ok(counts) => {
            println!("{counts}");
            ExitCode::SUCCESS
        }
        Err(error) => fail(USAGE, &error),
    }
}

fn fail(code: u8, error: &str) -> ExitCode {
    eprintln!("deadheat-load: {error}");
    ExitCode::from(code)
}
