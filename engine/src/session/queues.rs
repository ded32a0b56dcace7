//! Which slot opens a connection or sends a request next.

use super::{Action, Session};
use crate::connection::State;
use crate::h2::Client;

impl Session<'_> {
    /// The next slot to open, if any.
    #[inline]
    pub(crate) fn next_open(&mut self, now_ns: u64) -> Option<usize> {
        while let Some((retry_ns, slot)) = self.to_retry.front().copied()
            && retry_ns <= now_ns
        {
            self.to_retry.pop_front();
            self.await_use(slot as usize);
        }
        if self.to_open.is_empty() || self.is_full(now_ns) || !self.wants_open(now_ns) {
            return None;
        }
        self.to_open.pop_front().map(|slot| slot as usize)
    }

    /// The next waiting slot, and its action.
    #[inline]
    pub(crate) fn next_send(&mut self, now_ns: u64) -> Option<(usize, Action)> {
        if self.idle.is_empty() && self.backlog.is_none() {
            return None;
        }
        if !self.is_due(now_ns) {
            return None;
        }
        let idle_slot = self.take_idle(now_ns);
        if idle_slot.is_none()
            && let Some(backlog) = &mut self.backlog
        {
            backlog.note(now_ns);
            if self.idle.is_empty() {
                self.none_free_ns = now_ns;
            }
        }
        let slot = idle_slot?;
        if self.connections[slot].state == State::Closed {
            self.assign(slot, now_ns);
            return Some((slot, Action::Open));
        }
        Some((slot, self.fill(slot, now_ns)))
    }

    /// True if a slot opens only when a request is due.
    pub(super) fn opens_on_demand(&self) -> bool {
        self.plan.per_request && self.backlog.is_some()
    }

    /// True if no other slot may connect now. Before the load, those that shake hands count too: no
    /// request waits for them, and a server need not do all handshakes at a time.
    fn is_full(&self, now_ns: u64) -> bool {
        let handshaking = if now_ns < self.window.load_ns { self.handshaking } else { 0 };
        self.opening + handshaking >= self.max_opening
    }

    /// True if a request that is due must wait until other slots have connected.
    pub(super) fn awaits_connects(&self, now_ns: u64) -> bool {
        self.opens_on_demand() && self.is_full(now_ns)
    }

    /// Notes that a connection is free; if none was, requests waited for the server until now.
    #[inline]
    pub(super) fn freed(&mut self, now_ns: u64) {
        if self.idle.is_empty() {
            self.none_free_ns = now_ns;
        }
    }

    pub(super) fn await_use(&mut self, slot: usize) {
        match () {
            // Also after the load, when no other slot is opened.
            () if self.has_waiting(slot) => self.to_open.push_front(slot as u32),
            () if self.opens_on_demand() => self.queue_idle(slot),
            () => self.to_open.push_back(slot as u32),
        }
    }

    /// HTTP/2: requests wait for a connection of this slot.
    pub(super) fn has_waiting(&self, slot: usize) -> bool {
        self.clients.get(slot).is_some_and(Client::has_waiting)
    }

    /// Notes that a slot waits for a request. One of HTTP/2 is noted once, whatever it has room for,
    /// so that requests are spread over the connections.
    pub(super) fn queue_idle(&mut self, slot: usize) {
        let client = self.clients.get_mut(slot);
        if !client.is_some_and(|client| std::mem::replace(&mut client.is_queued, true)) {
            self.idle.push_back(slot as u32);
        }
    }

    fn wants_open(&self, now_ns: u64) -> bool {
        let started = !self.plan.per_request || now_ns >= self.window.load_ns;
        let first = self.to_open.front().map_or(0, |slot| *slot as usize);
        let wanted = now_ns < self.stop_ns || self.next_due_ns().is_some();
        started && (wanted || self.has_waiting(first))
    }

    fn take_idle(&mut self, now_ns: u64) -> Option<usize> {
        let on_demand = self.opens_on_demand();
        if self.awaits_connects(now_ns) {
            return None;
        }
        while let Some(slot) = self.idle.pop_front() {
            let connection = &self.connections[slot as usize];
            if let Some(client) = self.clients.get_mut(slot as usize) {
                client.is_queued = false;
            }
            let is_idle = match self.is_http2() {
                true => self.takes_more(slot as usize),
                false => connection.is_idle(),
            };
            if is_idle || (on_demand && connection.state == State::Closed) {
                return Some(slot as usize);
            }
        }
        None
    }
}
