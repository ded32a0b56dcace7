//! A whole run: the threads of this process, or of several, added up.

use crate::backend::Backend;
use crate::clock;
use crate::config::Config;
use crate::engine::{self, soon_ns};
use crate::gathering::Gathering;
use crate::links::Links;
use crate::phase::Phase;
use crate::plan::Plan;
use crate::process;
use crate::series::Row;
use crate::tally::Tally;
use crate::usage::{MachineTicks, ThreadUsage};

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
    let mut run = gathering.add_up(connect_ns, window)?;
    run.processes = teams.len();
    run.steal_share = steal_share;
    let ended_ns = run.phases.last().map_or(connect_ns, |phase| phase.end_ns);
    run.phases.push(Phase { name: "close", start_ns: ended_ns, end_ns: clock::now_ns() });
    Ok(run)
}
