//! One connection as a state machine without syscalls.

use std::collections::VecDeque;

use crate::expected::{Comparison, Expected};
use crate::response::{Answer, Parser, Progress};
use crate::template::Template;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Closed,
    Opening,
    /// Connected, within the TLS handshake.
    Handshaking,
    Open,
    /// The server announced a close, which is awaited.
    Lingering,
}

/// One request in flight; times are CLOCK_MONOTONIC nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    /// When the connection took the request; before connecting, if it connects for this request.
    pub begun_ns: u64,
    pub sent_ns: u64,
    /// When the request was due; 0 in a closed loop.
    pub intended_ns: u64,
    pub url: u32,
    pub measured: bool,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub state: State,
    /// When `state` was entered.
    pub since_ns: u64,
    /// When the first byte of the current response came; 0 before that.
    pub first_byte_ns: u64,
    /// Responses and requests of this connection since it was opened.
    pub served: u64,
    pub issued: u64,
    /// Measured responses over all connections that used this slot.
    pub responses: u64,
    /// When the current cycle began: the end of the last request of this slot, over all its
    /// connections. 0 before the first request of a slice.
    pub cycle_ns: u64,
    /// It had an answer in this run or slice.
    pub answered: bool,
    /// A connection of this slot had an answer since the process began.
    pub reached: bool,
    pub next_url: u32,
    parser: Parser,
    front: Option<Flight>,
    behind: VecDeque<Flight>,
}

impl Connection {
    pub(crate) fn new(next_url: u32) -> Self {
        Self {
            state: State::Closed,
            since_ns: 0,
            first_byte_ns: 0,
            served: 0,
            issued: 0,
            responses: 0,
            cycle_ns: 0,
            answered: false,
            reached: false,
            next_url,
            parser: Parser::default(),
            front: None,
            behind: VecDeque::new(),
        }
    }

    pub(crate) fn enter(&mut self, state: State, now_ns: u64) {
        self.state = state;
        self.since_ns = now_ns;
        if state == State::Opening {
            self.served = 0;
            self.issued = self.in_flight() as u64;
            self.first_byte_ns = 0;
            self.parser.reset();
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state == State::Open && self.front.is_none()
    }

    pub(crate) fn in_flight(&self) -> usize {
        usize::from(self.front.is_some()) + self.behind.len()
    }

    pub(crate) fn front(&self) -> Option<&Flight> {
        self.front.as_ref()
    }

    /// Requests that are assigned but not sent.
    pub(crate) fn unsent_mut(&mut self) -> impl Iterator<Item = &mut Flight> {
        self.front.iter_mut().chain(&mut self.behind).filter(|flight| flight.sent_ns == 0)
    }

    /// Number of requests that were assigned before the connection was open: 0 or 1.
    pub(crate) fn unsent(&self) -> usize {
        usize::from(self.front.is_some_and(|flight| flight.sent_ns == 0))
    }

    pub(crate) fn push(&mut self, flight: Flight) {
        self.issued += 1;
        if self.cycle_ns == 0 {
            self.cycle_ns = flight.begun_ns;
        }
        match self.front {
            None => self.front = Some(flight),
            Some(_) => self.behind.push_back(flight),
        }
    }

    /// Ends a cycle; returns how long it took, the client's own turn included.
    #[inline]
    pub(crate) fn end_cycle(&mut self, now_ns: u64) -> u64 {
        now_ns - std::mem::replace(&mut self.cycle_ns, now_ns)
    }

    /// Removes the oldest request in flight.
    pub(crate) fn pop(&mut self) -> Option<Flight> {
        let flight = self.front.take();
        self.front = self.behind.pop_front();
        self.first_byte_ns = 0;
        flight
    }

    /// Feeds bytes to the response of the oldest request in flight.
    #[inline]
    pub(crate) fn take(
        &mut self,
        input: &[u8],
        url: &Expected,
        template: &mut Template,
    ) -> Progress {
        let fresh = self.parser.is_fresh();
        if fresh && let Some((answer, used)) = template.matches(input, url) {
            return Progress::Done { answer, used };
        }
        let progress = self.parser.feed(input, url);
        if fresh
            && let Progress::Done { answer, used } = progress
            && answer.comparison == Comparison::Same
        {
            template.learn(&input[..used], answer, url);
        }
        progress
    }

    /// The response that the end of the stream completes, if any.
    pub(crate) fn end_of_stream(&mut self, url: &Expected) -> Option<Answer> {
        self.front.as_ref().and_then(|_| self.parser.end_of_stream(url))
    }

    pub(crate) fn is_in_body(&self) -> bool {
        self.parser.is_in_body()
    }

    pub(crate) fn is_overdue(&self, now_ns: u64, timeout_ns: u64, linger_ns: u64) -> bool {
        let (since_ns, limit_ns) = match (self.state, self.front) {
            (State::Opening | State::Handshaking, _) => (self.since_ns, timeout_ns),
            (State::Open, Some(front)) => (front.sent_ns, timeout_ns),
            (State::Lingering, _) => (self.since_ns, linger_ns),
            (State::Closed | State::Open, _) => return false,
        };
        now_ns.saturating_sub(since_ns) >= limit_ns
    }
}
