//! One client thread: connect, wait for the others, load, drain.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Barrier, OnceLock};

use crate::backend::Backend;
use crate::clock;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::message::{Message, Outcome};
use crate::meter::Meter;
use crate::row_log::RowLog;
use crate::session::{Counts, Session, Window};
use crate::shard::share;
use crate::signals;
use crate::slice::{AGREE_POLL_NS, Moment, Slice};

/// Longest drain after a signal.
const SIGNAL_DRAIN_NS: u64 = 500_000_000;
const CONNECT_POLL_NS: u64 = 50_000_000;
/// A driver takes this many events in a turn, or as many as it has connections.
const MIN_EVENTS: usize = 1024;

/// What the threads of a run meet at.
pub(crate) struct Start {
    pub barrier: Barrier,
    /// Set between the two waits at the barrier.
    pub window: OnceLock<Window>,
    /// Connecting ahead of the load is given up by then.
    pub connect_end_ns: u64,
    pub drain_ns: u64,
}

pub(crate) struct Worker<'p> {
    pub thread: usize,
    pub session: Session<'p>,
    pub backend: Backend,
    pub driver: Box<dyn Driver>,
    pub rows: Sender<Message>,
}

impl Worker<'_> {
    /// Sends rows while it runs, and the outcome last.
    pub(crate) fn run(mut self, start: &Start) {
        set_timer_slack();
        let connected = self.driver.begin().and_then(|()| {
            let end_ns = start.connect_end_ns;
            self.drive(CONNECT_POLL_NS, |session, now_ns| {
                session.is_connected() || now_ns >= end_ns
            })
        });
        start.barrier.wait();
        start.barrier.wait();
        let outcome = match start.window.get() {
            Some(window) => connected.and_then(|()| self.load(*window, start.drain_ns)),
            None => Err(Error::Thread),
        };
        self.end(outcome);
    }

    /// Keeps its connections and loads slice after slice, until there are no more to come.
    pub(crate) fn serve(
        mut self,
        connected: &Sender<Result<Counts>>,
        slices: Receiver<Arc<Slice>>,
    ) {
        set_timer_slack();
        let timeout_ns = self.session.plan().timeout_ns;
        let counts = self
            .driver
            .begin()
            .and_then(|()| self.connect(clock::now_ns() + timeout_ns))
            .map(|()| self.session.take_counts());
        // Who waits for this has failed where it cannot be sent, and sends no slices.
        let _ = connected.send(counts);
        for slice in slices {
            let outcome = self.slice(&slice);
            if outcome.is_err() {
                slice.give_up(clock::now_ns());
            }
            self.end(outcome);
        }
    }

    fn end(&self, outcome: Result<Outcome>) {
        let end = Message::End { thread: self.thread, outcome: Box::new(outcome) };
        // Without a collector there is nobody left to tell.
        let _ = self.rows.send(end);
    }

    fn slice(&mut self, slice: &Slice) -> Result<Outcome> {
        self.session.prepare(slice.timeout_ns);
        if slice.renew {
            self.driver.renew(&mut self.session, clock::now_ns())?;
        }
        self.take_what_came_meanwhile()?;
        self.connect(clock::now_ns() + slice.timeout_ns)?;
        let load_ns = self.agree(&slice.load, |_, _| true)?;
        let window = self.discard(slice, load_ns)?;
        let outcome = self.load(window, slice.drain_ns)?;
        self.driver.turn(&mut self.session, clock::now_ns())?;
        Ok(outcome)
    }

    /// Closes and bytes of the time between slices, with no request out: none is an error.
    fn take_what_came_meanwhile(&mut self) -> Result<()> {
        // A server that closes all that is opened would go on forever.
        for _ in 0..=self.session.slots() / MIN_EVENTS {
            if !self.driver.turn(&mut self.session, clock::now_ns())? {
                break;
            }
        }
        Ok(())
    }

    /// Opens what is to be open ahead of the load.
    fn connect(&mut self, end_ns: u64) -> Result<()> {
        self.drive(AGREE_POLL_NS, |session, now_ns| session.is_connected() || now_ns >= end_ns)
    }

    /// Loads without measuring until each slot had its answer; the window that is measured then.
    fn discard(&mut self, slice: &Slice, load_ns: u64) -> Result<Window> {
        self.session.begin(Window { load_ns, measure_ns: u64::MAX, end_ns: u64::MAX });
        let wanted = share(slice.discard_requests, slice.threads, self.thread) as u64;
        let (least_ns, most_ns) = (load_ns + slice.discard_ns, load_ns + slice.timeout_ns);
        let measure_ns = self.agree(&slice.measure, |session, now_ns| {
            let settled = session.is_settled() && session.tallies[0].classed() >= wanted;
            now_ns >= least_ns.max(most_ns) || now_ns >= least_ns && settled
        })?;
        Ok(Window { load_ns, measure_ns, end_ns: measure_ns + slice.duration_ns })
    }

    /// Goes on until this thread is ready and all others are; the moment from which that holds,
    /// or now where a signal came first.
    fn agree(&mut self, moment: &Moment, is_ready: impl Fn(&Session, u64) -> bool) -> Result<u64> {
        let mut arrived = false;
        self.drive(AGREE_POLL_NS, |session, now_ns| {
            if !arrived && is_ready(session, now_ns) {
                arrived = true;
                moment.arrive(now_ns);
            }
            moment.agreed_ns().is_some()
        })?;
        Ok(moment.agreed_ns().unwrap_or_else(clock::now_ns))
    }

    /// Goes on until it is `done` or a signal comes, which is looked for every `poll_ns`.
    fn drive(&mut self, poll_ns: u64, mut done: impl FnMut(&Session, u64) -> bool) -> Result<()> {
        loop {
            let now_ns = clock::now_ns();
            self.driver.launch(&mut self.session, now_ns)?;
            if done(&self.session, now_ns) || signals::received() > 0 {
                return Ok(());
            }
            self.driver.expire(&mut self.session, now_ns)?;
            let wake_ns = self.session.next_wake_ns(now_ns).min(now_ns + poll_ns);
            self.driver.turn(&mut self.session, wake_ns)?;
        }
    }

    fn load(&mut self, window: Window, drain_ns: u64) -> Result<Outcome> {
        self.session.begin(window);
        let mut meter = Meter::new(window);
        let mut log = RowLog::new(window, self.session.plan().interval_ns);
        let mut give_up_ns = window.end_ns + drain_ns;
        let mut signals_seen = 0;
        let (mut looked_ns, mut only_looked) = (window.load_ns, false);
        loop {
            let now_ns = clock::now_ns();
            if only_looked {
                meter.polled_ns += now_ns - looked_ns;
            }
            if signals::received() > signals_seen {
                signals_seen += 1;
                self.session.stop(now_ns);
                let drain_ns = if signals_seen == 1 { drain_ns.min(SIGNAL_DRAIN_NS) } else { 0 };
                give_up_ns = give_up_ns.min(now_ns + drain_ns);
            }
            meter.pass(now_ns, self.session.window());
            if now_ns >= log.next_ns {
                log.send(&self.session, self.thread, &self.rows, now_ns)?;
            }
            if self.session.is_over(now_ns) || now_ns >= give_up_ns {
                break;
            }
            let sent = self.driver.launch(&mut self.session, now_ns)?;
            self.driver.expire(&mut self.session, now_ns)?;
            let wake_ns = self.session.next_wake_ns(now_ns).min(log.next_ns).min(give_up_ns);
            let brought = self.driver.turn(&mut self.session, wake_ns)?;
            (looked_ns, only_looked) = (now_ns, wake_ns <= now_ns && !sent && !brought);
        }
        let ended_ns = clock::now_ns();
        self.driver.finish(&mut self.session, ended_ns)?;
        log.send(&self.session, self.thread, &self.rows, ended_ns)?;
        let counts = self.session.take_counts();
        Ok(Outcome {
            backend: self.backend,
            tallies: counts.tallies,
            stats: counts.stats,
            responses: counts.responses,
            backlog_peak: counts.backlog_peak,
            usage: meter.finish(),
            stopped_ns: self.session.window().end_ns,
            ended_ns,
        })
    }
}

/// Lets short waits end on time.
fn set_timer_slack() {
    // SAFETY: PR_SET_TIMERSLACK takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1usize, 0usize, 0usize, 0usize) };
}
