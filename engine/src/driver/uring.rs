//! io_uring: a receive is started once per connection and the sends of a turn go to the kernel in
//! one call, so that keep-alive traffic costs a share of a call.
//!
//! A request is stamped as it is queued: the turn that it goes out with is part of its time.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use io_uring::squeue::{self, Flags};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};

use super::Driver;
use super::buffers::Buffers;
use super::route::Route;
use crate::clock;
use crate::session::{Action, Session};
use crate::sockets;

const MAX_ENTRIES: u32 = 8192;
const MAX_BUFFERS: usize = 1024;

/// What an operation was, in the low bits of its user data; slot and generation are above.
const RECEIVE: u64 = 0;
const SEND: u64 = 1;
const WRITABLE: u64 = 2;

/// What a slot's descriptor is doing.
#[derive(Default)]
struct Link {
    fd: Option<OwnedFd>,
    /// Counts the connections of the slot: a completion of an earlier one is not of this.
    generation: u32,
    connecting: bool,
    receiving: bool,
    /// The socket took less than it was given; it is waited for.
    full: bool,
    /// The last turn in which an operation was queued, and one in which a send was.
    queued_turn: u64,
    sent_turn: u64,
    sending: Range<usize>,
    /// The parts of the request book that the socket has not taken yet.
    unsent: VecDeque<Range<usize>>,
}

pub struct Uring {
    ring: IoUring,
    buffers: Buffers,
    route: Route,
    links: Vec<Link>,
    completed: Vec<cqueue::Entry>,
    /// Submissions so far, plus one.
    turn: u64,
    /// Slots that want to send more once this turn's operations are with the kernel.
    held: Vec<usize>,
    /// Closed once this turn's operations, some of which name them, are with the kernel.
    closing: Vec<OwnedFd>,
}

/// A ring that belongs to the thread that will enable it.
pub fn setup(entries: u32) -> io::Result<IoUring> {
    IoUring::builder()
        .setup_r_disabled()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .build(entries)
}

impl Uring {
    /// A ring for `slots` connections with responses of some `response_bytes`; an error where the
    /// kernel does not allow it, or is older than Linux 6.1.
    pub fn new(route: Route, slots: usize, response_bytes: usize) -> io::Result<Self> {
        let entries = (slots as u32).saturating_mul(2).clamp(64, MAX_ENTRIES);
        let ring = setup(entries.next_power_of_two())?;
        let count = slots.next_power_of_two().clamp(64, MAX_BUFFERS) as u16;
        let bytes_each = response_bytes.next_power_of_two().clamp(2 * 1024, 64 * 1024);
        Ok(Self {
            buffers: Buffers::register(&ring, count, bytes_each)?,
            ring,
            route,
            links: (0..slots).map(|_| Link::default()).collect(),
            completed: Vec::new(),
            turn: 1,
            held: Vec::new(),
            closing: Vec::new(),
        })
    }

    fn open(&mut self, session: &mut Session, slot: usize) -> Result<(), String> {
        let Some(opened) = self.route.open(session, slot) else { return Ok(()) };
        self.links[slot].fd = Some(opened.fd);
        match opened.next {
            None => {
                self.links[slot].connecting = true;
                self.await_writable(slot)
            }
            Some(action) => {
                self.receive(slot)?;
                self.carry_out(session, slot, action)
            }
        }
    }

    #[inline]
    fn carry_out(
        &mut self,
        session: &mut Session,
        slot: usize,
        action: Action,
    ) -> Result<(), String> {
        match action {
            Action::Wait => Ok(()),
            Action::Send(range) if range.is_empty() => Ok(()),
            Action::Send(range) => {
                self.links[slot].unsent.push_back(range);
                self.send(session, slot)
            }
            Action::Open => self.open(session, slot),
            Action::Close => {
                self.close(slot);
                Ok(())
            }
        }
    }

