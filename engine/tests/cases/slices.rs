//! The resident mode against real servers: what a slice counts, and when.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::common::load;
use crate::common::null_server::NullServer;
use crate::common::resident::{CONNECTIONS, Resident, assert_all_ok, good_server, number, sent};
use serde_json::Value;

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
fn series_has_at_most_a_row_for_each_interval_and_its_part_of_the_drain() {
    let server = good_server();
    for (option, interval_ns) in [(&[][..], 10_000_000), (&["--interval", "5ms"], 5_000_000)] {
        let mut resident = Resident::start(&server.url(), option);
        let slice = resident.slice("");
        let series = slice["series"].as_array().unwrap();
        let measured_ns = number(&slice, "/phases/3/end_ns") - number(&slice, "/phases/2/start_ns");
        let rows = measured_ns / interval_ns + 1;
        assert!((1..=rows).contains(&(series.len() as u64)), "{} rows: {slice}", series.len());
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
        assert_eq!(slice["window_s"], 0.1);
        requests += sent(&slice);
    }
    assert_eq!(resident.end(), Some(0));
    assert_eq!(server.end()["answered"], requests);
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
