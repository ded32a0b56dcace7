//! The resident mode against real servers: scripted ones, and the null server in a process.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::common::null_server::NullServer;
use crate::common::resident::{Resident, assert_all_ok, assert_classes_add_up, number, sent};
use crate::common::schema::assert_follows_schema;
use crate::common::{GOOD, Reply, Server, Then, engine, load};
use serde_json::Value;

const CONNECTIONS: u64 = 3;

fn good_server() -> Server {
    Server::start(|_| Reply::new(GOOD, Then::Keep, "answered"))
}

/// Serves each connection until `idle` passes without a request; then does `when_idle` once.
fn impatient_server(idle: Duration, when_idle: fn(&mut TcpStream) -> bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(idle)).unwrap();
                let mut buffer = [0; 4096];
                loop {
                    match stream.read(&mut buffer) {
                        Ok(0) => return,
                        Ok(_) if stream.write_all(GOOD.as_bytes()).is_err() => return,
                        Ok(_) => {}
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            if !when_idle(&mut stream) {
                                return;
                            }
                        }
                        Err(_) => return,
                    }
                }
            });
        }
    });
    url
}

#[test]
fn ready_line_describes_the_first_answer_and_the_connections() {
    let server = good_server();
    let resident = Resident::start(&server.url(), &[]);
    let ready = &resident.ready;
    assert_eq!((&ready["type"], &ready["schema"]), (&"ready".into(), &"deadheat-load/1".into()));
    assert_eq!(ready["backend"], crate::common::backend());
    let expected = &ready["expected"];
    assert_eq!((&expected["status"], &expected["framing"]), (&200.into(), &"length".into()));
    assert_eq!(
        (&expected["content_type"], &expected["closes_unannounced"]),
        (&"text/plain".into(), &false.into())
    );
    assert_eq!(number(ready, "/connections/asked"), CONNECTIONS);
    assert_eq!(number(ready, "/connections/opened"), CONNECTIONS);
    assert_eq!(
        (number(ready, "/connections/failed"), number(ready, "/preflight_requests")),
        (0, 1)
    );
    assert_eq!(resident.end(), Some(0));
    assert_eq!(server.requests(), 1, "without a slice there is only the preflight");
}

#[test]
fn keeps_connections_and_counts_every_request() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &["-c", "20"]);
    let mut requests = number(&resident.ready, "/preflight_requests");
    for _ in 0..3 {
        let slice = resident.slice("");
        assert_all_ok(&slice);
        assert_eq!(number(&slice, "/connections/opened"), 0, "all are kept");
        assert_eq!(number(&slice, "/connections/established"), 20);
        assert_eq!(number(&slice, "/connections/served"), 20);
        requests += sent(&slice);
    }
    assert_eq!(resident.end(), Some(0));
    let counts = server.end();
    assert_eq!(counts["answered"], requests);
    assert_eq!(counts["connections"], 21);
}

#[test]
fn nothing_is_in_flight_after_the_answer() {
    let server = good_server();
    let mut resident = Resident::start(&server.url(), &[]);
    let mut requests = 1;
    for _ in 0..3 {
        requests += sent(&resident.slice(""));
        assert_eq!(server.requests(), requests);
        thread::sleep(Duration::from_millis(20));
        assert_eq!(server.requests(), requests, "between slices nothing is sent");
    }
}

#[test]
fn idle_process_does_not_run() {
    let server = good_server();
    let mut resident = Resident::start(&server.url(), &["-t", "2"]);
    resident.slice("");
    // How often each thread got a CPU.
    let runs = |resident: &Resident| -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", resident.process.id())).unwrap();
        let schedstat = |task: fs::DirEntry| fs::read_to_string(task.path().join("schedstat"));
        let runs = |text: String| text.split_whitespace().nth(2).unwrap().to_owned();
        tasks.map(|task| runs(schedstat(task.unwrap()).unwrap())).collect()
    };
    thread::sleep(Duration::from_millis(100)); // the answer was read before its writer rests
    let before = runs(&resident);
    thread::sleep(Duration::from_millis(300));
    assert_eq!(runs(&resident), before);
    assert_eq!(before.len(), 3, "a thread for the input, and two that load");
}

