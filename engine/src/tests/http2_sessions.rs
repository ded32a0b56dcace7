//! Sessions of HTTP/2, event by event and in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::backlog::Backlog;
use crate::classes::Class;
use crate::h2::PREFACE;
use crate::plan::Plan;
use crate::schedule::{Arrival, Arrivals};
use crate::session::{Action, Session, Window};

use super::events::{END, LOAD, MEASURE, MS, SECOND, begun, classes, closed, connect, open, plan};
use super::http2::{answer, frame, goaway, settings};

const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];
const CANCEL: [u8; 4] = [0, 0, 0, 8];

/// The plan of `--http2` with these arguments.
fn plan2(args: &[&str]) -> Plan {
    plan(&[&["--http2"], args].concat())
}

/// The frames that a slot has to send, which are sent: kind, flags, stream and payload.
fn sent(session: &mut Session, slot: usize) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let output = std::mem::take(session.output(slot));
    let mut rest = output.strip_prefix(PREFACE).unwrap_or(&output);
    let mut frames = Vec::new();
    while let [a, b, c, kind, flags, d, e, f, g, after @ ..] = rest {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let id = u32::from_be_bytes([*d, *e, *f, *g]);
        frames.push((*kind, *flags, id, after[..length].to_vec()));
        rest = &after[length..];
    }
    frames
}

/// The streams on which a slot sends requests.
fn requests(session: &mut Session, slot: usize) -> Vec<u32> {
    let frames = sent(session, slot);
    frames.iter().filter(|(kind, ..)| *kind == 1).map(|(_, _, id, _)| *id).collect()
}

/// A closed loop of one connection, whose server has sent its SETTINGS.
fn begun_on_one(plan: &Plan) -> Session<'_> {
    let mut session = closed(plan, 1);
    assert_eq!(connect(&mut session, MEASURE), (0, Action::Flush));
    let settings = settings(&[(3, 100)]);
    assert_eq!(session.received(0, &settings, MEASURE, false), Action::Flush);
    session
}

#[test]
fn fills_the_streams_and_takes_answers_in_any_order() {
    let plan = plan2(&["--streams", "3"]);
    let mut session = begun_on_one(&plan);
    assert_eq!(requests(&mut session, 0), [1, 3, 5]);
    let both = [answer(5), answer(1)].concat();
    assert_eq!(session.received(0, &both, MEASURE + 7, false), Action::Flush);
    assert_eq!(requests(&mut session, 0), [7, 9]);
    assert_eq!(session.received(0, &answer(3), MEASURE + 9, false), Action::Flush);
    let tally = &session.tallies[1];
    assert_eq!((tally.count(Class::Ok), tally.scheduled), (3, 6));
    assert_eq!(tally.cycle_ns, 7 + 7 + 9, "each stream has its own cycles");
    assert_eq!((tally.busy_ns, session.kept_answers()), (7 + 7 + 9, 3));
}

#[test]
fn request_is_encoded_once_and_only_the_first_resizes_the_table() {
    let plan = plan2(&["--streams", "2", "-H", "X-A: b", "-H", "Host: c"]);
    let mut session = begun_on_one(&plan);
    let frames = sent(&mut session, 0);
    let kinds: Vec<u8> = frames.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, [4, 8, 1, 1, 4], "SETTINGS, window, two requests, acknowledgement");
    let (first, second) = (&frames[2], &frames[3]);
    assert_eq!((first.1, second.1), (5, 5), "END_HEADERS and END_STREAM");
    assert_eq!(first.3[..1], [0x20]);
    assert_eq!(first.3[1..], second.3);
    let text = String::from_utf8_lossy(&second.3).into_owned();
    assert!(second.3.starts_with(&[0x82, 0x86, 0x01, 1, b'c', 0x04, 2]), "{text:?}");
    assert!(text.contains("\u{3}x-a\u{1}b") && !text.contains("host"), "{text:?}");
}

