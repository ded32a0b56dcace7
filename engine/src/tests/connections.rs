//! The classes of requests after each event on their connection, including events that no test
//! server can cause.

use crate::classes::Class;
use crate::plan::Plan;
use crate::session::{Action, Session, Window};

use super::events::{ANSWER, END, LAST_ANSWER, LOAD, MEASURE, MS, SECOND, WRONG_BODY};
use super::events::{begun, classes, closed, connect, plan};

/// Three requests on one connection, to which the server sent `input`.
fn three_in_flight<'p>(plan: &'p Plan, input: &str) -> Session<'p> {
    let mut session = closed(plan, 1);
    let (slot, action) = connect(&mut session, MEASURE);
    assert!(matches!(action, Action::Send(_)));
    if !input.is_empty() {
        session.received(slot, input.as_bytes(), MEASURE + 1, false);
    }
    session
}

#[test]
fn requests_behind_a_lost_one_have_no_first_byte() {
    let plan = plan(&["--pipeline", "3"]);
    let part = &ANSWER[..ANSWER.len() - 1];
    let now_ns = MEASURE + 2;
    let lost = |input: &str, event: fn(&mut Session, usize, u64) -> Action| {
        let mut session = three_in_flight(&plan, input);
        assert_eq!(event(&mut session, 0, now_ns), Action::Close);
        let counts = classes(&session);
        (counts, session.stats.stale_reuse)
    };
    assert_eq!(
        lost(part, |s, slot, now| s.ended(slot, now)),
        (vec![(Class::EofOnReused, 2), (Class::EofMidBody, 1)], 0)
    );
    assert_eq!(
        lost(part, |s, slot, now| s.broke(slot, now)),
        (vec![(Class::ResetBeforeByte, 2), (Class::ResetMid, 1)], 0)
    );
    assert_eq!(
        lost(part, |s, slot, now| s.timed_out(slot, now)),
        (vec![(Class::TimeoutFirstByte, 2), (Class::TimeoutBody, 1)], 0)
    );
    assert_eq!(
        lost("", |s, slot, now| s.received(slot, b"SSH-2.0\r\n\r\n", now, false)),
        (vec![(Class::Malformed, 1), (Class::Unfinished, 2)], 0)
    );
    assert_eq!(
        lost("", |s, slot, now| s.write_failed(slot, now)),
        (vec![(Class::WriteReset, 3)], 0)
    );
}

#[test]
fn close_delimited_body_loses_the_requests_behind_it() {
    let plan = plan(&["--pipeline", "3"]);
    let mut session = three_in_flight(&plan, "HTTP/1.1 200 OK\r\n\r\nok");
    assert_eq!(session.ended(0, MEASURE + 2), Action::Close);
    assert_eq!(classes(&session), [(Class::Ok, 1), (Class::EofOnReused, 2)]);
    assert_eq!(session.stats.stale_reuse, 2);
}

#[test]
fn loss_on_a_fresh_connection_is_not_stale_reuse() {
    let plan = plan(&[]);
    let mut session = closed(&plan, 1);
    connect(&mut session, MEASURE);
    session.broke(0, MEASURE + 1);
    assert_eq!(
        (classes(&session), session.stats.stale_reuse),
        (vec![(Class::ResetBeforeByte, 1)], 0)
    );
    connect(&mut session, MEASURE + 2);
    session.received(0, ANSWER.as_bytes(), MEASURE + 3, false);
    session.write_failed(0, MEASURE + 4);
    assert_eq!(session.stats.stale_reuse, 1);
}

