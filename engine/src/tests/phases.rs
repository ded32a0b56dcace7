//! When requests are sent, and in which part of a run they count.

use crate::backlog::Backlog;
use crate::classes::Class;
use crate::schedule::{Arrival, Arrivals};
use crate::session::{Action, Session};

use super::events::{ANSWER, END, LOAD, MEASURE, MS, SECOND, WRONG_BODY};
use super::events::{begun, classes, closed, connect, open, plan};

#[test]
fn limits_concurrent_connects_for_requests() {
    let plan = plan(&["--close", "--rate", "10"]);
    let backlog = Backlog::new(Arrivals::new(Arrival::Constant, 10.0, 1, 0, 1));
    let mut session = begun(Session::new(&plan, 3, 1, Some(backlog)));
    let now_ns = LOAD + SECOND;
    let Some((slot, Action::Open)) = session.next_send(now_ns) else { panic!("nothing to open") };
    session.opening(slot, now_ns);
    assert_eq!(session.next_send(now_ns), None);
    session.connected(slot, now_ns);
    assert!(session.next_send(now_ns).is_some());
}

/// The thread polled meanwhile, and the wait was the server's.
#[test]
fn bug_wait_for_other_connects_is_slept_and_client_lag() {
    let plan = plan(&["--close", "--rate", "10"]);
    let backlog = Backlog::new(Arrivals::new(Arrival::Constant, 10.0, 1, 0, 1));
    let mut session = begun(Session::new(&plan, 2, 1, Some(backlog)));
    assert_eq!(session.next_send(LOAD), Some((0, Action::Open)));
    session.opening(0, LOAD);
    let now_ns = LOAD + 150 * MS;
    assert_eq!(session.overdue(now_ns), None);
    assert_eq!(session.next_send(now_ns), None, "due at 100 ms");
    assert!(session.next_wake_ns(now_ns) > now_ns);
    session.connected(0, now_ns);
    assert_eq!(session.next_send(now_ns), Some((1, Action::Open)));
    let lag = &session.tallies[0].client_lag;
    assert_eq!(lag.max_us().map(|us| us / 1000), Some(50));
}

/// The request that a connection is opened for did not count, so it took another.
#[test]
fn bug_open_loop_with_a_connection_per_request_sends_one_on_each() {
    let plan = plan(&["--close", "--rate", "10"]);
    let mut session = open(&plan, 1);
    let now_ns = LOAD + SECOND;
    for _ in 0..2 {
        assert_eq!(session.next_send(now_ns), Some((0, Action::Open)));
        session.opening(0, now_ns);
        assert!(matches!(session.connected(0, now_ns), Action::Send(_)));
        assert_eq!(session.received(0, ANSWER.as_bytes(), now_ns, false), Action::Close);
    }
    assert_eq!(session.stats.opened, 2);
}

#[test]
fn rotates_urls_over_slots_and_pipelined_requests() {
    let plan = plan(&["http://127.0.0.1/b", "http://127.0.0.1/c", "--pipeline", "2"]);
    let mut session = closed(&plan, 2);
    let paths = |action: Action| {
        let Action::Send(range) = action else { panic!("{action:?}") };
        let text = String::from_utf8_lossy(plan.book.bytes(range)).into_owned();
        text.lines()
            .filter_map(|line| line.strip_prefix("GET "))
            .map(|l| l[..2].to_owned())
            .collect::<String>()
    };
    assert_eq!(paths(connect(&mut session, MEASURE).1), "/a/b");
    assert_eq!(paths(connect(&mut session, MEASURE).1), "/b/c");
    assert_eq!(paths(session.received(0, ANSWER.as_bytes(), MEASURE + 1, false)), "/c");
    let both = ANSWER.repeat(2);
    assert_eq!(paths(session.received(1, both.as_bytes(), MEASURE + 1, false)), "/a/b");
}

#[test]
fn request_begun_in_the_warm_up_counts_there() {
    let plan = plan(&[]);
    let mut session = closed(&plan, 1);
    connect(&mut session, LOAD);
    session.received(0, ANSWER.as_bytes(), MEASURE + 1, false);
    session.received(0, ANSWER.as_bytes(), MEASURE + 2, false);
    let request = plan.book.range(0, 1).len() as u64;
    let [warmup, measured] = &session.tallies;
    assert_eq!((warmup.scheduled, warmup.count(Class::Ok), warmup.bytes_out), (1, 1, request));
    assert_eq!((measured.scheduled, measured.count(Class::Ok)), (2, 1));
    assert_eq!(measured.bytes_out, 2 * request);
    assert_eq!(warmup.bytes_in, ANSWER.len() as u64);
    assert_eq!((warmup.connect.count(), measured.connect.count()), (1, 0));
    assert_eq!(session.take_counts().responses, [1], "measured responses");
}

