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
fn slot_is_settled_by_its_first_response() {
    let plan = plan(&[]);
    let mut session = prepared(&plan);
    discard(&mut session);
    session.received(0, ANSWER.as_bytes(), LOAD + 1, false);
    session.received(0, ANSWER.as_bytes(), LOAD + 2, false);
    assert!(!session.is_settled(), "the other slot has no answer");
    session.received(1, ANSWER.as_bytes(), LOAD + 3, false);
    assert!(session.is_settled());
    assert_eq!(session.tallies[0].count(Class::Ok), 3, "all of them are discarded");
}

#[test]
fn slot_is_settled_after_three_failures() {
    let plan = plan(&[]);
    let mut session = prepared(&plan);
    discard(&mut session);
    session.received(0, ANSWER.as_bytes(), LOAD + 1, false);
    for failures in 1..=3 {
        assert!(!session.is_settled(), "after {} failures", failures - 1);
        session.ended(1, LOAD + failures);
        assert_eq!(session.next_open(LOAD + failures), Some(1));
        session.opening(1, LOAD + failures);
        session.connected(1, LOAD + failures);
    }
    assert!(session.is_settled());
}

#[test]
fn prepare_awaits_every_slot_again() {
    let plan = plan(&[]);
    let mut session = prepared(&plan);
    discard(&mut session);
    session.stop(LOAD);
    (0..2).for_each(|slot| {
        session.received(slot, ANSWER.as_bytes(), LOAD + 1, false);
    });
    assert!(session.is_settled() && session.is_over(LOAD + 1));
    session.prepare(TIMEOUT);
    assert!(!session.is_settled());
    discard(&mut session);
    assert_eq!(session.next_send(LOAD), None, "each slot has one request");
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
