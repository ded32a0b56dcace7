//! A minimal HTTP/1.1 server that counts its responses.

use std::hint::black_box;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};
use serde::Serialize;

use crate::clock;
use crate::error::{Error, Result};
use crate::null_client::{Client, Replies, Reply};
use crate::poll::Poll;
use crate::sockets::{self, Endpoint, check};

#[derive(Clone, Debug)]
pub(crate) struct NullServerConfig {
    pub address: SocketAddr,
    /// Units of busy work per request: one multiplication each.
    pub work: u64,
    pub body: String,
    /// Speaks TLS with it.
    pub tls: Option<Arc<ServerConfig>>,
}

/// The counts of a null server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    pub answered: u64,
    pub connections: u64,
}

pub(crate) struct NullServer {
    poll: Poll,
    listener: OwnedFd,
    accepting: bool,
    clients: Vec<Option<Client>>,
    replies: Replies,
    tls: Option<Arc<ServerConfig>>,
    work: u64,
    state: u64,
    counts: Counts,
    buffer: Box<[u8]>,
}

const READ: u32 = libc::EPOLLIN as u32;
const WRITE: u32 = libc::EPOLLOUT as u32;
const LISTENER: usize = Poll::MAX_TOKEN;
const STOP_POLL_NS: u64 = 100_000_000;

impl NullServer {
    /// Listens on the port, which several servers may share (SO_REUSEPORT).
    pub(crate) fn bind(config: &NullServerConfig) -> Result<Self> {
        let listener = listen(config.address)
            .map_err(std::io::Error::from_raw_os_error)
            .map_err(|error| Error::usage(format!("--null-server: {}: {error}", config.address)))?;
        let poll = Poll::new(512)?;
        poll.add(listener.as_raw_fd(), LISTENER, READ)?;
        Ok(Self {
            poll,
            listener,
            accepting: true,
            clients: Vec::new(),
            replies: Replies::new(&config.body),
            tls: config.tls.clone(),
            work: config.work,
            state: 1,
            counts: Counts::default(),
            buffer: vec![0; 64 * 1024].into_boxed_slice(),
        })
    }

    pub(crate) fn local_address(&self) -> Result<SocketAddr> {
        let listener = self.listener.try_clone().map_err(Error::system("dup"))?;
        std::net::TcpListener::from(listener).local_addr().map_err(Error::system("getsockname"))
    }

    /// Serves until `stopped` returns true; it is called at least ten times per second.
    pub(crate) fn run(mut self, stopped: impl Fn() -> bool) -> Result<Counts> {
        while !stopped() {
            let ready = self.poll.wait(clock::now_ns() + STOP_POLL_NS)?;
            for at in 0..ready {
                match self.poll.event(at) {
                    (LISTENER, _) => self.accept()?,
                    (fd, flags) => self.serve(fd as RawFd, flags)?,
                }
            }
        }
        Ok(self.counts)
    }

    fn accept(&mut self) -> Result<()> {
        loop {
            let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            let null = std::ptr::null_mut();
            // SAFETY: null pointers say that the peer's address is not wanted.
            match check(unsafe {
                libc::accept4(self.listener.as_raw_fd(), null, null.cast(), flags)
            }) {
                Ok(fd) => {
                    // SAFETY: `fd` is new, and nothing else owns it.
                    self.add_client(unsafe { OwnedFd::from_raw_fd(fd) })?;
                }
                Err(libc::EMFILE | libc::ENFILE) => {
                    self.accepting = false;
                    return self.poll.modify(self.listener.as_raw_fd(), LISTENER, 0);
                }
                Err(libc::EINTR | libc::ECONNABORTED) => {}
                Err(_) => return Ok(()),
            }
        }
    }

    fn add_client(&mut self, fd: OwnedFd) -> Result<()> {
        let at = fd.as_raw_fd() as usize;
        self.poll.add(fd.as_raw_fd(), at, READ)?;
        if self.clients.len() <= at {
            self.clients.resize_with(at + 1, || None);
        }
        let mut tls = self.tls.clone().and_then(|config| ServerConnection::new(config).ok());
        if let Some(tls) = &mut tls {
            tls.set_buffer_limit(None);
        }
        self.clients[at] = Some(Client::new(fd, tls));
        self.counts.connections += 1;
        Ok(())
    }

    fn serve(&mut self, fd: RawFd, flags: u32) -> Result<()> {
        let Some(client) = self.clients[fd as usize].as_mut() else { return Ok(()) };
        let open = match flags & WRITE {
            0 => match sockets::receive(fd, &mut self.buffer) {
                Ok(None) => true,
                Ok(Some(0)) | Err(_) => false,
                Ok(Some(got)) => {
                    let input = &self.buffer[..got];
                    let (state, work, answered) =
                        (&mut self.state, self.work, &mut self.counts.answered);
                    client.receive(input, &mut self.replies, |reply| {
                        *state = busy(*state, work);
                        *answered += u64::from(reply == Reply::Answer);
                    })
                }
            },
            _ => client.flush(),
        };
        let wants_write = client.wants_write();
        if !open {
            self.clients[fd as usize] = None;
            if !self.accepting {
                self.accepting = true;
                self.poll.modify(self.listener.as_raw_fd(), LISTENER, READ)?;
            }
        } else if wants_write || flags & WRITE != 0 {
            self.poll.modify(fd, fd as usize, if wants_write { WRITE } else { READ })?;
        }
        Ok(())
    }
}

/// Does `work` dependent multiplications that the compiler can neither remove nor combine.
///
/// The state stays in a register: `black_box` in the loop would store and load it each time, and on
/// some processors that takes twice as long at one time as at another.
fn busy(mut state: u64, work: u64) -> u64 {
    for _ in 0..work {
        state = (state ^ (state >> 29)).wrapping_mul(6_364_136_223_846_793_005);
    }
    black_box(state)
}

fn listen(address: SocketAddr) -> Result<OwnedFd, i32> {
    let endpoint = Endpoint::of_tcp(address);
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed, and the new descriptor has no other owner.
    let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(family, kind, 0))?) };
    for option in [libc::SO_REUSEADDR, libc::SO_REUSEPORT] {
        sockets::set_option(fd.as_raw_fd(), libc::SOL_SOCKET, option, 1)?;
    }
    let (pointer, length) = endpoint.as_ptr();
    // SAFETY: `pointer` points to `length` valid bytes.
    check(unsafe { libc::bind(fd.as_raw_fd(), pointer, length) })?;
    // SAFETY: no pointers are passed.
    check(unsafe { libc::listen(fd.as_raw_fd(), 65_535) })?;
    Ok(fd)
}
