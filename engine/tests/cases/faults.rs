//! Faulty servers: every request is in the class of the fault, and the server's count agrees.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::common::{
    CONNECTIONS, GOOD, Nth, Reply, Server, Then, assert_all_in, class, classes, load,
};

/// A server that responds correctly to the preflight, and with `fault` afterwards.
fn after_preflight(fault: impl Fn(Nth) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(move |nth| match nth.is_preflight {
        true => Reply::new(GOOD, Then::Keep, "preflight"),
        false => fault(nth),
    })
}

/// Runs against a server with the same fault for every request.
fn all_are(name: &'static str, bytes: &'static str, then: Then) -> serde_json::Value {
    let server = after_preflight(move |_| Reply::new(bytes, then, "fault"));
    let timeout: &[_] = if then == Then::Hang { &["--timeout", "1s"] } else { &[] };
    let (document, exit) = load(&server.url(), timeout);
    assert_all_in(&document, name, server.count("fault"));
    assert_eq!(exit, 3, "the server had errors");
    assert_eq!(document["rate_per_s"], 0.0, "errors are no throughput");
    document
}

/// Runs against a malformed response, split at another byte each time.
fn all_malformed(kind: &str, bytes: &'static str) {
    let length = bytes.len() as u64;
    let server = after_preflight(move |nth| {
        let at = nth.of_server % length;
        Reply::new(bytes, Then::Hang, "fault").split(at as usize)
    });
    server.load_until(bytes.len(), &[], "fault", |document, count| {
        assert_all_in(document, "malformed", count);
        assert_eq!(document["malformed_kinds"][kind], count, "{}", document["malformed_kinds"]);
    });
}

#[test]
fn eof_without_a_byte_on_a_fresh_connection() {
    all_are("eof_on_fresh", "", Then::Close);
}

#[test]
fn eof_without_a_byte_on_a_reused_connection() {
    let server = after_preflight(|nth| match nth.of_connection {
        0 => Reply::new(GOOD, Then::Keep, "answered"),
        _ => Reply::new("", Then::Close, "fault"),
    });
    let (document, exit) = load(&server.url(), &[]);
    assert_eq!(class(&document, "ok"), server.count("answered"));
    assert_eq!(class(&document, "eof_on_reused"), server.count("fault"));
    assert_eq!(document["connections"]["stale_reuse"], server.count("fault"));
    assert_eq!(classes(&document).len(), 2);
    assert_eq!(exit, 3);
}

/// Truncates a response at every byte. `names` are the classes of an empty response, of a part of
/// the head, and of a part of the body.
fn truncated_at_every_byte(then: Then, names: [&str; 3]) {
    let head = GOOD.find("Hello").unwrap();
    let server = after_preflight(move |nth| {
        let cut = (nth.of_server % GOOD.len() as u64) as usize;
        let count_as = match cut {
            0 => "nothing",
            cut if cut < head => "head",
            _ => "body",
        };
        Reply::new(&GOOD[..cut], then, count_as)
    });
    let seen = RefCell::new(BTreeMap::<String, u64>::new());
    server.load_until(GOOD.len(), &[], "nothing", |document, _| {
        for (class, count) in classes(document) {
            *seen.borrow_mut().entry(class).or_default() += count;
        }
    });
    let mut wanted = BTreeMap::new();
    for (name, count_as) in names.iter().zip(["nothing", "head", "body"]) {
        *wanted.entry((*name).to_owned()).or_default() += server.count(count_as);
    }
    assert_eq!(seen.into_inner(), wanted);
}

#[test]
fn eof_at_every_byte() {
    truncated_at_every_byte(Then::Close, ["eof_on_fresh", "eof_mid_head", "eof_mid_body"]);
}

#[test]
fn reset_at_every_byte() {
    truncated_at_every_byte(Then::Reset, ["reset_before_byte", "reset_mid", "reset_mid"]);
}