#[test]
fn lines_follow_the_schema() {
    let server = good_server();
    for args in [&[][..], &["--rate", "500"]] {
        let mut resident = Resident::start(&server.url(), args);
        assert_follows_schema(&resident.ready, "ready");
        assert_follows_schema(&resident.slice(r#", "renew": true"#), "slice");
        for line in ["", r#"{"id": 7, "duration": 1}"#] {
            assert_follows_schema(&resident.ask(line), "error");
        }
    }
    let refused = Resident::start("http://127.0.0.1:1/", &[]);
    assert_follows_schema(&refused.ready, "ready");
}

/// The schema says which keys a request has, and the engine takes no other.
#[test]
fn requests_have_the_keys_of_the_schema() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../docs/engine-schema.json")).unwrap();
    let request = schema["$defs"]["request"]["properties"].as_object().unwrap();
    let server = good_server();
    let mut resident = Resident::start(&server.url(), &[]);
    let error = resident.ask(r#"{"none": 1}"#);
    let listed = error["message"].as_str().unwrap().rsplit("expected ").next().unwrap();
    let mut known: Vec<&str> = listed.split(", ").collect();
    known.sort_unstable();
    assert_eq!(known, request.keys().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn phases_follow_each_other() {
    let server = good_server();
    let mut resident = Resident::start(&server.url(), &[]);
    let slice = resident.slice(r#", "discard_s": 0.02"#);
    let phases = slice["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["connect", "warmup", "measure", "drain"]);
    let length = |phase: &Value| number(phase, "/end_ns") - number(phase, "/start_ns");
    assert!(length(&phases[1]) >= 20_000_000, "{slice}");
    assert_eq!(length(&phases[2]), 100_000_000);
    for pair in phases.windows(2) {
        assert_eq!(pair[0]["end_ns"], pair[1]["start_ns"]);
    }
}

#[test]
fn series_has_a_row_for_each_interval_and_one_for_the_drain() {
    let server = good_server();
    for (interval, rows) in [(&[][..], 10), (&["--interval", "5ms"], 20)] {
        let mut resident = Resident::start(&server.url(), interval);
        let slice = resident.slice("");
        let series = slice["series"].as_array().unwrap();
        assert!((1..=rows + 1).contains(&series.len()), "{} rows: {slice}", series.len());
        let ok: u64 = series.iter().map(|row| number(row, "/ok")).sum();
        assert_eq!(ok, number(&slice, "/classes/ok"));
    }
}

#[test]
fn discards_the_given_number_of_requests() {
    let server = good_server();
    for args in [&[][..], &["-t", "3"]] {
        let mut resident = Resident::start(&server.url(), args);
        let slice = resident.slice(r#", "discard_s": 0, "discard_requests": 500"#);
        assert!(number(&slice, "/warmup/scheduled") >= 500, "{slice}");
    }
}

#[test]
fn connections_closed_while_idle_are_reopened_without_error() {
    let url = impatient_server(Duration::from_millis(100), |_| false);
    let mut resident = Resident::start(&url, &[]);
    for _ in 0..3 {
        // A server that is slow to run may close as a request comes, but not each time.
        let slice = loop {
            thread::sleep(Duration::from_millis(300));
            let slice = resident.slice("");
            if number(&slice, "/connections/stale_reuse") == 0 {
                break slice;
            }
        };
        assert_all_ok(&slice);
        assert_eq!(number(&slice, "/connections/opened"), CONNECTIONS, "{slice}");
        assert_eq!(number(&slice, "/connections/closed_by_server"), CONNECTIONS);
        assert_eq!(number(&slice, "/connections/served"), CONNECTIONS);
    }
}

#[test]
fn bytes_while_idle_are_counted_without_error() {
    let url = impatient_server(Duration::from_millis(100), |stream| {
        stream.write_all(b"surprise").unwrap();
        thread::sleep(Duration::from_secs(3600));
        false
    });
    let mut resident = Resident::start(&url, &[]);
    thread::sleep(Duration::from_millis(400));
    let slice = resident.slice("");
    assert_all_ok(&slice);
    assert_eq!(number(&slice, "/connections/unsolicited_idle"), CONNECTIONS);
    assert_eq!(number(&slice, "/connections/opened"), CONNECTIONS);
}

#[test]
fn renew_replaces_every_connection() {
    let server = NullServer::start();
    for args in [&[][..], &["-t", "2"], &["--rate", "2000"]] {
        let mut resident = Resident::start(&server.url, args);
        resident.slice("");
        let slice = resident.slice(r#", "renew": true"#);
        assert_all_ok(&slice);
        assert_eq!(number(&slice, "/connections/opened"), CONNECTIONS);
        assert_eq!(number(&slice, "/connections/closed_by_client"), CONNECTIONS);
        assert_eq!(number(&resident.slice(""), "/connections/opened"), 0, "once");
    }
}

#[test]
fn hang_up_leaves_no_connection_open() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &[]);
    assert_all_ok(&resident.slice(r#", "hang_up": true"#));
    let slice = resident.slice("");
    assert_all_ok(&slice);
    assert_eq!(number(&slice, "/connections/opened"), CONNECTIONS);
    assert_eq!(number(&slice, "/connections/closed_by_client"), CONNECTIONS);
    assert_eq!(number(&resident.slice(""), "/connections/opened"), 0);
}

#[test]
fn slices_work_with_a_connection_per_request() {
    for pace in [&[][..], &["--rate", "1000"]] {
        let server = NullServer::start();
        let mut resident = Resident::start(&server.url, &[&["--close"], pace].concat());
        assert_eq!(number(&resident.ready, "/connections/opened"), 0);
        let mut requests = 1;
        for keys in ["", r#", "renew": true"#, ""] {
            let slice = resident.slice(keys);
            assert_all_ok(&slice);
            assert_eq!(number(&slice, "/connections/opened"), sent(&slice));
            assert_eq!(number(&slice, "/connections/served"), CONNECTIONS);
            requests += sent(&slice);
        }
        assert_eq!(resident.end(), Some(0));
        assert_eq!(server.end()["answered"], requests);
    }
}

#[test]
fn slices_work_with_a_server_that_closes_after_each_response() {
    let announced = GOOD.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    for (answer, unannounced) in [(announced, false), (GOOD.to_owned(), true)] {
        let server = Server::start(move |_| Reply::new(&answer, Then::Close, "answered"));
        let mut resident = Resident::start(&server.url(), &[]);
        assert_eq!(resident.ready["expected"]["closes_unannounced"], unannounced);
        for _ in 0..3 {
            let slice = resident.slice("");
            assert_all_ok(&slice);
            assert_eq!(number(&slice, "/connections/served"), CONNECTIONS);
            assert_eq!(number(&slice, "/connections/stale_reuse"), 0);
        }
    }
}

#[test]
fn open_loop_keeps_its_schedule_in_every_slice() {
    let server = NullServer::start();
    for args in [&[][..], &["-t", "2"]] {
        let rate = ["--rate", "1000"];
        let mut resident = Resident::start(&server.url, &[&rate, args].concat());
        for _ in 0..3 {
            let slice = resident.slice("");
            assert_all_ok(&slice);
            let scheduled = number(&slice, "/requests/scheduled");
            assert!(scheduled.abs_diff(100) <= 2, "{scheduled} in 0.1 s at 1000 a second");
            assert_eq!(slice["latency"]["response_us"]["count"], scheduled);
        }
    }
}

#[test]
fn poisson_arrivals_differ_from_slice_to_slice() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &["--rate", "3000", "--arrival", "poisson"]);
    let counts: Vec<u64> =
        (0..6).map(|_| number(&resident.slice(""), "/requests/scheduled")).collect();
    assert!(counts.iter().any(|count| *count != counts[0]), "{counts:?}");
}

#[test]
fn threads_share_connections_and_window() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &["-c", "7", "-t", "2"]);
    let mut requests = 1;
    for _ in 0..3 {
        let slice = resident.slice("");
        assert_all_ok(&slice);
        assert_eq!(number(&slice, "/connections/served"), 7);
        assert_eq!(slice["elapsed_s"], 0.1);
        requests += sent(&slice);
    }
    assert_eq!(resident.end(), Some(0));
    assert_eq!(server.end()["answered"], requests);
}

#[test]
fn silent_server_leaves_unfinished_requests_and_a_clean_next_slice() {
    let stuck = Arc::new(AtomicBool::new(false));
    let script = stuck.clone();
    let server = Server::start(move |_| match script.load(Ordering::SeqCst) {
        true => Reply::new("", Then::Hang, "hung"),
        false => Reply::new(GOOD, Then::Keep, "answered"),
    });
    let mut resident = Resident::start(&server.url(), &[]);
    stuck.store(true, Ordering::SeqCst);
    let keys = r#", "timeout_s": 0.2, "drain_s": 0.05"#;
    let slice = resident.slice(keys);
    assert_classes_add_up(&slice);
    let unfinished =
        number(&slice, "/classes/unfinished") + number(&slice, "/warmup/classes/unfinished");
    assert_eq!(unfinished, CONNECTIONS, "{slice}");
    assert_eq!(number(&slice, "/classes/ok"), 0);
    stuck.store(false, Ordering::SeqCst);
    let slice = resident.slice("");
    assert_all_ok(&slice);
    assert_eq!(number(&slice, "/connections/opened"), CONNECTIONS, "those that hung are closed");
}

#[test]
fn frozen_server_times_out_and_recovers() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &["--timeout", "200ms", "--drain", "100ms"]);
    server.signal(libc::SIGSTOP);
    let slice = resident.slice("");
    assert_classes_add_up(&slice);
    assert_eq!(number(&slice, "/classes/ok") + number(&slice, "/warmup/classes/ok"), 0);
    assert!(number(&slice, "/warmup/classes/timeout_first_byte") >= CONNECTIONS, "{slice}");
    server.signal(libc::SIGCONT);
    let slice = resident.slice("");
    assert_all_ok(&slice);
    assert_eq!(number(&slice, "/connections/served"), CONNECTIONS);
}

#[test]
fn server_frozen_during_a_slice_times_out() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &["--timeout", "200ms", "--drain", "100ms"]);
    resident.send(r#"{"id": 9, "duration_s": 1}"#);
    thread::sleep(Duration::from_millis(300));
    server.signal(libc::SIGSTOP);
    let slice = resident.answer().unwrap();
    assert_eq!((&slice["type"], &slice["id"]), (&"slice".into(), &9.into()));
    assert_classes_add_up(&slice);
    assert!(number(&slice, "/classes/ok") > 0);
    assert!(number(&slice, "/classes/timeout_first_byte") >= CONNECTIONS, "{slice}");
    server.signal(libc::SIGCONT);
    assert_all_ok(&resident.slice(""));
}

#[test]
fn stopped_server_does_not_delay_a_slice_until_the_timeout() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &["--timeout", "1h"]);
    server.end();
    let slice = resident.slice("");
    assert_classes_add_up(&slice);
    assert!(number(&slice, "/classes/connect_refused") > 0, "{slice}");
    assert_eq!(number(&slice, "/classes/ok"), 0);
}

