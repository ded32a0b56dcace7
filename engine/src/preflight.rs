//! One request to each URL before the run, or one of each template of a workload; all later
//! responses must equal its response, or the one that the workload expects. If a server may choose
//! the spelling of its answers, each request is sent once and its response is the expected one.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::chunked::Chunked;
use crate::classes::MalformedKind;
use crate::config::{Config, Expect};
use crate::connection::Flight;
use crate::error::{Error, Result};
use crate::expected::Expected;
use crate::h2;
use crate::head::{Framing, Head, media_type, parse_head};
use crate::preflight_problem::PreflightProblem as Problem;
use crate::request::RequestBook;
use crate::signals;
use crate::sockets::{self, Endpoint};
use crate::target::Address;
use crate::tls::secure::{End, Secure};
use crate::tls_failure::Failure;
use crate::workload::Equivalent;

/// How long to wait for an unannounced close.
const KEPT_WATCH: Duration = Duration::from_millis(20);
/// How often to look for room in the listen queue of a Unix socket.
const QUEUE_WATCH: Duration = Duration::from_millis(5);
/// How a TLS record with an alert begins.
const TLS_ALERT: &[u8] = &[21, 3];
/// What servers say of plain HTTP on a port of TLS, in the body or the status line.
const HTTPS: &[u8] = b"HTTPS";
/// Longest body that is stored for comparison.
const MAX_BODY_BYTES: usize = 256 * 1024 * 1024;

/// The result of the preflight.
#[derive(Clone, Debug)]
pub(crate) struct Preflight {
    /// One per URL.
    pub expected: Vec<Expected>,
    /// Of the response of the first URL.
    pub head_bytes: usize,
    pub framing: &'static str,
    /// The server closed after a response that did not announce it.
    pub closes_unannounced: bool,
    /// HTTP/2: the concurrent requests that the server allows, if it has said so.
    pub allowed_streams: Option<u32>,
    /// Version, cipher suite and key exchange of TLS.
    pub tls: Option<String>,
}

/// Sends one request to each URL, or one of each template; the error names the URL and the problem.
pub(crate) fn run(config: &Config) -> Result<Preflight> {
    let book = RequestBook::new(config);
    let mut seen = Preflight {
        expected: Vec::new(),
        head_bytes: 0,
        framing: Framing::None.name(),
        closes_unannounced: false,
        allowed_streams: None,
        tls: None,
    };
    let http2 = config.http2.then(|| h2::Book::new(config));
    let mut spelled = HashMap::new();
    for url in config.preflights() {
        let target = config.targets.get(url).unwrap_or(&config.targets[0]);
        let about = |problem| Error::Preflight { url: url_of(config, url), problem };
        let mut stream = Stream::connect(&target.address, config).map_err(about)?;
        let to_head = config.exchange(url).method == "HEAD";
        let answer = match &http2 {
            Some(book) => {
                let (answer, allowed) =
                    http2_answer(&mut stream, book, url, to_head).map_err(about)?;
                seen.allowed_streams = allowed;
                if allowed.is_some_and(|allowed| (allowed as usize) < config.streams) {
                    let (allowed, asked) = (allowed.unwrap_or(0), config.streams);
                    return Err(about(Problem::TooFewStreams { allowed, asked }));
                }
                answer
            }
            None => {
                let sent = stream.write_all(book.bytes(book.range(url, 1)));
                sent.map_err(|problem| about(stream.before_response(problem)))?;
                Answer::read(&mut stream, to_head).map_err(about)?
            }
        };
        if config.tls.is_none() && answer.wants_tls() {
            return Err(about(Problem::SpeaksTls));
        }
        let expected = answer.expected(&expect_of(config, url), to_head).map_err(about)?;
        if let Some(equivalent) = equivalent_of(config, url) {
            answer.require(equivalent).map_err(about)?;
            spelled.insert(url, answer.body.clone());
        }
        if url >= config.templates() {
            continue;
        }
        seen.expected.push(expected);
        seen.closes_unannounced |= http2.is_none() && !answer.closes && stream.is_closed();
        stream.hang_up();
        if url == 0 {
            seen.head_bytes = answer.head_bytes;
            seen.framing = if config.http2 { "frames" } else { answer.framing.name() };
            seen.tls = stream.parameters.take();
        }
    }
    if let Some(workload) = &config.workload {
        let templates = std::mem::take(&mut seen.expected);
        let drawn = workload.requests.iter().enumerate().map(|(number, drawn)| {
            let mut expected = templates[drawn.template].clone();
            if !workload.templates[drawn.template].is_learned {
                expected.body = spelled.remove(&number).or_else(|| drawn.expected_body.clone());
            }
            expected
        });
        seen.expected = drawn.collect();
    }
    Ok(seen)
}

