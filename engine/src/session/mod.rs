//! The connections of one thread as state machines without syscalls. A driver reports events and
//! carries out the [`Action`] it gets, so epoll, io_uring and tests share all rules.

mod events;
mod queues;
mod requests;
mod streams;

use std::collections::VecDeque;
use std::ops::Range;

use crate::backlog::Backlog;
use crate::classes::Class;
use crate::connection::{Connection, State};
use crate::connection_stats::ConnectionStats;
use crate::h2::Client;
use crate::plan::Plan;
use crate::tally::Tally;
use crate::template::Template;
use crate::tls::secure::Secure;

/// Time limit of a close that the server announced.
const LINGER_NS: u64 = 1_000_000_000;
/// At the end of a load, an announced close that is late by this much counts as missing.
const CLOSE_DUE_NS: u64 = LINGER_NS / 2;

/// A shorter stretch without an answer is no pause; the scheduler makes such ones.
pub(crate) const LEAST_GAP_NS: u64 = 4_000_000;

/// An open loop polls for this long before a request is due.
const SPIN_NS: u64 = 60_000;

/// What the driver must do with a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Wait,
    /// Write these bytes of the request book.
    Send(Range<usize>),
    /// Write the bytes of [`Session::output`], and remove from it what was written.
    Flush,
    Open,
    Close,
}

/// The start of the load, and the start and end of its measured part; CLOCK_MONOTONIC nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub load_ns: u64,
    pub measure_ns: u64,
    pub end_ns: u64,
}

impl Window {
    /// Connections are opened, but nothing is sent.
    const NOT_YET: Self = Self { load_ns: u64::MAX, measure_ns: u64::MAX, end_ns: u64::MAX };

    /// How much of a stretch of time lies in the measured part.
    #[inline]
    fn overlap_ns(self, from_ns: u64, to_ns: u64) -> u64 {
        to_ns.min(self.end_ns).saturating_sub(from_ns.max(self.measure_ns))
    }
}

/// The counts of a run or slice.
pub(crate) struct Counts {
    /// Before the measured window, and inside it.
    pub tallies: [Tally; 2],
    pub stats: ConnectionStats,
    /// Measured responses of each slot.
    pub responses: Vec<u64>,
    /// Slots with an answer.
    pub answered: u64,
    /// Slots with an answer since the process began.
    pub reached: u64,
    pub backlog_peak: Option<u64>,
}

pub(crate) struct Session<'p> {
    plan: &'p Plan,
    connections: Vec<Connection>,
    /// HTTP/2: the protocol's state of each connection; empty for HTTP/1.1.
    clients: Vec<Client>,
    templates: Vec<Template>,
    window: Window,
    /// The end of sending: that of the window, or later.
    stop_ns: u64,
    /// Without it, bytes are sent and received as they are.
    secure: Option<Secure>,
    /// Of each slot, the bytes to write that are not in the request book.
    outputs: Vec<Vec<u8>>,
    /// Plain bytes of one piece of input.
    plain: Vec<u8>,
    /// Frames that TLS is to seal.
    frames: Vec<u8>,
    /// Open loop only: the requests that are due.
    backlog: Option<Backlog>,
    /// Slots that wait for a request, longest first; some entries may be out of date.
    idle: VecDeque<u32>,
    to_open: VecDeque<u32>,
    to_retry: VecDeque<(u64, u32)>,
    max_opening: usize,
    /// Slots that connect, and those that shake hands for TLS afterwards.
    opening: usize,
    handshaking: usize,
    in_flight: usize,
    /// Of these, those that were sent in the measured window.
    measured_in_flight: usize,
    /// The last answer, or the start of the load.
    answered_ns: u64,
    open: usize,
    lingering: usize,
    /// When a request last found no free connection.
    none_free_ns: u64,
    scan_ns: u64,
    scan_at: usize,
    timeout_ns: u64,
    /// Answers after which a connection stayed open, since the start.
    kept_answers: u64,
    /// Before the measured window, and inside it.
    pub tallies: [Tally; 2],
    pub stats: ConnectionStats,
}

