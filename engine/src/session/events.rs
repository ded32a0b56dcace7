//! The events that a driver reports, and the actions they lead to.

use std::ops::Range;

use super::{Action, Session};
use crate::classes::{Class, MalformedKind};
use crate::connection::State;
use crate::h2::Ended;
use crate::head::parse_head;
use crate::response::Progress;
use crate::tally::Tally;
use crate::tls::secure::{End, Handshake, Unsealed};
use crate::tls_failure::Failure;

/// How long a slot waits after a failed connect.
const RETRY_NS: u64 = 10_000_000;

/// With it, a server says that it closes an idle connection (RFC 9110, section 15.5.9).
pub(super) const REQUEST_TIMEOUT: u16 = 408;

/// True if a server says that it closes a connection because no request came.
fn says_idle_close(input: &[u8]) -> bool {
    let head = parse_head(input, false);
    matches!(head, Ok(Some(head)) if head.status == REQUEST_TIMEOUT && head.closes)
}

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
        if self.is_http2() || self.secure.is_some() {
            return None;
        }
        let front = self.connections[slot].front()?;
        Some(self.plan.book.range(front.url as usize, 1))
    }

    pub(crate) fn connected(&mut self, slot: usize, now_ns: u64) -> Action {
        let since_ns = self.connections[slot].since_ns;
        let measured = usize::from(self.is_measured(since_ns));
        self.tallies[measured].connect.record(now_ns - since_ns);
        let Some(secure) = &mut self.secure else { return self.ready(slot, now_ns) };
        self.opening -= 1;
        self.handshaking += 1;
        self.connections[slot].enter(State::Handshaking, now_ns);
        match secure.start(slot, &mut self.outputs[slot]) {
            Ok(()) => Action::Flush,
            Err(failure) => self.handshake_failed(slot, failure, now_ns),
        }
    }

    /// The connection can take requests.
    fn ready(&mut self, slot: usize, now_ns: u64) -> Action {
        self.end_opening(slot);
        self.open += 1;
        self.stats.opened += 1;
        self.stats.established = self.stats.established.max(self.open as u64);
        self.connections[slot].enter(State::Open, now_ns);
        self.freed(now_ns);
        self.fill(slot, now_ns)
    }

    /// Notes that a slot connects or shakes hands no more.
    fn end_opening(&mut self, slot: usize) {
        match self.connections[slot].state {
            State::Handshaking => self.handshaking -= 1,
            _ => self.opening -= 1,
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
        self.failed_to_open(slot, Class::of_connect_errno(errno), now_ns, |tally| {
            *tally.connect_errnos.entry(errno).or_default() += 1;
        });
    }

    fn handshake_failed(&mut self, slot: usize, failure: Failure, now_ns: u64) -> Action {
        let Failure { class, cause } = failure;
        self.failed_to_open(slot, class, now_ns, |tally| {
            *tally.tls_errors.entry(cause).or_default() += 1;
        });
        self.close_tls(slot, false, false, now_ns);
        Action::Close
    }

    fn close_tls(&mut self, slot: usize, notify: bool, by_server: bool, now_ns: u64) {
        let Some(secure) = &mut self.secure else { return };
        if secure.close(slot, notify, &mut self.outputs[slot]) && by_server {
            let measured = usize::from(self.is_measured(now_ns));
            self.tallies[measured].tls_unnotified += 1;
        }
    }

    /// A slot could not be opened; `note` counts why, for a request that waited for it.
    fn failed_to_open(
        &mut self,
        slot: usize,
        class: Class,
        now_ns: u64,
        note: impl FnOnce(&mut Tally),
    ) {
        self.end_opening(slot);
        self.connections[slot].enter(State::Closed, now_ns);
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
                note(&mut self.tallies[usize::from(flight.measured)]);
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
        match self.secure.is_some() {
            false => self.take(slot, input, now_ns, peer_closed),
            true => self.received_sealed(slot, input, now_ns, peer_closed),
        }
    }

    /// Bytes of TLS arrived.
    fn received_sealed(
        &mut self,
        slot: usize,
        input: &[u8],
        now_ns: u64,
        peer_closed: bool,
    ) -> Action {
        let Some(secure) = &mut self.secure else { return Action::Wait };
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let unsealed = secure.unseal(slot, input, &mut plain, &mut self.outputs[slot]);
        let action = self.unsealed(slot, unsealed, &plain, now_ns, peer_closed);
        self.plain = plain;
        match action {
            Action::Wait if !self.outputs[slot].is_empty() => Action::Flush,
            action => action,
        }
    }

    fn unsealed(
        &mut self,
        slot: usize,
        unsealed: Unsealed,
        plain: &[u8],
        now_ns: u64,
        peer_closed: bool,
    ) -> Action {
        let Unsealed { established, end } = unsealed;
        let mut action = Action::Wait;
        let mut now_ns = now_ns;
        if let Some(handshake) = established {
            now_ns += handshake.spent_ns;
            action = self.handshake_done(slot, handshake, now_ns);
        }
        if !plain.is_empty() && action != Action::Close {
            let ends = peer_closed || matches!(end, Some(End::Notified));
            action = self.take(slot, plain, now_ns, ends);
        }
        match end {
            _ if action == Action::Close => Action::Close,
            None => action,
            Some(end) if self.connections[slot].state == State::Handshaking => {
                let failure = match end {
                    End::Notified => Failure::closed(),
                    End::Failed(failure) => failure,
                };
                self.handshake_failed(slot, failure, now_ns)
            }
            Some(End::Notified) => self.ended_properly(slot, now_ns),
            Some(End::Failed(failure)) => self.tls_failed(slot, failure, false, now_ns),
        }
    }

    fn handshake_done(&mut self, slot: usize, handshake: Handshake, now_ns: u64) -> Action {
        let since_ns = self.connections[slot].since_ns;
        let measured = usize::from(self.is_measured(since_ns));
        let tally = &mut self.tallies[measured];
        tally.handshake.record(now_ns - since_ns);
        tally.tls_resumed += u64::from(handshake.resumed);
        *tally.tls_parameters.entry(handshake.parameters).or_default() += 1;
        self.ready(slot, now_ns)
    }

    /// TLS failed after the handshake.
    fn tls_failed(
        &mut self,
        slot: usize,
        failure: Failure,
        by_server: bool,
        now_ns: u64,
    ) -> Action {
        let Failure { class, cause } = failure;
        let front = match self.clients.get(slot) {
            Some(client) => client.oldest(),
            None => self.connections[slot].front(),
        };
        let measured = match front {
            Some(flight) => flight.measured,
            None => {
                self.stats.unsolicited_idle += 1;
                self.is_measured(now_ns)
            }
        };
        *self.tallies[usize::from(measured)].tls_errors.entry(cause).or_default() += 1;
        match self.is_http2() {
            true => self.lose_streams(slot, |_| class, now_ns),
            false => self.lose(slot, class, class, now_ns),
        }
        self.close_tls(slot, false, by_server, now_ns);
        self.shut(slot, now_ns, by_server)
    }

    /// Plain bytes arrived.
    #[inline]
    fn take(&mut self, slot: usize, input: &[u8], now_ns: u64, peer_closed: bool) -> Action {
        if self.is_http2() {
            return self.received_streams(slot, input, now_ns, peer_closed);
        }
        let Some(first) = self.connections[slot].front() else {
            let closes_idle = says_idle_close(input);
            self.stats.unsolicited_idle += u64::from(!closes_idle);
            return self.shut(slot, now_ns, closes_idle);
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
        if let Action::Send(_) | Action::Flush = action {
            self.kept_answers += answers;
        }
        action
    }

    /// The stream ended. With TLS, a response that it cuts off could be one that an attacker cut.
    pub(crate) fn ended(&mut self, slot: usize, now_ns: u64) -> Action {
        let Some(secure) = &self.secure else { return self.ended_properly(slot, now_ns) };
        if !secure.is_established(slot) {
            return self.handshake_failed(slot, Failure::closed(), now_ns);
        }
        // The frames of HTTP/2 say themselves what is cut off.
        let is_cut = self.connections[slot].first_byte_ns > 0 || secure.is_in_record(slot);
        match is_cut {
            true => self.tls_failed(slot, Failure::truncated(), true, now_ns),
            false => self.ended_properly(slot, now_ns),
        }
    }

    /// The stream ended, and the server meant to end it.
    fn ended_properly(&mut self, slot: usize, now_ns: u64) -> Action {
        if self.is_http2() {
            if self.clients[slot].began_otherwise() {
                return self.broken(slot, MalformedKind::H2Preface, 0, now_ns);
            }
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
        if self.connections[slot].state == State::Handshaking {
            return self.handshake_failed(slot, Failure::closed(), now_ns);
        }
        if self.is_http2() {
            if self.clients[slot].began_otherwise() {
                return self.broken(slot, MalformedKind::H2Preface, 0, now_ns);
            }
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
        if self.connections[slot].state == State::Handshaking {
            return self.handshake_failed(slot, Failure::closed(), now_ns);
        }
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
        if connection.state == State::Handshaking {
            return self.handshake_failed(slot, Failure::timed_out(), now_ns);
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
        let was_open = !matches!(connection.state, State::Opening | State::Handshaking);
        match (was_open, by_server) {
            (false, _) => self.end_opening(slot),
            (_, true) => self.stats.closed_by_server += 1,
            (_, false) => self.stats.closed_by_client += 1,
        }
        self.open -= usize::from(was_open);
        self.connections[slot].enter(State::Closed, now_ns);
        self.close_tls(slot, !by_server, by_server, now_ns);
        self.await_use(slot);
        Action::Close
    }
}
