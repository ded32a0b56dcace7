//! Sessions that are driven event by event.

use std::ffi::OsString;

use crate::args::{self, Command};
use crate::backlog::Backlog;
use crate::classes::Class;
use crate::expected::Expected;
use crate::plan::Plan;
use crate::schedule::{Arrival, Arrivals};
use crate::session::{Action, Session, Window};

pub(super) const MS: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1000 * MS;
pub(super) const LOAD: u64 = SECOND;
pub(super) const MEASURE: u64 = 2 * SECOND;
pub(super) const END: u64 = 10 * SECOND;

pub(super) const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
pub(super) const LAST_ANSWER: &str =
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
pub(super) const WRONG_BODY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno";

/// The plan of a command line, for a server whose every answer is "ok".
pub(super) fn plan(args: &[&str]) -> Plan {
    let words = ["http://127.0.0.1/a"].iter().chain(args).map(OsString::from);
    let Ok(Command::Load(config)) = args::parse(words) else { panic!("{args:?}") };
    let expected = Expected {
        status: 200,
        media_type: None,
        body: Some(b"ok".to_vec()),
        to_head_request: false,
    };
    Plan::new(&config, vec![expected; config.targets.len()], false)
}

/// A closed loop of `slots` connections, with its load begun.
pub(super) fn closed(plan: &Plan, slots: usize) -> Session<'_> {
    begun(Session::new(plan, slots, slots, None))
}

/// An open loop with requests due every 100 ms from the start of the load.
pub(super) fn open(plan: &Plan, slots: usize) -> Session<'_> {
    let backlog = Backlog::new(Arrivals::new(Arrival::Constant, 10.0, 1, 0, 1));
    begun(Session::new(plan, slots, slots, Some(backlog)))
}

pub(super) fn begun(mut session: Session<'_>) -> Session<'_> {
    session.begin(Window { load_ns: LOAD, measure_ns: MEASURE, end_ns: END });
    session
}

/// Opens the next slot, and connects it immediately.
pub(super) fn connect(session: &mut Session, now_ns: u64) -> (usize, Action) {
    let slot = session.next_open(now_ns).expect("a slot to open");
    session.opening(slot, now_ns);
    (slot, session.connected(slot, now_ns))
}

/// The classes with a count above 0, in the warm-up and the window together.
pub(super) fn classes(session: &Session) -> Vec<(Class, u64)> {
    let count = |class| session.tallies.iter().map(|tally| tally.count(class)).sum();
    let all = Class::ALL.iter().map(|class| (*class, count(*class)));
    all.filter(|(_, count)| *count > 0).collect()
}
