//! The resident mode: answers each line of standard input with a slice.

mod answer;
mod input;
mod request;

use std::io::{Read, stdin};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::clock;
use crate::config::Config;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::gathering::Gathering;
use crate::message::Message;
use crate::output::{say, to_json};
use crate::phase::Phase;
use crate::plan::Plan;
use crate::preflight::Preflight;
use crate::series::Row;
use crate::session::{Counts, Window};
use crate::slice::{Moment, Slice};
use crate::usage::MachineTicks;
use crate::{engine, preflight, process, report, signals};

use answer::{Answer, Ready};
use input::{Input, Line, MAX_LINE_BYTES};
use request::{BadRequest, Request, SliceRequest};

/// Answers the lines of standard input until its end, an `end` line or a signal.
pub(crate) fn serve(config: &Config) -> Result<u8> {
    let room = process::room(config);
    if config.connections > room {
        return Err(Error::usage(format!(
            "--slices runs as one process, which may open {room} connections here, not {}; \
             raise ulimit -n, or use fewer connections",
            config.connections
        )));
    }
    let start_ns = clock::now_ns();
    let seen = match preflight::run(config) {
        Ok(seen) => seen,
        Err(error) => {
            let message = error.to_string();
            let ready = Ready { preflight_error: Some(&message), ..Ready::new(config) };
            answer(&Answer::Ready(Box::new(ready)))?;
            return Err(error);
        }
    };
    let preflight = Phase { name: "preflight", start_ns, end_ns: clock::now_ns() };
    signals::install();
    let plan = Plan::new(config, seen.expected.clone(), seen.closes_unannounced);
    let (sender, messages) = channel();
    let workers = engine::workers(config, &plan, &sender)?;
    drop(sender);
    let (connected, counts) = channel();
    std::thread::scope(|scope| {
        let backend = workers.first().map(|worker| worker.backend);
        let orders = workers.into_iter().map(|worker| {
            let (orders, slices) = channel();
            let connected = connected.clone();
            scope.spawn(move || worker.serve(&connected, slices));
            orders
        });
        let resident = Resident { config, seen: &seen, orders: orders.collect(), messages };
        let (mut opened, mut failed) = (0, 0);
        for _ in &resident.orders {
            let counts: Result<Counts> = counts.recv().map_err(|_| Error::Thread)?;
            let stats = counts?.stats;
            opened += stats.opened;
            failed += stats.failed_without_request;
        }
        let connect =
            Phase { name: "connect", start_ns: preflight.end_ns, end_ns: clock::now_ns() };
        let mut ready = Ready {
            backend,
            expected: Some(report::expected_part(&seen)),
            preflight_requests: config.preflights().len(),
            phases: vec![preflight, connect],
            ..Ready::new(config)
        };
        (ready.connections.opened, ready.connections.failed) = (opened, failed);
        answer(&Answer::Ready(Box::new(ready)))?;
        serve_lines(&resident)?;
        Ok(0)
    })
}

fn serve_lines(resident: &Resident) -> Result<()> {
    let mut input = Input::new(stdin())?;
    loop {
        let parsed = match input.next()? {
            Line::End => return Ok(()),
            Line::Text(line) => Request::parse(&line),
            Line::Unreadable => Err(unreadable()),
        };
        match parsed {
            Ok(Request::End) => return Ok(()),
            Ok(Request::Slice(request)) => {
                let document = resident.slice(&request, &mut input)?;
                answer(&Answer::Slice { id: request.id, document: &document })?;
            }
            Ok(Request::Go | Request::Stop) => answer(&Answer::from(&misplaced("slice")))?,
            Err(bad) => answer(&Answer::from(&bad))?,
        }
    }
}

fn unreadable() -> BadRequest {
    let message = format!("not UTF-8 text of at most {MAX_LINE_BYTES} bytes");
    BadRequest { id: None, key: None, message }
}

fn misplaced(expected: &str) -> BadRequest {
    let message = format!("type: expected {expected:?} or \"end\" here");
    BadRequest { id: None, key: Some("type".to_owned()), message }
}