impl<'p> Session<'p> {
    /// A session of `slots` connections, of which at most `max_opening` connect at a time.
    pub(crate) fn new(
        plan: &'p Plan,
        slots: usize,
        max_opening: usize,
        backlog: Option<Backlog>,
    ) -> Self {
        let urls = plan.book.urls();
        let mut session = Self {
            plan,
            connections: (0..slots)
                .map(|slot| Connection::new((slot * plan.stride % urls) as u32))
                .collect(),
            clients: match &plan.http2 {
                Some(book) => (0..slots).map(|_| Client::new(book.streams)).collect(),
                None => Vec::new(),
            },
            templates: plan.blank_templates(),
            window: Window::NOT_YET,
            stop_ns: u64::MAX,
            secure: plan.tls.as_ref().map(|client| Secure::new(client, slots)),
            outputs: vec![Vec::new(); slots],
            plain: Vec::new(),
            frames: Vec::new(),
            backlog,
            idle: VecDeque::with_capacity(slots),
            to_open: VecDeque::with_capacity(slots),
            to_retry: VecDeque::with_capacity(slots),
            max_opening,
            opening: 0,
            handshaking: 0,
            in_flight: 0,
            measured_in_flight: 0,
            answered_ns: 0,
            open: 0,
            lingering: 0,
            none_free_ns: 0,
            scan_ns: 0,
            scan_at: 0,
            timeout_ns: plan.timeout_ns,
            kept_answers: 0,
            tallies: [Tally::default(), Tally::default()],
            stats: ConnectionStats::default(),
        };
        (0..slots).for_each(|slot| session.await_use(slot));
        session
    }

    /// Prepares for a slice; nothing is sent before [`Session::begin`].
    pub(crate) fn prepare(&mut self, timeout_ns: u64) {
        self.window = Window::NOT_YET;
        self.stop_ns = u64::MAX;
        self.timeout_ns = timeout_ns;
        self.scan_ns = 0;
        self.scan_at = 0;
        self.none_free_ns = 0;
        for connection in &mut self.connections {
            connection.cycle_ns = 0;
        }
        self.clients.iter_mut().for_each(Client::restart_cycles);
        if let Some(backlog) = &mut self.backlog {
            backlog.restart();
        }
    }

    /// True when each request that was sent in the window has ended.
    #[inline]
    pub(crate) fn is_measured_to_the_end(&self, now_ns: u64) -> bool {
        now_ns >= self.window.end_ns && self.measured_in_flight == 0
    }

    /// Begins a load. A second call moves its measured window, but not its start.
    pub(crate) fn begin(&mut self, window: Window) {
        self.begin_until(window, window.end_ns);
    }

    /// Begins a load that goes on after its window, until `stop_ns`; what is sent then is discarded.
    pub(crate) fn begin_until(&mut self, window: Window, stop_ns: u64) {
        self.window = window;
        self.stop_ns = stop_ns;
        self.answered_ns = self.answered_ns.max(window.load_ns);
        if let Some(backlog) = &mut self.backlog {
            backlog.begin(window.load_ns, stop_ns);
        }
    }

    /// True if what begins at this time counts.
    #[inline]
    fn is_measured(&self, at_ns: u64) -> bool {
        let Window { measure_ns, end_ns, .. } = self.window;
        at_ns >= measure_ns && (at_ns < end_ns || self.stop_ns == end_ns)
    }

    /// Stops sending, after the window.
    pub(crate) fn stop_sending(&mut self, now_ns: u64) {
        self.stop_ns = self.stop_ns.min(now_ns);
        if let Some(backlog) = &mut self.backlog {
            backlog.stop(now_ns);
        }
    }

    /// Stops sending and measuring.
    pub(crate) fn stop(&mut self, now_ns: u64) {
        self.stop_sending(now_ns);
        self.window.end_ns = self.window.end_ns.min(now_ns);
        self.window.measure_ns = self.window.measure_ns.min(self.window.end_ns);
    }

