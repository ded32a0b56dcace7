//! The threads of this process: created, started together, and collected from.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Barrier, OnceLock};

use crate::backend::Backend;
use crate::backlog::Backlog;
use crate::clock;
use crate::config::{Config, Pace};
use crate::driver::route::Route;
use crate::driver::{Driver, choice};
use crate::error::Result;
use crate::message::Message;
use crate::plan::Plan;
use crate::schedule::Arrivals;
use crate::session::{Session, Window};
use crate::shard::{Shard, share};
use crate::sockets::Endpoint;
use crate::target::Address;
use crate::worker::{Start, Worker};

/// Most connects in progress at a time, over all threads; every listen queue has this room.
const MAX_OPENING: usize = 256;
/// Connections per source address; with more, finding a free port gets slow.
const PER_SOURCE: usize = 12_000;
/// Time from the barrier to the load, so that all threads start together.
const START_DELAY_NS: u64 = 5_000_000;

/// The start of a load that starts now.
pub(crate) fn soon_ns() -> u64 {
    clock::now_ns() + START_DELAY_NS
}

/// Runs the threads of this process. `agree` is called when all are connected, and returns when the
/// load starts. `each` receives every message.
pub(crate) fn run(
    config: &Config,
    plan: &Plan,
    agree: impl FnOnce() -> Result<u64>,
    mut each: impl FnMut(Message),
) -> Result<()> {
    let (sender, receiver) = channel();
    let workers = workers(config, plan, &sender)?;
    drop(sender);
    let start = Start {
        barrier: Barrier::new(workers.len() + 1),
        window: OnceLock::new(),
        connect_end_ns: clock::now_ns() + config.timeout_ns,
        drain_ns: config.drain_ns,
    };
    std::thread::scope(|scope| {
        for worker in workers {
            scope.spawn(|| worker.run(&start));
        }
        start.barrier.wait();
        let agreed = agree().map(|load_ns| start.window.get_or_init(|| window(config, load_ns)));
        start.barrier.wait();
        for message in receiver {
            each(message);
        }
        agreed.map(drop)
    })
}

/// The threads of this process, not started yet; they send their messages to `rows`.
pub(crate) fn workers<'p>(
    config: &Config,
    plan: &'p Plan,
    rows: &Sender<Message>,
) -> Result<Vec<Worker<'p>>> {
    let shard = config.shard();
    let backend = choice::choose(config)?;
    (shard.first..shard.first + shard.count)
        .map(|thread| {
            let (session, driver) = prepare(config, plan, thread, backend)?;
            let gathers = config.gathers;
            Ok(Worker { thread, session, backend, driver, gathers, rows: rows.clone() })
        })
        .collect()
}

/// The window of a load that starts at `load_ns`.
pub(crate) fn window(config: &Config, load_ns: u64) -> Window {
    let measure_ns = load_ns + config.warmup_ns;
    Window { load_ns, measure_ns, end_ns: measure_ns + config.duration_ns }
}

/// The connections and the driver of one thread.
fn prepare<'p>(
    config: &Config,
    plan: &'p Plan,
    thread: usize,
    backend: Backend,
) -> Result<(Session<'p>, Box<dyn Driver>)> {
    let Shard { total, .. } = config.shard();
    let slots = share(config.connections, total, thread);
    let backlog = match config.pace {
        Pace::Closed => None,
        Pace::Open { rate_per_s, arrival, seed, .. } => {
            let arrivals = Arrivals::new(arrival, rate_per_s, seed, thread as u64, total as u64);
            Some(Backlog::new(arrivals))
        }
    };
    let session = Session::new(plan, slots, (MAX_OPENING / total).max(1), backlog);
    let route = Route {
        to: Endpoint::new(&config.targets[0].address)?,
        from: sources(config, thread, slots),
        no_delay: !config.close,
    };
    Ok((session, choice::build(backend, route, slots, plan.response_bytes())?))
}

/// The source address of each slot of a thread: those given, or as many of 127.0.0.0/8 as the run
/// needs for its ports. Empty if the kernel chooses.
fn sources(config: &Config, thread: usize, slots: usize) -> Vec<Endpoint> {
    let loopback = match &config.targets[0].address {
        Address::Tcp(address) => address.is_ipv4() && address.ip().is_loopback(),
        Address::Unix(_) => return Vec::new(),
    };
    let mut addresses = config.sources.clone();
    if addresses.is_empty() && loopback && config.connections > PER_SOURCE {
        let count = config.connections.div_ceil(PER_SOURCE) as u32;
        addresses = (0..count).map(|n| (0x7f00_0002 + n).to_be_bytes().into()).collect();
    }
    if addresses.is_empty() {
        return Vec::new();
    }
    let total = config.shard().total;
    let first: usize = (0..thread).map(|other| share(config.connections, total, other)).sum();
    (first..first + slots)
        .map(|slot| Endpoint::of_source(addresses[slot * addresses.len() / config.connections]))
        .collect()
}
