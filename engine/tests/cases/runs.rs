//! Whole runs: signals, listen queues, descriptors, unix sockets, the stream, the schema.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::schema::assert_follows_schema;
use crate::common::{GOOD, Reply, Server, Then, assert_all_in, class, load};
use serde_json::Value;

fn good_server() -> Server {
    Server::start(|_| Reply::new(GOOD, Then::Keep, "answered"))
}

#[test]
fn signal_ends_a_run_with_the_result_so_far() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let server = good_server();
        let mut engine = Command::new(env!("CARGO_BIN_EXE_deadheat-load"))
            .args([&server.url(), "--stream", "-d", "1h", "--warmup", "0s"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(engine.stdout.take().unwrap()).lines();
        let start: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(start["type"], "start");
        let row: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(row["type"], "row");
        // SAFETY: the engine has not been waited for, so its id is its own.
        unsafe { libc::kill(engine.id() as libc::pid_t, signal) };
        let last: Value = serde_json::from_str(&lines.last().unwrap().unwrap()).unwrap();
        assert!(engine.wait().unwrap().code().is_some(), "an exit, not a death by signal");
        let document = &last["document"];
        assert_eq!(document["interrupted"], true);
        assert!(document["elapsed_s"].as_f64().unwrap() < 3600.0);
        assert_all_in(document, "ok", server.count("answered") - 1);
    }
}

/// Bug: the preflight failed with EINTR, which the kernel's work for an io_uring also causes.
#[test]
fn preflight_survives_sigstop_and_sigcont() {
    // Its port may be given to another test's server as soon as it is closed: not at this address.
    let listener = TcpListener::bind("127.0.0.8:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let engine = Command::new(env!("CARGO_BIN_EXE_deadheat-load"))
        .args([&url, "--json", "-c", "1", "-d", "50ms", "--warmup", "0s"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut preflight, _) = listener.accept().unwrap();
    drop(listener);
    assert!(preflight.read(&mut [0; 1024]).unwrap() > 0);
    let pid = engine.id() as libc::pid_t;
    // SAFETY: the engine has not been waited for, so its id is its own; the pointer may be null.
    unsafe {
        libc::kill(pid, libc::SIGSTOP);
        assert_eq!(libc::waitpid(pid, std::ptr::null_mut(), libc::WUNTRACED), pid);
        libc::kill(pid, libc::SIGCONT);
    }
    preflight.write_all(GOOD.as_bytes()).unwrap();
    drop(preflight);
    let output = engine.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["preflight_error"], Value::Null);
}

/// Bug: the preflight ended as failed, with exit code 3 and "Interrupted system call".
#[test]
fn signal_in_the_preflight_ends_the_process() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let mut engine = Command::new(env!("CARGO_BIN_EXE_deadheat-load"))
        .args([&url, "--timeout", "1h"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut preflight, _) = listener.accept().unwrap();
    assert!(preflight.read(&mut [0; 1024]).unwrap() > 0);
    // Not SIGINT, which a test run in the background inherits ignored.
    // SAFETY: the engine has not been waited for, so its id is its own.
    unsafe { libc::kill(engine.id() as libc::pid_t, libc::SIGTERM) };
    assert_eq!(engine.wait().unwrap().signal(), Some(libc::SIGTERM));
}

/// Bug: connections without time for a response were reported as a limit.
#[test]
fn signal_in_the_warm_up_reports_no_limit() {
    let server = good_server();
    let mut engine = Command::new(env!("CARGO_BIN_EXE_deadheat-load"))
        .args([&server.url(), "--stream", "-c", "2", "--warmup", "1h"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(engine.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().nth(1).unwrap().unwrap().contains("\"row\""));
    // SAFETY: the engine has not been waited for, so its id is its own.
    unsafe { libc::kill(engine.id() as libc::pid_t, libc::SIGINT) };
    let last: Value = serde_json::from_str(&lines.last().unwrap().unwrap()).unwrap();
    engine.wait().unwrap();
    let document = &last["document"];
    assert_eq!(document["elapsed_s"], 0.0);
    assert_eq!(document["requests"]["scheduled"], 0);
    assert_eq!(document["warmup"]["classes"]["ok"], server.count("answered") - 1);
    let limits = document["limits"].to_string();
    assert!(!limits.contains("unserved"), "{limits}");
}

#[test]
fn signal_limits_the_drain() {
    let server = Server::start(|nth| {
        let then = if nth.is_preflight { Then::Keep } else { Then::Hang };
        let bytes = if nth.is_preflight { GOOD } else { "" };
        Reply::new(bytes, then, "asked")
    });
    let mut engine = Command::new(env!("CARGO_BIN_EXE_deadheat-load"))
        .args([&server.url(), "--stream", "-c", "3", "--warmup", "0s", "--timeout", "1h"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(engine.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().nth(1).unwrap().unwrap().contains("\"row\""));
    // SAFETY: the engine has not been waited for, so its id is its own.
    unsafe { libc::kill(engine.id() as libc::pid_t, libc::SIGTERM) };
    let last: Value = serde_json::from_str(&lines.last().unwrap().unwrap()).unwrap();
    engine.wait().unwrap();
    assert_all_in(&last["document"], "unfinished", server.count("asked") - 1);
}

#[test]
fn connects_from_the_given_sources() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, peers) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            sender.send(stream.peer_addr().unwrap().ip().to_string()).unwrap();
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                while stream.read(&mut request).is_ok_and(|got| got > 0) {
                    stream.write_all(GOOD.as_bytes()).unwrap();
                }
            });
        }
    });
    let sources = ["--source", "127.0.0.7", "--source", "127.0.0.8"];
    let (document, _) = load(&url, &[&sources[..], &["-c", "4"]].concat());
    assert_eq!(document["connections"]["served"], 4);
    let peers: Vec<String> = peers.try_iter().skip(1).collect();
    assert_eq!(peers, ["127.0.0.7", "127.0.0.7", "127.0.0.8", "127.0.0.8"], "after the preflight");
}

