//! The rate of slices against simulated servers in virtual time, whose true rate is known: the
//! estimator of docs/engine-slices.md.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::events::{ANSWER, SECOND, plan};
use crate::plan::Plan;
use crate::schedule::SplitMix64;
use crate::session::{Action, Session, Window};

/// As the campaign chooses them (slice_lengths.py).
const WINDOW: f64 = 80e6;
const DISCARD: f64 = 10e6;
const CYCLES: f64 = 3.0;
const SPREAD: f64 = 0.6;
const FROZEN: u64 = SECOND;
const BATCHES: usize = 10;

/// How long requests take.
#[derive(Clone, Copy)]
enum Kind {
    /// First in, first out, by this many workers.
    Queue { service_ns: f64, workers: usize },
    /// One worker that takes a share of its requests from the newest, and the others from the
    /// oldest: connections starve for a while.
    Unfair { service_ns: f64, newest_share: f64 },
    /// All requests share the processor.
    Sharing { work_ns: f64 },
    /// Each request waits for itself: a share of them `slow_ns`, the others `wait_ns`.
    Waits { wait_ns: f64, slow_ns: f64, slow_share: f64 },
    /// The same, with an exponential distribution.
    RandomWaits { mean_ns: f64 },
}

/// Pauses of the whole server.
#[derive(Clone, Copy)]
enum Pauses {
    None,
    ByRequests {
        every: u64,
        ns: f64,
    },
    /// After so much time in which it ran; a frozen server does not.
    ByClock {
        every_ns: f64,
        ns: f64,
    },
}

/// A server with its own clock, which stands still in pauses.
struct Server {
    kind: Kind,
    pauses: Pauses,
    random: SplitMix64,
    /// The server's time at a time of the world.
    own_ns: f64,
    world_ns: f64,
    paused_until_ns: f64,
    served: u64,
    next_pause_ns: f64,
    /// Requests by when they end in the server's time; with `Sharing`, in work done for each.
    ends: BinaryHeap<Reverse<(u64, usize)>>,
    shared_ns: f64,
    free_ns: Vec<f64>,
    waiting: VecDeque<usize>,
}

impl Server {
    fn new(kind: Kind, pauses: Pauses, seed: u64) -> Self {
        let workers = if let Kind::Queue { workers, .. } = kind { workers } else { 1 };
        let mut random = SplitMix64(seed);
        let next_pause_ns = match pauses {
            Pauses::ByClock { every_ns, .. } => every_ns * uniform(&mut random),
            _ => f64::INFINITY,
        };
        let served = match pauses {
            Pauses::ByRequests { every, .. } => (every as f64 * uniform(&mut random)) as u64,
            _ => 0,
        };
        Self {
            kind,
            pauses,
            random,
            own_ns: 0.0,
            world_ns: 0.0,
            paused_until_ns: 0.0,
            served,
            next_pause_ns,
            ends: BinaryHeap::new(),
            shared_ns: 0.0,
            free_ns: vec![0.0; workers],
            waiting: VecDeque::new(),
        }
    }

    /// Moves to a time of the world before which nothing ends.
    fn advance(&mut self, world_ns: f64) {
        let from_ns = self.world_ns.max(self.paused_until_ns.min(world_ns));
        let passed_ns = (world_ns - from_ns).max(0.0);
        if let Kind::Sharing { .. } = self.kind {
            self.shared_ns += passed_ns / self.ends.len().max(1) as f64;
        }
        self.own_ns += passed_ns;
        self.world_ns = world_ns;
    }

    fn thaw(&mut self, world_ns: f64) {
        self.world_ns = world_ns;
        self.paused_until_ns = self.paused_until_ns.max(0.0);
    }

