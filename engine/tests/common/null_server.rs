//! The engine's null server, for tests of the resident mode.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A null server in a process, which can be frozen.
pub(crate) struct NullServer {
    pub process: Child,
    pub url: String,
}

impl NullServer {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(options: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_deadheat-load"))
            .args(["--null-server", "0"])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let url = format!("http://{}/", line.split_whitespace().last().unwrap());
        Self { process, url }
    }

    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: the process has not been waited for, so its id is its own.
        unsafe { libc::kill(self.process.id() as libc::pid_t, signal) };
    }

    /// What it answered, by its own count.
    pub(crate) fn end(mut self) -> Value {
        self.signal(libc::SIGTERM);
        let mut counts = String::new();
        self.process.stdout.take().unwrap().read_to_string(&mut counts).unwrap();
        serde_json::from_str(&counts).unwrap()
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
