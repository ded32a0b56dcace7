//! Output to standard output and standard error.

use std::io::Write;

use serde::Serialize;

use crate::error::{Error, Result};

/// Prints a line and flushes it.
pub(crate) fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Error::system("stdout"))
}

/// Prints a line to standard error. One that is closed or full has no place for an error.
pub(crate) fn warn(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Encodes plain data as JSON.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("outputs are plain data")
}
