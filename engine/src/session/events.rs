//! The events that a driver reports, and the actions they lead to.

use std::ops::Range;

use super::{Action, Session};
use crate::classes::Class;
use crate::connection::State;
use crate::h2::Ended;
use crate::response::Progress;

/// How long a slot waits after a failed connect.
const RETRY_NS: u64 = 10_000_000;

impl Session<'_> {
    /// A connect was started.
    pub(crate) fn opening(&mut self, slot: usize, now_ns: u64) {
        self.connections[slot].enter(State::Opening, now_ns);
        self.outputs[slot].clear();
        self.opening += 1;
        let closed_loop = self.backlog.is_none();
        if let Some(client) = self.clients.get_mut(slot) {
            client.open();
        }
        if closed_loop && self.in_flight_of(slot) == 0 && self.is_due(now_ns) {
            self.assign(slot, now_ns);
        }
    }

    /// The bytes that [`Session::connected`] will ask to send.
    pub(crate) fn greeting(&self, slot: usize) -> Option<Range<usize>> {
        if self.is_http2() {
            return None;
        }
        let front = self.connections[slot].front()?;
        Some(self.plan.book.range(front.url as usize, 1))
    }

    pub(crate) fn connected(&mut self, slot: usize, now_ns: u64) -> Action {
        self.opening -= 1;
        self.open += 1;
        self.stats.opened += 1;
        self.stats.established = self.stats.established.max(self.open as u64);
        let since_ns = self.connections[slot].since_ns;
        let measured = usize::from(self.is_measured(since_ns));
        self.tallies[measured].connect.record(now_ns - since_ns);
        self.connections[slot].enter(State::Open, now_ns);
        self.freed(now_ns);
        match self.is_http2() {
            true => {
                let most = if self.backlog.is_some() { 1 } else { usize::MAX };
                self.refill_streams(slot, most, now_ns)
            }
            false => self.refill(slot, now_ns),
        }
    }

    /// Requests of a slot that have not ended.
    fn in_flight_of(&self, slot: usize) -> usize {
        match self.clients.get(slot) {
            Some(client) => client.in_flight(),
            None => self.connections[slot].in_flight(),
        }
    }

    /// A connect failed with `errno`; the slot waits before it tries again.
    pub(crate) fn open_failed(&mut self, slot: usize, errno: i32, now_ns: u64) {
        self.opening -= 1;
        self.connections[slot].enter(State::Closed, now_ns);
        let class = Class::of_connect_errno(errno);
        if self.in_flight_of(slot) == 0 && self.is_due(now_ns) {
            self.assign(slot, now_ns);
        }
        let front = match self.clients.get(slot) {
            Some(client) => client.oldest(),
            None => self.connections[slot].front(),
        };
        match front {
            None => {
                self.stats.failed_without_request += 1;
            }
            Some(flight) => {
                let tally = &mut self.tallies[usize::from(flight.measured)];
                *tally.connect_errnos.entry(errno).or_default() += 1;
                match self.is_http2() {
                    true => self.lose_waiting(slot, class, now_ns),
                    false => self.lose(slot, class, class, now_ns),
                }
            }
        }
        self.to_retry.push_back((now_ns + RETRY_NS, slot as u32));
    }

    /// Bytes arrived; `peer_closed` if the end of the stream follows them.
    #[inline]
    pub(crate) fn received(
        &mut self,
        slot: usize,
        input: &[u8],
        now_ns: u64,
        peer_closed: bool,
    ) -> Action {
        if self.is_http2() {
            return self.received_streams(slot, input, now_ns, peer_closed);
        }
        let Some(first) = self.connections[slot].front() else {
            self.stats.unsolicited_idle += 1;
            return self.shut(slot, now_ns, false);
        };
        self.tallies[usize::from(first.measured)].bytes_in += input.len() as u64;
        let mut rest = input;
        let mut closes = false;
        let mut answers = 0;
        while !rest.is_empty() {
            let connection = &mut self.connections[slot];
            let Some(front) = connection.front().copied() else { break };
            if connection.first_byte_ns == 0 {
                connection.first_byte_ns = now_ns;
            }
            let url = front.url as usize;
            let template = &mut self.templates[self.plan.templates[url] as usize];
            match connection.take(rest, &self.plan.expected[url], template) {
                Progress::More => break,
                Progress::Malformed(kind) => return self.malformed(slot, kind, now_ns),
                Progress::Done { answer, used } => {
                    rest = &rest[used..];
                    answers += 1;
                    let solicited = rest.is_empty() || connection.in_flight() > 1;
                    closes |= answer.closes || !solicited;
                    self.answered(slot, answer, solicited, now_ns);
                    if !solicited {
                        return self.shut(slot, now_ns, false);
                    }
                }
            }
        }
        let closes = closes || self.plan.closes_unannounced;
        let action = self.after_answers(slot, closes, peer_closed, now_ns);
        if let Action::Send(_) = action {
            self.kept_answers += answers;
        }
        action
    }

    /// The stream ended.
    pub(crate) fn ended(&mut self, slot: usize, now_ns: u64) -> Action {
        if self.is_http2() {
            let is_reused = self.connections[slot].served > 0;
            let class = |ended: &Ended| match () {
                () if ended.in_body => Class::EofMidBody,
                () if ended.first_byte_ns > 0 => Class::EofMidHead,
                () if is_reused => Class::EofOnReused,
                () => Class::EofOnFresh,
            };
            self.lose_streams(slot, class, now_ns);
            return self.shut(slot, now_ns, true);
        }
        let connection = &mut self.connections[slot];
        if let Some(front) = connection.front().copied() {
            let class = match () {
                () if connection.is_in_body() => Class::EofMidBody,
                () if connection.first_byte_ns > 0 => Class::EofMidHead,
                () if connection.served > 0 => Class::EofOnReused,
                () => Class::EofOnFresh,
            };
            match connection.end_of_stream(&self.plan.expected[front.url as usize]) {
                Some(answer) => {
                    self.answered(slot, answer, true, now_ns);
                    self.lose(slot, Class::EofOnReused, Class::EofOnReused, now_ns);
                }
                None => self.lose(slot, class, Class::EofOnReused, now_ns),
            }
        }
        self.shut(slot, now_ns, true)
    }

    /// Reading failed.
    pub(crate) fn broke(&mut self, slot: usize, now_ns: u64) -> Action {
        if self.is_http2() {
            let class = |ended: &Ended| match ended.first_byte_ns > 0 {
                true => Class::ResetMid,
                false => Class::ResetBeforeByte,
            };
            self.lose_streams(slot, class, now_ns);
            return self.shut(slot, now_ns, true);
        }
        let class = match self.connections[slot].first_byte_ns > 0 {
            true => Class::ResetMid,
            false => Class::ResetBeforeByte,
        };
        self.lose(slot, class, Class::ResetBeforeByte, now_ns);
        self.shut(slot, now_ns, true)
    }

    /// Writing failed.
    pub(crate) fn write_failed(&mut self, slot: usize, now_ns: u64) -> Action {
        match self.is_http2() {
            true => self.lose_streams(slot, |_| Class::WriteReset, now_ns),
            false => self.lose(slot, Class::WriteReset, Class::WriteReset, now_ns),
        }
        self.shut(slot, now_ns, true)
    }

    /// Ends the request of an overdue slot.
    pub(crate) fn timed_out(&mut self, slot: usize, now_ns: u64) -> Action {
        let connection = &self.connections[slot];
        if connection.state == State::Opening {
            self.open_failed(slot, libc::ETIMEDOUT, now_ns);
            return Action::Close;
        }
        if self.is_http2() {
            return self.expire_streams(slot, now_ns);
        }
        self.stats.unclosed += u64::from(connection.state == State::Lingering);
        let class = match connection.first_byte_ns > 0 {
            true => Class::TimeoutBody,
            false => Class::TimeoutFirstByte,
        };
        self.lose(slot, class, Class::TimeoutFirstByte, now_ns);
        self.shut(slot, now_ns, false)
    }

    /// The action after the responses in one piece of input.
    #[inline]
    fn after_answers(
        &mut self,
        slot: usize,
        closes: bool,
        peer_closed: bool,
        now_ns: u64,
    ) -> Action {
        let connection = &mut self.connections[slot];
        let done = connection.in_flight() == 0;
        if done && peer_closed {
            return self.shut(slot, now_ns, true);
        }
        if closes || peer_closed {
            if done {
                connection.enter(State::Lingering, now_ns);
                self.lingering += 1;
            }
            return Action::Wait;
        }
        if done && connection.issued >= self.plan.requests_per_connection {
            return self.shut(slot, now_ns, false);
        }
        self.freed(now_ns);
        self.refill(slot, now_ns)
    }

    /// Resets a slot whose connection the driver is about to close.
    pub(super) fn shut(&mut self, slot: usize, now_ns: u64, by_server: bool) -> Action {
        let connection = &mut self.connections[slot];
        if connection.state == State::Lingering {
            self.lingering -= 1;
            let lingered_ns = self.window.overlap_ns(connection.since_ns, now_ns);
            self.tallies[1].busy_ns += u128::from(lingered_ns);
        }
        match (connection.state, by_server) {
            (State::Opening, _) => self.opening -= 1,
            (_, true) => self.stats.closed_by_server += 1,
            (_, false) => self.stats.closed_by_client += 1,
        }
        self.open -= usize::from(connection.state != State::Opening);
        connection.enter(State::Closed, now_ns);
        self.await_use(slot);
        Action::Close
    }
}
