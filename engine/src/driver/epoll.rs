//! Level-triggered epoll. A descriptor is registered once, a request is written directly, and one
//! read takes a response. Keep-alive traffic costs a send, a recv and a share of a wait.

use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::Driver;
use super::route::Route;
use crate::batching::{self, Gathered, Gatherer};
use crate::clock;
use crate::error::Result;
use crate::packets::{PacketMeter, Packets};
use crate::poll::Poll;
use crate::session::{Action, Session};
use crate::sockets;
use crate::tcp_info::TcpInfo;

const BUFFER_BYTES: usize = 64 * 1024;
/// How often a socket is read for one event.
const MAX_READS: usize = 16;
const READ: u32 = (libc::EPOLLIN | libc::EPOLLRDHUP) as u32;
const WRITE: u32 = libc::EPOLLOUT as u32;
const HANG_UP: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP) as u32;

/// The state of a slot's socket.
#[derive(Default)]
struct Link {
    fd: Option<OwnedFd>,
    /// A socket whose connection has ended, for the next connection.
    spare: Option<OwnedFd>,
    /// The events that the socket is registered for; 0 if it is not.
    interest: u32,
    connecting: bool,
    /// The parts of the request book that the socket has not accepted yet.
    unsent: VecDeque<Range<usize>>,
}

pub(crate) struct Epoll {
    poll: Poll,
    route: Route,
    links: Vec<Link>,
    packets: PacketMeter,
    buffer: Box<[u8]>,
    gatherer: Gatherer,
}

impl Epoll {
    pub(crate) fn new(route: Route, slots: usize) -> Result<Self> {
        Ok(Self {
            poll: Poll::new(slots.clamp(16, 1024))?,
            route,
            links: (0..slots).map(|_| Link::default()).collect(),
            packets: PacketMeter::default(),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            gatherer: Gatherer::new(),
        })
    }