/// A listen queue of one without accept(): some connections enter it and get no response, and the
/// others are never established.
#[test]
fn full_listen_queue_is_a_connect_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // SAFETY: no pointers are passed; listening again only sets the length of the queue.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 1) }, 0);
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let run = std::thread::spawn(move || load(&url, &["-c", "8", "--timeout", "1s", "--close"]));
    let (mut preflight, _) = listener.accept().unwrap();
    assert!(preflight.read(&mut [0; 1024]).unwrap() > 0);
    preflight.write_all(GOOD.as_bytes()).unwrap();
    let (document, exit) = run.join().unwrap();
    let [refused, unanswered] =
        ["connect_timeout", "timeout_first_byte"].map(|name| class(&document, name));
    assert!(refused > 0 && unanswered > 0, "{}", document["classes"]);
    assert_eq!(refused + unanswered, document["requests"]["scheduled"].as_u64().unwrap());
    assert_eq!(exit, 3);
}

#[test]
fn loads_unix_sockets() {
    let path = std::env::temp_dir().join(format!("deadheat-load-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                while stream.read(&mut request).is_ok_and(|got| got > 0) {
                    stream.write_all(GOOD.as_bytes()).unwrap();
                }
            });
        }
    });
    let (document, _) = load(&format!("unix:{}:/path", path.display()), &[]);
    std::fs::remove_file(&path).unwrap();
    let scheduled = document["requests"]["scheduled"].as_u64().unwrap();
    assert_all_in(&document, "ok", scheduled);
    assert_eq!(document["connections"]["served"], 3);
    let keys = ["retransmits", "spurious_retransmits", "out_of_order", "packets_in", "packets_out"];
    let counts = keys.map(|key| &document["connections"][key]);
    assert_eq!(counts, [&Value::Null; 5], "the kernel has no count");
}

