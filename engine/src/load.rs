//! A whole load: the threads of this process, or of several.

use crate::clock;
use crate::config::Config;
use crate::engine::{self, soon_ns};
use crate::error::Result;
use crate::gathering::Gathering;
use crate::phase::Phase;
use crate::plan::Plan;
use crate::process;
use crate::run::Run;
use crate::series::Row;
use crate::usage::MachineTicks;

/// Runs a load; `each_row` receives every interval when it is complete.
pub(crate) fn run(config: &Config, plan: &Plan, each_row: impl FnMut(&Row)) -> Result<Run> {
    let shards = process::shards(config);
    let total = shards.iter().map(|shard| shard.count).sum();
    let mut gathering = Gathering::new(total, each_row);
    let mut ticks = MachineTicks::default();
    let mut load_ns = 0;
    let connect_ns = clock::now_ns();
    let mut agree = || {
        ticks = MachineTicks::read();
        load_ns = soon_ns();
        load_ns
    };
    match &shards[..] {
        [_] => engine::run(config, plan, || Ok(agree()), |message| gathering.take(message))?,
        shards => process::run(shards, agree, |message| gathering.take(message))?,
    }
    let steal = MachineTicks::read().steal_since(&ticks);
    let window = engine::window(config, load_ns);
    let mut run = gathering.add_up(connect_ns, window)?;
    run.processes = shards.len();
    run.steal = steal;
    let ended_ns = run.phases.last().map_or(connect_ns, |phase| phase.end_ns);
    run.phases.push(Phase { name: "close", start_ns: ended_ns, end_ns: clock::now_ns() });
    Ok(run)
}