    pub(crate) fn plan(&self) -> &'p Plan {
        self.plan
    }

    /// The bytes of a slot that wait to be written. What is left at its close, such as the end of
    /// TLS, is worth one try.
    #[inline]
    pub(crate) fn output(&mut self, slot: usize) -> &mut Vec<u8> {
        &mut self.outputs[slot]
    }

    /// True if [`Session::connected`] asks to write bytes before there is a request.
    pub(crate) fn speaks_first(&self) -> bool {
        self.is_http2() || self.secure.is_some()
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }

    pub(crate) fn slots(&self) -> usize {
        self.connections.len()
    }

    pub(crate) fn is_closed_loop(&self) -> bool {
        self.backlog.is_none()
    }

    pub(crate) fn open_connections(&self) -> usize {
        self.open
    }

    /// Connections that wait for a response; 0 in an open loop, which must not batch.
    pub(crate) fn busy(&self) -> usize {
        match self.backlog {
            Some(_) => 0,
            None => self.open.min(self.in_flight),
        }
    }

    /// Answers after which a connection stayed open, since the start.
    pub(crate) fn kept_answers(&self) -> u64 {
        self.kept_answers
    }

    /// Takes the counts, and starts new ones on the same connections.
    pub(crate) fn take_counts(&mut self) -> Counts {
        let answered = self.connections.iter_mut().map(|c| std::mem::take(&mut c.answered));
        let answered = answered.filter(|answered| *answered).count() as u64;
        let reached = self.connections.iter().filter(|c| c.reached).count() as u64;
        let responses = self.connections.iter_mut().map(|c| std::mem::take(&mut c.responses));
        Counts {
            tallies: std::mem::take(&mut self.tallies),
            responses: responses.collect(),
            answered,
            reached,
            stats: std::mem::replace(
                &mut self.stats,
                ConnectionStats { established: self.open as u64, ..ConnectionStats::default() },
            ),
            backlog_peak: self.backlog.as_ref().map(|backlog| backlog.peak),
        }
    }

    /// True when every slot that opens before requests is open or has failed.
    pub(crate) fn is_connected(&self) -> bool {
        self.opening + self.handshaking == 0 && (self.to_open.is_empty() || self.plan.per_request)
    }

    /// True if there is nothing left to send or to wait for.
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        let waits = self.in_flight + self.lingering > 0;
        now_ns >= self.stop_ns && !waits && self.next_due_ns().is_none()
    }

    /// The end of the driver's next wait.
    pub(crate) fn next_wake_ns(&self, now_ns: u64) -> u64 {
        let mut wake_ns = self.scan_ns;
        for bound_ns in [self.window.load_ns, self.window.end_ns, self.stop_ns] {
            if now_ns < bound_ns {
                wake_ns = wake_ns.min(bound_ns);
            }
        }
        if let Some((retry_ns, _)) = self.to_retry.front() {
            wake_ns = wake_ns.min(*retry_ns);
        }
        match self.next_due_ns() {
            Some(due_ns) if !self.idle.is_empty() && !self.awaits_connects(now_ns) => {
                wake_ns.min(due_ns.saturating_sub(SPIN_NS))
            }
            _ => wake_ns,
        }
    }

    /// True if [`Session::next_open`] or [`Session::next_send`] may return something.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.to_open.is_empty() || (self.backlog.is_some() && !self.idle.is_empty())
    }

    /// When the next request of an open loop is due.
    pub(crate) fn next_due_ns(&self) -> Option<u64> {
        self.backlog.as_ref().and_then(Backlog::next_ns)
    }

    /// The next slot that has timed out; scans at intervals.
    pub(crate) fn overdue(&mut self, now_ns: u64) -> Option<usize> {
        if now_ns < self.scan_ns {
            return None;
        }
        while self.scan_at < self.connections.len() {
            self.scan_at += 1;
            if self.is_overdue(self.scan_at - 1, now_ns) {
                return Some(self.scan_at - 1);
            }
        }
        self.scan_at = 0;
        self.scan_ns = now_ns + (self.timeout_ns / 20).clamp(1_000_000, 100_000_000);
        None
    }

    fn is_overdue(&self, slot: usize, now_ns: u64) -> bool {
        match self.is_http2() {
            true => self.is_stream_overdue(slot, now_ns),
            false => self.connections[slot].is_overdue(now_ns, self.timeout_ns, LINGER_NS),
        }
    }

    /// Ends every request that has no class yet. Returns the slots that the driver must close,
    /// because their connections still owe a response.
    pub(crate) fn finish(&mut self, now_ns: u64) -> Vec<usize> {
        let mut to_close = Vec::new();
        for slot in 0..self.connections.len() {
            if self.is_http2() {
                to_close.extend(self.finish_streams(slot, now_ns).then_some(slot));
                continue;
            }
            let connection = &self.connections[slot];
            // The last scan for timeouts may have been before this one.
            let action = if connection.is_overdue(now_ns, self.timeout_ns, LINGER_NS) {
                self.timed_out(slot, now_ns)
            } else if connection.in_flight() > 0 || connection.state == State::Lingering {
                let is_late = now_ns.saturating_sub(connection.since_ns) >= CLOSE_DUE_NS;
                let unclosed = connection.state == State::Lingering && is_late;
                self.stats.unclosed += u64::from(unclosed);
                self.lose(slot, Class::Unfinished, Class::Unfinished, now_ns);
                self.shut(slot, now_ns, false)
            } else {
                Action::Wait
            };
            to_close.extend((action == Action::Close).then_some(slot));
        }
        while let Some(intended_ns) = self.backlog.as_mut().and_then(Backlog::take) {
            self.end_unsent(intended_ns, Class::Unfinished, now_ns.max(intended_ns));
        }
        to_close
    }

    /// Resets every connection, while no request is in flight. Returns the slots that the driver
    /// must close.
    pub(crate) fn renew(&mut self, now_ns: u64) -> Vec<usize> {
        let mut to_close = Vec::new();
        if !self.opens_on_demand() {
            self.idle.clear();
            self.clients.iter_mut().for_each(|client| client.is_queued = false);
        }
        for slot in 0..self.connections.len() {
            if self.connections[slot].state != State::Closed {
                self.shut(slot, now_ns, false);
                to_close.push(slot);
            }
        }
        to_close
    }
}
