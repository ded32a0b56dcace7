//! Documents and summaries of runs with known figures.

use std::ffi::OsString;

use crate::args::{self, Command};
use crate::batching::Gathered;
use crate::classes::Class;
use crate::config::Config;
use crate::connection_stats::ConnectionStats;
use crate::document::Document;
use crate::expected::Expected;
use crate::phase::Phase;
use crate::preflight::Preflight;
use crate::run::Run;
use crate::tally::Tally;
use crate::usage::{Steal, ThreadUsage};
use crate::{report, summary};

const SECOND: u64 = 1_000_000_000;

fn config(args: &[&str]) -> Config {
    let words = ["http://127.0.0.1/"].iter().chain(args).map(OsString::from);
    let Ok(Command::Load(config)) = args::parse(words) else { panic!("{args:?}") };
    *config
}

/// A run of two seconds in which nothing happened.
fn run() -> Run {
    Run {
        backend: None,
        processes: 1,
        tallies: Default::default(),
        stats: ConnectionStats::default(),
        packets: None,
        gathered: Gathered::default(),
        responses: Vec::new(),
        answered: 0,
        reached: 0,
        backlog_peak: None,
        usage: Vec::new(),
        steal: Steal::default(),
        elapsed_ns: 2 * SECOND,
        rows: Vec::new(),
        phases: Vec::new(),
    }
}

fn tally(counts: &[(Class, u64)]) -> Tally {
    let mut tally = Tally::default();
    for (class, count) in counts {
        tally.classes[*class as usize] = *count;
        tally.scheduled += count;
    }
    tally
}

fn document(args: &[&str], run: &Run) -> Document {
    let expected = Expected {
        status: 200,
        media_type: None,
        body: Some(b"ok".to_vec()),
        to_head_request: false,
    };
    let preflight = Preflight {
        expected: vec![expected],
        head_bytes: 40,
        framing: "length",
        closes_unannounced: false,
        allowed_streams: None,
        tls: None,
    };
    let phase = Phase { name: "preflight", start_ns: 0, end_ns: 1 };
    report::of_run(&config(args), &preflight, Some(phase), run)
}

fn codes(document: &Document) -> Vec<&str> {
    document.limits.iter().map(|limit| limit.code).collect()
}

#[test]
fn rate_excludes_errors() {
    let tallies = [tally(&[(Class::Ok, 7)]), tally(&[(Class::Ok, 30), (Class::Status, 10)])];
    let document = document(&["-c", "1"], &Run { tallies, ..run() });
    assert_eq!((document.rate_per_s, document.requests.scheduled), (15.0, 40));
    assert_eq!((document.classes["ok"], document.warmup.classes["ok"]), (30, 7));
}

#[test]
fn fairness_is_jains_index_over_all_connections() {
    let responses = vec![1, 1, 2, 0];
    let document = document(&["-c", "4"], &Run { responses, ..run() });
    let connections = &document.connections;
    assert_eq!(connections.jain_fairness, Some(16.0 / (4.0 * 6.0)));
    assert_eq!((connections.asked, connections.served), (4, 3));
    assert_eq!((connections.responses_min, connections.responses_max), (0, 2));
    assert_eq!(codes(&document), ["served"]);
    assert_eq!((document.limits[0].reading, document.limits[0].threshold), (3.0, 4.0));
}

#[test]
fn served_is_not_judged_in_an_empty_window_or_an_open_loop() {
    let responses = vec![0, 0];
    let early =
        document(&["-c", "2"], &Run { responses: responses.clone(), elapsed_ns: 0, ..run() });
    assert!(early.limits.is_empty(), "a signal in the warm-up: {:?}", early.limits);
    let open = document(&["-c", "2", "--rate", "1"], &Run { responses, ..run() });
    assert!(open.limits.is_empty(), "{:?}", open.limits);
}

