//! io_uring. A receive is started once per connection, and the sends of a turn are submitted in one
//! call. Keep-alive traffic costs a share of a call.
//!
//! The service time of a request starts when it is queued, before its turn is submitted.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use io_uring::squeue;

use super::Driver;
use super::route::Route;
use crate::batching::{Gathered, Gatherer};
use crate::clock;
use crate::error::Result;
use crate::packets::{PacketMeter, Packets};
use crate::ring::{self, Completion, GENERATIONS, Ring, Tag, What};
use crate::session::{Action, Session};
use crate::sockets;
use crate::tcp_info::TcpInfo;

const MAX_ENTRIES: u32 = 8192;
const MAX_BUFFERS: usize = 1024;

/// The state of a slot's socket.
#[derive(Default)]
struct Link {
    fd: Option<OwnedFd>,
    generation: u32,
    connecting: bool,
    receiving: bool,
    /// The socket accepted less than it was given, and is polled.
    full: bool,
    /// The last turn with an operation, and the last with a send.
    queued_turn: u64,
    sent_turn: u64,
    sending: Range<usize>,
    /// The parts of the request book that the socket has not accepted yet.
    unsent: VecDeque<Range<usize>>,
    /// Output of the session that the send of `sent_turn` sends.
    writing: Vec<u8>,
    /// It is in `flushing`.
    has_output: bool,
}

pub(crate) struct Uring {
    ring: Ring,
    route: Route,
    links: Vec<Link>,
    packets: PacketMeter,
    completed: Vec<Completion>,
    gatherer: Gatherer,
    /// Slots with more to send after this turn's operations are submitted.
    held: Vec<usize>,
    /// Slots whose session has output for this turn.
    flushing: Vec<usize>,
    /// Sockets to close after this turn's operations, which may name them, are submitted.
    closing: Vec<OwnedFd>,
}

impl Uring {
    /// A driver for `slots` connections with responses of about `response_bytes`.
    pub(crate) fn new(route: Route, slots: usize, response_bytes: usize) -> io::Result<Self> {
        let entries = (slots as u32).saturating_mul(2).clamp(64, MAX_ENTRIES);
        let count = slots.next_power_of_two().clamp(64, MAX_BUFFERS) as u16;
        let bytes_each = response_bytes.next_power_of_two().clamp(2 * 1024, 64 * 1024);
        Ok(Self {
            ring: Ring::new(entries.next_power_of_two(), count, bytes_each)?,
            route,
            links: (0..slots).map(|_| Link::default()).collect(),
            packets: PacketMeter::default(),
            completed: Vec::new(),
            gatherer: Gatherer::new(),
            held: Vec::new(),
            flushing: Vec::new(),
            closing: Vec::new(),
        })
    }

    fn open(&mut self, session: &mut Session, slot: usize) -> Result<()> {
        let Some(opened) = self.route.open(session, slot, None) else { return Ok(()) };
        self.links[slot].fd = Some(opened.fd);
        match opened.next {
            None => {
                self.links[slot].connecting = true;
                // SAFETY: a poll points to nothing.
                unsafe { self.queue(slot, What::Writable, ring::writable(self.fd(slot))) }
            }
            Some(action) => {
                self.receive(slot)?;
                self.carry_out(session, slot, action)
            }
        }
    }

    /// Queues a send after those that wait. A socket gets one send per turn, because a partial one
    /// must not be overtaken by the next.
    #[inline]
    fn send(&mut self, session: &Session, slot: usize, range: Range<usize>) -> Result<()> {
        let turn = self.ring.turn();
        let link = &mut self.links[slot];
        if link.full || link.sent_turn == turn || !link.unsent.is_empty() {
            link.unsent.push_back(range);
            self.held.push(slot);
            return Ok(());
        }
        self.queue_send(session, slot, range)
    }

    /// Queues the first waiting send, if possible.
    fn send_waiting(&mut self, session: &mut Session, slot: usize) -> Result<()> {
        if !session.output(slot).is_empty() {
            self.note_output(slot);
            return Ok(());
        }
        let turn = self.ring.turn();
        let link = &mut self.links[slot];
        if link.full {
            return Ok(());
        }
        if link.sent_turn != turn
            && let Some(range) = link.unsent.pop_front()
        {
            self.queue_send(session, slot, range)?;
        }
        if !self.links[slot].unsent.is_empty() {
            self.held.push(slot);
        }
        Ok(())
    }