#[test]
fn goaway_returns_requests_to_the_next_connection() {
    let plan = plan2(&["--streams", "3"]);
    let mut session = begun_on_one(&plan);
    requests(&mut session, 0);
    let input = [goaway(1, 0), answer(1)].concat();
    assert_eq!(session.received(0, &input, MEASURE + 1, false), Action::Close);
    assert_eq!(classes(&session), [(Class::Ok, 1)]);
    assert_eq!((session.stats.retried, &session.stats.goaways), (2, &[(0, 1)].into()));
    assert_eq!(connect(&mut session, MEASURE + 5), (0, Action::Flush));
    assert_eq!(requests(&mut session, 0), [1, 3, 5], "two again, and a new one");
    let all = [settings(&[]), answer(1), answer(3), answer(5)].concat();
    session.received(0, &all, MEASURE + 10, false);
    let tally = &session.tallies[1];
    assert_eq!((tally.count(Class::Ok), tally.scheduled), (4, 7));
    assert_eq!(tally.service.max_us(), Some(0), "10 ns");
    assert_eq!(tally.busy_ns, 1 + 10 + 10 + 5, "a retried request lasts from its first sending");
}

/// A slot without a request was the first to be opened, and after the load it is not.
#[test]
fn bug_goaway_after_the_load_returns_requests_to_a_connection() {
    let plan = plan2(&[]);
    let mut session = closed(&plan, 2);
    for slot in 0..2 {
        connect(&mut session, MEASURE);
        session.received(slot, &settings(&[]), MEASURE, false);
    }
    session.stop_sending(MEASURE + 1);
    assert_eq!(session.received(0, &answer(1), MEASURE + 2, true), Action::Close);
    assert_eq!(session.received(1, &goaway(0, 0), MEASURE + 2, false), Action::Close);
    assert_eq!(connect(&mut session, MEASURE + 3), (1, Action::Flush));
    assert_eq!(session.next_open(MEASURE + 3), None);
    session.received(1, &[settings(&[]), answer(1)].concat(), MEASURE + 4, false);
    assert_eq!((classes(&session), session.is_over(MEASURE + 4)), (vec![(Class::Ok, 2)], true));
}

#[test]
fn request_that_each_connection_returns_ends_as_goaway() {
    let plan = plan2(&[]);
    let mut session = begun_on_one(&plan);
    for _ in 0..3 {
        assert_eq!(session.received(0, &goaway(0, 0), MEASURE, false), Action::Close);
        assert!(classes(&session).is_empty());
        connect(&mut session, MEASURE);
        session.received(0, &settings(&[]), MEASURE, false);
    }
    assert_eq!(session.received(0, &goaway(0, 0), MEASURE, false), Action::Close);
    assert_eq!((classes(&session), session.stats.retried), (vec![(Class::Goaway, 1)], 3));
}

#[test]
fn refused_request_is_sent_again_on_its_connection() {
    let plan = plan2(&["--streams", "2"]);
    let mut session = begun_on_one(&plan);
    requests(&mut session, 0);
    let refused = frame(3, 0, 1, &REFUSED_STREAM);
    assert_eq!(session.received(0, &refused, MEASURE + 1, false), Action::Flush);
    assert_eq!(requests(&mut session, 0), [5]);
    session.received(0, &[answer(3), answer(5)].concat(), MEASURE + 10, false);
    let (tally, stats) = (&session.tallies[1], &session.stats);
    assert_eq!((tally.count(Class::Ok), tally.scheduled, tally.busy_ns), (2, 4, 10 + 10));
    assert_eq!((stats.retried, stats.refused, stats.opened), (1, 1, 1));
    // Where the server takes no more, it goes to the next connection.
    let input = [goaway(9, 0), frame(3, 0, 7, &REFUSED_STREAM), answer(9)].concat();
    assert_eq!(session.received(0, &input, MEASURE + 11, false), Action::Close);
    assert_eq!(connect(&mut session, MEASURE + 12), (0, Action::Flush));
    assert_eq!(requests(&mut session, 0), [1, 3], "it and a new one");
    assert_eq!(classes(&session), [(Class::Ok, 3)]);
}

