//! What a session keeps from one slice to the next, event by event.

use crate::backlog::Backlog;
use crate::classes::Class;
use crate::schedule::{Arrival, Arrivals};
use crate::session::{Action, Session, Window};

use super::events::{ANSWER, END, LOAD, MS, SECOND, plan};

const TIMEOUT: u64 = 5 * SECOND;

/// A session of two slots, open and ready for a slice.
fn prepared(plan: &crate::plan::Plan) -> Session<'_> {
    let mut session = Session::new(plan, 2, 2, None);
    for slot in 0..2 {
        assert_eq!(session.next_open(1), Some(slot));
        session.opening(slot, 1);
        assert_eq!(session.connected(slot, 1), Action::Wait, "nothing is sent ahead of a load");
    }
    session.prepare(TIMEOUT);
    session
}

/// Begins a slice whose measured part is not known yet, and sends on each slot.
fn discard(session: &mut Session) {
    session.begin(Window { load_ns: LOAD, measure_ns: u64::MAX, end_ns: u64::MAX });
    while let Some((_, action)) = session.next_send(LOAD) {
        assert!(matches!(action, Action::Send(_)));
    }
}

#[test]
fn prepare_sends_on_every_slot_again() {
    let plan = plan(&[]);
    let mut session = prepared(&plan);
    discard(&mut session);
    session.stop(LOAD);
    (0..2).for_each(|slot| {
        session.received(slot, ANSWER.as_bytes(), LOAD + 1, false);
    });
    assert!(session.is_over(LOAD + 1));
    session.prepare(TIMEOUT);
    discard(&mut session);
    assert_eq!(session.next_send(LOAD), None, "each slot has one request");
}

#[test]
fn load_goes_on_until_each_request_of_the_window_has_ended() {
    let plan = plan(&[]);
    let mut session = prepared(&plan);
    let window = Window { load_ns: LOAD, measure_ns: LOAD, end_ns: LOAD + 10 * MS };
    session.begin_until(window, u64::MAX);
    while session.next_send(LOAD).is_some() {}
    let end_ns = window.end_ns;
    assert!(!session.is_measured_to_the_end(end_ns), "both are out");
    assert!(matches!(session.received(0, ANSWER.as_bytes(), end_ns, false), Action::Send(_)));
    assert!(!session.is_measured_to_the_end(end_ns));
    session.received(1, ANSWER.as_bytes(), end_ns + 5 * MS, false);
    assert!(session.is_measured_to_the_end(end_ns + 5 * MS));
    session.stop_sending(end_ns + 5 * MS);
    assert_eq!(session.received(0, ANSWER.as_bytes(), end_ns + 6 * MS, false), Action::Wait);
    let counts = session.take_counts();
    let [discarded, measured] = &counts.tallies;
    assert_eq!((discarded.scheduled, measured.scheduled), (2, 2));
    assert_eq!(u64::try_from(measured.cycle_ns).unwrap(), 10 * MS + 15 * MS);
    assert_eq!(measured.gaps_ns, [10 * MS, 5 * MS], "from the start of the load");
    assert_eq!((counts.answered, counts.reached), (2, 2));
}

#[test]
fn bug_connections_that_were_never_answered_counted_in_the_rate() {
    let plan = plan(&[]);
    let mut session = prepared(&plan);
    session.begin_until(Window { load_ns: LOAD, measure_ns: LOAD, end_ns: LOAD + MS }, u64::MAX);
    while session.next_send(LOAD).is_some() {}
    session.received(0, ANSWER.as_bytes(), LOAD + MS, false);
    assert_eq!(session.take_counts().reached, 1, "the other one waits in a queue");
    assert_eq!(session.take_counts().reached, 1, "also in a slice without an answer");
}

#[test]
fn window_set_during_the_load_separates_discarded_from_measured() {
    let plan = plan(&[]);
    let mut session = prepared(&plan);
    discard(&mut session);
    let measure_ns = LOAD + 10 * MS;
    session.received(0, ANSWER.as_bytes(), measure_ns - 1, false);
    session.begin(Window { load_ns: LOAD, measure_ns, end_ns: END });
    session.received(0, ANSWER.as_bytes(), measure_ns, false);
    session.received(0, ANSWER.as_bytes(), measure_ns + 1, false);
    let scheduled = session.tallies.each_ref().map(|tally| tally.scheduled);
    assert_eq!(scheduled, [3, 2], "two on opening, and one each before and from the start");
}

#[test]
fn taking_counts_resets_them_and_keeps_connections() {
    let plan = plan(&[]);
    let mut session = prepared(&plan);
    assert_eq!(session.take_counts().stats.opened, 2);
    discard(&mut session);
    session.stop(LOAD);
    session.received(0, ANSWER.as_bytes(), LOAD + 1, false);
    let counts = session.take_counts();
    assert_eq!((counts.tallies[0].count(Class::Ok), counts.stats.opened), (1, 0));
    assert_eq!(counts.stats.established, 2);
    assert_eq!(session.take_counts().tallies[0].scheduled, 0);
    assert_eq!(session.open_connections(), 2);
}

#[test]
fn finish_returns_slots_that_owe_a_response() {
    let plan = plan(&[]);
    let mut session = prepared(&plan);
    discard(&mut session);
    session.stop(LOAD);
    session.received(0, ANSWER.as_bytes(), LOAD + 1, false);
    assert_eq!(session.finish(LOAD + 2), [1]);
    assert_eq!(session.tallies[0].count(Class::Unfinished), 1);
    assert_eq!(session.open_connections(), 1);
    session.prepare(TIMEOUT);
    assert_eq!(session.next_open(LOAD + 3), Some(1), "it is opened for the next slice");
}

#[test]
fn renew_closes_and_reopens_connections() {
    for args in [&[][..], &["--rate", "10"]] {
        let plan = plan(args);
        let mut session = prepared(&plan);
        session.take_counts();
        assert_eq!(session.renew(LOAD), [0, 1]);
        assert_eq!((session.open_connections(), session.stats.closed_by_client), (0, 2));
        for slot in 0..2 {
            assert_eq!(session.next_open(LOAD), Some(slot));
            session.opening(slot, LOAD);
            session.connected(slot, LOAD);
        }
        discard(&mut session);
        assert_eq!(session.open_connections(), 2);
    }
}

#[test]
fn each_slice_has_its_own_schedule() {
    let plan = plan(&["--rate", "1000"]);
    let arrivals = Arrivals::new(Arrival::Poisson, 1000.0, 1, 0, 1);
    let mut session = Session::new(&plan, 1, 1, Some(Backlog::new(arrivals)));
    let mut first_due = || {
        session.prepare(TIMEOUT);
        assert_eq!(session.next_due_ns(), None, "nothing is due between slices");
        session.begin(Window { load_ns: LOAD, measure_ns: LOAD, end_ns: END });
        session.next_due_ns().unwrap()
    };
    let (first, second) = (first_due(), first_due());
    assert!(first >= LOAD && second >= LOAD);
    assert_ne!(first, second, "other random numbers");
}