#[test]
fn no_byte_within_the_timeout() {
    let document = all_are("timeout_first_byte", "", Then::Hang);
    let service = &document["latency"]["service_us"];
    assert_eq!(service["count"], document["requests"]["scheduled"], "the tail is not cut off");
    // A histogram has 3 digits.
    assert!(service["min"].as_u64().unwrap() >= 999_000);
}

#[test]
fn no_end_within_the_timeout() {
    all_are("timeout_body", &GOOD[..GOOD.len() - 1], Then::Hang);
}

#[test]
fn another_status() {
    let bytes = "HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx";
    let document = all_are("status", bytes, Then::Keep);
    assert_eq!(document["status_codes"]["500"], document["requests"]["scheduled"]);
    assert_eq!(document["connections"]["opened"], 3, "a 500 does not end a connection");
}

#[test]
fn another_body_of_the_same_length() {
    let bytes =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World?";
    all_are("body_mismatch", bytes, Then::Keep);
}

#[test]
fn another_body_length() {
    for body in ["", "Hello", "Hello, World!!"] {
        let length = body.len();
        let server = after_preflight(move |_| {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
            let bytes = format!("{head}Content-Length: {length}\r\n\r\n{body}");
            Reply::new(bytes, Then::Keep, "fault")
        });
        let (document, _) = load(&server.url(), &[]);
        assert_all_in(&document, "body_length", server.count("fault"));
    }
}

#[test]
fn any_body_accepts_different_bodies() {
    let server = Server::start(|nth| {
        let body = "x".repeat((nth.of_server % 20) as usize);
        let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        Reply::new(bytes, Then::Keep, "answered")
    });
    let (document, _) = load(&server.url(), &["--any-body"]);
    assert_all_in(&document, "ok", server.count("answered") - 1);
}

#[test]
fn another_media_type() {
    let bytes =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\nHello, World!";
    all_are("content_type", bytes, Then::Keep);
}

#[test]
fn unsolicited_bytes_after_a_response() {
    let bytes =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!\n";
    all_are("unsolicited", bytes, Then::Keep);
}

/// They have no class, as no request is in flight. The last of each connection may come after the
/// load.
#[test]
fn unsolicited_bytes_on_idle_connections() {
    let server =
        Server::start(|_| Reply::new(format!("{GOOD}x"), Then::Hang, "stray").split(GOOD.len()));
    let (document, exit) = load(&server.url(), &["--rate", "50", "-d", "500ms"]);
    let idle = document["connections"]["unsolicited_idle"].as_u64().unwrap();
    assert!(idle > 0, "{}", document["connections"]);
    let sent = server.count("stray") - 1;
    let noticed = idle + class(&document, "unsolicited");
    assert!((sent.saturating_sub(CONNECTIONS)..=sent).contains(&noticed), "{noticed} of {sent}");
    assert_eq!(exit, 3);
}

/// Bug: the engine waited a second for each close, and the result was ok.
#[test]
fn an_announced_close_that_does_not_come() {
    let bytes = GOOD.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    let server = Server::start(move |_| Reply::new(bytes.clone(), Then::Hang, "kept"));
    let (document, exit) = load(&server.url(), &["-d", "1500ms"]);
    let unclosed = document["connections"]["unclosed"].as_u64().unwrap();
    assert!(unclosed > 0, "{}", document["connections"]);
    assert_eq!(exit, 3);
}

#[test]
fn silent_server_is_an_error_before_the_timeout() {
    let server = after_preflight(|_| Reply::new("", Then::Hang, "fault"));
    let (document, exit) = load(&server.url(), &["--timeout", "1h", "--drain", "10ms"]);
    assert_all_in(&document, "unfinished", server.count("fault"));
    assert_eq!(exit, 3);
}

