//! The lines of the resident mode, its errors, and how it ends.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::common::resident::{
    CONNECTIONS, Resident, assert_all_ok, assert_classes_add_up, good_server, number, sent,
};
use crate::common::schema::assert_follows_schema;
use crate::common::{GOOD, Reply, Server, Then, engine};
use serde_json::Value;

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
    resident.send(r#"{"id": 5, "duration_s": 1, "discard_s": 3600}"#);
    while server.requests() < 1 + CONNECTIONS {
        thread::sleep(Duration::from_millis(1));
    }
    resident.signal(libc::SIGTERM);
    let slice = resident.answer().unwrap();
    assert_eq!((&slice["interrupted"], &slice["elapsed_s"]), (&true.into(), &0.0.into()));
    assert_eq!(number(&slice, "/warmup/classes/unfinished"), CONNECTIONS);
    let limits = slice["limits"].as_array().unwrap();
    assert!(limits.iter().all(|limit| limit["code"] != "served"), "{slice}");
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