#[test]
fn request_due_in_the_warm_up_counts_there() {
    let plan = plan(&["--rate", "10"]);
    let mut session = open(&plan, 1);
    let (_, action) = connect(&mut session, MEASURE + 50 * MS);
    assert!(matches!(action, Action::Send(_)));
    session.received(0, ANSWER.as_bytes(), MEASURE + 60 * MS, false);
    session.finish(END);
    let [warmup, measured] = &session.tallies;
    assert_eq!((warmup.scheduled, measured.scheduled), (10, 80), "10 a second");
    assert_eq!(warmup.count(Class::Ok), 1);
    assert_eq!(warmup.count(Class::Unfinished) + measured.count(Class::Unfinished), 89);
    assert_eq!(warmup.send_lag.max_us().map(|us| us / 1000), Some(1050));
    assert_eq!(warmup.response.max_us().map(|us| us / 100_000), Some(89), "the longest wait");
}

#[test]
fn stop_ends_the_schedule() {
    let plan = plan(&["--rate", "10"]);
    let mut session = open(&plan, 1);
    session.stop(MEASURE + SECOND);
    session.finish(END);
    assert_eq!(session.tallies[1].scheduled, 10);
    let mut session = open(&plan, 1);
    session.stop(LOAD + SECOND / 2);
    assert_eq!(session.window().measure_ns, LOAD + SECOND / 2, "nothing is left to measure");
    assert_eq!(session.window().end_ns, LOAD + SECOND / 2);
    session.finish(END);
    assert_eq!(session.tallies.each_ref().map(|tally| tally.scheduled), [5, 0]);
}

#[test]
fn stop_ends_a_closed_loop() {
    let plan = plan(&[]);
    let mut session = closed(&plan, 2);
    connect(&mut session, MEASURE);
    session.stop(MEASURE + 1);
    assert_eq!(session.received(0, ANSWER.as_bytes(), MEASURE + 2, false), Action::Wait);
    assert!(session.is_over(MEASURE + 2));
    assert_eq!(session.next_open(MEASURE + 2), None);
}

#[test]
fn requests_wait_in_the_backlog_while_no_connection_is_free() {
    let plan = plan(&["--rate", "10"]);
    let mut session = open(&plan, 1);
    connect(&mut session, LOAD);
    let now_ns = LOAD + 550 * MS;
    assert_eq!(session.next_send(now_ns), None);
    assert_eq!(session.take_counts().backlog_peak, Some(5));
    let Action::Send(_) = session.received(0, ANSWER.as_bytes(), now_ns, false) else {
        panic!("one that waited is sent")
    };
    assert_eq!(session.tallies[0].send_lag.max_us().map(|us| us / 1000), Some(450));
    assert_eq!(session.take_counts().backlog_peak, Some(5));
}

#[test]
fn sends_the_backlog_after_the_load() {
    let plan = plan(&["--rate", "10"]);
    let mut session = open(&plan, 1);
    assert!(!session.is_over(END), "90 requests wait for a connection");
    connect(&mut session, END);
    for _ in 0..90 {
        assert!(!session.is_over(END));
        session.received(0, ANSWER.as_bytes(), END, false);
    }
    assert!(session.is_over(END));
    assert_eq!(session.tallies.each_ref().map(|tally| tally.count(Class::Ok)), [10, 80]);
}

#[test]
fn only_closed_loops_count_as_busy() {
    let kept = plan(&[]);
    let mut session = closed(&kept, 2);
    assert_eq!(session.busy(), 0);
    connect(&mut session, LOAD);
    assert_eq!(session.busy(), 1);
    let scheduled = plan(&["--rate", "10"]);
    let mut session = open(&scheduled, 1);
    connect(&mut session, LOAD);
    assert_eq!(session.busy(), 0, "a request is out, and the next one is due");
}

#[test]
fn uses_idle_connections_in_turn() {
    let plan = plan(&["--rate", "10"]);
    let mut session = open(&plan, 3);
    for _ in 0..3 {
        connect(&mut session, LOAD - 1);
    }
    for nth in 0..6 {
        let now_ns = LOAD + nth * 100 * MS;
        let (slot, _) = session.next_send(now_ns).expect("one is due");
        assert_eq!(slot as u64, nth % 3);
        session.received(slot, ANSWER.as_bytes(), now_ns, false);
    }
}

#[test]
fn driver_wakes_before_a_request_is_due() {
    const LOOK: u64 = 100 * MS;
    let plan = plan(&["--rate", "10"]);
    let mut session = open(&plan, 1);
    connect(&mut session, LOAD - MS);
    assert_eq!(session.overdue(LOAD - MS), None);
    let spin_ns = LOAD - session.next_wake_ns(LOAD - MS);
    assert!((1..MS).contains(&spin_ns), "it polls for the last {spin_ns} ns");
    session.next_send(LOAD).expect("one is due");
    assert_eq!(session.next_wake_ns(LOAD), LOAD - MS + LOOK, "none can be sent");
    session.received(0, ANSWER.as_bytes(), LOAD + MS, false);
    assert_eq!(session.overdue(LOAD + 99 * MS), None);
    assert_eq!(session.next_wake_ns(LOAD + 99 * MS), LOAD + 100 * MS - spin_ns);
}