#[test]
fn littles_law_counts_connections_times_depth() {
    let load = ["-c", "3", "--pipeline", "2"];
    let busy = |busy_ns: u64, failed: u64| {
        let mut tally = tally(&[(Class::Ok, 10), (Class::Status, failed)]);
        tally.busy_ns = u128::from(busy_ns);
        Run { tallies: [Tally::default(), tally], responses: vec![4, 3, 3], ..run() }
    };
    let full = document(&load, &busy(12 * SECOND, 0));
    assert_eq!((full.little_law_error, codes(&full)), (Some(0.0), vec![]));
    let half = document(&load, &busy(6 * SECOND, 0));
    assert_eq!((half.little_law_error, codes(&half)), (Some(-0.5), vec!["little_law"]));
    let with_errors = document(&load, &busy(6 * SECOND, 1));
    assert_eq!(codes(&with_errors), [""; 0], "errors have their own exit code");
}

#[test]
fn judges_the_busiest_thread_and_the_one_that_waited_most() {
    let thread = |user_ns, wait_ns| {
        let usage = ThreadUsage { at_ns: SECOND, user_ns, wait_ns, ..ThreadUsage::default() };
        [usage, ThreadUsage { user_ns: user_ns + SECOND, ..usage }]
    };
    let tallies = [Tally::default(), tally(&[(Class::Shed, 1000)])];
    let usage = vec![thread(SECOND / 2, SECOND / 4), thread(SECOND / 4, 0)];
    let document = document(&["-c", "1", "--rate", "1"], &Run { usage, tallies, ..run() });
    let client = &document.client;
    assert_eq!((client.busiest_thread_share, client.run_wait_share), (0.5, 0.25));
    assert_eq!((client.cpu_s, client.cpu_us_per_request), (2.75, Some(2750.0)));
    assert_eq!(codes(&document), ["client_wait"]);
}

/// Bug: a signal in the warm-up could make the client look busy for all of an empty window.
#[test]
fn shares_of_an_empty_window_are_zero() {
    let usage = ThreadUsage { at_ns: 1, user_ns: 1000, wait_ns: 1000, ..ThreadUsage::default() };
    let document = document(&[], &Run { usage: vec![[usage, usage]], elapsed_ns: 0, ..run() });
    let client = &document.client;
    assert_eq!((client.busiest_thread_share, client.run_wait_share), (0.0, 0.0));
    assert_eq!(codes(&document), [""; 0]);
}

/// Bug: every open loop of more than 16,000 requests/s was reported as client_cpu.
#[test]
fn polling_is_not_client_cpu() {
    let polling = ThreadUsage {
        at_ns: SECOND,
        user_ns: SECOND,
        polled_ns: SECOND / 4 * 3,
        ..ThreadUsage::default()
    };
    let tallies = [Tally::default(), tally(&[(Class::Shed, 1)])];
    let run = Run { usage: vec![[polling, polling]], tallies, ..run() };
    let document = document(&["-c", "1", "--rate", "1"], &run);
    let client = &document.client;
    assert_eq!((client.cpu_s, client.busiest_thread_share, client.polled_share), (1.0, 0.25, 0.75));
    assert_eq!(codes(&document), [""; 0]);
}

#[test]
fn each_process_counts_its_own_preflight() {
    assert_eq!(document(&[], &run()).requests.preflight, 1);
    let several = document(&["http://127.0.0.1/b"], &Run { processes: 3, ..run() });
    assert_eq!(several.requests.preflight, 8, "2 URLs, by the first process and by 3 of its own");
}

#[test]
fn only_open_loops_have_offered_rate_and_backlog() {
    let tallies = [Tally::default(), tally(&[(Class::Ok, 30), (Class::Shed, 10)])];
    let open = document(&["--rate", "20"], &Run { tallies, backlog_peak: Some(4), ..run() });
    assert_eq!((open.offered_rate_per_s, open.rate_per_s), (Some(20.0), 15.0));
    assert_eq!((open.backlog_peak, open.little_law_error), (Some(4), None));
    assert!(document(&[], &run()).offered_rate_per_s.is_none());
}

