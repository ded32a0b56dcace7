//! One load run in this process: threads started, met, collected and added up.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Barrier, OnceLock};

use crate::backlog::Backlog;
use crate::clock;
use crate::config::{Config, Pace};
use crate::driver::epoll::Epoll;
use crate::links::Links;
use crate::plan::Plan;
use crate::schedule::Arrivals;
use crate::series::{Collector, Row};
use crate::session::{Session, Window};
use crate::sockets::Endpoint;
use crate::tally::Tally;
use crate::target::Address;
use crate::usage::{MachineTicks, ThreadUsage};
use crate::worker::{Message, Outcome, Start, Worker};

/// Most connects under way at once, over all threads: what a listen queue takes anywhere.
const MAX_OPENING: usize = 256;
/// Connections from one source address, above which finding a free port gets slow.
const PER_SOURCE: usize = 12_000;
/// Rest between the barrier and the load, so that all threads start together.
const START_DELAY_NS: u64 = 1_000_000;

/// A part of a run, CLOCK_MONOTONIC nanoseconds.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Phase<N = &'static str> {
    pub name: N,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// What a run gave, over all threads.
pub struct Run {
    /// Before the measured window, and inside it.
    pub tallies: [Tally; 2],
    pub links: Links,
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
pub fn run(config: &Config, plan: &Plan, mut each_row: impl FnMut(&Row)) -> Result<Run, String> {
    let connect_start_ns = clock::now_ns();
    let (sender, receiver) = channel();
    let workers = (0..config.threads)
        .map(|thread| {
            let (session, driver) = prepare(config, plan, thread)?;
            Ok(Worker { thread, session, driver, rows: sender.clone() })
        })
        .collect::<Result<Vec<_>, String>>()?;
    drop(sender);
    let start = Start {
        barrier: Barrier::new(config.threads + 1),
        window: OnceLock::new(),
        connect_end_ns: connect_start_ns + config.timeout_ns,
        drain_ns: config.drain_ns,
    };
    std::thread::scope(|scope| {
        let start = &start;
        let threads: Vec<_> =
            workers.into_iter().map(|worker| scope.spawn(move || worker.run(start))).collect();
        start.barrier.wait();
        let load_ns = clock::now_ns() + START_DELAY_NS;
        let measure_ns = load_ns + config.warmup_ns;
        let window = Window { load_ns, measure_ns, end_ns: measure_ns + config.duration_ns };
        start.window.get_or_init(|| window);
        start.barrier.wait();
        let ticks = MachineTicks::read();
        let rows = collect(&receiver, config.threads, &mut each_row);
        let steal_share = MachineTicks::read().steal_share_since(&ticks);
        let outcomes = threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a client thread panicked".to_owned())?)
            .collect::<Result<Vec<_>, String>>()?;
        Ok(add_up(outcomes, rows, steal_share, connect_start_ns, window))
    })
}

/// The connections and the driver of one thread.
fn prepare<'p>(
    config: &Config,
    plan: &'p Plan,
    thread: usize,
) -> Result<(Session<'p>, Epoll), String> {
    let slots = share(config.connections, config.threads, thread);
    let backlog = match config.pace {
        Pace::Closed => None,
        Pace::Open { rate_per_s, arrival, seed, .. } => {
            let (thread, threads) = (thread as u64, config.threads as u64);
            Some(Backlog::new(Arrivals::new(arrival, rate_per_s, seed, thread, threads)))
        }
    };
    let max_opening = (MAX_OPENING / config.threads).max(1);
    let session = Session::new(plan, slots, max_opening, backlog);
    let address = &config.targets[0].address;
    let no_delay = !config.close;
    let driver = Epoll::new(Endpoint::new(address)?, sources(config), slots, no_delay)?;
    Ok((session, driver))
}

/// One thread's part of `total`.
pub fn share(total: usize, parts: usize, part: usize) -> usize {
    total / parts + usize::from(part < total % parts)
}

/// Local addresses to connect from: the given ones, or as many of 127.0.0.0/8 as ports demand.
fn sources(config: &Config) -> Vec<Endpoint> {
    if !config.sources.is_empty() {
        return config.sources.iter().copied().map(Endpoint::of_source).collect();
    }
    let loopback = match &config.targets[0].address {
        Address::Tcp(address) => address.is_ipv4() && address.ip().is_loopback(),
        Address::Unix(_) => false,
    };
    if !loopback || config.connections <= PER_SOURCE {
        return Vec::new();
    }
    let count = config.connections.div_ceil(PER_SOURCE) as u32;
    (0..count).map(|n| Endpoint::of_source((0x7f00_0002 + n).to_be_bytes().into())).collect()
}

/// Gathers rows until every thread has ended.
fn collect(
    receiver: &Receiver<Message>,
    threads: usize,
    each_row: &mut impl FnMut(&Row),
) -> Vec<Row> {
    let mut collector = Collector::new(threads);
    let mut rows = Vec::new();
    let mut ended = 0;
    while ended < threads {
        match receiver.recv() {
            Ok(Message::Row { thread, tick, row }) => collector.add(thread, tick, &row),
            Ok(Message::End { thread }) => {
                collector.end(thread);
                ended += 1;
            }
            Err(_) => break,
        }
        while let Some(row) = collector.pop() {
            each_row(&row);
            rows.push(row);
        }
    }
    rows
}

fn add_up(
    outcomes: Vec<Outcome>,
    rows: Vec<Row>,
    steal_share: f64,
    connect_start_ns: u64,
    window: Window,
) -> Run {
    let ended_ns = outcomes.iter().map(|outcome| outcome.ended_ns).max().unwrap_or(window.load_ns);
    // A signal may have ended the load before its time.
    let stopped_ns = outcomes.iter().map(|outcome| outcome.stopped_ns).max().unwrap_or(ended_ns);
    let measure_ns = window.measure_ns.min(stopped_ns);
    let mut run = Run {
        tallies: Default::default(),
        links: Links::default(),
        responses: Vec::new(),
        backlog_peak: None,
        usage: Vec::new(),
        steal_share,
        elapsed_ns: stopped_ns - measure_ns,
        rows,
        phases: vec![
            Phase { name: "connect", start_ns: connect_start_ns, end_ns: window.load_ns },
            Phase { name: "warmup", start_ns: window.load_ns, end_ns: measure_ns },
            Phase { name: "measure", start_ns: measure_ns, end_ns: stopped_ns },
            Phase { name: "drain", start_ns: stopped_ns, end_ns: ended_ns },
            Phase { name: "close", start_ns: ended_ns, end_ns: clock::now_ns() },
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
