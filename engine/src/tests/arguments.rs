//! The command line and its help say the same.

use std::ffi::OsString;
use std::process::Command;

use crate::args;

const HELP: &str = include_str!("../help.txt");

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn help_lists_exactly_the_options() {
    let code = include_str!("../args.rs");
    let mut known: Vec<&str> = code.split('"').filter(|word| is_option(word)).collect();
    // How a process of several is told its part; not for people to type.
    known.retain(|option| *option != "--shard");
    known.sort_unstable();
    known.dedup();
    let (options, _) = HELP.split_once("Exit code").unwrap();
    let words = options.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let mut told: Vec<&str> = words.filter(|word| is_option(word)).collect();
    told.sort_unstable();
    told.dedup();
    assert_eq!(told, known);
}

fn is_option(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    let dashes = word.len() - name.len();
    (dashes == 1 && name.len() == 1 || dashes == 2 && name.len() > 1)
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || b"-XHV".contains(&byte))
}

#[test]
#[cfg_attr(miri, ignore = "Miri starts no process")]
fn accepts_the_examples_of_the_help() {
    let (_, examples) = HELP.split_once("Examples:\n").unwrap();
    assert!(examples.lines().count() >= 3);
    for line in examples.lines() {
        let arguments = line.trim().strip_prefix("deadheat-load ").unwrap();
        let split = format!("printf '%s\\n' {arguments}");
        let output = Command::new("sh").args(["-c", &split]).output().unwrap().stdout;
        let words = String::from_utf8(output).unwrap();
        let parsed = args::parse(words.lines().map(OsString::from));
        assert!(
            parsed.is_ok(),
            "{line}: {}",
            parsed.err().map_or_else(String::new, |error| error.to_string())
        );
    }
}
