//! One client thread: connect, wait for the others, load, drain.

use std::sync::mpsc::Sender;
use std::sync::{Barrier, OnceLock};

use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::clock;
use crate::driver::Driver;
use crate::links::Links;
use crate::series::{ROW_NS, Row};
use crate::session::{Session, Window};
use crate::signals;
use crate::tally::Tally;
use crate::usage::ThreadUsage;

/// Longest drain after a signal.
const SIGNAL_DRAIN_NS: u64 = 500_000_000;
const CONNECT_POLL_NS: u64 = 50_000_000;

/// What the threads of a run meet at.
pub struct Start {
    pub barrier: Barrier,
    /// Set between the two waits at the barrier.
    pub window: OnceLock<Window>,
    /// Connecting ahead of the load is given up by then.
    pub connect_end_ns: u64,
    pub drain_ns: u64,
}

/// What a thread tells the collector.
pub enum Message {
    Row { thread: usize, tick: i64, row: Box<Row> },
    End { thread: usize, outcome: Box<Result<Outcome, String>> },
}

/// What a thread leaves behind.
#[derive(Serialize, Deserialize)]
pub struct Outcome {
    pub backend: Backend,
    pub tallies: [Tally; 2],
    pub links: Links,
    pub responses: Vec<u64>,
    pub backlog_peak: Option<u64>,
    /// At the start and the end of measuring, and at the end of the drain.
    pub usage: [ThreadUsage; 3],
    /// When nothing new was sent any more, and when the last answer was in or given up.
    pub stopped_ns: u64,
    pub ended_ns: u64,
}

pub struct Worker<'p> {
    pub thread: usize,
    pub session: Session<'p>,
    pub backend: Backend,
    pub driver: Box<dyn Driver>,
    pub rows: Sender<Message>,
}

impl Worker<'_> {
    /// Sends rows while it runs, and the outcome last.
    pub fn run(mut self, start: &Start) {
        set_timer_slack();
        let connected = self.connect(start.connect_end_ns);
        start.barrier.wait();
        start.barrier.wait();
        let outcome = match start.window.get() {
            Some(window) => connected.and_then(|()| self.load(*window, start.drain_ns)),
            None => Err("the run has no window".to_owned()),
        };
        let end = Message::End { thread: self.thread, outcome: Box::new(outcome) };
        // Without a collector there is nobody left to tell.
        let _ = self.rows.send(end);
    }

    fn connect(&mut self, end_ns: u64) -> Result<(), String> {
        self.driver.begin()?;
        loop {
            let now_ns = clock::now_ns();
            self.driver.launch(&mut self.session, now_ns)?;
            if self.session.is_connected() || now_ns >= end_ns || signals::received() > 0 {
                return Ok(());
            }
            self.driver.expire(&mut self.session, now_ns)?;
            self.driver.turn(&mut self.session, now_ns + CONNECT_POLL_NS)?;
        }
    }

    fn load(&mut self, window: Window, drain_ns: u64) -> Result<Outcome, String> {
        self.session.begin(window);
        let mut meter = Meter::new(window);
        let mut log = RowLog::new(window);
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
        self.session.finish(ended_ns);
        log.send(&self.session, self.thread, &self.rows, ended_ns)?;
        Ok(Outcome {
            backend: self.backend,
            tallies: std::mem::take(&mut self.session.tallies),
            links: self.session.links.clone(),
            responses: self.session.responses().collect(),
            backlog_peak: self.session.backlog_peak(),
            usage: meter.finish(),
            stopped_ns: self.session.window().end_ns,
            ended_ns,
        })
    }
}

/// Reads the thread's usage as the bounds of the measured window pass.
struct Meter {
    usage: [Option<ThreadUsage>; 2],
    next_ns: u64,
    polled_ns: u64,
}

impl Meter {
    fn new(window: Window) -> Self {
        Self { usage: [None, None], next_ns: window.measure_ns, polled_ns: 0 }
    }

    #[inline]
    fn pass(&mut self, now_ns: u64, window: Window) {
        if now_ns < self.next_ns.min(window.end_ns) {
            return;
        }
        self.next_ns = match self.usage {
            [None, _] => {
                self.usage[0] = Some(ThreadUsage::read(self.polled_ns));
                window.end_ns
            }
            [_, None] => {
                self.usage[1] = Some(ThreadUsage::read(self.polled_ns));
                u64::MAX
            }
            _ => u64::MAX,
        };
    }

    fn finish(self) -> [ThreadUsage; 3] {
        let last = ThreadUsage::read(self.polled_ns);
        let first = self.usage[0].unwrap_or(last);
        [first, self.usage[1].unwrap_or(last), last]
    }
}

/// Sends a row when an interval is over.
struct RowLog {
    window: Window,
    tick: i64,
    next_ns: u64,
    measured: bool,
    before: Row,
}

impl RowLog {
    fn new(window: Window) -> Self {
        let warmup_ns = window.measure_ns - window.load_ns;
        let rows = warmup_ns.div_ceil(ROW_NS);
        let before = Row { cpu_ns: clock::thread_cpu_ns(), ..Row::default() };
        let mut log = Self { window, tick: 1 - rows as i64, next_ns: 0, measured: false, before };
        log.next_ns = log.end_of(log.tick);
        log
    }

    /// When an interval ends: interval 0 ends as measuring starts.
    fn end_of(&self, tick: i64) -> u64 {
        self.window.measure_ns.saturating_add_signed(tick * ROW_NS as i64)
    }

    fn send(
        &mut self,
        session: &Session,
        thread: usize,
        rows: &Sender<Message>,
        now_ns: u64,
    ) -> Result<(), String> {
        let cpu_ns = clock::thread_cpu_ns();
        if self.tick > 0 && !self.measured {
            self.measured = true;
            self.before = Row { cpu_ns: self.before.cpu_ns, ..Row::default() };
        }
        let totals = Row::totals(session, self.measured, cpu_ns);
        let end_ns = self.next_ns.min(now_ns);
        let row = totals.since(&self.before, end_ns as i64 - self.window.measure_ns as i64);
        self.before = totals;
        let message = Message::Row { thread, tick: self.tick, row: Box::new(row) };
        rows.send(message).map_err(|_| "the collector is gone".to_owned())?;
        self.tick += 1;
        while self.end_of(self.tick) <= now_ns {
            self.tick += 1;
        }
        self.next_ns = self.end_of(self.tick);
        Ok(())
    }
}

/// Lets short waits end on time.
fn set_timer_slack() {
    // SAFETY: PR_SET_TIMERSLACK takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1usize, 0usize, 0usize, 0usize) };
}