/// Blocks until the line `wanted` (`go` or `stop`), or the end of the input, which stands for it.
fn await_line<R: Read + AsRawFd>(input: &mut Input<R>, wanted: &Request) -> Result<()> {
    let expected = if *wanted == Request::Go { "go" } else { "stop" };
    loop {
        let bad = match input.next()? {
            Line::End => return Ok(()),
            Line::Unreadable => unreadable(),
            Line::Text(line) => match Request::parse(&line) {
                Ok(request) if request == *wanted => return Ok(()),
                Ok(_) => misplaced(expected),
                Err(bad) => bad,
            },
        };
        answer(&Answer::from(&bad))?;
    }
}

fn answer(answer: &Answer) -> Result<()> {
    say(&to_json(answer))
}

/// The threads of a resident process, and the channels to and from them.
struct Resident<'c> {
    config: &'c Config,
    seen: &'c Preflight,
    orders: Vec<Sender<Arc<Slice>>>,
    messages: Receiver<Message>,
}

impl Resident<'_> {
    /// Runs a slice on all threads.
    fn slice<R: Read + AsRawFd>(
        &self,
        request: &SliceRequest,
        input: &mut Input<R>,
    ) -> Result<Document> {
        let start_ns = clock::now_ns();
        let ticks = MachineTicks::read();
        let threads = self.orders.len();
        let config = Config {
            duration_ns: request.duration_ns,
            warmup_ns: request.discard_ns,
            drain_ns: request.drain_ns.unwrap_or(self.config.drain_ns),
            timeout_ns: request.timeout_ns.unwrap_or(self.config.timeout_ns),
            ..self.config.clone()
        };
        let slice = Arc::new(Slice {
            duration_ns: config.duration_ns,
            discard_ns: config.warmup_ns,
            discard_requests: request.discard_requests,
            drain_ns: config.drain_ns,
            timeout_ns: config.timeout_ns,
            renew: request.renew,
            hang_up: request.hang_up,
            together: request.together,
            threads,
            load: Moment::new(threads),
            measure: Moment::new(threads + usize::from(request.together)),
            stop: Moment::new(if request.together { 1 } else { threads }),
        });
        for order in &self.orders {
            order.send(slice.clone()).map_err(|_| Error::Thread)?;
        }
        let mut gathering = Gathering::new(threads, |_| ());
        if request.together {
            self.measure_together(request.id, &slice, &mut gathering, input)?;
        }
        while !gathering.is_complete() {
            gathering.take(self.messages.recv().map_err(|_| Error::Thread)?);
        }
        // A moment that a signal prevented is after the end of the slice.
        let agreed = |moment: &Moment| moment.agreed_ns().unwrap_or(u64::MAX);
        let (load_ns, measure_ns) = (agreed(&slice.load), agreed(&slice.measure));
        let end_ns = measure_ns.saturating_add(slice.duration_ns);
        let mut run = gathering.add_up(start_ns, Window { load_ns, measure_ns, end_ns })?;
        run.steal = MachineTicks::read().steal_since(&ticks);
        Ok(report::of_run(&config, self.seen, None, &run))
    }

    /// Says what the slice waits for, and passes on what the input says; then the threads drain.
    fn measure_together<R: Read + AsRawFd, F: FnMut(&Row)>(
        &self,
        id: u64,
        slice: &Slice,
        gathering: &mut Gathering<F>,
        input: &mut Input<R>,
    ) -> Result<()> {
        if self.all_reach(1, gathering)? {
            answer(&Answer::Waiting { id })?;
            await_line(input, &Request::Go)?;
            slice.measure.arrive(clock::now_ns());
            answer(&Answer::Going { id })?;
            if self.all_reach(2, gathering)? {
                answer(&Answer::Measured { id })?;
                await_line(input, &Request::Stop)?;
            }
        }
        slice.give_up(clock::now_ns());
        Ok(())
    }

    /// Waits until every thread has reached the next point, the first or the second. False if one
    /// ended: a signal, or an error.
    fn all_reach<F: FnMut(&Row)>(
        &self,
        times: usize,
        gathering: &mut Gathering<F>,
    ) -> Result<bool> {
        let threads = self.orders.len();
        while gathering.reached() < times * threads && !gathering.has_ended(threads) {
            gathering.take(self.messages.recv().map_err(|_| Error::Thread)?);
        }
        Ok(gathering.reached() >= times * threads)
    }
}