    fn request(&mut self, slot: usize, world_ns: f64) {
        self.advance(world_ns);
        let end_ns = match self.kind {
            Kind::Queue { service_ns, .. } => {
                let free = self.free_ns.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
                *free = free.max(self.own_ns) + service_ns;
                *free
            }
            Kind::Sharing { work_ns } => self.shared_ns + work_ns,
            Kind::Unfair { .. } if !self.ends.is_empty() => return self.waiting.push_back(slot),
            Kind::Unfair { service_ns, .. } => self.own_ns + service_ns,
            Kind::Waits { wait_ns, slow_ns, slow_share } => {
                let is_slow = uniform(&mut self.random) < slow_share;
                self.own_ns + if is_slow { slow_ns } else { wait_ns }
            }
            Kind::RandomWaits { mean_ns } => {
                self.own_ns - mean_ns * (1.0 - uniform(&mut self.random)).ln()
            }
        };
        self.ends.push(Reverse((end_ns as u64, slot)));
    }

    /// When the next request ends, or the next pause by the clock begins.
    fn next_ns(&self) -> f64 {
        let Some(Reverse((end_ns, _))) = self.ends.peek() else { return f64::INFINITY };
        let left_ns = match self.kind {
            Kind::Sharing { .. } => (*end_ns as f64 - self.shared_ns) * self.ends.len() as f64,
            _ => *end_ns as f64 - self.own_ns,
        };
        let left_ns = left_ns.max(0.0).min((self.next_pause_ns - self.own_ns).max(0.0));
        self.world_ns.max(self.paused_until_ns) + left_ns + 1.0
    }

    /// The slot of the request that ends now; `None` if a pause begins.
    fn end(&mut self, world_ns: f64) -> Option<usize> {
        self.advance(world_ns);
        if let Pauses::ByClock { every_ns, ns } = self.pauses
            && self.own_ns >= self.next_pause_ns
        {
            self.next_pause_ns += every_ns;
            self.paused_until_ns = world_ns + ns;
            return None;
        }
        let Reverse((_, slot)) = self.ends.pop()?;
        self.served += 1;
        if let Kind::Unfair { service_ns, newest_share } = self.kind {
            let is_newest = uniform(&mut self.random) < newest_share;
            let next = if is_newest { self.waiting.pop_back() } else { self.waiting.pop_front() };
            let end_ns = (self.own_ns + service_ns) as u64;
            self.ends.extend(next.map(|slot| Reverse((end_ns, slot))));
        }
        if let Pauses::ByRequests { every, ns } = self.pauses
            && self.served.is_multiple_of(every)
        {
            self.paused_until_ns = world_ns + ns;
        }
        Some(slot)
    }

    /// Requests per second with all connections busy, in the long run.
    fn true_rate(&self, connections: usize) -> f64 {
        let plain_ns = match self.kind {
            Kind::Queue { service_ns, workers } => service_ns / workers as f64,
            Kind::Unfair { service_ns, .. } => service_ns,
            Kind::Sharing { work_ns } => work_ns,
            Kind::Waits { wait_ns, slow_ns, slow_share } => {
                (wait_ns + slow_share * (slow_ns - wait_ns)) / connections as f64
            }
            Kind::RandomWaits { mean_ns } => mean_ns / connections as f64,
        };
        1e9 / match self.pauses {
            Pauses::None => plain_ns,
            Pauses::ByRequests { every, ns } => plain_ns + ns / every as f64,
            Pauses::ByClock { every_ns, ns } => plain_ns * (every_ns + ns) / every_ns,
        }
    }
}

fn uniform(random: &mut SplitMix64) -> f64 {
    (random.next() >> 11) as f64 / (1u64 << 53) as f64
}

