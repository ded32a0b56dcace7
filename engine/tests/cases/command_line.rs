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
