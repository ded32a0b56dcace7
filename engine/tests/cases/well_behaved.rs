//! Unusual but correct servers: every response is ok, and the counts agree.

use crate::common::{GOOD, Reply, Server, Then, assert_all_in, load};

/// Runs against a server with one reply, split at another byte each time.
fn all_ok(response: &'static str, then: Then, args: &[&str]) -> serde_json::Value {
    let length = response.len() as u64;
    let server = Server::start(move |nth| {
        Reply::new(response, then, "answered").split((nth.of_server % length) as usize)
    });
    server.load_until(response.len(), args, "answered", |document, count| {
        let answered = count - 1;
        assert_all_in(document, "ok", answered);
        assert_eq!(document["bytes_in"].as_u64().unwrap(), answered * length);
    })
}

#[test]
fn keep_alive_with_a_length() {
    let document = all_ok(GOOD, Then::Keep, &[]);
    assert_eq!(document["connections"]["opened"], 3);
    assert_eq!(document["connections"]["served"], 3);
}

#[test]
fn connection_per_request() {
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    let document = all_ok(response, Then::Close, &["--close"]);
    let connections = &document["connections"];
    assert_eq!(connections["opened"], document["requests"]["scheduled"]);
    assert_eq!(connections["closed_by_server"], document["requests"]["scheduled"]);
}

#[test]
fn announced_close() {
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    all_ok(response, Then::Close, &[]);
}

#[test]
fn unannounced_close_after_every_response() {
    let document = all_ok(GOOD, Then::Close, &[]);
    assert_eq!(document["expected"]["closes_unannounced"], true);
}

#[test]
fn close_delimited_http_1_0() {
    let response = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nHello, World!";
    all_ok(response, Then::Close, &["--close"]);
}

#[test]
fn close_delimited_http_1_1() {
    all_ok("HTTP/1.1 200 OK\r\nX-A: b\r\n\r\nHello, World!", Then::Close, &[]);
}

#[test]
fn accepts_chunk_extensions_and_trailers() {
    let response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                    5;name=\"v\"\r\nHello\r\n008\r\n, World!\r\n0\r\nX-Sum: 1\r\nX-B: 2\r\n\r\n";
    all_ok(response, Then::Keep, &["--expect-body", "Hello, World!"]);
}

#[test]
fn skips_interim_responses() {
    let response = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
                    HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    all_ok(response, Then::Keep, &[]);
}

#[test]
fn no_content_has_no_body() {
    all_ok("HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n", Then::Keep, &[]);
}

#[test]
fn head_response_has_no_body() {
    all_ok("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", Then::Keep, &["-X", "HEAD"]);
}

#[test]
fn accepts_bare_line_feeds() {
    all_ok("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", Then::Keep, &[]);
}

#[test]
fn keep_alive_http_1_0() {
    let response = "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok";
    let document = all_ok(response, Then::Keep, &[]);
    assert_eq!(document["connections"]["opened"], 3);
}

#[test]
fn accepts_repeated_equal_lengths() {
    all_ok("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", Then::Keep, &[]);
}

#[test]
fn new_date_is_not_a_difference() {
    let server = Server::start(|nth| {
        let second = nth.of_server % 60;
        let date = format!("Date: Fri, 20 Nov 2026 12:00:{second:02} GMT\r\n");
        let response = format!("HTTP/1.1 200 OK\r\n{date}Content-Length: 2\r\n\r\nok");
        Reply::new(response, Then::Keep, "answered")
    });
    let (document, _) = load(&server.url(), &[]);
    assert_all_in(&document, "ok", server.count("answered") - 1);
}

#[test]
fn requests_urls_in_rotation() {
    let server = Server::start(|_| Reply::new(GOOD, Then::Keep, "answered"));
    let other = format!("{}other?x=1", server.url());
    let (document, _) = load(&server.url(), &[&other]);
    assert_all_in(&document, "ok", server.count("answered") - 2);
    assert_eq!(document["requests"]["preflight"], 2);
}

#[test]
fn each_pipelined_request_gets_a_response() {
    let counts = run_null_server(&["-c", "3", "--pipeline", "7"]);
    assert_eq!(counts.0, counts.1);
}

#[test]
fn several_processes_report_one_run() {
    let (answered, accounted) = run_null_server(&["-c", "200", "-t", "3"]);
    assert_eq!(answered, accounted);
}

/// The counts of the null server, and of the document.
fn run_null_server(args: &[&str]) -> (u64, u64) {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let program = env!("CARGO_BIN_EXE_deadheat-load");
    let mut server = Command::new(program)
        .args(["--null-server", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let url = format!("http://{}/", line.trim().rsplit(' ').next().unwrap());
    let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
    let few_descriptors = format!(
        "ulimit -n 100; exec '{program}' --json -d 200ms --warmup 100ms {} {url}",
        quoted.join(" ")
    );
    let output = Command::new("sh").args(["-c", &few_descriptors]).output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // SAFETY: the server has not been waited for, so its id is its own.
    unsafe { libc::kill(server.id() as libc::pid_t, libc::SIGTERM) };
    let mut counts = String::new();
    server.stdout.take().unwrap().read_to_string(&mut counts).unwrap();
    server.wait().unwrap();
    let counts: serde_json::Value = serde_json::from_str(&counts).unwrap();
    let of = |value: &serde_json::Value| value.as_u64().unwrap();
    let requests = &document["requests"];
    assert_eq!(requests["scheduled"], requests["ok"]);
    let accounted =
        of(&requests["preflight"]) + of(&requests["ok"]) + of(&document["warmup"]["scheduled"]);
    (of(&counts["answered"]), accounted)
}