#[test]
fn request_that_is_refused_too_often_or_after_a_head_ends_as_stream_reset() {
    let plan = plan2(&[]);
    let mut session = begun_on_one(&plan);
    for id in [1, 3, 5] {
        session.received(0, &frame(3, 0, id, &REFUSED_STREAM), MEASURE, false);
        assert!(classes(&session).is_empty());
    }
    session.received(0, &frame(3, 0, 7, &REFUSED_STREAM), MEASURE, false);
    assert_eq!((classes(&session), session.stats.refused), (vec![(Class::StreamReset, 1)], 3));
    let input = [frame(1, 4, 9, &[0x88]), frame(3, 0, 9, &REFUSED_STREAM)].concat();
    session.received(0, &input, MEASURE, false);
    assert_eq!((classes(&session), session.stats.refused), (vec![(Class::StreamReset, 2)], 3));
    assert_eq!(session.tallies[1].reset_codes, [(7, 2)].into());
}

/// All bytes counted with the oldest request: one of the warm-up, as long as it had no answer.
#[test]
fn bug_bytes_count_with_the_request_of_their_stream() {
    let plan = plan2(&["--streams", "2"]);
    let mut session = closed(&plan, 1);
    connect(&mut session, LOAD);
    session.received(0, &settings(&[]), LOAD, false);
    session.received(0, &answer(3), MEASURE + 1, false);
    let (pieces, ping) = (answer(5), frame(6, 0, 0, &[0; 8]));
    let (first, second) = pieces.split_at(pieces.len() - 3);
    session.received(0, first, MEASURE + 2, false);
    session.received(0, &[second, &ping].concat(), MEASURE + 3, false);
    let bytes = session.tallies.each_ref().map(|tally| tally.bytes_in as usize);
    assert_eq!(bytes, [settings(&[]).len() + answer(3).len(), pieces.len() + ping.len()]);
}

#[test]
fn goaway_with_an_error_is_the_class_of_what_the_server_drops() {
    let plan = plan2(&["--streams", "2"]);
    let mut session = begun_on_one(&plan);
    session.received(0, &goaway(3, 2), MEASURE, false);
    assert_eq!(session.ended(0, MEASURE), Action::Close);
    assert_eq!(classes(&session), [(Class::Goaway, 2)]);
}

#[test]
fn lost_connection_ends_each_stream_in_its_class() {
    let plan = plan2(&["--streams", "3"]);
    let head = [frame(1, 4, 3, &[0x88]), frame(1, 4, 5, b"\x08\x03103")].concat();
    let lost = |event: fn(&mut Session) -> Action| {
        let mut session = begun_on_one(&plan);
        session.received(0, &head, MEASURE + 1, false);
        assert_eq!(event(&mut session), Action::Close);
        classes(&session)
    };
    let wanted = [(Class::EofOnFresh, 1), (Class::EofMidHead, 1), (Class::EofMidBody, 1)];
    assert_eq!(lost(|session| session.ended(0, MEASURE + 2)), wanted);
    let wanted = [(Class::ResetBeforeByte, 1), (Class::ResetMid, 2)];
    assert_eq!(lost(|session| session.broke(0, MEASURE + 2)), wanted);
    assert_eq!(lost(|session| session.write_failed(0, MEASURE + 2)), [(Class::WriteReset, 3)]);
    let wanted = [(Class::Malformed, 1), (Class::Unfinished, 2)];
    assert_eq!(lost(|session| session.received(0, &[0xff; 9], MEASURE + 2, false)), wanted);
}

/// Bug: seven bytes are less than the head of a frame, so the server seemed to close in silence.
#[test]
fn alert_of_tls_is_no_http2() {
    let plan = plan2(&[]);
    for event in [Session::ended, Session::broke] {
        let mut session = closed(&plan, 1);
        connect(&mut session, MEASURE);
        session.received(0, &[21, 3, 1, 0, 2, 2, 70], MEASURE + 1, false);
        assert_eq!(event(&mut session, 0, MEASURE + 2), Action::Close);
        assert_eq!(classes(&session), [(Class::Malformed, 1)]);
    }
}

/// A closed loop of one connection, whose server has read none of the requests, of 2 kB each.
fn unread(plan: &Plan) -> Session<'_> {
    let mut session = closed(plan, 1);
    connect(&mut session, MEASURE);
    session.received(0, &settings(&[(3, 1000)]), MEASURE, false);
    session
}

/// The heads of requests counted as answers that the server does not read.
#[test]
fn bug_long_heads_on_many_streams_are_no_flood() {
    let plan = plan2(&["--streams", "1000", "-H", &format!("X: {}", "x".repeat(2000))]);
    let mut session = unread(&plan);
    assert!(session.output(0).len() > 2_000_000);
    assert_eq!(session.received(0, &answer(1), MEASURE + 1, false), Action::Flush);
    assert_eq!(classes(&session), [(Class::Ok, 1)]);
}

