//! A whole run: the threads of this process, or of several, added up.

use crate::backend::Backend;
use crate::clock;
use crate::config::Config;
use crate::engine::{self, soon_ns};
use crate::links::Links;
use crate::phase::Phase;
use crate::plan::Plan;
use crate::process;
use crate::series::{Collector, Row};
use crate::session::Window;
use crate::tally::Tally;
use crate::usage::{MachineTicks, ThreadUsage};
use crate::worker::{Message, Outcome};

/// What a run gave, over all threads.
pub struct Run {
    pub backend: Option<Backend>,
    pub processes: usize,
    /// Before the measured window, and inside it.
    pub tallies: [Tally; 2],
    pub links: Links,
    /// Measured responses of each connection slot.
    pub responses: Vec<u64>,
    pub backlog_peak: Option<u64>,
    /// Of each thread: the measured window, and the window with the drain.
    pub usage: Vec<[ThreadUsage; 2]>,
    pub steal_share: f64,
    pub elapsed_ns: u64,
    pub rows: Vec<Row>,
    pub phases: Vec<Phase>,
}

/// Loads as the plan says; `each_row` sees every interval as soon as it is whole.
pub fn run(config: &Config, plan: &Plan, each_row: impl FnMut(&Row)) -> Result<Run, String> {
    let teams = process::teams(config);
    let total = teams.iter().map(|team| team.count).sum();
    let mut gathering = Gathering::new(total, each_row);
    let mut ticks = MachineTicks::default();
    let mut load_ns = 0;
    let connect_ns = clock::now_ns();
    let mut agree = || {
        ticks = MachineTicks::read();
        load_ns = soon_ns();
        load_ns
    };
    match &teams[..] {
        [_] => engine::run(config, plan, || Ok(agree()), |message| gathering.take(message))?,
        teams => process::run(teams, agree, |message| gathering.take(message))?,
    }
    let steal_share = MachineTicks::read().steal_share_since(&ticks);
    let window = engine::window(config, load_ns);
    let mut run = add_up(gathering.outcomes?, connect_ns, window);
    run.processes = teams.len();
    run.steal_share = steal_share;
    run.rows = gathering.rows;
    Ok(run)
}

/// What came from the threads so far.
struct Gathering<F> {
    collector: Collector,
    rows: Vec<Row>,
    outcomes: Result<Vec<Outcome>, String>,
    each_row: F,
}

impl<F: FnMut(&Row)> Gathering<F> {
    fn new(threads: usize, each_row: F) -> Self {
        let collector = Collector::new(threads);
        Self { collector, rows: Vec::new(), outcomes: Ok(Vec::new()), each_row }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Row { thread, tick, row } => self.collector.add(thread, tick, &row),
            Message::End { thread, outcome } => {
                self.collector.end(thread);
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
            phase("close", ended_ns, clock::now_ns()),
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

    /// Name, start and end of each phase but the last, which ends now.
    fn phases(run: &Run) -> Vec<(&str, u64, u64)> {
        let phases = run.phases.iter().map(|phase| (phase.name, phase.start_ns, phase.end_ns));
        phases.take(4).collect()
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
        assert_eq!((run.phases[4].name, run.phases[4].start_ns), ("close", 1300));
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