/// It holds the requests of the warm-up, so nothing was sent that counts.
#[test]
fn bug_server_that_is_silent_from_the_warm_up_on_is_not_a_limit_of_the_client() {
    for times in [&["--timeout", "1h", "--drain", "10ms"][..], &["--timeout", "2s"]] {
        let server = after_preflight(|_| Reply::new("", Then::Hang, "fault"));
        let args = [times, &["--warmup", "100ms"]].concat();
        let (document, exit) = load(&server.url(), &args);
        assert_eq!(document["warmup"]["scheduled"], CONNECTIONS);
        assert_eq!(document["requests"]["scheduled"], 0);
        assert_eq!(exit, 3, "{times:?}: {}", document["warmup"]["classes"]);
    }
}

#[test]
fn malformed_status_lines() {
    all_malformed("status_line", "SSH-2.0-OpenSSH_9\r\n\r\n");
    all_malformed("status_line", "HTTP/1.1 2x0 OK\r\n\r\n");
}

#[test]
fn malformed_headers() {
    all_malformed("header_name", "HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n");
    all_malformed("header_value", "HTTP/1.1 200 OK\r\nX: a\u{1}b\r\n\r\n");
}

#[test]
fn conflicting_lengths() {
    all_malformed("bad_length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n");
    let two = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n";
    all_malformed("length_conflict", two);
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";
    all_malformed("length_and_encoding", both);
    all_malformed("bad_encoding", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
}

#[test]
fn malformed_chunks() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    all_malformed("chunk_size", const_str(HEAD, "xyz\r\n"));
    all_malformed("chunk_end", const_str(HEAD, "5\r\nHello!"));
}

/// Test data for the server's thread.
fn const_str(head: &str, tail: &str) -> &'static str {
    Box::leak(format!("{head}{tail}").into_boxed_str())
}

#[test]
fn endless_heads() {
    let endless = const_str("HTTP/1.1 200 OK\r\nX: ", &"x".repeat(70_000));
    let server = after_preflight(move |_| Reply::new(endless, Then::Hang, "fault"));
    let (document, _) = load(&server.url(), &[]);
    assert_all_in(&document, "malformed", server.count("fault"));
    assert_eq!(document["malformed_kinds"]["head_too_long"], server.count("fault"));
}

#[test]
fn stopped_server_refuses_connections() {
    // Its port may be given to another test's server as soon as it is closed: not at this address.
    let listener = std::net::TcpListener::bind("127.0.0.9:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
        stream.write_all(GOOD.as_bytes()).unwrap();
        // The preflight waits to see whether its connection is kept.
        stream.read(&mut [0; 1]).unwrap()
    });
    let (document, exit) = load(&url, &["--close"]);
    assert_eq!(server.join().unwrap(), 0);
    let scheduled = document["requests"]["scheduled"].as_u64().unwrap();
    assert!(scheduled > 0);
    assert_eq!(classes(&document), [("connect_refused".to_owned(), scheduled)]);
    assert_eq!(exit, 3);
}

#[test]
fn failed_preflight_starts_no_run() {
    let server = Server::start(|_| Reply::new("", Then::Close, "fault"));
    let (document, exit) = load(&server.url(), &[]);
    assert!(document["preflight_error"].as_str().unwrap().contains("without a response"));
    assert_eq!(document["requests"]["scheduled"], 0);
    assert_eq!(exit, 3);
}

#[test]
fn expectations_are_checked_from_the_first_response() {
    for (flag, wrong) in
        [("--expect-status", "404"), ("--expect-type", "text/html"), ("--expect-body", "Bye")]
    {
        let server = Server::start(|_| Reply::new(GOOD, Then::Keep, "answered"));
        let (document, exit) = load(&server.url(), &[flag, wrong]);
        assert!(document["preflight_error"].is_string(), "{flag}");
        assert_eq!((exit, server.requests()), (3, 1), "{flag}");
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    for args in [
        &["--nope"][..],
        &[],
        &["http://127.0.0.1/", "-c", "0"],
        &["https://x/"],
        // Bug: options without effect were accepted.
        &["http://127.0.0.1/", "--null-body", "x"],
        &["http://127.0.0.1/", "--null-server", "0"],
        &["http://127.0.0.1/", "--json", "--stream"],
    ] {
        let output = crate::common::engine(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
}
