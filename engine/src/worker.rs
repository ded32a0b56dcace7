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
/// A driver handles this many events in a turn, or as many as it has connections.
const MIN_EVENTS: usize = 1024;

/// How the threads of a run start together.
pub(crate) struct Start {
    pub barrier: Barrier,
    /// Set between the two waits at the barrier.
    pub window: OnceLock<Window>,
    /// The time limit of connecting before the load.
    pub connect_end_ns: u64,
    pub drain_ns: u64,
}

pub(crate) struct Worker<'p> {
    pub thread: usize,
    pub session: Session<'p>,
    pub backend: Backend,
    pub driver: Box<dyn Driver>,
    /// Gather answers in a closed loop.
    pub gathers: bool,
    pub rows: Sender<Message>,
}

impl Worker<'_> {
    /// Runs a load; sends rows, and the outcome last.
    pub(crate) fn run(mut self, start: &Start) {
        self.prepare_thread();
        let connected = self.driver.begin().and_then(|()| {
            let end_ns = start.connect_end_ns;
            self.drive(CONNECT_POLL_NS, |session, now_ns| {
                session.is_connected() || now_ns >= end_ns
            })
        });
        start.barrier.wait();
        start.barrier.wait();
        let outcome = match start.window.get() {
            Some(window) => connected.and_then(|()| self.load(*window, start.drain_ns, None)),
            None => Err(Error::Thread),
        };
        self.end(outcome);
    }

    /// Keeps its connections, and loads each slice of the channel.
    pub(crate) fn serve(
        mut self,
        connected: &Sender<Result<Counts>>,
        slices: Receiver<Arc<Slice>>,
    ) {
        self.prepare_thread();
        let timeout_ns = self.session.plan().timeout_ns;
        let counts = self
            .driver
            .begin()
            .and_then(|()| self.connect(clock::now_ns() + timeout_ns))
            .map(|()| self.session.take_counts());
        // The packets of these connects belong to no slice.
        self.driver.take_packets();
        // If the receiver is gone, there are no slices either.
        let _ = connected.send(counts);
        for slice in slices {
            let outcome = self.slice(&slice);
            if outcome.is_err() {
                slice.give_up(clock::now_ns());
            }
            self.end(outcome);
        }
    }

    fn prepare_thread(&mut self) {
        set_timer_slack();
        if self.gathers {
            self.driver.gather();
        }
    }

    fn end(&self, outcome: Result<Outcome>) {
        let end = Message::End { thread: self.thread, outcome: Box::new(outcome) };
        // If the collector is gone, the run has failed already.
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
        let outcome = self.load(window, slice.drain_ns, Some(slice))?;
        if slice.hang_up {
            self.driver.renew(&mut self.session, clock::now_ns())?;
        }
        self.driver.turn(&mut self.session, clock::now_ns())?;
        Ok(outcome)
    }

    /// Handles the closes and bytes since the last slice. None is an error, as no request is in
    /// flight.
    fn take_what_came_meanwhile(&mut self) -> Result<()> {
        // Bounded, as a server that closes every new connection makes events without end.
        for _ in 0..=self.session.slots() / MIN_EVENTS {
            if !self.driver.turn(&mut self.session, clock::now_ns())? {
                break;
            }
        }
        Ok(())
    }

    /// Opens the connections that must be open before the load.
    fn connect(&mut self, end_ns: u64) -> Result<()> {
        self.drive(AGREE_POLL_NS, |session, now_ns| session.is_connected() || now_ns >= end_ns)
    }

    /// Loads without measuring, for a time and a number of requests; returns the window to measure.
    fn discard(&mut self, slice: &Slice, load_ns: u64) -> Result<Window> {
        self.session.begin(Window { load_ns, measure_ns: u64::MAX, end_ns: u64::MAX });
        let wanted = share(slice.discard_requests, slice.threads, self.thread) as u64;
        let (least_ns, most_ns) = (load_ns + slice.discard_ns, load_ns + slice.timeout_ns);
        let reached = slice.together.then(|| self.rows.clone());
        let measure_ns = self.agree(&slice.measure, |session, now_ns| {
            let enough = session.tallies[0].classed() >= wanted;
            let ready = now_ns >= least_ns.max(most_ns) || now_ns >= least_ns && enough;
            if let (true, Some(reached)) = (ready, &reached) {
                // If the collector is gone, the slice has failed already.
                let _ = reached.send(Message::Reached);
            }
            ready
        })?;
        Ok(Window { load_ns, measure_ns, end_ns: measure_ns + slice.duration_ns })
    }

    /// Loads until all threads are ready. Returns the moment that they agree on, or the current
    /// time after a signal.
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

    /// Loads until `done` or a signal; checks for both at least every `poll_ns`.
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

    /// Loads until the end of the window and drains. In a slice of a closed loop, the load goes on
    /// until each request of the window has ended, in all threads: under a load that fades, the
    /// last ones would be answered sooner.
    fn load(&mut self, window: Window, drain_ns: u64, slice: Option<&Slice>) -> Result<Outcome> {
        let mut follows = slice.filter(|slice| slice.together || self.session.is_closed_loop());
        self.session.begin_until(window, if follows.is_some() { u64::MAX } else { window.end_ns });
        let mut meter = Meter::new(window);
        let mut log = RowLog::new(window, self.session.plan().interval_ns);
        let mut give_up_ns = if follows.is_some() { u64::MAX } else { window.end_ns + drain_ns };
        let mut has_measured = false;
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
            if let Some(slice) = follows {
                if !has_measured && self.session.is_measured_to_the_end(now_ns) {
                    has_measured = true;
                    match slice.together {
                        true => self.rows.send(Message::Reached).map_err(|_| Error::Thread)?,
                        false => slice.stop.arrive(now_ns),
                    }
                }
                if slice.stop.agreed_ns().is_some() {
                    follows = None;
                    self.session.stop_sending(now_ns);
                    give_up_ns = give_up_ns.min(now_ns + drain_ns);
                }
            }
            if now_ns >= log.next_ns {
                log.send(&self.session, self.thread, &self.rows, now_ns)?;
            }
            if self.session.is_over(now_ns) || now_ns >= give_up_ns {
                break;
            }
            let sent = self.driver.launch(&mut self.session, now_ns)?;
            self.driver.expire(&mut self.session, now_ns)?;
            let mut wake_ns = self.session.next_wake_ns(now_ns).min(log.next_ns).min(give_up_ns);
            if follows.is_some() && has_measured {
                wake_ns = wake_ns.min(now_ns + AGREE_POLL_NS);
            }
            let brought = self.driver.turn(&mut self.session, wake_ns)?;
            (looked_ns, only_looked) = (now_ns, wake_ns <= now_ns && !sent && !brought);
        }
        let ended_ns = clock::now_ns();
        self.driver.finish(&mut self.session, ended_ns)?;
        log.send(&self.session, self.thread, &self.rows, ended_ns)?;
        let usage = meter.finish(has_measured);
        let counts = self.session.take_counts();
        Ok(Outcome {
            backend: self.backend,
            tallies: counts.tallies,
            stats: counts.stats,
            packets: self.driver.take_packets(),
            gathered: self.driver.take_gathered(),
            responses: counts.responses,
            answered: counts.answered,
            reached: counts.reached,
            backlog_peak: counts.backlog_peak,
            usage,
            stopped_ns: self.session.window().end_ns,
            ended_ns,
        })
    }
}

/// Removes the slack of timers, so that short waits end on time.
fn set_timer_slack() {
    // SAFETY: PR_SET_TIMERSLACK takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1usize, 0usize, 0usize, 0usize) };
}