#[test]
fn bad_lines_get_an_error_that_names_the_key() {
    let server = good_server();
    let mut resident = Resident::start(&server.url(), &[]);
    for (line, key) in [
        (r#"{"id": 4, "duration_s": 0.1, "durations": 2}"#, Value::from("durations")),
        (r#"{"id": 4, "duration_s": -1}"#, "duration_s".into()),
        (r#"{"id": 4, "duration_s": 1, "renew": "yes"}"#, "renew".into()),
        (r#"{"id": 4}"#, "duration_s".into()),
        ("what?", Value::Null),
        ("", Value::Null),
    ] {
        let error = resident.ask(line);
        assert_eq!((&error["type"], &error["key"]), (&"error".into(), &key), "{line}");
        let named = key.as_str().unwrap_or("JSON");
        assert!(error["message"].as_str().unwrap().contains(named), "{error}");
        assert_eq!(error["id"].as_u64(), line.starts_with('{').then_some(4));
    }
    assert_eq!(server.requests(), 1, "no line was loaded");
    assert_all_ok(&resident.slice(""));
    assert_eq!(resident.end(), Some(0));
}

#[test]
fn end_of_input_and_end_line_end_the_process() {
    let server = good_server();
    let mut resident = Resident::start(&server.url(), &[]);
    resident.slice("");
    assert_eq!(resident.end(), Some(0));
    let mut resident = Resident::start(&server.url(), &[]);
    resident.send(r#"{"type": "end"}"#);
    assert_eq!(resident.answer(), None);
    assert_eq!(resident.process.wait().unwrap().code(), Some(0));
}

#[test]
fn slices_sent_ahead_are_answered_in_order() {
    let server = good_server();
    let mut resident = Resident::start(&server.url(), &[]);
    (0..4).for_each(|id| resident.send(&format!(r#"{{"id": {id}, "duration_s": 0.01}}"#)));
    let ids: Vec<u64> = (0..4).map(|_| number(&resident.answer().unwrap(), "/id")).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
    assert_eq!(resident.end(), Some(0));
}

#[test]
fn signal_during_a_slice_answers_it_and_ends_the_process() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let server = good_server();
        let mut resident = Resident::start(&server.url(), &["-t", "2"]);
        resident.send(r#"{"id": 5, "duration_s": 3600}"#);
        while server.requests() < 100 {
            thread::sleep(Duration::from_millis(1));
        }
        resident.signal(signal);
        let slice = resident.answer().unwrap();
        assert_eq!((&slice["id"], &slice["interrupted"]), (&5.into(), &true.into()));
        assert_classes_add_up(&slice);
        assert_eq!(sent(&slice), server.requests() - 1);
        assert_eq!(resident.answer(), None);
        assert_eq!(resident.process.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn signal_while_discarding_ends_the_slice() {
    let server = Server::start(|nth| match nth.is_preflight {
        true => Reply::new(GOOD, Then::Keep, "answered"),
        false => Reply::new("", Then::Hang, "hung"),
    });
    let mut resident = Resident::start(&server.url(), &["--timeout", "1h"]);
    resident.send(r#"{"id": 5, "duration_s": 1}"#);
    while server.requests() < 1 + CONNECTIONS {
        thread::sleep(Duration::from_millis(1));
    }
    resident.signal(libc::SIGTERM);
    let slice = resident.answer().unwrap();
    assert_eq!((&slice["interrupted"], &slice["elapsed_s"]), (&true.into(), &0.0.into()));
    assert_eq!(number(&slice, "/warmup/classes/unfinished"), CONNECTIONS);
    assert_eq!(slice["limits"].as_array().unwrap().len(), 0, "{slice}");
    assert_eq!(resident.process.wait().unwrap().code(), Some(0));
}

#[test]
fn signal_between_slices_ends_the_process() {
    let server = good_server();
    let mut resident = Resident::start(&server.url(), &[]);
    resident.slice("");
    resident.signal(libc::SIGTERM);
    assert_eq!(resident.answer(), None);
    assert_eq!(resident.process.wait().unwrap().code(), Some(0));
}

#[test]
fn ready_line_reports_a_failed_preflight() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut resident = Resident::start(&format!("http://{closed}/"), &[]);
    let error = resident.ready["preflight_error"].as_str().unwrap();
    assert!(error.contains("refused"), "{error}");
    assert_eq!(resident.answer(), None);
    assert_eq!(resident.process.wait().unwrap().code(), Some(3));
}

#[test]
fn rejects_options_that_a_request_sets() {
    for option in
        [&["-d", "1s"][..], &["--warmup", "1s"], &["--json"], &["--stream"], &["--calibrate"]]
    {
        let output = engine(&[&["http://127.0.0.1:1/", "--slices"], option].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option:?}");
        assert!(error.contains("--slices") && error.contains(option[0]), "{error}");
    }
}

#[test]
fn rejects_more_connections_than_one_process_may_open() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat-load"));
    command.args(["http://127.0.0.1:1/", "--slices", "-c", "100"]);
    // SAFETY: setrlimit may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
            Ok(())
        });
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("ulimit -n"), "{error}");
}

/// What else runs may slow either down, but not one of them every time.
#[test]
fn slices_have_the_rate_of_a_separate_run() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &["-c", "20"]);
    let mut ratios = Vec::new();
    while ratios.len() < 5 {
        let rate = |document: &Value| document["rate_per_s"].as_f64().unwrap();
        let slices: Vec<f64> = (0..5).map(|_| rate(&resident.slice(""))).collect();
        let (separate, _) = load(&server.url, &["-c", "20", "-d", "300ms"]);
        ratios.push(slices.iter().sum::<f64>() / 5.0 / rate(&separate));
        if ratios.iter().any(|ratio| *ratio > 0.5) && ratios.iter().any(|ratio| *ratio < 2.0) {
            return;
        }
    }
    panic!("slices over separate runs: {ratios:?}");
}

/// A server of one connection after the preflight; the receiver gets its stream.
fn open_server() -> (String, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, streams) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            sender.send(stream.try_clone().unwrap()).unwrap();
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|got| got > 0) {
                    stream.write_all(GOOD.as_bytes()).unwrap();
                }
            });
        }
    });
    (url, streams)
}

/// The count of a slice's own connections; that of the network namespace has all other traffic.
#[test]
fn slice_counts_the_segments_of_its_own_connections() {
    let (url, streams) = open_server();
    let mut resident = Resident::start(&url, &["-c", "1"]);
    let retransmits = |slice: &Value| number(slice, "/connections/retransmits");
    assert_eq!(retransmits(&resident.slice("")), 0);
    let stream = streams.iter().nth(1).unwrap();
    crate::common::drop_segments(&stream, true);
    resident.send(r#"{"id": 1, "duration_s": 0.1}"#);
    thread::sleep(Duration::from_millis(500));
    crate::common::drop_segments(&stream, false);
    let lossy = resident.answer().unwrap();
    assert!(retransmits(&lossy) >= 1, "{}", lossy["connections"]);
    assert_eq!(retransmits(&resident.slice("")), 0, "the loss was in an earlier slice");
    let renewed = resident.slice(r#", "renew": true"#);
    assert_eq!((retransmits(&renewed), number(&renewed, "/connections/opened")), (0, 1));
    assert_eq!(resident.end(), Some(0));
}