/// Bug: bytes on idle connections made the exit code 3, and the summary did not say why.
#[test]
fn summary_has_everything_that_decides_the_exit_code() {
    let mut tally = tally(&[(Class::Ok, 1), (Class::ConnectOther, 5), (Class::Status, 6)]);
    tally.connect_errnos.insert(libc::EHOSTUNREACH, 5);
    tally.status_codes.insert(503, 6);
    let stats = ConnectionStats {
        unsolicited_idle: 2,
        unclosed: 7,
        failed_without_request: 3,
        stale_reuse: 4,
        ..ConnectionStats::default()
    };
    let run = Run { tallies: [Tally::default(), tally], stats, ..run() };
    let text = summary::of(&document(&["-c", "1"], &run));
    for line in [
        "  connect_other              5\n",
        "    errno 113                5  No route to host",
        "    status 503               6\n",
        "  2 connections with unsolicited bytes\n",
        "  7 connections that stayed open after their announced close\n",
        "  3 failed connects without a request\n",
        "  4 requests lost on connections that the server may have been closing (stale reuse)\n",
        "  LIMIT served: 0.000, allowed 1.000;",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
}

/// Bug: the summary counted differences and did not say what was expected, nor the way out.
#[test]
fn summary_says_what_was_expected_and_how_to_accept_bodies_that_vary() {
    let varied = tally(&[(Class::Ok, 1), (Class::BodyLength, 5)]);
    let run = Run { tallies: [Tally::default(), varied], ..run() };
    let mut document = document(&["-c", "1"], &run);
    let text = summary::of(&document);
    assert!(text.contains("\n  expected: status 200, a body of 2 bytes\n"), "{text}");
    assert!(text.contains("if they may vary: --any-body"), "{text}");
    let part = document.expected.as_mut().expect("the preflight succeeded");
    (part.body_bytes, part.content_type) = (None, "text/plain".to_owned());
    document.classes.insert("body_length".to_owned(), 0);
    let text = summary::of(&document);
    let line = "\n  expected: status 200, text/plain, any body\n";
    assert!(text.contains(line) && !text.contains("--any-body"), "{text}");
}

/// Bug: the calibration was only shown if the client was the limit.
#[test]
fn summary_includes_the_calibration() {
    let tallies = [Tally::default(), tally(&[(Class::Ok, 100)])];
    let mut document = document(&["-c", "1"], &Run { tallies, responses: vec![100], ..run() });
    report::add_calibration(&mut document, 200.0);
    assert_eq!(document.calibration.as_ref().map(|part| part.share), Some(0.25));
    let text = summary::of(&document);
    let line = "  calibration: a null server reached 200.0 ok/s; this is 25 % of it\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn document_and_summary_say_how_the_client_gathered() {
    let gathered = Gathered { waits: 100, gathering: 25, too_short: 75, gather_ns: 250_000.0 };
    let document = document(&["-c", "5"], &Run { gathered, ..run() });
    assert_eq!(document.client.gather_us, Some(10.0));
    assert_eq!(document.client.gathered_share, Some(0.25));
    assert_eq!(document.client.too_short_to_gather_share, Some(0.75));
    let text = summary::of(&document);
    assert!(text.contains("gathered answers for 10 us in 25 % of its waits"), "{text}");
    assert!(text.contains("the rate depends on how fast the client answers"), "{text}");
}

#[test]
fn summary_lists_the_settings() {
    let line = |args: &[&str], processes| {
        let text = summary::of(&document(args, &Run { processes, ..run() }));
        text.lines().nth(1).unwrap().trim().to_owned()
    };
    assert_eq!(line(&[], 1), "10 connections, 1 threads, closed loop");
    assert_eq!(
        line(&["--rate", "50", "--deadline", "20ms", "--close"], 1),
        "10 connections, 1 threads, open loop, 50 requests/s, constant, deadline 20.00ms, \
         one connection per request"
    );
    assert_eq!(
        line(&["--requests-per-connection", "9", "--pipeline", "3"], 2),
        "10 connections, 2 threads, 2 processes, closed loop, 9 requests per connection, \
         pipeline depth 3"
    );
}