/// Bug: a server that says that it closes an idle connection failed the gate `errors`.
#[test]
fn request_timeout_on_an_idle_connection_is_a_close_by_the_server() {
    let idle_close =
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let plan = plan(&[]);
    let mut session = closed(&plan, 1);
    let mut counts = |input: &str| {
        connect(&mut session, LOAD - 2);
        session.received(0, input.as_bytes(), LOAD - 1, false);
        let stats = std::mem::take(&mut session.stats);
        (stats.unsolicited_idle, stats.closed_by_server, classes(&session))
    };
    assert_eq!(counts(idle_close), (0, 1, vec![]));
    assert_eq!(counts("HTTP/1.1 408 Request Timeout\r\n\r\n"), (0, 1, vec![]));
    assert_eq!(counts("HTTP/1.1 408 Timeout\r\nContent-Length: 0\r\n\r\n"), (1, 0, vec![]));
    assert_eq!(counts("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"), (1, 0, vec![]));
    // One that crosses a request is its answer, as a close that crosses one is its loss.
    connect(&mut session, MEASURE);
    for (input, stale) in [(ANSWER, 0), (idle_close, 1)] {
        session.received(0, input.as_bytes(), MEASURE + 1, false);
        assert_eq!(session.stats.stale_reuse, stale);
    }
    assert_eq!(classes(&session), [(Class::Ok, 1), (Class::Status, 1)]);
}

#[test]
fn unsolicited_bytes_count_against_the_response_before_them() {
    let plan = plan(&["--pipeline", "2", "--requests-per-connection", "2"]);
    let mut session = closed(&plan, 1);
    connect(&mut session, MEASURE);
    let input = format!("{ANSWER}{ANSWER}x");
    assert_eq!(session.received(0, input.as_bytes(), MEASURE + 1, false), Action::Close);
    assert_eq!(classes(&session), [(Class::Ok, 1), (Class::Unsolicited, 1)]);
    assert_eq!(session.stats.closed_by_client, 1);
}

#[test]
fn wrong_response_keeps_its_class_before_unsolicited_bytes() {
    let plan = plan(&[]);
    let mut session = closed(&plan, 1);
    connect(&mut session, MEASURE);
    session.received(0, format!("{WRONG_BODY}x").as_bytes(), MEASURE + 1, false);
    assert_eq!(classes(&session), [(Class::BodyMismatch, 1)]);
}

#[test]
fn close_announced_before_another_response_holds() {
    let plan = plan(&["--pipeline", "2", "--requests-per-connection", "4"]);
    let mut session = closed(&plan, 1);
    connect(&mut session, MEASURE);
    let input = format!("{LAST_ANSWER}{ANSWER}");
    assert_eq!(session.received(0, input.as_bytes(), MEASURE + 1, false), Action::Wait);
    assert_eq!(session.ended(0, MEASURE + 2), Action::Close);
    assert_eq!((classes(&session), session.stats.closed_by_server), (vec![(Class::Ok, 2)], 1));
}

#[test]
fn announced_close_may_take_a_second() {
    let plan = plan(&["--timeout", "5s"]);
    let mut session = closed(&plan, 1);
    connect(&mut session, MEASURE);
    let announced_ns = END - 100 * MS;
    session.received(0, LAST_ANSWER.as_bytes(), announced_ns, false);
    assert!(!session.is_over(END), "a close is awaited");
    assert_eq!(session.overdue(announced_ns + SECOND - 1), None);
    let late_ns = announced_ns + 2 * SECOND;
    assert_eq!(session.overdue(late_ns), Some(0));
    assert_eq!(session.timed_out(0, late_ns), Action::Close);
    assert!(session.is_over(late_ns));
    assert_eq!((classes(&session), session.stats.closed_by_client), (vec![(Class::Ok, 1)], 1));
    let busy_ns = u128::from(END - MEASURE);
    assert_eq!(session.tallies[1].busy_ns, busy_ns, "Little's law counts the closing");
}

#[test]
fn counts_closes_by_server_and_by_client() {
    let plan = plan(&["--requests-per-connection", "1"]);
    let mut session = closed(&plan, 2);
    connect(&mut session, MEASURE);
    connect(&mut session, MEASURE);
    assert_eq!(session.received(0, ANSWER.as_bytes(), MEASURE + 1, true), Action::Close);
    let (server, client) = (session.stats.closed_by_server, session.stats.closed_by_client);
    assert_eq!((server, client), (1, 0));
    assert_eq!(session.received(1, ANSWER.as_bytes(), MEASURE + 1, false), Action::Close);
    let (server, client) = (session.stats.closed_by_server, session.stats.closed_by_client);
    assert_eq!((server, client), (1, 1));
}

