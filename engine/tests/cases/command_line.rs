//! The program itself.

use std::process::Command;

#[test]
fn help_may_be_read_in_part() {
    let program = env!("CARGO_BIN_EXE_deadheat-load");
    let mut help =
        Command::new(program).arg("--help").stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(help.stdout.take());
    assert_eq!(help.wait().unwrap().code(), Some(0));
}

/// The engine aborted with 134 where its standard error was full or closed.
#[test]
fn bug_full_or_closed_outputs_changed_the_exit_code() {
    let program = env!("CARGO_BIN_EXE_deadheat-load");
    let code_of = |line: &str| {
        let script = format!("exec \"$0\" {line}");
        Command::new("sh").args(["-c", &script, program]).output().unwrap().status.code()
    };
    for redirection in ["2>/dev/full", "2>&-", "</dev/null >/dev/full 2>/dev/full", ">&- 2>&-"] {
        assert_eq!(code_of(&format!("--bogus {redirection}")), Some(2), "{redirection}");
        let load = "http://127.0.0.1:1/ -d 10ms --warmup 0 --json";
        let code = code_of(&format!("{load} {redirection}"));
        assert!(matches!(code, Some(1 | 3)), "{redirection}: {code:?}");
    }
}

/// `--body @/dev/zero` never ended.
#[test]
fn bug_a_body_from_a_device_without_end_is_refused() {
    let program = env!("CARGO_BIN_EXE_deadheat-load");
    for option in ["--body", "--expect-body", "--workload"] {
        let done = Command::new(program)
            .args(["http://127.0.0.1:1/", option, "@/dev/zero"])
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(2), "{option}");
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(said.contains("/dev/zero: expected at most 67108864 bytes"), "{said}");
    }
}
