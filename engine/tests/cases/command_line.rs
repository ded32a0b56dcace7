//! The program itself.

use std::io::Write;
use std::process::Command;

use crate::common::engine;

#[test]
fn help_may_be_read_in_part() {
    let program = env!("CARGO_BIN_EXE_deadheat-load");
    let mut help =
        Command::new(program).arg("--help").stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(help.stdout.take());
    assert_eq!(help.wait().unwrap().code(), Some(0));
}

#[test]
fn each_line_asks_for_the_latencies() {
    let cpus = thread_cpus();
    let [from, to, ..] = cpus.as_slice() else { return };
    let mut program = Command::new(env!("CARGO_BIN_EXE_deadheat-load"))
        .args(["latencies", "--from", from, "--to", to])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    program.stdin.take().unwrap().write_all(b"\n\n").unwrap();
    let output = program.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (ready, readings) = text.split_once('\n').unwrap();
    assert_eq!(ready, r#"{"ready":true}"#);
    assert_eq!(readings.lines().count(), 2);
    for line in readings.lines() {
        let reading: serde_json::Value = serde_json::from_str(line).unwrap();
        let ns = &reading["core_to_core_ns"];
        assert!(ns.is_null() || ns.as_f64().unwrap() > 0.0, "{line}");
        assert!(reading["memory_ns"].as_f64().unwrap() > 0.0, "{line}");
    }
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn latencies_name_a_cpu_that_does_not_exist() {
    let output = engine(&["latencies", "--from", &thread_cpus()[0], "--to", "4095"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--to 4095"));
}

/// The numbers of the CPUs that this process may use.
fn thread_cpus() -> Vec<String> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let ends = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.parse::<u16>().unwrap()..=last.parse::<u16>().unwrap()
    };
    list.trim().split(',').flat_map(ends).map(|cpu| cpu.to_string()).collect()
}
