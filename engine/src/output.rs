//! Output to standard output.

use std::io::Write;

use serde::Serialize;

use crate::error::{Error, Result};

/// Prints a line and flushes it.
pub(crate) fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Error::system("stdout"))
}

/// Encodes plain data as JSON.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("outputs are plain data")
}