/// A listen queue of one drops the other connects, which are sent again after a second.
#[test]
fn counts_the_segments_that_were_sent_again() {
    let calm = good_server();
    for args in [&[][..], &["--close"], &["--requests-per-connection", "7"], &["-t", "2"]] {
        let (document, _) = load(&calm.url(), args);
        assert_eq!(document["connections"]["retransmits"], 0, "{args:?}");
        let count = |part: &str, key: &str| document[part][key].as_u64().unwrap();
        let answers = count("requests", "scheduled");
        for (key, least) in [("data_packets_in", answers), ("packets_out", answers)] {
            assert!(count("connections", key) >= least, "{args:?} {key}");
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // SAFETY: no pointers are passed; listening again only sets the length of the queue.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 1) }, 0);
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let run = std::thread::spawn(move || load(&url, &["-c", "8", "--timeout", "1500ms"]));
    let (mut preflight, _) = listener.accept().unwrap();
    assert!(preflight.read(&mut [0; 1024]).unwrap() > 0);
    preflight.write_all(GOOD.as_bytes()).unwrap();
    let (document, _) = run.join().unwrap();
    let retransmits = document["connections"]["retransmits"].as_u64().unwrap();
    assert!(retransmits >= 1, "{}", document["connections"]);
}

/// The error of a preflight that a server of this URL makes wait.
fn preflight_error(url: &str, args: &[&str]) -> String {
    let (document, exit) = load(url, &[args, &["--timeout", "300ms"]].concat());
    assert_eq!(exit, 3);
    document["preflight_error"].as_str().unwrap().to_owned()
}

/// Bug: a request that the server does not read had no deadline.
#[test]
fn preflight_does_not_wait_forever_for_a_server_that_does_not_read() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let path = std::env::temp_dir().join(format!("deadheat-load-{}.body", std::process::id()));
    std::fs::write(&path, vec![b'x'; 32 << 20]).unwrap();
    let error = preflight_error(&url, &["--body", &format!("@{}", path.display())]);
    std::fs::remove_file(&path).unwrap();
    assert!(error.contains("no complete response within --timeout"), "{error}");
}

/// Bug: a connect to a Unix socket with a full listen queue had no deadline.
#[test]
fn preflight_does_not_wait_forever_for_a_full_unix_socket() {
    let path = std::env::temp_dir().join(format!("deadheat-full-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    // SAFETY: the descriptor is the listener's; a second listen only changes its queue.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    let _queued = UnixStream::connect(&path).unwrap();
    let error = preflight_error(&format!("unix:{}:/", path.display()), &[]);
    std::fs::remove_file(&path).unwrap();
    assert!(error.contains("no connection: timed out"), "{error}");
}

/// Bug: a body that lasts until the close had the deadline of each read.
#[test]
fn preflight_does_not_wait_forever_for_single_bytes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    let error = preflight_error(&url, &[]);
    assert!(error.contains("no complete response within --timeout"), "{error}");
}

#[test]
fn open_loop_sends_at_the_given_rate() {
    for arrival in ["constant", "poisson"] {
        let server = good_server();
        let (document, _) = load(&server.url(), &["--rate", "500", "--arrival", arrival]);
        assert_all_in(&document, "ok", server.count("answered") - 1);
        if arrival == "constant" {
            assert_eq!(document["requests"]["scheduled"], 100);
        }
        let latency = &document["latency"];
        assert_eq!(latency["response_us"]["count"], document["requests"]["scheduled"]);
        assert_eq!(latency["send_lag_us"]["count"], document["requests"]["scheduled"]);
    }
}

#[test]
fn only_open_loops_poll() {
    let server = good_server();
    let client = |options: &[&str]| load(&server.url(), options).0["client"].clone();
    let polls = || client(&["--rate", "17000", "-c", "4"])["polled_share"].as_f64().unwrap() > 0.0;
    assert!(
        (0..10).any(|_| polls()),
        "on a busy machine it may have no time to poll, but not always"
    );
    assert_eq!(client(&["-c", "4"])["polled_share"], 0.0);
}

#[test]
fn open_loop_opens_connections_only_for_requests() {
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    let server = Server::start(move |_| Reply::new(response, Then::Close, "answered"));
    let (document, _) = load(&server.url(), &["--rate", "300", "--close"]);
    assert_all_in(&document, "ok", server.count("answered") - 1);
    assert_eq!(document["connections"]["opened"], document["requests"]["scheduled"]);
}

#[test]
fn reconnects_after_the_given_number_of_requests() {
    let server = good_server();
    let (document, _) = load(&server.url(), &["--requests-per-connection", "7"]);
    assert_all_in(&document, "ok", server.count("answered") - 1);
    let opened = document["connections"]["opened"].as_u64().unwrap();
    let scheduled = document["requests"]["scheduled"].as_u64().unwrap();
    assert!((opened - 3..=opened).contains(&(scheduled / 7)), "{scheduled} requests on {opened}");
    let closed = document["connections"]["closed_by_client"].as_u64().unwrap();
    assert!((opened - 3..=opened).contains(&closed), "{closed} of {opened} closed");
}

#[test]
fn rows_add_up_to_the_document() {
    let server = good_server();
    let (document, _) = load(&server.url(), &["-t", "2", "-d", "450ms"]);
    let series = document["series"].as_array().unwrap();
    assert!(series.len() >= 5, "{} rows", series.len());
    for (column, total) in [
        ("sent", &document["requests"]["scheduled"]),
        ("ok", &document["requests"]["ok"]),
        ("bytes_in", &document["bytes_in"]),
    ] {
        let sum: u64 = series.iter().map(|row| row[column].as_u64().unwrap()).sum();
        assert_eq!(sum, total.as_u64().unwrap(), "{column}");
    }
}

#[test]
fn documents_follow_the_schema() {
    let server = good_server();
    let faulty = Server::start(|nth| match nth.of_server {
        0 => Reply::new(GOOD, Then::Keep, "preflight"),
        _ => Reply::new("HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n", Then::Keep, "fault"),
    });
    let url = server.url();
    for (url, args) in [
        (&url, &[][..]),
        (&url, &["--rate", "200", "--deadline", "1s"]),
        (&url, &["--calibrate"]),
        (&url, &["--any-body", "--requests-per-connection", "5"]),
        (&faulty.url(), &[]),
        (&"http://127.0.0.1:1/".to_owned(), &[]),
    ] {
        let (document, _) = load(url, args);
        assert_follows_schema(&document, "document");
    }
}

#[test]
fn frozen_server_is_a_timeout() {
    let program = env!("CARGO_BIN_EXE_deadheat-load");
    let mut server =
        Command::new(program).args(["--null-server", "0"]).stderr(Stdio::piped()).spawn().unwrap();
    let pid = server.id() as libc::pid_t;
    let mut line = String::new();
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let url = format!("http://{}/", line.trim().rsplit(' ').next().unwrap());
    let mut engine = Command::new(program)
        .args([&url, "--stream", "-c", "3", "-d", "1500ms", "--warmup", "0s"])
        // The drain is long enough for the last requests to time out.
        .args(["--timeout", "200ms", "--drain", "5s"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(engine.stdout.take().unwrap()).lines();
    let row = lines.by_ref().nth(1).unwrap().unwrap();
    assert!(row.contains("\"row\""));
    // SAFETY: the server has not been waited for, so its id is its own.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGSTOP) }, 0);
    let last: Value = serde_json::from_str(&lines.last().unwrap().unwrap()).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(engine.wait().unwrap().code(), Some(3));
    let document = &last["document"];
    let [ok, stalled] = ["ok", "timeout_first_byte"].map(|name| class(document, name));
    assert!(ok > 0 && stalled >= 3, "{}", document["classes"]);
    assert_eq!(ok + stalled, document["requests"]["scheduled"].as_u64().unwrap());
    let longest_us = document["latency"]["service_us"]["max"].as_u64().unwrap();
    assert!(longest_us >= 199_000, "the wait is in the distribution: {longest_us} us");
}

/// The others waited for it without end, and a signal did not end them.
#[test]
fn bug_process_that_cannot_begin_ends_the_run() {
    // The second request is of the preflight of one of two processes.
    let server = Server::start(|nth| match nth.of_server {
        1 => Reply::new("", Then::Close, "fault"),
        _ => Reply::new(GOOD, Then::Keep, "answered"),
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat-load"));
    command.args([&server.url(), "-c", "60", "-d", "100ms"]).stderr(Stdio::piped());
    // SAFETY: a system call, which may be made between fork and exec.
    unsafe { command.pre_exec(limit_descriptors) };
    let mut engine = command.stdout(Stdio::null()).spawn().unwrap();
    let waited = (0..3000).find(|_| {
        std::thread::sleep(Duration::from_millis(10));
        engine.try_wait().unwrap().is_some()
    });
    engine.kill().unwrap();
    let output = engine.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(waited.is_some(), "it hangs: {error}");
    assert!(error.contains("a process of the run ended with exit status: 3"), "{error}");
    assert_eq!(output.status.code(), Some(3));
}

fn limit_descriptors() -> std::io::Result<()> {
    let limit = libc::rlimit { rlim_cur: 80, rlim_max: 80 };
    // SAFETY: `limit` is valid for the call.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