    fn fd(&self, slot: usize) -> RawFd {
        self.links[slot].fd.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    fn open(&mut self, session: &mut Session, slot: usize) -> Result<()> {
        let spare = self.links[slot].spare.take();
        let reused = spare.is_some();
        let opened = self.route.open(session, slot, spare);
        let link = &mut self.links[slot];
        if !reused || opened.is_none() {
            link.interest = 0;
        }
        let Some(opened) = opened else { return Ok(()) };
        link.fd = Some(opened.fd);
        match opened.next {
            None => {
                link.connecting = true;
                self.watch(slot, READ | WRITE)
            }
            Some(action) => {
                self.watch(slot, READ)?;
                self.carry_out(session, slot, action)
            }
        }
    }

    /// Registers a socket for exactly these events.
    fn watch(&mut self, slot: usize, interest: u32) -> Result<()> {
        let fd = self.fd(slot);
        match std::mem::replace(&mut self.links[slot].interest, interest) {
            0 => self.poll.add(fd, slot, interest),
            same if same == interest => Ok(()),
            _ => self.poll.modify(fd, slot, interest),
        }
    }

    /// Closes a connection, after its last bytes; keeps its socket if the server closed first and has acknowledged our
    /// FIN, so that no reset is sent.
    fn close(&mut self, session: &mut Session, slot: usize, hung_up: bool) {
        let last = session.output(slot);
        if !last.is_empty() {
            // Whether it arrives does not matter.
            let _ = sockets::send(self.fd(slot), last);
            last.clear();
        }
        let link = &mut self.links[slot];
        link.connecting = false;
        link.unsent.clear();
        link.spare = None;
        let Some(socket) = link.fd.take() else { return };
        let fd = socket.as_raw_fd();
        if hung_up {
            sockets::end_sending(fd);
        }
        let info = TcpInfo::read(fd);
        self.packets.close(info.as_ref().map(TcpInfo::packets));
        if hung_up && info.is_some_and(|info| info.is_closed()) && sockets::disconnect(fd) {
            link.spare = Some(socket);
        }
    }

    #[inline]
    fn write(&mut self, session: &mut Session, slot: usize, range: Range<usize>) -> Result<()> {
        if !self.links[slot].unsent.is_empty() {
            self.links[slot].unsent.push_back(range);
            return Ok(());
        }
        if range.is_empty() {
            return Ok(());
        }
        let fd = self.fd(slot);
        match sockets::send(fd, session.plan().book.bytes(range.clone())) {
            Ok(sent) if sent == range.len() => Ok(()),
            Ok(sent) => {
                self.links[slot].unsent.push_back(range.start + sent..range.end);
                self.watch(slot, READ | WRITE)
            }
            Err(_) => {
                let action = session.write_failed(slot, clock::now_ns());
                self.carry_out(session, slot, action)
            }
        }
    }

    /// Writes the output of the session.
    #[inline]
    fn flush(&mut self, session: &mut Session, slot: usize) -> Result<()> {
        let fd = self.fd(slot);
        loop {
            let output = session.output(slot);
            match sockets::send(fd, output) {
                Ok(sent) if sent == output.len() => {
                    output.clear();
                    if !session.refill_output(slot, clock::now_ns()) {
                        return Ok(());
                    }
                }
                Ok(sent) => {
                    output.drain(..sent);
                    return self.watch(slot, READ | WRITE);
                }
                Err(_) => {
                    let action = session.write_failed(slot, clock::now_ns());
                    return self.carry_out(session, slot, action);
                }
            }
        }
    }

    /// The socket accepts bytes: the connect has ended, or the rest of a request can be sent.
    fn writable(&mut self, session: &mut Session, slot: usize) -> Result<()> {
        let fd = self.fd(slot);
        if self.links[slot].connecting {
            self.links[slot].connecting = false;
            let now_ns = clock::now_ns();
            match sockets::take_error(fd) {
                0 => {
                    self.watch(slot, READ)?;
                    let action = session.connected(slot, now_ns);
                    return self.carry_out(session, slot, action);
                }
                errno => {
                    self.close(session, slot, false);
                    session.open_failed(slot, errno, now_ns);
                    return Ok(());
                }
            }
        }
        self.watch(slot, READ)?;
        if !session.output(slot).is_empty() {
            return self.flush(session, slot);
        }
        let mut waiting = std::mem::take(&mut self.links[slot].unsent);
        while let Some(range) = waiting.pop_front() {
            self.write(session, slot, range)?;
        }
        Ok(())
    }

    /// Reads once, and again while the buffer is full, but not without end: other events wait.
    #[inline]
    fn readable(&mut self, session: &mut Session, slot: usize, hung_up: bool) -> Result<()> {
        for _ in 0..MAX_READS {
            let fd = self.fd(slot);
            let got = sockets::receive(fd, &mut self.buffer);
            let now_ns = clock::now_ns();
            let full = got == Ok(Some(BUFFER_BYTES));
            let action = match got {
                Ok(None) => return Ok(()),
                Ok(Some(0)) => session.ended(slot, now_ns),
                Ok(Some(got)) => session.received(slot, &self.buffer[..got], now_ns, hung_up),
                Err(_) => session.broke(slot, now_ns),
            };
            match action {
                Action::Close => self.close(session, slot, hung_up),
                action => self.carry_out(session, slot, action)?,
            }
            if !full || self.fd(slot) != fd {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl Driver for Epoll {
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

    fn carry_out(&mut self, session: &mut Session, slot: usize, action: Action) -> Result<()> {
        match action {
            Action::Wait => Ok(()),
            Action::Send(range) => self.write(session, slot, range),
            Action::Flush => self.flush(session, slot),
            Action::Open => self.open(session, slot),
            Action::Close => {
                self.close(session, slot, false);
                Ok(())
            }
        }
    }

    fn turn(&mut self, session: &mut Session, wake_ns: u64) -> Result<bool> {
        let now_ns = clock::now_ns();
        let batching = self.gatherer.choose(now_ns, session.busy(), session.kept_answers());
        if batching.gather_us > 0 && wake_ns > now_ns {
            batching::sleep(batching.gather_ns());
        }
        let ready = self.poll.wait(wake_ns)?;
        for at in 0..ready {
            let (slot, flags) = self.poll.event(at);
            let link = &self.links[slot];
            if link.connecting || flags & WRITE != 0 && link.fd.is_some() {
                self.writable(session, slot)?;
            }
            if flags & !WRITE != 0 && self.links[slot].fd.is_some() {
                self.readable(session, slot, flags & HANG_UP != 0)?;
            }
            if session.has_work() {
                self.launch(session, clock::now_ns())?;
            }
            // A spare socket that is not reused would cause events without end.
            self.links[slot].spare = None;
        }
        Ok(ready > 0)
    }
}
