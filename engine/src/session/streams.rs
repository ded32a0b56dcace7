//! HTTP/2: several requests at a time on a connection, which end in any order.

use super::{Action, Session};
use crate::classes::{Class, MalformedKind};
use crate::connection::State;
use crate::h2::{Ended, Event, Received};

/// More is sealed when less than this waits to be sent.
const ENOUGH_SEALED_BYTES: usize = 256 * 1024;

impl Session<'_> {
    #[inline]
    pub(super) fn is_http2(&self) -> bool {
        !self.clients.is_empty()
    }

    /// The output of a slot is written: adds more of long bodies to it; false if there is none.
    #[inline]
    pub(crate) fn refill_output(&mut self, slot: usize, now_ns: u64) -> bool {
        // Before that, there is a handshake of TLS at most.
        let is_open = self.connections[slot].state == State::Open;
        self.is_http2() && is_open && self.flush(slot, now_ns) == Action::Flush
    }

    /// Adds what a connection has to send to the output of its slot, unless a lot waits there.
    fn flush(&mut self, slot: usize, now_ns: u64) -> Action {
        let Some(book) = &self.plan.http2 else { return Action::Wait };
        let output = &mut self.outputs[slot];
        let waiting = output.len();
        let written = match &mut self.secure {
            None => {
                self.clients[slot].write_output(book, output);
                output.len() - waiting
            }
            // Records are sealed in the order of their sending, so what waits is not added to.
            Some(_) if waiting >= ENOUGH_SEALED_BYTES => 0,
            Some(secure) => {
                let frames = &mut self.frames;
                frames.clear();
                self.clients[slot].write_output(book, frames);
                if !frames.is_empty() && !secure.seal(slot, frames, output) {
                    return self.write_failed(slot, now_ns);
                }
                frames.len()
            }
        };
        let measured = self.is_measured(now_ns);
        self.tallies[usize::from(measured)].bytes_out += written as u64;
        if self.outputs[slot].is_empty() { Action::Wait } else { Action::Flush }
    }

    /// Sends the requests that wait, and up to `most` new ones.
    pub(super) fn refill_streams(&mut self, slot: usize, most: usize, now_ns: u64) -> Action {
        let Some(book) = &self.plan.http2 else { return Action::Wait };
        let mut taken = 0;
        loop {
            while let Some(was) = self.clients[slot].send_next(book, now_ns) {
                self.connections[slot].issued += 1;
                if was.intended_ns > 0 && was.sent_ns == 0 {
                    let tally = &mut self.tallies[usize::from(was.measured)];
                    tally.send_lag.record(now_ns - was.intended_ns);
                }
            }
            if taken == most || !self.takes_more(slot) || !self.is_due(now_ns) {
                break;
            }
            self.assign(slot, now_ns);
            taken += 1;
        }
        if self.takes_more(slot) {
            self.queue_idle(slot);
        }
        self.flush(slot, now_ns)
    }

    /// True if a new request may be sent on a connection.
    pub(super) fn takes_more(&self, slot: usize) -> bool {
        let connection = &self.connections[slot];
        connection.state == State::Open
            && connection.issued < self.plan.requests_per_connection
            && self.clients[slot].is_free()
    }

    /// Bytes arrived on a connection of HTTP/2.
    pub(super) fn received_streams(
        &mut self,
        slot: usize,
        input: &[u8],
        now_ns: u64,
        peer_closed: bool,
    ) -> Action {
        let mut rest = input;
        let mut answers = 0;
        loop {
            let (used, event) = self.clients[slot].take(rest, &self.plan.expected, now_ns);
            rest = &rest[used..];
            match event {
                Event::More => break,
                Event::Refused => {
                    self.stats.refused += 1;
                    self.stats.retried += 1;
                }
                Event::Answered { ended, answer } => {
                    answers += 1;
                    self.connections[slot].served += 1;
                    let cycle_ns = self.clients[slot].end_cycle(ended.lane, now_ns);
                    let Ended { flight, first_byte_ns, .. } = ended;
                    self.end_answered(slot, &flight, cycle_ns, first_byte_ns, answer, true, now_ns);
                }
                Event::Reset { ended, code } => {
                    let tally = &mut self.tallies[usize::from(ended.flight.measured)];
                    *tally.reset_codes.entry(code).or_default() += 1;
                    self.end_stream(slot, &ended, Class::StreamReset, now_ns);
                }
                Event::Malformed { ended, kind } => {
                    self.end_malformed(slot, &ended, kind, now_ns);
                }
                Event::Goaway { is_first, code, retried, given_up } => {
                    if is_first {
                        *self.stats.goaways.entry(code).or_default() += 1;
                    }
                    self.stats.retried += retried;
                    self.end_streams(slot, &given_up, |_| Class::Goaway, now_ns);
                }
                Event::Broken { kind, stream } => {
                    self.count_received(slot, now_ns);
                    return self.broken(slot, kind, stream, now_ns);
                }
            }
        }
        self.count_received(slot, now_ns);
        let client = &self.clients[slot];
        let is_done = client.in_flight() == 0;
        let is_used = self.connections[slot].issued >= self.plan.requests_per_connection;
        if client.is_drained() || is_done && (peer_closed || is_used) {
            return self.shut(slot, now_ns, peer_closed);
        }
        if peer_closed {
            return Action::Wait;
        }
        self.freed(now_ns);
        let action = self.refill_streams(slot, usize::MAX, now_ns);
        if action == Action::Flush {
            self.kept_answers += answers;
        }
        action
    }

    /// Counts the bytes of a response with its request; others by the time of their arrival.
    #[inline]
    fn count_received(&mut self, slot: usize, now_ns: u64) {
        let Received { of_requests, others } = self.clients[slot].take_received();
        let measured = usize::from(self.is_measured(now_ns));
        for (tally, bytes) in self.tallies.iter_mut().zip(of_requests) {
            tally.bytes_in += bytes;
        }
        self.tallies[measured].bytes_in += others;
    }

    /// The server broke the protocol on a connection.
    pub(super) fn broken(
        &mut self,
        slot: usize,
        kind: MalformedKind,
        stream: u32,
        now_ns: u64,
    ) -> Action {
        let ended = self.clients[slot].end_streams(stream);
        match ended.split_first() {
            // No request paid for it.
            None => self.stats.unsolicited_idle += 1,
            Some((concerned, others)) => {
                self.end_malformed(slot, concerned, kind, now_ns);
                self.end_streams(slot, others, |_| Class::Unfinished, now_ns);
            }
        }
        self.shut(slot, now_ns, false)
    }

    fn end_malformed(&mut self, slot: usize, ended: &Ended, kind: MalformedKind, now_ns: u64) {
        self.tallies[usize::from(ended.flight.measured)].malformed_kinds[kind as usize] += 1;
        self.end_stream(slot, ended, Class::Malformed, now_ns);
    }

    /// Ends a request that has no complete response.
    fn end_stream(&mut self, slot: usize, ended: &Ended, class: Class, now_ns: u64) {
        let cycle_ns = self.clients[slot].end_cycle(ended.lane, now_ns);
        self.end_lost(slot, &ended.flight, cycle_ns, ended.first_byte_ns, class, now_ns);
    }

    fn end_streams(
        &mut self,
        slot: usize,
        all_ended: &[Ended],
        class_of: impl Fn(&Ended) -> Class,
        now_ns: u64,
    ) {
        for ended in all_ended {
            self.end_stream(slot, ended, class_of(ended), now_ns);
        }
    }

    /// The connection ended: ends the requests that were sent on it, each in the class of how far its
    /// response was.
    pub(super) fn lose_streams(
        &mut self,
        slot: usize,
        class_of: impl Fn(&Ended) -> Class,
        now_ns: u64,
    ) {
        let is_error = self.clients[slot].goaway_error().is_some();
        let ended = self.clients[slot].end_streams(0);
        let class = |ended: &Ended| if is_error { Class::Goaway } else { class_of(ended) };
        self.end_streams(slot, &ended, class, now_ns);
    }

    /// Ends the requests of a slot that no connection has sent, in one class.
    pub(super) fn lose_waiting(&mut self, slot: usize, class: Class, now_ns: u64) {
        let ended = self.clients[slot].end_all_waiting();
        self.end_streams(slot, &ended, |_| class, now_ns);
    }

    fn end_overdue(&mut self, slot: usize, now_ns: u64) {
        let ended = self.clients[slot].expire(now_ns, self.timeout_ns);
        let class = |ended: &Ended| match ended.first_byte_ns > 0 {
            true => Class::TimeoutBody,
            false => Class::TimeoutFirstByte,
        };
        self.end_streams(slot, &ended, class, now_ns);
    }

    /// Ends the overdue requests of a slot; the others go on.
    pub(super) fn expire_streams(&mut self, slot: usize, now_ns: u64) -> Action {
        self.end_overdue(slot, now_ns);
        if self.connections[slot].state != State::Open {
            return Action::Wait;
        }
        let client = &self.clients[slot];
        if client.is_drained() || client.in_flight() == 0 {
            return self.shut(slot, now_ns, false);
        }
        self.freed(now_ns);
        self.refill_streams(slot, usize::MAX, now_ns)
    }

    /// Ends all requests of a slot at the end of a load. True if the driver must close it.
    pub(super) fn finish_streams(&mut self, slot: usize, now_ns: u64) -> bool {
        let state = self.connections[slot].state;
        let is_opening = matches!(state, State::Opening | State::Handshaking);
        if is_opening && self.is_overdue(slot, now_ns) {
            return self.timed_out(slot, now_ns) == Action::Close;
        }
        if self.clients[slot].in_flight() == 0 {
            return false;
        }
        self.end_overdue(slot, now_ns);
        let rest = self.clients[slot].end_streams(0);
        self.end_streams(slot, &rest, |_| Class::Unfinished, now_ns);
        self.lose_waiting(slot, Class::Unfinished, now_ns);
        if state == State::Closed {
            return false;
        }
        self.shut(slot, now_ns, false);
        true
    }

    pub(super) fn is_stream_overdue(&self, slot: usize, now_ns: u64) -> bool {
        let connection = &self.connections[slot];
        let since_ns = match connection.state {
            State::Opening | State::Handshaking => Some(connection.since_ns),
            _ => self.clients[slot].oldest_sent_ns(),
        };
        since_ns.is_some_and(|since_ns| now_ns.saturating_sub(since_ns) >= self.timeout_ns)
    }
}
