//! Opens connections.

use std::os::fd::{AsRawFd, OwnedFd};

use crate::clock;
use crate::session::{Action, Session};
use crate::sockets::{self, Endpoint};

pub(crate) struct Route {
    pub to: Endpoint,
    /// The local address of each slot; empty if the kernel chooses.
    pub from: Vec<Endpoint>,
    pub no_delay: bool,
}

/// A connect that has not failed.
pub(crate) struct Opened {
    pub fd: OwnedFd,
    /// The next action; `None` if the connect is in progress, until the socket accepts bytes.
    pub next: Option<Action>,
}

impl Route {
    /// Starts a connect, on a `spare` socket if there is one. On the loopback the handshake is
    /// complete when connect() returns, so this also tries to send the first request. `None` if the
    /// connect failed; the session knows.
    pub(crate) fn open(
        &self,
        session: &mut Session,
        slot: usize,
        spare: Option<OwnedFd>,
    ) -> Option<Opened> {
        session.opening(slot, clock::now_ns());
        let greeting = session.greeting(slot);
        let speaks_first = session.speaks_first();
        let (fd, complete) = match self.connect(slot, spare, greeting.is_some() || speaks_first) {
            Ok(connected) => connected,
            Err(errno) => {
                session.open_failed(slot, errno, clock::now_ns());
                return None;
            }
        };
        let now_ns = clock::now_ns();
        if complete && speaks_first {
            return Some(Opened { fd, next: Some(session.connected(slot, now_ns)) });
        }
        let sent = match greeting {
            Some(range) => sockets::send(fd.as_raw_fd(), session.plan().book.bytes(range)),
            None => Ok(0),
        };
        let next = match sent {
            // Reset right after the handshake.
            Err(libc::ECONNRESET | libc::EPIPE) => {
                session.connected(slot, now_ns);
                Some(session.write_failed(slot, now_ns))
            }
            Err(errno) => {
                session.open_failed(slot, errno, now_ns);
                return None;
            }
            Ok(0) => None,
            Ok(sent) => Some(match session.connected(slot, now_ns) {
                Action::Send(range) => Action::Send(range.start + sent..range.end),
                action => action,
            }),
        };
        Some(Opened { fd, next })
    }

    fn connect(
        &self,
        slot: usize,
        spare: Option<OwnedFd>,
        speaks_first: bool,
    ) -> Result<(OwnedFd, bool), i32> {
        let socket = match spare {
            Some(socket) => socket,
            None => sockets::open(&self.to, self.from.get(slot), self.no_delay)?,
        };
        let complete = sockets::connect(socket.as_raw_fd(), &self.to, speaks_first)?;
        Ok((socket, complete))
    }
}