    #[inline]
    fn queue_send(&mut self, session: &Session, slot: usize, range: Range<usize>) -> Result<()> {
        let link = &mut self.links[slot];
        link.sent_turn = self.ring.turn();
        link.sending = range.clone();
        let bytes = session.plan().book.bytes(range);
        // SAFETY: the bytes are the plan's, which no one changes, and which the worker that holds
        // this driver borrows.
        unsafe { self.queue(slot, What::Send, ring::send(self.fd(slot), bytes)) }
    }

    /// Notes that the session has output, to be sent with all that this turn adds to it.
    #[inline]
    fn note_output(&mut self, slot: usize) {
        if !std::mem::replace(&mut self.links[slot].has_output, true) {
            self.flushing.push(slot);
        }
    }

    /// Queues the sends of all output.
    fn flush_all(&mut self, session: &mut Session) -> Result<()> {
        let mut flushing = std::mem::take(&mut self.flushing);
        for slot in flushing.drain(..) {
            self.links[slot].has_output = false;
            self.flush(session, slot)?;
        }
        flushing.append(&mut self.flushing);
        self.flushing = flushing;
        Ok(())
    }

    /// Queues a send of the session's output, or keeps it for the next turn.
    #[inline]
    fn flush(&mut self, session: &mut Session, slot: usize) -> Result<()> {
        let turn = self.ring.turn();
        let link = &mut self.links[slot];
        let output = session.output(slot);
        if link.full || output.is_empty() {
            return Ok(());
        }
        if link.sent_turn == turn {
            self.note_output(slot);
            return Ok(());
        }
        link.sent_turn = turn;
        link.writing.clear();
        std::mem::swap(&mut link.writing, output);
        let send = ring::send(self.fd(slot), &self.links[slot].writing);
        // SAFETY: nothing changes the bytes in this turn, and the send is over with its submission,
        // because it does not wait for the socket.
        unsafe { self.queue(slot, What::Send, send) }?;
        if session.refill_output(slot, clock::now_ns()) {
            self.note_output(slot);
        }
        Ok(())
    }

    fn receive(&mut self, slot: usize) -> Result<()> {
        self.links[slot].receiving = true;
        // SAFETY: a receive points to nothing but the ring's own buffers.
        unsafe { self.queue(slot, What::Receive, ring::receive(self.fd(slot))) }
    }

    /// Queues an operation of a slot's connection.
    ///
    /// # Safety
    ///
    /// As for [`Ring::queue`].
    #[inline]
    unsafe fn queue(&mut self, slot: usize, what: What, entry: squeue::Entry) -> Result<()> {
        let link = &mut self.links[slot];
        link.queued_turn = self.ring.turn();
        let tag = Tag { slot: slot as u32, generation: link.generation, what };
        // SAFETY: as the caller says.
        unsafe { self.ring.queue(tag, entry) }
    }

