//! Sessions against a simulated server in virtual time, compared with theory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::backlog::Backlog;
use crate::classes::Class;
use crate::config::{Config, Expect, Pace};
use crate::expected::Expected;
use crate::plan::Plan;
use crate::schedule::{Arrival, Arrivals};
use crate::session::{Action, Session, Window};
use crate::tally::Tally;
use crate::target::Target;

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const SECOND: u64 = 1_000_000_000;

/// A queue that is served in order with a constant service time; it may be frozen for a while.
struct Server {
    service_ns: u64,
    frozen: Option<(u64, u64)>,
    free_ns: u64,
    answers: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Server {
    fn new(service_ns: u64, frozen: Option<(u64, u64)>) -> Self {
        Self { service_ns, frozen, free_ns: 0, answers: BinaryHeap::new() }
    }

    fn request(&mut self, slot: usize, now_ns: u64) {
        let start_ns = self.free_ns.max(now_ns);
        self.free_ns = start_ns + self.service_ns;
        if let Some((from_ns, to_ns)) = self.frozen
            && (from_ns..to_ns).contains(&start_ns)
        {
            self.free_ns = to_ns + self.service_ns;
        }
        self.answers.push(Reverse((self.free_ns, slot)));
    }
}

/// Runs `duration_s` of virtual time; returns the measured tally and the peak of the backlog.
fn run(pace: Pace, connections: usize, duration_s: u64, mut server: Server) -> (Tally, u64) {
    let plan = plan(pace);
    let backlog = match pace {
        Pace::Closed => None,
        Pace::Open { rate_per_s, arrival, seed, .. } => {
            Some(Backlog::new(Arrivals::new(arrival, rate_per_s, seed, 0, 1)))
        }
    };
    let mut session = Session::new(&plan, connections, connections, backlog);
    let window = Window { load_ns: 1, measure_ns: 1, end_ns: 1 + duration_s * SECOND };
    session.begin(window);
    let mut now_ns = window.load_ns;
    while !session.is_over(now_ns) {
        while let Some(slot) = session.next_open(now_ns) {
            session.opening(slot, now_ns);
            let action = session.connected(slot, now_ns);
            carry_out(&mut server, slot, &action, now_ns);
        }
        while let Some((slot, action)) = session.next_send(now_ns) {
            carry_out(&mut server, slot, &action, now_ns);
        }
        let answer_ns = server.answers.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
        let due_ns = session.next_due_ns().filter(|due_ns| *due_ns > now_ns);
        now_ns = answer_ns.min(due_ns.unwrap_or(u64::MAX)).min(window.end_ns.max(now_ns + 1));
        if let Some(Reverse((at_ns, slot))) = server.answers.peek().copied()
            && at_ns <= now_ns
        {
            server.answers.pop();
            let action = session.received(slot, RESPONSE, now_ns, false);
            carry_out(&mut server, slot, &action, now_ns);
        }
    }
    session.finish(now_ns);
    let counts = session.take_counts();
    let [_, tally] = counts.tallies;
    assert_eq!(tally.scheduled, tally.classed(), "every request has one class");
    (tally, counts.backlog_peak.unwrap_or(0))
}

fn carry_out(server: &mut Server, slot: usize, action: &Action, now_ns: u64) {
    match action {
        Action::Wait => {}
        Action::Send(_) => server.request(slot, now_ns),
        Action::Flush | Action::Open | Action::Close => panic!("{action:?} on a kept connection"),
    }
}

fn plan(pace: Pace) -> Plan {
    let config = Config {
        targets: vec![Target::parse("http://127.0.0.1/").unwrap()],
        connections: 1,
        threads: 1,
        duration_ns: SECOND,
        warmup_ns: 0,
        timeout_ns: 3600 * SECOND,
        drain_ns: 3600 * SECOND,
        pace,
        close: false,
        requests_per_connection: None,
        pipeline: 1,
        http2: false,
        streams: 1,
        method: "GET".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        expect: Expect::default(),
        tls: None,
        workload: None,
        sources: Vec::new(),
        backend: None,
        gathers: true,
        json: false,
        stream: false,
        calibrate: false,
        interval_ns: SECOND,
        slices: false,
        shard: None,
    };
    let expected = Expected {
        status: 200,
        media_type: None,
        body: Some(b"ok".to_vec()),
        to_head_request: false,
    };
    Plan::new(&config, vec![expected], false)
}

fn open(rate_per_s: f64, arrival: Arrival) -> Pace {
    Pace::Open { rate_per_s, arrival, seed: 42, deadline_ns: None }
}

fn assert_near(what: &str, got: f64, wanted: f64, tolerance: f64) {
    assert!((got / wanted - 1.0).abs() <= tolerance, "{what}: {got}, in theory {wanted}");
}

/// A freeze of D in a run of T at rate R with service time S: a request that comes x after its
/// start waits D - x (1 - R S), until the queue is empty again.
#[test]
#[cfg_attr(miri, ignore = "takes hours under Miri")]
fn freeze_is_in_the_response_times_of_all_delayed_requests() {
    let (rate, service_s, freeze_s, run_s) = (1000.0, 0.0002, 1.0, 10.0);
    let frozen = Some((2 * SECOND, 3 * SECOND));
    let server = Server::new((service_s * 1e9) as u64, frozen);
    let (tally, peak) = run(open(rate, Arrival::Constant), 8, 10, server);
    assert_eq!(tally.count(Class::Ok), 10_000);
    let share = freeze_s / (1.0 - rate * service_s) / run_s;
    for q in [0.9, 0.95, 0.99] {
        let wanted_us = (service_s + freeze_s * (q - (1.0 - share)) / share) * 1e6;
        let got_us = tally.response.quantile_us(q).unwrap() as f64;
        assert_near(&format!("p{}", q * 100.0), got_us, wanted_us, 0.005);
    }
    assert_near("backlog", peak as f64, rate * freeze_s - 8.0, 0.005);
    let service_us = tally.service.quantile_us(0.99).unwrap() as f64;
    assert!(service_us < 10_000.0, "service time alone hides the freeze: {service_us} us");
}

/// M/D/1: P(W <= t) = (1 - rho) sum_k (-lambda (t - k S))^k / k! * exp(lambda (t - k S)),
/// k = 0 .. floor(t / S) (Erlang 1909).
fn waits_at_most(t: f64, lambda: f64, service: f64) -> f64 {
    let mut sum = 0.0;
    let mut factorial = 1.0;
    for k in 0..=(t / service) as i32 {
        factorial *= f64::from(k.max(1));
        let x = lambda * (t - f64::from(k) * service);
        sum += (-x).powi(k) / factorial * x.exp();
    }
    (1.0 - lambda * service) * sum
}

#[test]
#[cfg_attr(miri, ignore = "takes hours under Miri")]
fn poisson_arrivals_wait_as_in_m_d_1() {
    let (lambda, service_s) = (700.0, 0.001);
    let server = Server::new((service_s * 1e9) as u64, None);
    let (tally, _) = run(open(lambda, Arrival::Poisson), 4, 2000, server);
    assert_near("arrivals", tally.scheduled as f64, lambda * 2000.0, 0.005);
    let rho = lambda * service_s;
    let mean_us = (service_s + rho * service_s / (2.0 * (1.0 - rho))) * 1e6;
    assert_near("mean", tally.response.mean_ns().unwrap() / 1e3, mean_us, 0.01);
    for q in [0.5, 0.9, 0.99] {
        let response_s = tally.response.quantile_us(q).unwrap() as f64 / 1e6;
        let theory = waits_at_most(response_s - service_s, lambda, service_s);
        assert_near(&format!("waits beyond p{}", q * 100.0), 1.0 - theory, 1.0 - q, 0.08);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes hours under Miri")]
fn constant_arrivals_below_capacity_never_wait() {
    let (tally, peak) = run(open(500.0, Arrival::Constant), 2, 20, Server::new(1_000_000, None));
    assert_eq!((tally.count(Class::Ok), peak), (10_000, 0));
    assert_eq!(tally.response.max_us(), Some(1000));
    assert_eq!(tally.send_lag.max_us(), Some(0));
}

#[test]
#[cfg_attr(miri, ignore = "takes hours under Miri")]
fn closed_loop_obeys_littles_law() {
    let (tally, _) = run(Pace::Closed, 10, 5, Server::new(1_000_000, None));
    let rate = tally.count(Class::Ok) as f64 / 5.0;
    assert_near("rate", rate, 1000.0, 0.005);
    assert_near("N", rate * tally.service.mean_ns().unwrap() / 1e9, 10.0, 0.005);
}

/// Bug: a request that was in flight at the start of the window did not count, so connections that
/// waited for a fifth of the window seemed idle.
#[test]
fn requests_at_the_ends_of_the_window_count_for_the_time_inside_it() {
    let (tally, _) = run(Pace::Closed, 10, 5, Server::new(100_000_000, None));
    assert_near("N", tally.busy_ns as f64 / 5e9, 10.0, 1e-9);
}

/// Bug: with a drain as long as the timeout, a request sent shortly before the end of a run to a
/// silent server ended as unfinished.
#[test]
#[cfg_attr(miri, ignore = "takes hours under Miri")]
fn overdue_requests_time_out_at_the_end() {
    let plan = Plan { timeout_ns: SECOND, ..plan(Pace::Closed) };
    for (waited_ns, class) in [(SECOND, Class::TimeoutFirstByte), (SECOND - 1, Class::Unfinished)] {
        let mut session = Session::new(&plan, 1, 1, None);
        let window = Window { load_ns: 1, measure_ns: 1, end_ns: 1 + SECOND };
        session.begin(window);
        let slot = session.next_open(window.load_ns).unwrap();
        session.opening(slot, window.load_ns);
        assert!(matches!(session.connected(slot, window.load_ns), Action::Send(_)));
        session.finish(window.load_ns + waited_ns);
        let [_, tally] = session.tallies;
        assert_eq!((tally.count(class), tally.scheduled), (1, 1));
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes hours under Miri")]
fn requests_past_the_deadline_are_late_or_shed() {
    let pace = Pace::Open {
        rate_per_s: 2000.0,
        arrival: Arrival::Constant,
        seed: 1,
        deadline_ns: Some(50_000_000),
    };
    let (tally, _) = run(pace, 100, 10, Server::new(1_000_000, None));
    let [ok, late, shed] = [Class::Ok, Class::Late, Class::Shed].map(|class| tally.count(class));
    assert_eq!(ok + late + shed, 20_000);
    assert!(late > 0 && shed > 0, "{late} late, {shed} shed");
    assert_near("answered", (ok + late) as f64, 10_000.0, 0.02);
}
