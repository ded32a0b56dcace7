//! The connection of one request of the preflight, blocking and with a deadline.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::preflight_problem::PreflightProblem as Problem;
use crate::signals;
use crate::sockets::{self, Endpoint};
use crate::target::Address;
use crate::tls::secure::{End, Secure};
use crate::tls_failure::Failure;

/// How long to wait for an unannounced close.
const KEPT_WATCH: Duration = Duration::from_millis(20);
/// How often to look for room in the listen queue of a Unix socket.
const QUEUE_WATCH: Duration = Duration::from_millis(5);
/// How a TLS record with an alert begins.
const TLS_ALERT: &[u8] = &[21, 3];

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connection for one request. All that waits for the server ends at the deadline.
pub(super) struct Stream {
    socket: Socket,
    deadline: Instant,
    tls: Option<Secure>,
    /// What TLS has unsealed, and is not read yet.
    plain: Vec<u8>,
    /// The server has ended TLS.
    notified: bool,
    /// Version, cipher suite and key exchange, once they are agreed.
    pub parameters: Option<String>,
}

impl Stream {
    pub(super) fn connect(address: &Address, config: &Config) -> Result<Self, Problem> {
        let limit = Duration::from_nanos(config.timeout_ns);
        let socket = match address {
            Address::Tcp(to) => TcpStream::connect_timeout(to, limit).map(Socket::Tcp),
            Address::Unix(_) => connect_unix(address, Instant::now() + limit).map(Socket::Unix),
        };
        let mut stream = Self {
            socket: socket.map_err(Problem::Connect)?,
            deadline: Instant::now() + limit,
            tls: config.tls.as_ref().map(|client| Secure::new(client, 1)),
            plain: Vec::new(),
            notified: false,
            parameters: None,
        };
        let mut hello = Vec::new();
        if let Some(tls) = &mut stream.tls {
            tls.start(0, &mut hello).map_err(Problem::Tls)?;
        }
        stream.write_raw(&hello)?;
        while stream.tls.as_ref().is_some_and(|tls| !tls.is_established(0)) {
            stream.limit_reads(stream.left()?).map_err(Problem::Broken)?;
            match stream.unseal_more() {
                Ok(0) => return Err(Problem::Tls(Failure::closed())),
                Err(Problem::Timeout) => return Err(Problem::Tls(Failure::timed_out())),
                Err(Problem::Broken(_)) => return Err(Problem::Tls(Failure::closed())),
                other => other.map(drop)?,
            }
        }
        Ok(stream)
    }

    /// Reads once and unseals it; returns the number of raw bytes, 0 at the end of the stream.
    fn unseal_more(&mut self) -> Result<usize, Problem> {
        let mut buffer = [0; 16 * 1024];
        let got = self.read_raw(&mut buffer).map_err(problem_of)?;
        let mut reply = Vec::new();
        if let Some(tls) = self.tls.as_mut().filter(|_| got > 0) {
            let unsealed = tls.unseal(0, &buffer[..got], &mut self.plain, &mut reply);
            if let Some(handshake) = unsealed.established {
                self.parameters = Some(handshake.parameters);
            }
            match unsealed.end {
                None => {}
                Some(End::Notified) => self.notified = true,
                Some(End::Failed(failure)) => {
                    let _ = self.write_raw(&reply);
                    return Err(Problem::Tls(failure));
                }
            }
        }
        self.write_raw(&reply)?;
        Ok(got)
    }

    /// Tells the server that the connection ends.
    pub(super) fn hang_up(&mut self) {
        let mut last = Vec::new();
        if let Some(tls) = &mut self.tls {
            tls.close(0, true, &mut last);
        }
        // Whether it arrives does not matter.
        let _ = self.write_raw(&last);
    }

