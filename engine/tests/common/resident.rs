//! The engine as a resident process, asked for slices.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::{GOOD, Reply, Server, Then};

/// Of each resident process, unless its arguments say otherwise.
pub(crate) const CONNECTIONS: u64 = 3;

pub(crate) fn good_server() -> Server {
    Server::start(|_| Reply::new(GOOD, Then::Keep, "answered"))
}

pub(crate) struct Resident {
    pub process: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    pub ready: Value,
}

impl Resident {
    /// On the backend under test, with `CONNECTIONS` unless `args` say otherwise.
    pub(crate) fn start(url: &str, args: &[&str]) -> Self {
        let connections = CONNECTIONS.to_string();
        let mut process = Command::new(env!("CARGO_BIN_EXE_deadheat-load"))
            .args([url, "--slices", "-c", &connections, "--backend", super::backend()])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut resident = Self { process, input, output, ready: Value::Null };
        resident.ready = resident.answer().expect("a ready line");
        resident
    }

    pub(crate) fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line of the process; none at its end.
    pub(crate) fn answer(&mut self) -> Option<Value> {
        self.output.next().map(|line| serde_json::from_str(&line.unwrap()).unwrap())
    }

    /// Asks for something and waits for the answer.
    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.send(line);
        self.answer().unwrap_or_else(|| panic!("no answer to {line}"))
    }

    /// A slice of 100 ms, with further keys.
    pub(crate) fn slice(&mut self, keys: &str) -> Value {
        let answer = self.ask(&format!(r#"{{"id": 1, "duration_s": 0.1{keys}}}"#));
        assert_eq!(answer["type"], "slice", "{answer}");
        answer
    }

    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: the process has not been waited for, so its id is its own.
        unsafe { libc::kill(self.process.id() as libc::pid_t, signal) };
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Ends the input; the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.close_input();
        assert_eq!(self.answer(), None, "a line that nothing asked for");
        self.process.wait().unwrap().code()
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn number(document: &Value, pointer: &str) -> u64 {
    let value = document.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {document}"));
    value.as_u64().unwrap_or_else(|| panic!("{pointer} is {value}"))
}

/// Requests of a slice, the discarded ones among them.
pub(crate) fn sent(slice: &Value) -> u64 {
    number(slice, "/requests/scheduled") + number(slice, "/warmup/scheduled")
}

/// Checks that every request of a slice, the discarded ones too, ended as `ok`.
pub(crate) fn assert_all_ok(slice: &Value) {
    assert_eq!(number(slice, "/classes/ok"), number(slice, "/requests/scheduled"), "{slice}");
    assert_eq!(number(slice, "/warmup/classes/ok"), number(slice, "/warmup/scheduled"), "{slice}");
    assert!(sent(slice) > 0, "nothing was sent");
}

/// Checks that each request has one class, in the measured part and before it.
pub(crate) fn assert_classes_add_up(slice: &Value) {
    for (part, scheduled) in
        [("/classes", "/requests/scheduled"), ("/warmup/classes", "/warmup/scheduled")]
    {
        let classes = slice.pointer(part).unwrap().as_object().unwrap();
        let sum: u64 = classes.values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(sum, number(slice, scheduled), "{part} of {slice}");
    }
}
