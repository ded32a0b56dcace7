//! The program itself.

use std::process::Command;

#[test]
fn a_reader_who_has_seen_enough_of_the_help_is_no_error() {
    let program = env!("CARGO_BIN_EXE_deadheat-load");
    let mut help =
        Command::new(program).arg("--help").stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(help.stdout.take());
    assert_eq!(help.wait().unwrap().code(), Some(0));
}
