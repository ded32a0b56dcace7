//! The result of a run or a slice, over all threads.

use crate::backend::Backend;
use crate::batching::Gathered;
use crate::connection_stats::ConnectionStats;
use crate::message::Outcome;
use crate::packets::Packets;
use crate::phase::Phase;
use crate::series::Row;
use crate::session::Window;
use crate::tally::Tally;
use crate::usage::{Steal, ThreadUsage};

/// The result of a run or a slice.
pub(crate) struct Run {
    pub backend: Option<Backend>,
    pub processes: usize,
    /// Before the measured window, and inside it.
    pub tallies: [Tally; 2],
    pub stats: ConnectionStats,
    /// `None` if a thread has no count.
    pub packets: Option<Packets>,
    pub gathered: Gathered,
    /// Measured responses of each connection slot.
    pub responses: Vec<u64>,
    /// Connection slots with an answer, and with one since the process began.
    pub answered: u64,
    pub reached: u64,
    pub backlog_peak: Option<u64>,
    /// Of each thread, in the measured window, and in the window with the drain.
    pub usage: Vec<[ThreadUsage; 2]>,
    pub steal: Steal,
    pub elapsed_ns: u64,
    pub rows: Vec<Row>,
    pub phases: Vec<Phase>,
}

impl Run {
    /// Adds up the threads; the first phase began at `connect_ns`.
    pub(crate) fn add_up(outcomes: Vec<Outcome>, connect_ns: u64, window: Window) -> Self {
        let latest =
            |of: fn(&Outcome) -> u64| outcomes.iter().map(of).max().unwrap_or(window.end_ns);
        let ended_ns = latest(|outcome| outcome.ended_ns);
        // A signal may have ended the load early.
        let stopped_ns = latest(|outcome| outcome.stopped_ns);
        let load_ns = window.load_ns.min(stopped_ns);
        let measure_ns = window.measure_ns.min(stopped_ns);
        let phase = |name, start_ns, end_ns| Phase { name, start_ns, end_ns };
        let mut run = Self {
            backend: outcomes.first().map(|outcome| outcome.backend),
            processes: 1,
            tallies: Default::default(),
            stats: ConnectionStats::default(),
            packets: outcomes.iter().map(|outcome| outcome.packets).reduce(added).flatten(),
            gathered: Gathered::default(),
            responses: Vec::new(),
            answered: 0,
            reached: 0,
            backlog_peak: None,
            usage: Vec::new(),
            steal: Steal::default(),
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
            run.stats.merge(&outcome.stats);
            run.gathered.add(&outcome.gathered);
            run.responses.extend(outcome.responses);
            run.answered += outcome.answered;
            run.reached += outcome.reached;
            run.backlog_peak = match (run.backlog_peak, outcome.backlog_peak) {
                (Some(sum), Some(part)) => Some(sum + part),
                (sum, part) => sum.or(part),
            };
            let [first, end, last] = outcome.usage;
            run.usage.push([end.since(&first), last.since(&first)]);
        }
        run
    }
}

fn added(sum: Option<Packets>, part: Option<Packets>) -> Option<Packets> {
    let (mut sum, part) = sum.zip(part)?;
    sum.add(&part);
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { load_ns: 100, measure_ns: 200, end_ns: 1000 };

    fn packets(count: u64) -> Packets {
        let (spurious, out_of_order) = (Some(count - 1), Some(count - 2));
        Packets { retransmits: count, spurious, out_of_order, ..Packets::default() }
    }

    fn outcome(stopped_ns: u64, ended_ns: u64, peak: u64) -> Outcome {
        Outcome {
            backend: Backend::Epoll,
            tallies: Default::default(),
            stats: ConnectionStats { opened: 2, ..ConnectionStats::default() },
            packets: Some(packets(3)),
            gathered: Gathered { waits: 5, gathering: 1, too_short: 2, gather_ns: 9.0 },
            responses: vec![3, 4],
            answered: 2,
            reached: 2,
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
    fn threads_add_up_and_the_last_one_ends_each_phase() {
        let run = Run::add_up(vec![outcome(1000, 1100, 5), outcome(1000, 1300, 7)], 50, WINDOW);
        assert_eq!((run.stats.opened, run.responses.clone()), (4, vec![3, 4, 3, 4]));
        assert_eq!((run.backlog_peak, run.elapsed_ns), (Some(12), 800));
        let both =
            Packets { retransmits: 6, spurious: Some(4), out_of_order: Some(2), ..packets(3) };
        assert_eq!(run.packets, Some(both));
        let gathered = Gathered { waits: 10, gathering: 2, too_short: 4, gather_ns: 18.0 };
        assert_eq!(run.gathered, gathered);
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
    fn thread_without_a_count_of_packets_leaves_it_unknown() {
        let without = Outcome { packets: None, ..outcome(1000, 1100, 5) };
        assert_eq!(Run::add_up(vec![outcome(1000, 1100, 5), without], 50, WINDOW).packets, None);
    }

    #[test]
    fn signal_in_the_warm_up_leaves_no_measured_time() {
        let run = Run::add_up(vec![outcome(150, 160, 0)], 50, WINDOW);
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