/// The rate over `slices` slices of a server that is frozen between them, over the true one, and
/// its standard error by the jackknife over ten batches of slices.
fn measured_share(
    plan: &Plan,
    kind: Kind,
    pauses: Pauses,
    connections: usize,
    slices: usize,
) -> (f64, f64) {
    let mut server = Server::new(kind, pauses, 7);
    let true_rate = server.true_rate(connections);
    let cycle_ns = 1e9 * connections as f64 / true_rate;
    let mut random = SplitMix64(11);
    let mut session = Session::new(plan, connections, connections, None);
    let mut batches = [(0.0, 0.0); BATCHES];
    let mut now_ns = SECOND;
    for number in 0..slices {
        let spread = 1.0 + SPREAD * (2.0 * uniform(&mut random) - 1.0);
        let window_ns = WINDOW.max(CYCLES * cycle_ns) * spread;
        let discard_ns = DISCARD.max(cycle_ns);
        session.prepare(3600 * SECOND);
        server.thaw(now_ns as f64);
        now_ns = slice(&mut session, &mut server, now_ns, discard_ns as u64, window_ns as u64);
        let counts = session.take_counts();
        let batch = &mut batches[number * BATCHES / slices];
        batch.0 += counts.tallies[1].scheduled as f64 * cycle_ns;
        batch.1 += counts.tallies[1].cycle_ns as f64;
        now_ns += FROZEN;
    }
    let share_without = |left_out: usize| {
        let kept = batches.iter().enumerate().filter(|(number, _)| *number != left_out);
        let (expected_ns, took_ns) =
            kept.fold((0.0, 0.0), |sum, (_, batch)| (sum.0 + batch.0, sum.1 + batch.1));
        expected_ns / took_ns
    };
    let share = share_without(BATCHES);
    let squares = (0..BATCHES).map(|batch| (share_without(batch) - share).powi(2));
    let of_mean = (BATCHES - 1) as f64 / BATCHES as f64;
    (share, (squares.sum::<f64>() * of_mean).sqrt())
}

/// One slice as a worker loads it; returns when it ended.
fn slice(
    session: &mut Session,
    server: &mut Server,
    load_ns: u64,
    discard_ns: u64,
    window_ns: u64,
) -> u64 {
    let measure_ns = load_ns + discard_ns;
    let window = Window { load_ns, measure_ns, end_ns: measure_ns + window_ns };
    session.begin_until(window, u64::MAX);
    let mut now_ns = load_ns;
    let mut follows = true;
    loop {
        while let Some(slot) = session.next_open(now_ns) {
            session.opening(slot, now_ns);
            let action = session.connected(slot, now_ns);
            carry_out(server, slot, &action, now_ns);
        }
        while let Some((slot, action)) = session.next_send(now_ns) {
            carry_out(server, slot, &action, now_ns);
        }
        if follows && session.is_measured_to_the_end(now_ns) {
            follows = false;
            session.stop_sending(now_ns);
        }
        if session.is_over(now_ns) {
            session.finish(now_ns);
            return now_ns;
        }
        let bound_ns = if now_ns < window.end_ns { window.end_ns as f64 } else { f64::INFINITY };
        let next_ns = server.next_ns();
        now_ns = now_ns.max(next_ns.min(bound_ns) as u64);
        if next_ns <= bound_ns
            && let Some(slot) = server.end(now_ns as f64)
        {
            let closes = session.plan().per_request;
            let action = session.received(slot, ANSWER.as_bytes(), now_ns, closes);
            carry_out(server, slot, &action, now_ns);
        }
    }
}

fn carry_out(server: &mut Server, slot: usize, action: &Action, now_ns: u64) {
    if let Action::Send(_) = action {
        server.request(slot, now_ns as f64);
    }
}

const US: f64 = 1e3;
const MILLI: f64 = 1e6;

fn queue(service_ns: f64, workers: usize) -> Kind {
    Kind::Queue { service_ns, workers }
}

fn unfair(newest_share: f64) -> Kind {
    Kind::Unfair { service_ns: 100.0 * US, newest_share }
}

fn waits(wait_ns: f64) -> Kind {
    Kind::Waits { wait_ns, slow_ns: 0.0, slow_share: 0.0 }
}

