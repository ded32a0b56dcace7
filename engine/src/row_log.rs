//! Sends the intervals of a thread's load to the collector.

use std::sync::mpsc::Sender;

use crate::clock;
use crate::error::{Error, Result};
use crate::message::Message;
use crate::series::Row;
use crate::session::{Session, Window};

/// Sends a row at the end of each interval.
pub(crate) struct RowLog {
    window: Window,
    interval_ns: u64,
    tick: i64,
    /// The end of the current interval.
    pub next_ns: u64,
    measured: bool,
    before: Row,
}

impl RowLog {
    pub(crate) fn new(window: Window, interval_ns: u64) -> Self {
        let warmup_ns = window.measure_ns - window.load_ns;
        let rows = warmup_ns.div_ceil(interval_ns);
        let before = Row { cpu_ns: clock::thread_cpu_ns(), ..Row::default() };
        let mut log = Self {
            window,
            interval_ns,
            tick: 1 - rows as i64,
            next_ns: 0,
            measured: false,
            before,
        };
        log.next_ns = log.end_of(log.tick);
        log
    }

    /// The end of an interval; interval 0 ends where the measured window starts.
    fn end_of(&self, tick: i64) -> u64 {
        self.window.measure_ns.saturating_add_signed(tick * self.interval_ns as i64)
    }

    pub(crate) fn send(
        &mut self,
        session: &Session,
        thread: usize,
        rows: &Sender<Message>,
        now_ns: u64,
    ) -> Result<()> {
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
        rows.send(message).map_err(|_| Error::Thread)?;
        self.tick += 1;
        while self.end_of(self.tick) <= now_ns {
            self.tick += 1;
        }
        self.next_ns = self.end_of(self.tick);
        Ok(())
    }
}
