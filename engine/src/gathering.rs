//! What the threads of a load send, added up.

use crate::links::Links;
use crate::phase::Phase;
use crate::run::Run;
use crate::series::{Collector, Row};
use crate::session::Window;
use crate::worker::{Message, Outcome};

/// What came from the threads so far.
pub struct Gathering<F> {
    collector: Collector,
    rows: Vec<Row>,
    outcomes: Result<Vec<Outcome>, String>,
    /// Threads that have not ended.
    running: usize,
    each_row: F,
}

impl<F: FnMut(&Row)> Gathering<F> {
    pub fn new(threads: usize, each_row: F) -> Self {
        let collector = Collector::new(threads);
        Self { collector, rows: Vec::new(), outcomes: Ok(Vec::new()), running: threads, each_row }
    }

    pub fn take(&mut self, message: Message) {
        match message {
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

    pub fn is_complete(&self) -> bool {
        self.running == 0
    }

    /// The sum of what came; the first phase began at `connect_ns`.
    pub fn add_up(self, connect_ns: u64, window: Window) -> Result<Run, String> {
        let run = add_up(self.outcomes?, connect_ns, window);
        Ok(Run { rows: self.rows, ..run })
    }
}

fn add_up(outcomes: Vec<Outcome>, connect_ns: u64, window: Window) -> Run {
    let latest = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).max().unwrap_or(window.end_ns);
    let ended_ns = latest(|outcome| outcome.ended_ns);
    // A signal may have ended the load before its time.
    let stopped_ns = latest(|outcome| outcome.stopped_ns);
    let load_ns = window.load_ns.min(stopped_ns);
    let measure_ns = window.measure_ns.min(stopped_ns);
    let phase = |name, start_ns, end_ns| Phase { name, start_ns, end_ns };
    let mut run = Run {
        backend: outcomes.first().map(|outcome| outcome.backend),
        processes: 1,
        tallies: Default::default(),
        links: Links::default(),
        responses: Vec::new(),
        backlog_peak: None,
        usage: Vec::new(),
        steal_share: 0.0,
        elapsed_ns: stopped_ns - measure_ns,
        rows: Vec::new(),
        phases: vec![
            phase("connect", connect_ns, load_ns),
            phase("warmup", load_ns, measure_ns),
            phase("measure", measure_ns, stopped_ns),
            phase("drain", stopped_ns, ended_ns),
        ],
    };
    for outcome in outcomes {
        for (sum, part) in run.tallies.iter_mut().zip(&outcome.tallies) {
            sum.merge(part);
        }
        run.links.merge(&outcome.links);
        run.responses.extend(outcome.responses);
        run.backlog_peak = match (run.backlog_peak, outcome.backlog_peak) {
            (Some(sum), Some(part)) => Some(sum + part),
            (sum, part) => sum.or(part),
        };
        let [first, end, last] = outcome.usage;
        run.usage.push([end.since(&first), last.since(&first)]);
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::usage::ThreadUsage;

    const WINDOW: Window = Window { load_ns: 100, measure_ns: 200, end_ns: 1000 };

    fn outcome(stopped_ns: u64, ended_ns: u64, peak: u64) -> Outcome {
        Outcome {
            backend: Backend::Epoll,
            tallies: Default::default(),
            links: Links { opened: 2, ..Links::default() },
            responses: vec![3, 4],
            backlog_peak: Some(peak),
            usage: [200, 1000, 1100].map(|at_ns| ThreadUsage { at_ns, ..Default::default() }),
            stopped_ns,
            ended_ns,
        }
    }

    fn phases(run: &Run) -> Vec<(&str, u64, u64)> {
        run.phases.iter().map(|phase| (phase.name, phase.start_ns, phase.end_ns)).collect()
    }

    #[test]
    fn threads_add_up_and_the_last_of_them_ends_the_phases() {
        let run = add_up(vec![outcome(1000, 1100, 5), outcome(1000, 1300, 7)], 50, WINDOW);
        assert_eq!((run.links.opened, run.responses.clone()), (4, vec![3, 4, 3, 4]));
        assert_eq!((run.backlog_peak, run.elapsed_ns), (Some(12), 800));
        let wanted = [
            ("connect", 50, 100),
            ("warmup", 100, 200),
            ("measure", 200, 1000),
            ("drain", 1000, 1300),
        ];
        assert_eq!(phases(&run), wanted);
        assert_eq!(run.usage[0].map(|usage| usage.at_ns), [800, 900], "window, and with the drain");
    }

    #[test]
    fn a_signal_in_the_warm_up_leaves_no_time_measured() {
        let run = add_up(vec![outcome(150, 160, 0)], 50, WINDOW);
        assert_eq!(run.elapsed_ns, 0);
        let wanted = [
            ("connect", 50, 100),
            ("warmup", 100, 150),
            ("measure", 150, 150),
            ("drain", 150, 160),
        ];
        assert_eq!(phases(&run), wanted);
    }
}