/// The URL of a request, for errors.
fn url_of(config: &Config, number: usize) -> String {
    match &config.workload {
        None => config.targets[number].url.clone(),
        Some(_) => {
            let exchange = config.exchange(number);
            let base = config.targets[0].url.trim_end_matches('/');
            format!("{} {base}{}", exchange.method, exchange.path)
        }
    }
}

/// What the response to one of the first requests must be.
fn expect_of(config: &Config, number: usize) -> Expect {
    let Some(workload) = &config.workload else { return config.expect.clone() };
    let drawn = &workload.requests[number];
    let template = &workload.templates[drawn.template];
    Expect {
        status: Some(template.status),
        media_type: template.media_type.clone(),
        body: drawn.expected_body.clone(),
        any_body: drawn.expected_body.is_none() && !template.is_learned,
    }
}

/// What the body of the response to a request must be up to its spelling.
fn equivalent_of(config: &Config, number: usize) -> Option<&Equivalent> {
    config.workload.as_ref()?.requests[number].equivalent.as_ref()
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connection for one request. All that waits for the server ends at the deadline.
struct Stream {
    socket: Socket,
    deadline: Instant,
    tls: Option<Secure>,
    /// What TLS has unsealed, and is not read yet.
    plain: Vec<u8>,
    /// The server has ended TLS.
    notified: bool,
    parameters: Option<String>,
}

impl Stream {
    fn connect(address: &Address, config: &Config) -> Result<Self, Problem> {
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
    fn hang_up(&mut self) {
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

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Problem> {
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

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Problem> {
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
    fn read_first(&mut self, buffer: &mut [u8]) -> Result<usize, Problem> {
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
    fn before_response(&self, problem: Problem) -> Problem {
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
    fn is_closed(&mut self) -> bool {
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

/// One complete response.
struct Answer {
    status: u16,
    media_type: Vec<u8>,
    body: Vec<u8>,
    head_bytes: usize,
    framing: Framing,
    closes: bool,
}

impl Answer {
    fn read(stream: &mut Stream, to_head: bool) -> Result<Self, Problem> {
        let mut input = Input { bytes: Vec::new() };
        loop {
            let parsed = parse_head(&input.bytes, to_head).map_err(Problem::Malformed)?;
            let Some(head) = parsed else {
                input.more(stream)?;
                continue;
            };
            let (status, framing, closes) = (head.status, head.framing, head.closes);
            let (head_bytes, media_type) = (head.bytes, head.media_type.to_vec());
            let is_interim = is_interim(&head);
            input.bytes.drain(..head_bytes);
            if is_interim {
                continue;
            }
            let body = input.body(stream, framing)?;
            return Ok(Self { status, media_type, body, head_bytes, framing, closes });
        }
    }

    /// The expected response that follows from this one and the options.
    fn expected(&self, expect: &Expect, to_head_request: bool) -> Result<Expected, Problem> {
        let accepts = |status: u16| match expect.status {
            Some(asked) => status == asked,
            None => (200..400).contains(&status),
        };
        if !accepts(self.status) {
            let wanted = expect.status.map_or("2xx or 3xx".to_owned(), |status| status.to_string());
            return Err(Problem::Status { status: self.status, wanted });
        }
        if let Some(asked) = &expect.media_type
            && !media_type(asked.as_bytes()).eq_ignore_ascii_case(&self.media_type)
        {
            let media_type = String::from_utf8_lossy(&self.media_type).into_owned();
            return Err(Problem::MediaType { media_type, wanted: asked.clone() });
        }
        if let Some(asked) = &expect.body
            && *asked != self.body
        {
            return Err(Problem::Body { bytes: self.body.len(), wanted: asked.len() });
        }
        Ok(Expected {
            status: self.status,
            media_type: Some(self.media_type.clone()),
            body: (!expect.any_body).then(|| self.body.clone()),
            to_head_request,
        })
    }
}

impl Answer {
    /// True if it is what servers answer to plain HTTP on a port of HTTPS.
    fn wants_tls(&self) -> bool {
        self.status == 400 && names_https(&self.body)
    }

    fn require(&self, equivalent: &Equivalent) -> Result<(), Problem> {
        match equivalent.missed_by(&self.body) {
            None => Ok(()),
            Some(wanted) => Err(Problem::NotEquivalent { bytes: self.body.len(), wanted }),
        }
    }
}

fn names_https(text: &[u8]) -> bool {
    text.windows(HTTPS.len()).any(|part| part == HTTPS)
}

/// Sends a request in HTTP/2 on a new connection; returns its response, and how many concurrent
/// requests the server allows.
fn http2_answer(
    stream: &mut Stream,
    book: &h2::Book,
    url: usize,
    to_head_request: bool,
) -> Result<(Answer, Option<u32>), Problem> {
    let mut client = h2::Client::new(1);
    client.captured = Some(h2::Captured::default());
    client.open();
    let (begun_ns, sent_ns, intended_ns) = (1, 1, 0);
    let flight = Flight { begun_ns, sent_ns, intended_ns, url: url as u32, measured: false };
    client.assign(flight);
    client.send_next(book, sent_ns);
    // Anything is right.
    let anything = Expected { status: 0, media_type: None, body: None, to_head_request };
    let expected = vec![anything; url + 1];
    let (mut output, mut buffer) = (Vec::new(), [0; 16 * 1024]);
    let mut is_silent = true;
    loop {
        client.write_output(book, &mut output);
        if !output.is_empty() {
            stream.write_all(&output).map_err(|problem| match is_silent {
                true => stream.before_response(problem),
                false => problem,
            })?;
            output.clear();
            continue;
        }
        let got = match is_silent {
            true => stream.read_first(&mut buffer)?,
            false => stream.read(&mut buffer)?,
        };
        let mut rest = match got {
            0 => return Err(Problem::Truncated),
            got => &buffer[..got],
        };
        is_silent = false;
        while !rest.is_empty() {
            let (used, event) = client.take(rest, &expected, 1);
            rest = &rest[used..];
            match event {
                h2::Event::More => {}
                h2::Event::Answered { .. } => {
                    let captured = client.captured.take().unwrap_or_default();
                    let answer = Answer {
                        status: captured.status,
                        media_type: captured.media_type,
                        body: captured.body,
                        head_bytes: captured.head_bytes,
                        framing: Framing::None,
                        closes: false,
                    };
                    return Ok((answer, client.allowed_streams()));
                }
                h2::Event::Malformed { kind, .. } | h2::Event::Broken { kind, .. } => {
                    return Err(match kind {
                        MalformedKind::H2Http1 if names_https(&buffer[..got]) => Problem::SpeaksTls,
                        MalformedKind::H2Http1 => Problem::NotHttp2,
                        kind => Problem::Malformed(kind),
                    });
                }
                h2::Event::Refused => _ = client.send_next(book, sent_ns),
                h2::Event::Reset { code, .. } => return Err(Problem::Reset(h2::code_name(code))),
                h2::Event::Goaway { code, .. } if client.is_drained() => {
                    return Err(Problem::Goaway(h2::code_name(code)));
                }
                h2::Event::Goaway { .. } => {}
            }
        }
        if client.captured.as_ref().is_some_and(|captured| captured.body.len() > MAX_BODY_BYTES) {
            return Err(Problem::TooLong(MAX_BODY_BYTES));
        }
    }
}

fn is_interim(head: &Head) -> bool {
    head.status < 200 && head.status != 101
}

/// Bytes that were read but not parsed.
struct Input {
    bytes: Vec<u8>,
}

impl Input {
    /// Reads more bytes; an error at the end of the stream.
    fn more(&mut self, stream: &mut Stream) -> Result<(), Problem> {
        let mut buffer = [0; 16 * 1024];
        let got = match self.bytes.is_empty() {
            true => stream.read_first(&mut buffer)?,
            false => stream.read(&mut buffer)?,
        };
        match got {
            0 => Err(Problem::Truncated),
            got => {
                self.bytes.extend_from_slice(&buffer[..got]);
                match self.bytes.len() > MAX_BODY_BYTES {
                    true => Err(Problem::TooLong(MAX_BODY_BYTES)),
                    false => Ok(()),
                }
            }
        }
    }

    fn body(&mut self, stream: &mut Stream, framing: Framing) -> Result<Vec<u8>, Problem> {
        match framing {
            Framing::None => Ok(Vec::new()),
            Framing::Length(length) => {
                let length =
                    usize::try_from(length).map_err(|_| Problem::TooLong(MAX_BODY_BYTES))?;
                while self.bytes.len() < length {
                    self.more(stream)?;
                }
                Ok(self.bytes[..length].to_vec())
            }
            Framing::Chunked => self.chunked_body(stream),
            Framing::UntilClose => {
                let mut buffer = [0; 16 * 1024];
                loop {
                    match stream.read(&mut buffer)? {
                        0 => return Ok(std::mem::take(&mut self.bytes)),
                        got => self.bytes.extend_from_slice(&buffer[..got]),
                    }
                    if self.bytes.len() > MAX_BODY_BYTES {
                        return Err(Problem::TooLong(MAX_BODY_BYTES));
                    }
                }
            }
        }
    }

    fn chunked_body(&mut self, stream: &mut Stream) -> Result<Vec<u8>, Problem> {
        let mut chunked = Chunked::default();
        let mut body = Vec::new();
        let mut taken = 0;
        loop {
            let fed = chunked.feed(&self.bytes[taken..], |data| body.extend_from_slice(data));
            taken = self.bytes.len();
            match fed {
                Ok(Some(_)) => return Ok(body),
                Ok(None) => self.more(stream)?,
                Err(kind) => return Err(Problem::Malformed(kind)),
            }
        }
    }
}