#[test]
fn established_counts_the_most_open_connections() {
    let plan = plan(&["--requests-per-connection", "1"]);
    let mut session = closed(&plan, 2);
    for _ in 0..3 {
        connect(&mut session, MEASURE);
        connect(&mut session, MEASURE);
        (0..2).for_each(|slot| {
            session.received(slot, ANSWER.as_bytes(), MEASURE + 1, false);
        });
    }
    assert_eq!((session.stats.opened, session.stats.established), (6, 2));
}

#[test]
fn limits_concurrent_connects() {
    let plan = plan(&[]);
    let mut session = begun(Session::new(&plan, 5, 2, None));
    for slot in 0..2 {
        assert_eq!(session.next_open(LOAD), Some(slot));
        session.opening(slot, LOAD);
    }
    assert_eq!(session.next_open(LOAD), None);
    session.connected(0, LOAD + 1);
    assert_eq!(session.next_open(LOAD + 1), Some(2));
}

#[test]
fn slot_waits_after_a_failed_connect() {
    let plan = plan(&[]);
    let mut session = Session::new(&plan, 1, 1, None);
    let slot = session.next_open(10).unwrap();
    session.opening(slot, 10);
    session.open_failed(slot, libc::ECONNREFUSED, 20);
    assert_eq!(session.stats.failed_without_request, 1, "the load had not begun");
    session.begin(Window { load_ns: 30, measure_ns: 30, end_ns: END });
    assert_eq!(session.next_open(20 + 10 * MS - 1), None);
    assert_eq!(session.overdue(40), None);
    assert_eq!(session.next_wake_ns(40), 20 + 10 * MS);
    let now_ns = 20 + 10 * MS;
    assert_eq!(session.next_open(now_ns), Some(slot));
    session.opening(slot, now_ns);
    session.open_failed(slot, libc::EHOSTUNREACH, now_ns);
    assert_eq!(classes(&session), [(Class::ConnectOther, 1)]);
    assert_eq!(session.tallies[1].connect_errnos[&libc::EHOSTUNREACH], 1);
    assert_eq!(session.stats.failed_without_request, 1);
}

#[test]
fn failed_connect_during_the_load_costs_a_request() {
    let plan = plan(&[]);
    let mut session = closed(&plan, 1);
    let slot = session.next_open(LOAD - 1).unwrap();
    session.opening(slot, LOAD - 1);
    session.open_failed(slot, libc::ECONNREFUSED, LOAD);
    assert_eq!(classes(&session), [(Class::ConnectRefused, 1)]);
    assert_eq!(session.stats.failed_without_request, 0);
}

#[test]
fn connect_past_the_timeout_is_a_connect_timeout() {
    let plan = plan(&["--timeout", "3s"]);
    let mut session = closed(&plan, 1);
    let slot = session.next_open(MEASURE).unwrap();
    session.opening(slot, MEASURE);
    assert_eq!(session.overdue(MEASURE + 3 * SECOND - 1), None);
    let late_ns = MEASURE + 4 * SECOND;
    assert_eq!(session.overdue(late_ns), Some(slot));
    assert_eq!(session.timed_out(slot, late_ns), Action::Close);
    assert_eq!(classes(&session), [(Class::ConnectTimeout, 1)]);
}

#[test]
fn new_connection_forgets_a_truncated_response() {
    let plan = plan(&[]);
    let mut session = closed(&plan, 1);
    connect(&mut session, MEASURE);
    session.received(0, &ANSWER.as_bytes()[..20], MEASURE + 1, false);
    session.ended(0, MEASURE + 2);
    connect(&mut session, MEASURE + 3);
    session.received(0, ANSWER.as_bytes(), MEASURE + 4, false);
    session.ended(0, MEASURE + 5);
    connect(&mut session, MEASURE + 6);
    session.ended(0, MEASURE + 7);
    let wanted =
        [(Class::Ok, 1), (Class::EofOnFresh, 1), (Class::EofOnReused, 1), (Class::EofMidHead, 1)];
    assert_eq!(classes(&session), wanted);
}