#[test]
fn server_that_ends_requests_without_reading_them_is_given_up_on() {
    let plan = plan2(&["--streams", "10", "-H", &format!("X: {}", "x".repeat(2000))]);
    let mut session = unread(&plan);
    let closes = (0..100).any(|round| {
        let reset = |n: u32| frame(3, 0, 20 * round + 2 * n + 1, &CANCEL);
        let resets: Vec<u8> = (0..10).flat_map(reset).collect();
        session.received(0, &resets, MEASURE, false) == Action::Close
    });
    assert!(closes, "{} bytes wait", session.output(0).len());
}

#[test]
fn reset_stream_and_malformed_response_cost_one_request_each() {
    let plan = plan2(&["--streams", "3"]);
    let mut session = begun_on_one(&plan);
    requests(&mut session, 0);
    let bad = frame(1, 4, 3, b"\x88\x00\x0aconnection\x05close");
    let input = [frame(3, 0, 1, &[0, 0, 0, 11]), bad].concat();
    assert_eq!(session.received(0, &input, MEASURE + 1, false), Action::Flush);
    assert_eq!(classes(&session), [(Class::StreamReset, 1), (Class::Malformed, 1)]);
    assert_eq!(session.tallies[1].reset_codes, [(11, 1)].into());
    let frames = sent(&mut session, 0);
    assert_eq!(frames[0], (3, 0, 3, vec![0, 0, 0, 1]), "the client ends the stream");
    assert_eq!(frames[1..].iter().map(|frame| frame.2).collect::<Vec<_>>(), [7, 9]);
    // What was under way on the stream is no error.
    session.received(0, &frame(0, 1, 3, b"ok"), MEASURE + 2, false);
    assert_eq!(session.open_connections(), 1);
}

#[test]
fn stream_without_an_end_times_out_alone() {
    let plan = plan2(&["--streams", "2", "--timeout", "3s"]);
    let mut session = begun_on_one(&plan);
    session.received(0, &frame(1, 4, 1, &[0x88]), MEASURE + SECOND, false);
    session.received(0, &answer(3), MEASURE + 2 * SECOND, false);
    requests(&mut session, 0);
    let late_ns = MEASURE + 3 * SECOND;
    assert_eq!(session.overdue(late_ns), Some(0));
    assert_eq!(session.timed_out(0, late_ns), Action::Flush);
    assert_eq!(classes(&session), [(Class::Ok, 1), (Class::TimeoutBody, 1)]);
    let frames = sent(&mut session, 0);
    assert_eq!(frames[0], (3, 0, 1, CANCEL.to_vec()));
    assert_eq!(frames[1].2, 7, "a new request");
    // A frozen server: the next two are late too, and the connection is given up.
    assert_eq!(session.timed_out(0, late_ns + 4 * SECOND), Action::Close);
    assert_eq!(session.stats.closed_by_client, 1);
}

#[test]
fn bodies_are_sent_as_the_windows_allow() {
    let body = "b".repeat(100_000);
    let plan = plan2(&["--streams", "2", "--body", &body]);
    let mut session = begun_on_one(&plan);
    let data = |session: &mut Session| -> [usize; 2] {
        let frames = sent(session, 0);
        let of = |id| frames.iter().filter(move |(kind, _, other, _)| *kind == 0 && *other == id);
        [1, 3].map(|id| of(id).map(|(.., payload)| payload.len()).sum())
    };
    let [first, second] = data(&mut session);
    assert_eq!(first + second, 65_535, "the window of the connection");
    assert!(first.abs_diff(second) <= 16_384, "the streams take turns");
    let grows = |id: u32, bytes: u32| frame(8, 0, id, &bytes.to_be_bytes());
    session.received(0, &[grows(0, 300_000), grows(1, 1)].concat(), MEASURE, false);
    assert_eq!(data(&mut session), [65_536 - first, 65_535 - second], "those of the streams");
    session.received(0, &settings(&[(4, 10)]), MEASURE, false);
    assert!(sent(&mut session, 0).iter().all(|(kind, ..)| *kind == 4), "a window below 0");
    session.received(0, &settings(&[(4, 100_000)]), MEASURE, false);
    let ends = sent(&mut session, 0);
    let ends: Vec<u32> = ends.iter().filter(|f| f.0 == 0 && f.1 == 1).map(|f| f.2).collect();
    assert_eq!(ends, [1, 3]);
}

