//! Where other generators miscount and this one does not. Needs wrk and ab:
//! `cargo test --test others -- --ignored`.

mod common;

use std::process::Command;

use common::{GOOD, Reply, Server, Then, assert_all_in, load};

fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The number that follows `label` in a tool's output.
fn number_after(text: &str, label: &str) -> u64 {
    let rest = text.split(label).nth(1).unwrap_or_else(|| panic!("no {label:?} in {text}"));
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
#[ignore = "needs wrk"]
fn wrk_takes_the_end_of_a_close_delimited_reply_for_an_error() {
    let reply = "HTTP/1.0 200 OK\r\n\r\nHello, World!";
    let server = Server::start(move |_| Reply::new(reply, Then::Close, "answered"));
    let text = run("wrk", &["-c", "4", "-t", "1", "-d", "1s", &server.url()]);
    assert!(number_after(&text, "Socket errors: connect 0, read") > 0, "{text}");
    let server = Server::start(move |_| Reply::new(reply, Then::Close, "answered"));
    let (document, exit) = load(&server.url(), &[]);
    assert_all_in(&document, "ok", server.count("answered") - 1);
    assert_ne!(exit, 3);
}

#[test]
#[ignore = "needs wrk"]
fn wrk_counts_early_hints_as_a_response() {
    let reply = format!("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n{GOOD}");
    let start = || {
        let reply = reply.clone();
        Server::start(move |_| Reply::new(&reply, Then::Keep, "answered"))
    };
    let server = start();
    let text = run("wrk", &["-c", "4", "-t", "1", "-d", "1s", &server.url()]);
    let counted: u64 = text
        .lines()
        .find_map(|line| line.trim().split_once(" requests in"))
        .and_then(|(count, _)| count.parse().ok())
        .unwrap_or_else(|| panic!("{text}"));
    let answered = server.count("answered");
    assert!(counted > answered + answered / 2, "wrk {counted}, the server {answered}");
    let server = start();
    let (document, _) = load(&server.url(), &[]);
    assert_all_in(&document, "ok", server.count("answered") - 1);
}

#[test]
#[ignore = "needs ab"]
fn ab_does_not_see_that_bodies_are_cut_short() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nHello, World!";
    let server = Server::start(move |_| Reply::new(cut, Then::Close, "cut"));
    let text = run("ab", &["-q", "-c", "4", "-n", "200", &server.url()]);
    assert_eq!(number_after(&text, "Failed requests:"), 0, "{text}");
    assert_eq!(number_after(&text, "Complete requests:"), 200, "{text}");
    let (document, exit) = load(&server.url(), &[]);
    assert!(document["preflight_error"].as_str().unwrap().contains("closed inside"));
    assert_eq!(exit, 3);
}