    /// Queues what waits to be sent: one send a turn, as one that comes up short must not be
    /// overtaken by the next.
    #[inline]
    fn send(&mut self, session: &Session, slot: usize) -> Result<(), String> {
        let turn = self.turn;
        let link = &mut self.links[slot];
        if link.full || link.unsent.is_empty() {
            return Ok(());
        }
        if link.sent_turn == turn {
            self.held.push(slot);
            return Ok(());
        }
        let Some(range) = link.unsent.pop_front() else { return Ok(()) };
        link.sent_turn = turn;
        link.sending = range.clone();
        let bytes = session.plan().book.bytes(range);
        // To fail where not all bytes are taken at once: a success completes without a word.
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL;
        let send = opcode::Send::new(self.fd(slot), bytes.as_ptr(), bytes.len() as u32);
        self.queue(slot, SEND, send.flags(flags).build().flags(Flags::SKIP_SUCCESS))
    }

    /// Starts to receive, until the kernel says that it stopped.
    fn receive(&mut self, slot: usize) -> Result<(), String> {
        self.links[slot].receiving = true;
        self.queue(slot, RECEIVE, opcode::RecvMulti::new(self.fd(slot), 0).build())
    }

    fn await_writable(&mut self, slot: usize) -> Result<(), String> {
        let poll = opcode::PollAdd::new(self.fd(slot), libc::POLLOUT as u32);
        self.queue(slot, WRITABLE, poll.build())
    }

    #[inline]
    fn queue(&mut self, slot: usize, what: u64, entry: squeue::Entry) -> Result<(), String> {
        let link = &mut self.links[slot];
        link.queued_turn = self.turn;
        let generation = u64::from(link.generation & 0x3fff_ffff);
        let entry = entry.user_data((slot as u64) << 32 | generation << 2 | what);
        // SAFETY: the operations' memory outlives them: requests are in the plan, buffers here.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.ring.submit().map_err(failed)?;
        }
        Ok(())
    }

    fn fd(&self, slot: usize) -> Fd {
        Fd(self.raw_fd(slot))
    }

    fn raw_fd(&self, slot: usize) -> RawFd {
        self.links[slot].fd.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// The kernel holds on to a socket for as long as an operation on it is under way, so these
    /// are ended first; a descriptor is not given away while a queued operation names it.
    fn close(&mut self, slot: usize) {
        let link = std::mem::take(&mut self.links[slot]);
        let generation = link.generation.wrapping_add(1);
        self.links[slot] = Link { generation, unsent: link.unsent, ..Link::default() };
        self.links[slot].unsent.clear();
        let Some(fd) = link.fd else { return };
        if link.queued_turn == self.turn {
            self.closing.push(fd);
        } else if link.receiving || link.connecting || link.full {
            sockets::shut_down(fd.as_raw_fd());
        }
    }

    /// Hands the queued operations to the kernel and waits for a completion.
    fn submit(&mut self, wake_ns: u64) -> Result<(), String> {
        let left_ns = wake_ns.saturating_sub(clock::now_ns());
        let left =
            Timespec::new().sec(left_ns / 1_000_000_000).nsec((left_ns % 1_000_000_000) as u32);
        let submitted =
            self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&left));
        match submitted.map_err(|error| error.raw_os_error()) {
            Ok(_) | Err(Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {}
            Err(errno) => return Err(failed(io::Error::from_raw_os_error(errno.unwrap_or(0)))),
        }
        if self.ring.submission().is_empty() {
            self.turn += 1;
            for fd in self.closing.drain(..) {
                sockets::shut_down(fd.as_raw_fd());
            }
        }
        Ok(())
    }

    #[inline]
    fn complete(&mut self, session: &mut Session, entry: &cqueue::Entry) -> Result<(), String> {
        let data = entry.user_data();
        let slot = (data >> 32) as usize;
        let buffer = cqueue::buffer_select(entry.flags());
        let current = self.links[slot].generation & 0x3fff_ffff == (data as u32) >> 2;
        let done = match data & 3 {
            _ if !current => Ok(()),
            RECEIVE => return self.received(session, slot, entry, buffer),
            SEND => self.sent_short(session, slot, entry.result()),
            _ => self.writable(session, slot),
        };
        if let Some(buffer) = buffer {
            self.buffers.give_back(buffer);
        }
        done
    }

    #[inline]
    fn received(
        &mut self,
        session: &mut Session,
        slot: usize,
        entry: &cqueue::Entry,
        buffer: Option<u16>,
    ) -> Result<(), String> {
        let now_ns = clock::now_ns();
        self.links[slot].receiving = cqueue::more(entry.flags());
        let action = match (entry.result(), buffer) {
            (0, _) => session.ended(slot, now_ns),
            (got, Some(buffer)) if got > 0 => {
                let hung_up = self.may_be_hung_up(entry) && sockets::is_hung_up(self.raw_fd(slot));
                let input = self.buffers.filled(buffer, got as usize);
                session.received(slot, input, now_ns, hung_up)
            }
            // Out of buffers, which have come back since, or interrupted: it is started again.
            (error, _) if [libc::ENOBUFS, libc::EINTR, libc::EAGAIN].contains(&-error) => {
                Action::Wait
            }
            _ => session.broke(slot, now_ns),
        };
        if let Some(buffer) = buffer {
            self.buffers.give_back(buffer);
        }
        if !self.links[slot].receiving && action != Action::Close {
            self.receive(slot)?;
        }
        self.carry_out(session, slot, action)
    }

    /// After the last byte of a TCP stream, the kernel says whether its end is there as well.
    fn may_be_hung_up(&self, entry: &cqueue::Entry) -> bool {
        cqueue::sock_nonempty(entry.flags()) || !self.route.to.is_tcp()
    }

    /// A send took not all bytes, or failed.
    fn sent_short(
        &mut self,
        session: &mut Session,
        slot: usize,
        result: i32,
    ) -> Result<(), String> {
        let taken = match result {
            taken if taken >= 0 => taken as usize,
            error if error == -libc::EAGAIN || error == -libc::EINTR => 0,
            _ => {
                let action = session.write_failed(slot, clock::now_ns());
                return self.carry_out(session, slot, action);
            }
        };
        let link = &mut self.links[slot];
        link.unsent.push_front(link.sending.start + taken..link.sending.end);
        link.full = true;
        self.await_writable(slot)
    }

    /// The socket takes bytes: the connect is over, or the rest of a request can go.
    fn writable(&mut self, session: &mut Session, slot: usize) -> Result<(), String> {
        self.links[slot].full = false;
        if !std::mem::take(&mut self.links[slot].connecting) {
            return self.send(session, slot);
        }
        let now_ns = clock::now_ns();
        match sockets::take_error(self.raw_fd(slot)) {
            0 => {
                self.receive(slot)?;
                let action = session.connected(slot, now_ns);
                self.carry_out(session, slot, action)
            }
            errno => {
                self.close(slot);
                session.open_failed(slot, errno, now_ns);
                Ok(())
            }
        }
    }
}