/// Fails where a rate is further than 2 % from the true one, plus what chance explains. The
/// variable DEADHEAT_SIMULATED multiplies the slices: with 20, chance explains little.
fn assert_unbiased(args: &[&str], cases: &[(&str, Kind, Pauses, &[usize], usize)]) {
    let plan = plan(args);
    let times = std::env::var("DEADHEAT_SIMULATED").map_or(1, |times| times.parse().unwrap());
    let mut wrong = Vec::new();
    for (name, kind, pauses, connections, slices) in cases {
        for count in *connections {
            let (share, error) = measured_share(&plan, *kind, *pauses, *count, slices * times);
            let (bias, chance) = (100.0 * (share - 1.0), 100.0 * error);
            let line = format!("{name}, {count} connections: {bias:+.2} % +- {chance:.2}");
            println!("{line}");
            if bias.abs() > 2.0 + 3.0 * chance {
                wrong.push(line);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const ALL: &[usize] = &[10, 100, 1000];
const FEW: &[usize] = &[10, 100];

#[test]
#[cfg_attr(miri, ignore = "takes hours under Miri")]
fn rate_of_slices_is_that_of_servers_that_queue_or_share() {
    let none = Pauses::None;
    assert_unbiased(
        &[],
        &[
            ("a queue of 68 us", queue(68.0 * US, 1), none, ALL, 20),
            ("a queue of 1 ms", queue(MILLI, 1), none, ALL, 20),
            ("a queue of 5 ms", queue(5.0 * MILLI, 1), none, ALL, 20),
            ("half of the newest first", unfair(0.5), none, ALL, 20),
            ("nearly all of the newest first", unfair(0.97), none, ALL, 40),
            ("four workers of 1 ms", queue(MILLI, 4), none, ALL, 20),
            ("four workers of 20 ms", queue(20.0 * MILLI, 4), none, ALL, 20),
            ("sharing, 100 us of work", Kind::Sharing { work_ns: 100.0 * US }, none, ALL, 20),
            ("sharing, 2 ms of work", Kind::Sharing { work_ns: 2.0 * MILLI }, none, ALL, 20),
            ("sharing, 10 ms of work", Kind::Sharing { work_ns: 10.0 * MILLI }, none, ALL, 20),
        ],
    );
}

#[test]
#[cfg_attr(miri, ignore = "takes hours under Miri")]
fn rate_of_slices_is_that_of_handlers_that_wait() {
    let none = Pauses::None;
    let slow = Kind::Waits { wait_ns: MILLI, slow_ns: 500.0 * MILLI, slow_share: 0.01 };
    assert_unbiased(
        &[],
        &[
            ("waits of 10.5 ms", waits(10.5 * MILLI), none, ALL, 20),
            ("waits of 15 ms", waits(15.0 * MILLI), none, ALL, 20),
            ("waits of 19 ms", waits(19.0 * MILLI), none, ALL, 20),
            ("waits of 21 ms", waits(21.0 * MILLI), none, ALL, 20),
            ("waits of 26 ms", waits(26.0 * MILLI), none, ALL, 20),
            ("waits of 400 ms", waits(400.0 * MILLI), none, ALL, 20),
            ("random waits", Kind::RandomWaits { mean_ns: 20.0 * MILLI }, none, ALL, 60),
            ("one wait in 100 of 500 ms", slow, none, ALL, 100),
        ],
    );
}

#[test]
#[cfg_attr(miri, ignore = "takes hours under Miri")]
fn rate_of_slices_includes_pauses() {
    let kind = queue(68.0 * US, 1);
    let by_work = |ms: f64| Pauses::ByRequests { every: (58.4 * ms) as u64, ns: ms * MILLI };
    let by_clock = |ms: f64| Pauses::ByClock { every_ns: 5.0 * ms * MILLI, ns: ms * MILLI };
    let mut cases: Vec<(&str, Kind, Pauses, &[usize], usize)> = Vec::new();
    for ms in [5.0, 20.0, 50.0, 200.0, 1000.0] {
        let slices = if ms > 20.0 { 600 } else { 200 };
        cases.push((leaked("pauses by work", ms), kind, by_work(ms), FEW, slices));
        cases.push((leaked("pauses by the clock", ms), kind, by_clock(ms), FEW, slices));
    }
    assert_unbiased(&[], &cases);
}

fn leaked(kind: &str, ms: f64) -> &'static str {
    Box::leak(format!("{kind} of {ms} ms").into_boxed_str())
}

#[test]
#[cfg_attr(miri, ignore = "takes hours under Miri")]
fn rate_of_slices_includes_a_connection_for_each_request() {
    let none = Pauses::None;
    assert_unbiased(
        &["--close"],
        &[
            ("a queue of 68 us", queue(68.0 * US, 1), none, ALL, 20),
            ("waits of 19 ms", waits(19.0 * MILLI), none, ALL, 20),
        ],
    );
}