/// An answer before the end of the request, such as a 413.
#[test]
fn early_answer_ends_the_request() {
    let plan = plan2(&["--body", &"b".repeat(100_000)]);
    let mut session = begun_on_one(&plan);
    sent(&mut session, 0);
    session.received(0, &answer(1), MEASURE, false);
    assert_eq!(classes(&session), [(Class::Ok, 1)]);
    assert_eq!(sent(&mut session, 0)[0], (3, 0, 1, CANCEL.to_vec()));
}

#[test]
fn server_may_allow_fewer_streams_during_the_load() {
    let plan = plan2(&["--streams", "3"]);
    let mut session = begun_on_one(&plan);
    requests(&mut session, 0);
    session.received(0, &[settings(&[(3, 1)]), answer(1)].concat(), MEASURE, false);
    assert!(requests(&mut session, 0).is_empty(), "two are still in flight");
    session.received(0, &[answer(3), answer(5)].concat(), MEASURE, false);
    assert_eq!(requests(&mut session, 0), [7]);
}

#[test]
fn open_loop_spreads_requests_over_connections_and_streams() {
    let plan = plan2(&["--streams", "2", "--rate", "10"]);
    let mut session = open(&plan, 2);
    for slot in 0..2 {
        assert_eq!(connect(&mut session, LOAD - 5).0, slot);
        session.received(slot, &settings(&[]), LOAD - 5, false);
    }
    let now_ns = LOAD + 450 * MS;
    let mut slots = Vec::new();
    while let Some((slot, action)) = session.next_send(now_ns) {
        assert_eq!(action, Action::Flush);
        slots.push(slot);
    }
    assert_eq!(slots, [0, 1, 0, 1], "five are due, and there is room for four");
    assert_eq!((requests(&mut session, 0), requests(&mut session, 1)), (vec![1, 3], vec![1, 3]));
    assert_eq!(session.received(1, &answer(3), now_ns + 1, false), Action::Flush);
    assert_eq!(requests(&mut session, 1), [5], "the one that waited");
    assert_eq!(session.take_counts().backlog_peak, Some(4), "before the first was sent");
}

#[test]
fn connection_of_limited_requests_is_closed_after_its_last_answer() {
    let plan = plan2(&["--streams", "2", "--requests-per-connection", "3"]);
    let mut session = begun_on_one(&plan);
    assert_eq!(requests(&mut session, 0), [1, 3]);
    session.received(0, &answer(3), MEASURE, false);
    assert_eq!(requests(&mut session, 0), [5]);
    assert_eq!(session.received(0, &answer(1), MEASURE, false), Action::Wait);
    assert_eq!(session.received(0, &answer(5), MEASURE, false), Action::Close);
    assert_eq!((classes(&session), session.stats.closed_by_client), (vec![(Class::Ok, 3)], 1));
}

#[test]
fn end_of_the_load_ends_every_stream_and_keeps_idle_connections() {
    let plan = plan2(&["--streams", "2"]);
    let mut session = closed(&plan, 2);
    for slot in 0..2 {
        connect(&mut session, MEASURE);
        session.received(slot, &settings(&[]), MEASURE, false);
    }
    session.stop_sending(MEASURE + 1);
    session.received(0, &[answer(1), answer(3)].concat(), MEASURE + 2, false);
    assert_eq!(session.finish(END), [1]);
    assert_eq!(classes(&session), [(Class::Ok, 2), (Class::Unfinished, 2)]);
    assert_eq!((session.open_connections(), session.is_over(END)), (1, true));
}

/// Frames of a violation that no request pays for are seen all the same.
#[test]
fn violation_on_an_idle_connection_is_counted() {
    let plan = plan2(&["--rate", "10"]);
    let mut session = open(&plan, 1);
    connect(&mut session, LOAD - 5);
    assert_eq!(
        session.received(0, b"HTTP/1.1 400 Bad Request\r\n", LOAD - 4, false),
        Action::Close
    );
    assert_eq!((session.stats.unsolicited_idle, classes(&session)), (1, vec![]));
}

