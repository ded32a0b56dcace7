//! Collects what the threads of a load send.

use crate::error::Result;
use crate::message::{Message, Outcome};
use crate::run::Run;
use crate::series::{Collector, Row};
use crate::session::Window;

/// The messages of the threads so far.
pub(crate) struct Gathering<F> {
    collector: Collector,
    rows: Vec<Row>,
    outcomes: Result<Vec<Outcome>>,
    /// Threads that have not ended.
    running: usize,
    /// How often a thread waited for other processes.
    reached: usize,
    each_row: F,
}

impl<F: FnMut(&Row)> Gathering<F> {
    pub(crate) fn new(threads: usize, each_row: F) -> Self {
        let collector = Collector::new(threads);
        let (rows, outcomes) = (Vec::new(), Ok(Vec::new()));
        Self { collector, rows, outcomes, running: threads, reached: 0, each_row }
    }

    pub(crate) fn take(&mut self, message: Message) {
        match message {
            Message::Reached => self.reached += 1,
            Message::Row { thread, tick, row } => self.collector.add(thread, tick, &row),
            Message::End { thread, outcome } => {
                self.collector.end(thread);
                self.running -= 1;
                match (&mut self.outcomes, *outcome) {
                    (Ok(outcomes), Ok(outcome)) => outcomes.push(outcome),
                    (Ok(_), Err(error)) => self.outcomes = Err(error),
                    (Err(_), _) => {}
                }
            }
        }
        while let Some(row) = self.collector.pop() {
            (self.each_row)(&row);
            self.rows.push(row);
        }
    }

    /// True if a thread has ended, which prevents what the others wait for.
    pub(crate) fn has_ended(&self, threads: usize) -> bool {
        self.running < threads
    }

    pub(crate) fn reached(&self) -> usize {
        self.reached
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.running == 0
    }

    /// Adds up the threads; the first phase began at `connect_ns`.
    pub(crate) fn add_up(self, connect_ns: u64, window: Window) -> Result<Run> {
        let run = Run::add_up(self.outcomes?, connect_ns, window);
        Ok(Run { rows: self.rows, ..run })
    }
}
