//! Lines of the standard output.

use std::io::Write;

/// Prints a line at once.
pub(crate) fn say(line: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| format!("stdout: {error}"))
}