/// Runs 10 s of virtual time against a server of constant service time; returns the session.
fn run(plan: &Plan, connections: usize, service_ns: u64, rate_per_s: Option<f64>) -> Session<'_> {
    let backlog =
        rate_per_s.map(|rate| Backlog::new(Arrivals::new(Arrival::Constant, rate, 1, 0, 1)));
    let mut session = Session::new(plan, connections, connections, backlog);
    session.begin(Window { load_ns: 1, measure_ns: 1, end_ns: 1 + 10 * SECOND });
    let mut now_ns = 1;
    let mut free_ns = 0;
    let mut answers: BinaryHeap<Reverse<(u64, usize, u32)>> = BinaryHeap::new();
    while !session.is_over(now_ns) {
        while !session.is_connected() {
            let (slot, _) = connect(&mut session, now_ns);
            session.received(slot, &settings(&[]), now_ns, false);
        }
        while session.next_send(now_ns).is_some() {}
        for slot in 0..connections {
            for id in requests(&mut session, slot) {
                free_ns = now_ns.max(free_ns) + service_ns;
                answers.push(Reverse((free_ns, slot, id)));
            }
        }
        let answer_ns = answers.peek().map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns);
        let due_ns = session.next_due_ns().filter(|due_ns| *due_ns > now_ns).unwrap_or(u64::MAX);
        now_ns = answer_ns.min(due_ns).min((1 + 10 * SECOND).max(now_ns + 1));
        if answer_ns <= now_ns
            && let Some(Reverse((_, slot, id))) = answers.pop()
        {
            session.received(slot, &answer(id), now_ns, false);
        }
    }
    session
}

#[test]
#[cfg_attr(miri, ignore = "takes hours under Miri")]
fn closed_loop_obeys_littles_law_over_streams() {
    let plan = plan2(&["--streams", "5"]);
    let session = run(&plan, 4, MS, None);
    let tally = &session.tallies[1];
    let rate = tally.count(Class::Ok) as f64 / 10.0;
    assert!((rate / 1000.0 - 1.0).abs() < 0.005, "{rate}");
    let in_flight = rate * tally.service.mean_ns().unwrap() / 1e9;
    assert!((in_flight / 20.0 - 1.0).abs() < 0.005, "{in_flight}");
    let busy = tally.busy_ns as f64 / 10e9;
    assert!((busy / 20.0 - 1.0).abs() < 0.001, "{busy}");
    // The estimator of slices: lanes over their mean cycle.
    let cycle_s = tally.cycle_ns as f64 / 1e9 / tally.classed() as f64;
    assert!((20.0 / cycle_s / 1000.0 - 1.0).abs() < 0.005, "{cycle_s}");
}

#[test]
#[cfg_attr(miri, ignore = "takes hours under Miri")]
fn open_loop_below_capacity_never_waits() {
    let plan = plan2(&["--streams", "3", "--rate", "1"]);
    let session = run(&plan, 2, MS, Some(500.0));
    let tally = &session.tallies[1];
    assert_eq!((tally.count(Class::Ok), tally.response.max_us()), (5_000, Some(1000)));
    assert_eq!(tally.send_lag.max_us(), Some(0));
}

#[test]
fn slices_restart_the_cycles_of_every_stream() {
    let plan = plan2(&["--streams", "2"]);
    let mut session = begun(Session::new(&plan, 1, 1, None));
    connect(&mut session, LOAD);
    session.received(0, &[settings(&[]), answer(1), answer(3)].concat(), LOAD + 1, false);
    session.stop(LOAD + 2);
    session.received(0, &[answer(5), answer(7)].concat(), LOAD + 3, false);
    session.take_counts();
    session.prepare(SECOND);
    let later_ns = LOAD + SECOND;
    session.begin(Window { load_ns: later_ns, measure_ns: later_ns, end_ns: END });
    assert_eq!(session.next_send(later_ns), Some((0, Action::Flush)));
    session.received(0, &[answer(9), answer(11)].concat(), later_ns + 5, false);
    assert_eq!(session.take_counts().tallies[1].cycle_ns, 10, "not the pause between them");
}