    fn limit_reads(&self, limit: Duration) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(stream) => stream.set_read_timeout(Some(limit)),
            Socket::Unix(stream) => stream.set_read_timeout(Some(limit)),
        }
    }

    fn limit_writes(&self, limit: Duration) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(stream) => stream.set_write_timeout(Some(limit)),
            Socket::Unix(stream) => stream.set_write_timeout(Some(limit)),
        }
    }

    /// The time left; an error if there is none.
    fn left(&self) -> Result<Duration, Problem> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(Problem::Timeout) } else { Ok(left) }
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let Some(tls) = &mut self.tls else { return self.write_raw(bytes) };
        let mut sealed = Vec::new();
        tls.seal(0, bytes, &mut sealed);
        self.write_raw(&sealed)
    }

    fn write_raw(&mut self, mut bytes: &[u8]) -> Result<(), Problem> {
        while !bytes.is_empty() {
            self.limit_writes(self.left()?).map_err(Problem::Broken)?;
            let wrote = repeat(|| match &mut self.socket {
                Socket::Tcp(stream) => stream.write(bytes),
                Socket::Unix(stream) => stream.write(bytes),
            });
            bytes = &bytes[wrote.map_err(problem_of)?..];
        }
        Ok(())
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Problem> {
        if self.tls.is_none() {
            self.limit_reads(self.left()?).map_err(Problem::Broken)?;
            return self.read_raw(buffer).map_err(problem_of);
        }
        while self.plain.is_empty() && !self.notified {
            self.limit_reads(self.left()?).map_err(Problem::Broken)?;
            if self.unseal_more()? == 0 {
                return Err(Problem::Tls(Failure::truncated()));
            }
        }
        let count = buffer.len().min(self.plain.len());
        buffer[..count].copy_from_slice(&self.plain[..count]);
        self.plain.drain(..count);
        Ok(count)
    }

    /// Reads the first bytes of a response; an error if there are none, or if they are of TLS.
    pub(super) fn read_first(&mut self, buffer: &mut [u8]) -> Result<usize, Problem> {
        match self.read(buffer) {
            Ok(0) => Err(self.no_response()),
            Ok(got) if self.tls.is_none() && buffer[..got].starts_with(TLS_ALERT) => {
                Err(Problem::SpeaksTls)
            }
            done => done.map_err(|problem| self.before_response(problem)),
        }
    }

    fn no_response(&self) -> Problem {
        match self.tls {
            None => Problem::NoPlainResponse,
            Some(_) => Problem::NoResponse,
        }
    }

    /// A reset before the response means the same as a close.
    pub(super) fn before_response(&self, problem: Problem) -> Problem {
        match problem {
            Problem::Broken(error)
                if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) =>
            {
                self.no_response()
            }
            other => other,
        }
    }

    fn read_raw(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        repeat(|| match &mut self.socket {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        })
    }

    /// True if the server closes within `KEPT_WATCH`.
    pub(super) fn is_closed(&mut self) -> bool {
        if self.limit_reads(KEPT_WATCH).is_err() {
            return false;
        }
        if self.tls.is_none() {
            return matches!(self.read_raw(&mut [0]), Ok(0));
        }
        // Session tickets may come first.
        let until = Instant::now() + KEPT_WATCH;
        while self.plain.is_empty() && !self.notified && Instant::now() < until {
            match self.unseal_more() {
                Ok(0) => return true,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
        self.notified
    }
}

/// Connects to a Unix socket. While its listen queue is full, the kernel has no wait with a limit
/// for a non-blocking socket, so the connect is repeated.
fn connect_unix(address: &Address, deadline: Instant) -> io::Result<UnixStream> {
    let endpoint = Endpoint::new(address).map_err(|error| io::Error::other(error.to_string()))?;
    let socket = sockets::open(&endpoint, None, false).map_err(io::Error::from_raw_os_error)?;
    loop {
        match sockets::connect(socket.as_raw_fd(), &endpoint, false) {
            Ok(_) => break,
            Err(libc::EAGAIN) if signals::received() != 0 => {
                return Err(ErrorKind::Interrupted.into());
            }
            Err(libc::EAGAIN) if Instant::now() < deadline => std::thread::sleep(QUEUE_WATCH),
            Err(libc::EAGAIN) => return Err(ErrorKind::TimedOut.into()),
            Err(error) => return Err(io::Error::from_raw_os_error(error)),
        }
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Repeats a call after EINTR unless the user sent a signal. A call with a time limit also ends
/// with EINTR after a SIGCONT, and when an io_uring has work left.
fn repeat(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted && signals::received() == 0 => {}
            done => return done,
        }
    }
}

fn problem_of(error: io::Error) -> Problem {
    match error.kind() {
        ErrorKind::WouldBlock => Problem::Timeout,
        _ => Problem::Broken(error),
    }
}