impl Driver for Uring {
    fn begin(&mut self) -> Result<(), String> {
        self.ring.submitter().register_enable_rings().map_err(failed)
    }

    fn launch(&mut self, session: &mut Session, mut now_ns: u64) -> Result<(), String> {
        while let Some(slot) = session.next_open(now_ns) {
            self.open(session, slot)?;
            now_ns = clock::now_ns();
        }
        while let Some((slot, action)) = session.next_send(now_ns) {
            self.carry_out(session, slot, action)?;
            now_ns = clock::now_ns();
        }
        Ok(())
    }

    fn expire(&mut self, session: &mut Session, now_ns: u64) -> Result<(), String> {
        while let Some(slot) = session.overdue(now_ns) {
            let action = session.timed_out(slot, now_ns);
            self.carry_out(session, slot, action)?;
        }
        Ok(())
    }

    fn turn(&mut self, session: &mut Session, wake_ns: u64) -> Result<(), String> {
        self.submit(wake_ns)?;
        let mut completed = std::mem::take(&mut self.completed);
        completed.extend(self.ring.completion());
        for entry in completed.drain(..) {
            self.complete(session, &entry)?;
            if session.has_work() {
                self.launch(session, clock::now_ns())?;
            }
        }
        self.completed = completed;
        for slot in std::mem::take(&mut self.held) {
            self.send(session, slot)?;
        }
        Ok(())
    }
}

fn failed(error: io::Error) -> String {
    format!("io_uring failed: {error}")
}
