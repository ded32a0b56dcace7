//! The life of a request: it is due, assigned to a connection, sent, and ended in one class.

use super::events::REQUEST_TIMEOUT;
use super::{Action, LEAST_GAP_NS, Session};
use crate::backlog::Backlog;
use crate::classes::{Class, MalformedKind};
use crate::connection::Flight;
use crate::response::Answer;

impl Session<'_> {
    /// True if a request may start now; sheds requests past their deadline.
    #[inline]
    pub(super) fn is_due(&mut self, now_ns: u64) -> bool {
        if self.backlog.is_none() {
            return now_ns >= self.window.load_ns && now_ns < self.stop_ns;
        }
        if let Some(deadline_ns) = self.plan.deadline_ns() {
            while let Some(due_ns) = self.next_due_ns()
                && due_ns + deadline_ns < now_ns
                && self.backlog.as_mut().and_then(Backlog::take).is_some()
            {
                self.end_unsent(due_ns, Class::Shed, now_ns);
            }
        }
        self.next_due_ns().is_some_and(|due_ns| due_ns <= now_ns)
    }

    /// Assigns the next request to a slot.
    pub(super) fn assign(&mut self, slot: usize, now_ns: u64) {
        let mut intended_ns = 0;
        let mut starts_ns = now_ns;
        if let Some(backlog) = &mut self.backlog {
            intended_ns = backlog.take().expect("a request is assigned only when one is due");
            starts_ns = intended_ns;
            backlog.note(now_ns);
        }
        let measured = self.is_measured(starts_ns);
        let tally = &mut self.tallies[usize::from(measured)];
        tally.scheduled += 1;
        if intended_ns > 0 {
            tally.client_lag.record(now_ns.saturating_sub(intended_ns.max(self.none_free_ns)));
        }
        self.in_flight += 1;
        self.measured_in_flight += usize::from(measured);
        let connection = &mut self.connections[slot];
        let url = connection.next_url;
        connection.next_url = if url + 1 == self.plan.book.urls() as u32 { 0 } else { url + 1 };
        let flight = Flight { begun_ns: now_ns, sent_ns: 0, intended_ns, url, measured };
        match self.clients.get_mut(slot) {
            None => connection.push(flight),
            Some(client) => client.assign(flight),
        }
    }

    /// Sends requests on a free connection; in an open loop of HTTP/2 one, as others may be free too.
    #[inline]
    pub(super) fn fill(&mut self, slot: usize, now_ns: u64) -> Action {
        let most = if self.backlog.is_some() { 1 } else { usize::MAX };
        match self.is_http2() {
            true => self.refill_streams(slot, most, now_ns),
            false => self.refill(slot, now_ns),
        }
    }

    /// Sends the assigned requests, and fills the pipeline.
    #[inline]
    pub(super) fn refill(&mut self, slot: usize, now_ns: u64) -> Action {
        let mut count = self.connections[slot].unsent();
        while self.connections[slot].in_flight() < self.plan.pipeline
            && self.connections[slot].issued < self.plan.requests_per_connection
            && self.is_due(now_ns)
        {
            self.assign(slot, now_ns);
            count += 1;
        }
        if count == 0 {
            if self.connections[slot].is_idle() {
                self.idle.push_back(slot as u32);
            }
            return Action::Wait;
        }
        self.launch(slot, count, now_ns)
    }

    /// Marks the last `count` requests of a connection as sent.
    #[inline]
    fn launch(&mut self, slot: usize, count: usize, now_ns: u64) -> Action {
        let connection = &mut self.connections[slot];
        let urls = self.plan.book.urls();
        let first = (connection.next_url as usize + urls - count % urls) % urls;
        for flight in connection.unsent_mut() {
            flight.sent_ns = now_ns;
            if flight.intended_ns > 0 {
                let tally = &mut self.tallies[usize::from(flight.measured)];
                tally.send_lag.record(now_ns - flight.intended_ns);
            }
        }
        let range = self.plan.book.range(first, count);
        let measured = self.is_measured(now_ns);
        self.tallies[usize::from(measured)].bytes_out += range.len() as u64;
        let Some(secure) = &mut self.secure else { return Action::Send(range) };
        match secure.seal(slot, self.plan.book.bytes(range), &mut self.outputs[slot]) {
            true => Action::Flush,
            false => self.write_failed(slot, now_ns),
        }
    }

    /// Ends the oldest request in flight, whose response is complete.
    #[inline]
    pub(super) fn answered(&mut self, slot: usize, answer: Answer, solicited: bool, now_ns: u64) {
        let connection = &mut self.connections[slot];
        connection.served += 1;
        let first_byte_ns = connection.first_byte_ns;
        let Some(flight) = connection.pop() else { return };
        let cycle_ns = connection.end_cycle(now_ns);
        self.end_answered(slot, &flight, cycle_ns, first_byte_ns, answer, solicited, now_ns);
    }

    /// Ends a request whose response is complete.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "it is one function only for HTTP/2 to share")]
    pub(super) fn end_answered(
        &mut self,
        slot: usize,
        flight: &Flight,
        cycle_ns: u64,
        first_byte_ns: u64,
        answer: Answer,
        solicited: bool,
        now_ns: u64,
    ) {
        let connection = &mut self.connections[slot];
        let is_reused = connection.served > 1;
        connection.responses += u64::from(flight.measured);
        connection.answered = true;
        connection.reached = true;
        self.count_end(flight, cycle_ns);
        self.note_gap(now_ns);
        let tally = &mut self.tallies[usize::from(flight.measured)];
        let mut class = answer.comparison.class();
        if class == Class::Status {
            *tally.status_codes.entry(answer.status).or_default() += 1;
            let closes_idle = answer.status == REQUEST_TIMEOUT && answer.closes;
            self.stats.stale_reuse += u64::from(closes_idle && is_reused);
        }
        if class == Class::Ok && !solicited {
            class = Class::Unsolicited;
        }
        if class == Class::Ok
            && let Some(deadline_ns) = self.plan.deadline_ns()
            && now_ns > flight.intended_ns + deadline_ns
        {
            class = Class::Late;
        }
        tally.end(flight, class, first_byte_ns, now_ns);
        self.spent(flight.begun_ns, now_ns);
    }

    /// Counts the end of a request and its cycle.
    #[inline]
    fn count_end(&mut self, flight: &Flight, cycle_ns: u64) {
        self.in_flight -= 1;
        self.measured_in_flight -= usize::from(flight.measured);
        self.tallies[usize::from(flight.measured)].cycle_ns += u128::from(cycle_ns);
    }

    /// Notes how long no answer came, within the load.
    #[inline]
    fn note_gap(&mut self, now_ns: u64) {
        let from_ns = std::mem::replace(&mut self.answered_ns, now_ns);
        if now_ns - from_ns >= LEAST_GAP_NS && self.backlog.is_none() {
            let to_ns = now_ns.min(self.stop_ns);
            let gap_ns = to_ns.saturating_sub(from_ns);
            if gap_ns >= LEAST_GAP_NS {
                self.tallies[1].gaps_ns.push(gap_ns);
            }
        }
    }

    /// Adds the time that a request or a closing connection took within the measured window.
    #[inline]
    pub(super) fn spent(&mut self, from_ns: u64, to_ns: u64) {
        self.tallies[1].busy_ns += u128::from(self.window.overlap_ns(from_ns, to_ns));
    }

    /// The response is not HTTP, so the connection is unusable.
    pub(super) fn malformed(&mut self, slot: usize, kind: MalformedKind, now_ns: u64) -> Action {
        if let Some(flight) = self.connections[slot].front() {
            self.tallies[usize::from(flight.measured)].malformed_kinds[kind as usize] += 1;
        }
        self.lose(slot, Class::Malformed, Class::Unfinished, now_ns);
        self.shut(slot, now_ns, false)
    }

    /// Ends all requests of a connection: the oldest in one class, the others in another.
    pub(super) fn lose(&mut self, slot: usize, oldest: Class, rest: Class, now_ns: u64) {
        let mut class = oldest;
        loop {
            let connection = &mut self.connections[slot];
            let first_byte_ns = connection.first_byte_ns;
            let Some(flight) = connection.pop() else { break };
            let cycle_ns = connection.end_cycle(now_ns);
            self.end_lost(slot, &flight, cycle_ns, first_byte_ns, class, now_ns);
            class = rest;
        }
    }

    /// Ends a request that has no complete response.
    pub(super) fn end_lost(
        &mut self,
        slot: usize,
        flight: &Flight,
        cycle_ns: u64,
        first_byte_ns: u64,
        class: Class,
        now_ns: u64,
    ) {
        self.count_end(flight, cycle_ns);
        self.tallies[usize::from(flight.measured)].end(flight, class, first_byte_ns, now_ns);
        self.spent(flight.begun_ns, now_ns);
        if self.connections[slot].served > 0 && class.is_stale_reuse() {
            self.stats.stale_reuse += 1;
        }
    }

    /// Ends a request that was never assigned.
    pub(super) fn end_unsent(&mut self, intended_ns: u64, class: Class, now_ns: u64) {
        let measured = self.is_measured(intended_ns);
        let flight = Flight { begun_ns: intended_ns, sent_ns: 0, intended_ns, url: 0, measured };
        let tally = &mut self.tallies[usize::from(measured)];
        tally.scheduled += 1;
        tally.end(&flight, class, 0, now_ns);
        self.spent(intended_ns, now_ns);
    }
}
