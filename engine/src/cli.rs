//! The command: what is printed where, and the exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::{self, Command};
use crate::classes::Class;
use crate::config::Config;
use crate::document::Document;
use crate::engine::{self, Phase};
use crate::null_server::{NullServer, NullServerConfig};
use crate::plan::Plan;
use crate::{clock, descriptors, preflight, report, signals, summary};

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
    signals::install();
    descriptors::raise_limit();
    match command {
        Command::Print(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Command::NullServer(config) => serve_nothing(&config),
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
    let plan = Plan::new(config, seen.expected.clone(), seen.closes_unannounced);
    let run = engine::run(config, &plan, |_| ())?;
    Ok(report::of_run(config, &seen, phase, &run))
}

fn finish(config: &Config, document: &Document) -> ExitCode {
    if config.json {
        match serde_json::to_string(document) {
            Ok(json) => println!("{json}"),
            Err(error) => return fail(INTERNAL, &error.to_string()),
        }
    } else {
        print!("{}", summary::of(document));
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
    match () {
        () if document.preflight_error.is_some() => SERVER_ERRORS,
        () if stray || errors.any(|count| count > 0) => SERVER_ERRORS,
        () if !document.limits.is_empty() => CLIENT_LIMIT,
        () => 0,
    }
}

fn serve_nothing(config: &NullServerConfig) -> ExitCode {
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