/// This is how late timeouts may be; see docs/engine.md.
#[test]
fn scans_for_timeouts_every_twentieth_of_the_timeout() {
    for (timeout, apart_ns) in [("1s", 50 * MS), ("1h", 100 * MS), ("5ms", MS)] {
        let plan = plan(&["--timeout", timeout]);
        let mut session = closed(&plan, 1);
        assert_eq!(session.overdue(LOAD), None);
        assert_eq!(session.next_wake_ns(LOAD), LOAD + apart_ns, "{timeout}");
    }
}

#[test]
fn connections_per_request_are_not_opened_before_the_load() {
    let per_request = plan(&["--close"]);
    assert_eq!(closed(&per_request, 1).next_open(LOAD - 1), None);
    assert_eq!(closed(&per_request, 1).next_open(LOAD), Some(0));
    let kept = plan(&[]);
    assert_eq!(closed(&kept, 1).next_open(LOAD - 1), Some(0));
}

#[test]
fn driver_wakes_at_the_end_of_a_phase() {
    let plan = plan(&[]);
    let mut session = closed(&plan, 1);
    assert_eq!(session.overdue(LOAD - MS), None);
    assert_eq!(session.next_wake_ns(LOAD - MS), LOAD);
    assert_eq!(session.overdue(END - MS), None);
    assert_eq!(session.next_wake_ns(END - MS), END);
}

/// Bug: the driver polled without pause during the drain.
#[test]
fn driver_sleeps_during_the_drain() {
    let plan = plan(&["--timeout", "1s"]);
    let mut session = closed(&plan, 1);
    connect(&mut session, END - MS);
    assert_eq!(session.overdue(END + MS), None);
    assert_eq!(session.next_wake_ns(END + MS), END + MS + 50 * MS, "the next look for timeouts");
}

#[test]
fn reopened_connection_is_idle_once() {
    let plan = plan(&["--rate", "10"]);
    let mut session = open(&plan, 1);
    connect(&mut session, LOAD - 3);
    assert_eq!(session.ended(0, LOAD - 2), Action::Close);
    connect(&mut session, LOAD - 1);
    let now_ns = LOAD + 100 * MS;
    assert!(matches!(session.next_send(now_ns), Some((0, Action::Send(_)))));
    assert_eq!(session.next_send(now_ns), None, "two are due, and one connection is there");
}

#[test]
fn closes_idle_connections_with_unsolicited_bytes() {
    let plan = plan(&["--rate", "10"]);
    let mut session = open(&plan, 1);
    connect(&mut session, LOAD - 1);
    assert_eq!(session.received(0, b"hello", LOAD - 1, false), Action::Close);
    assert_eq!((session.stats.unsolicited_idle, classes(&session)), (1, vec![]));
}

#[test]
fn only_expected_responses_are_late() {
    let plan = plan(&["--rate", "10", "--deadline", "150ms"]);
    let mut session = open(&plan, 2);
    connect(&mut session, LOAD);
    connect(&mut session, LOAD + 200 * MS);
    // The second connection took the request that was due at 100 ms, 100 ms late.
    session.received(1, ANSWER.as_bytes(), LOAD + 251 * MS, false);
    session.received(0, WRONG_BODY.as_bytes(), LOAD + 252 * MS, false);
    assert_eq!(classes(&session), [(Class::BodyMismatch, 1), (Class::Late, 1)]);
}

#[test]
fn sheds_requests_past_the_deadline() {
    let plan = plan(&["--rate", "10", "--deadline", "150ms"]);
    let mut session = open(&plan, 1);
    let (_, action) = connect(&mut session, LOAD + 350 * MS);
    assert!(matches!(action, Action::Send(_)));
    assert_eq!(classes(&session), [(Class::Shed, 2)], "due at 0 and 100 ms; 200 ms is in time");
    assert_eq!(session.tallies[0].send_lag.max_us().map(|us| us / 1000), Some(150));
}

/// Bug: the wait for a busy server was reported as send_lag.
#[test]
fn wait_for_the_server_is_not_client_lag() {
    let plan = plan(&["--rate", "10"]);
    let mut session = open(&plan, 1);
    connect(&mut session, LOAD);
    assert_eq!(session.next_send(LOAD + 550 * MS), None, "the one connection is busy");
    let answered_ns = LOAD + 560 * MS;
    assert!(matches!(session.received(0, ANSWER.as_bytes(), answered_ns, false), Action::Send(_)));
    let [tally, _] = &session.tallies;
    assert_eq!(tally.send_lag.max_us().map(|us| us / 1000), Some(460));
    assert_eq!(tally.client_lag.max_us(), Some(0));
}

#[test]
fn late_send_with_a_free_connection_is_client_lag() {
    let plan = plan(&["--rate", "10"]);
    let mut session = open(&plan, 1);
    connect(&mut session, LOAD);
    session.received(0, ANSWER.as_bytes(), LOAD + 10 * MS, false);
    assert!(session.next_send(LOAD + 130 * MS).is_some());
    let lag = &session.tallies[0].client_lag;
    assert_eq!(lag.max_us().map(|us| us / 1000), Some(30), "due at 100 ms");
}