    fn fd(&self, slot: usize) -> RawFd {
        self.links[slot].fd.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Closes a connection. The kernel keeps a socket as long as an operation uses it, so those are
    /// ended first. A descriptor stays open while a queued operation names it.
    fn close(&mut self, session: &mut Session, slot: usize) {
        let link = std::mem::take(&mut self.links[slot]);
        let generation = (link.generation + 1) % GENERATIONS;
        let last = session.output(slot);
        // It must not overtake what this turn sends. Whether it arrives does not matter.
        if !last.is_empty() && link.sent_turn != self.ring.turn() {
            let _ = sockets::send(link.fd.as_ref().map_or(-1, AsRawFd::as_raw_fd), last);
        }
        last.clear();
        let (unsent, writing, sent_turn) = (link.unsent, link.writing, link.sent_turn);
        self.links[slot] = Link { generation, unsent, writing, sent_turn, ..Link::default() };
        self.links[slot].unsent.clear();
        let Some(fd) = link.fd else { return };
        self.packets.close(TcpInfo::read(fd.as_raw_fd()).map(|info| info.packets()));
        if link.queued_turn == self.ring.turn() {
            self.closing.push(fd);
        } else if link.receiving || link.connecting || link.full {
            sockets::shut_down(fd.as_raw_fd());
        }
    }

    #[inline]
    fn complete(&mut self, session: &mut Session, completion: Completion) -> Result<()> {
        let slot = completion.tag.slot as usize;
        let current = self.links[slot].generation == completion.tag.generation;
        let action = match completion.tag.what {
            _ if !current => Action::Wait,
            What::Receive => self.received(session, slot, &completion),
            What::Send => self.sent_short(session, slot, completion.result)?,
            What::Writable => self.writable(session, slot)?,
        };
        self.ring.give_back(&completion);
        if current && completion.tag.what == What::Receive && !completion.more {
            self.links[slot].receiving = false;
            if action != Action::Close {
                self.receive(slot)?;
            }
        }
        self.carry_out(session, slot, action)
    }

    #[inline]
    fn received(&self, session: &mut Session, slot: usize, completion: &Completion) -> Action {
        let now_ns = clock::now_ns();
        match completion.result {
            Ok(0) => session.ended(slot, now_ns),
            Ok(_) => {
                // With the last bytes of a TCP stream, the kernel reports whether its end has
                // arrived.
                let may_be_hung_up = completion.sock_nonempty || !self.route.to.is_tcp();
                let hung_up = may_be_hung_up && sockets::is_hung_up(self.fd(slot));
                session.received(slot, self.ring.received(completion), now_ns, hung_up)
            }
            // Interrupted, or out of buffers that have been returned since: start it again.
            Err(libc::ENOBUFS | libc::EINTR | libc::EAGAIN) => Action::Wait,
            Err(_) => session.broke(slot, now_ns),
        }
    }

    /// A send was partial or failed.
    fn sent_short(
        &mut self,
        session: &mut Session,
        slot: usize,
        result: Result<u32, i32>,
    ) -> Result<Action> {
        let taken = match result {
            Ok(taken) => taken as usize,
            Err(libc::EAGAIN | libc::EINTR) => 0,
            Err(_) => return Ok(session.write_failed(slot, clock::now_ns())),
        };
        let link = &mut self.links[slot];
        if link.writing.is_empty() {
            link.unsent.push_front(link.sending.start + taken..link.sending.end);
        } else {
            let mut rest = link.writing.split_off(taken);
            link.writing.clear();
            rest.append(session.output(slot));
            *session.output(slot) = rest;
        }
        link.full = true;
        // SAFETY: a poll points to nothing.
        unsafe { self.queue(slot, What::Writable, ring::writable(self.fd(slot))) }?;
        Ok(Action::Wait)
    }

    /// The socket accepts bytes: the connect has ended, or the rest of a request can be sent.
    fn writable(&mut self, session: &mut Session, slot: usize) -> Result<Action> {
        self.links[slot].full = false;
        if !std::mem::take(&mut self.links[slot].connecting) {
            self.send_waiting(session, slot)?;
            return Ok(Action::Wait);
        }
        let now_ns = clock::now_ns();
        match sockets::take_error(self.fd(slot)) {
            0 => {
                self.receive(slot)?;
                Ok(session.connected(slot, now_ns))
            }
            errno => {
                session.open_failed(slot, errno, now_ns);
                Ok(Action::Close)
            }
        }
    }
}

impl Driver for Uring {
    fn begin(&mut self) -> Result<()> {
        self.ring.enable()
    }

    fn gather(&mut self) {
        self.gatherer.begin();
    }

    fn take_gathered(&mut self) -> Gathered {
        self.gatherer.take()
    }

    fn take_packets(&mut self) -> Option<Packets> {
        let open = self.links.iter().filter_map(|link| link.fd.as_ref());
        self.packets.take(open.map(|fd| Some(TcpInfo::read(fd.as_raw_fd())?.packets())))
    }

    #[inline]
    fn carry_out(&mut self, session: &mut Session, slot: usize, action: Action) -> Result<()> {
        match action {
            Action::Wait => Ok(()),
            Action::Send(range) if range.is_empty() => Ok(()),
            Action::Send(range) => self.send(session, slot, range),
            Action::Flush => {
                self.note_output(slot);
                Ok(())
            }
            Action::Open => self.open(session, slot),
            Action::Close => {
                self.close(session, slot);
                Ok(())
            }
        }
    }

    fn turn(&mut self, session: &mut Session, wake_ns: u64) -> Result<bool> {
        let now_ns = clock::now_ns();
        self.flush_all(session)?;
        // What is left has room for a send of its own in the next turn.
        let wake_ns = if self.flushing.is_empty() { wake_ns } else { now_ns };
        let batching = self.gatherer.choose(now_ns, session.busy(), session.kept_answers());
        if self.ring.submit(now_ns, wake_ns, batching)? {
            for fd in self.closing.drain(..) {
                sockets::shut_down(fd.as_raw_fd());
            }
        }
        let mut completed = std::mem::take(&mut self.completed);
        self.ring.take(&mut completed);
        let brought = !completed.is_empty();
        for completion in completed.drain(..) {
            self.complete(session, completion)?;
            if session.has_work() {
                self.launch(session, clock::now_ns())?;
            }
        }
        self.completed = completed;
        for slot in std::mem::take(&mut self.held) {
            self.send_waiting(session, slot)?;
        }
        Ok(brought)
    }
}
