//! Slices of several resident processes in a common window: each waits for `go` and for `stop`.

use std::thread;
use std::time::Duration;

use crate::common::null_server::NullServer;
use crate::common::resident::{Resident, assert_all_ok, assert_classes_add_up, number, sent};
use crate::common::schema::assert_follows_schema;
use serde_json::json;

const GO: &str = r#"{"type": "go"}"#;
const STOP: &str = r#"{"type": "stop"}"#;

#[test]
fn slice_together_measures_its_window_alone() {
    for args in [&[][..], &["-t", "2"], &["--rate", "2000"], &["--close"]] {
        let server = NullServer::start();
        let mut resident = Resident::start(&server.url, args);
        let mut requests = 1;
        for id in 1..=2 {
            let line = format!(r#"{{"id": {id}, "duration_s": 0.1, "together": true}}"#);
            let waiting = resident.ask(&line);
            assert_follows_schema(&waiting, "point");
            assert_eq!(waiting, json!({"type": "waiting", "id": id}));
            thread::sleep(Duration::from_millis(30));
            assert_eq!(resident.ask(GO), json!({"type": "going", "id": id}));
            assert_eq!(resident.answer(), Some(json!({"type": "measured", "id": id})));
            thread::sleep(Duration::from_millis(30));
            let slice = resident.ask(STOP);
            assert_all_ok(&slice);
            assert_classes_add_up(&slice);
            assert_eq!(slice["window_s"], 0.1, "{args:?}");
            let least = if args.contains(&"--rate") { 80 } else { 3 };
            assert!(number(&slice, "/warmup/scheduled") >= least, "before and after, {args:?}");
            requests += sent(&slice);
        }
        let ordinary = resident.slice("");
        assert_all_ok(&ordinary);
        assert_eq!(server.end()["answered"], requests + sent(&ordinary));
    }
}

#[test]
fn wrong_line_does_not_start_a_slice_that_waits() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &[]);
    assert_eq!(resident.ask(GO)["type"], "error", "nothing waits");
    resident.ask(r#"{"id": 1, "duration_s": 0.1, "together": true}"#);
    for line in [STOP, "nonsense", r#"{"id": 2, "duration_s": 0.1}"#] {
        assert_eq!(resident.ask(line)["type"], "error", "{line}");
    }
    assert_eq!(resident.ask(GO)["type"], "going");
    assert_eq!(resident.answer().unwrap()["type"], "measured");
    assert_all_ok(&resident.ask(STOP));
}

#[test]
fn end_of_the_input_ends_a_slice_that_waits() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &[]);
    resident.ask(r#"{"id": 1, "duration_s": 0.1, "together": true}"#);
    resident.close_input();
    let kinds = ["going", "measured", "slice"].map(|_| resident.answer().unwrap()["type"].clone());
    assert_eq!(kinds, ["going", "measured", "slice"]);
    assert_eq!(resident.end(), Some(0));
}

#[test]
fn signal_ends_a_slice_that_waits() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &[]);
    resident.ask(r#"{"id": 1, "duration_s": 9, "together": true}"#);
    resident.signal(libc::SIGTERM);
    let slice = loop {
        let answer = resident.answer().unwrap();
        if answer["type"] == "slice" {
            break answer;
        }
    };
    assert_eq!(slice["interrupted"], true);
    assert_eq!(resident.end(), Some(0));
}
