use std::process::ExitCode;

fn main() -> ExitCode {
    deadheat_load::main(std::env::args_os().skip(1))
}
