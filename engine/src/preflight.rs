//! One request to each URL before the run; all later responses must equal its response.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::chunked::Chunked;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::expected::Expected;
use crate::head::{Framing, Head, media_type, parse_head};
use crate::preflight_problem::PreflightProblem as Problem;
use crate::request::RequestBook;
use crate::signals;
use crate::target::Address;

/// How long to wait for an unannounced close.
const KEPT_WATCH: Duration = Duration::from_millis(20);
/// Longest body that is stored for comparison.
const MAX_BODY_BYTES: usize = 256 * 1024 * 1024;

/// The result of the preflight.
#[derive(Clone, Debug)]
pub(crate) struct Preflight {
    /// One per URL.
    pub expected: Vec<Expected>,
    /// Of the response of the first URL.
    pub head_bytes: usize,
    pub framing: Framing,
    /// The server closed after a response that did not announce it.
    pub closes_unannounced: bool,
}

/// Sends one request to each URL; the error names the URL and the problem.
pub(crate) fn run(config: &Config) -> Result<Preflight> {
    let book = RequestBook::new(config);
    let mut seen = Preflight {
        expected: Vec::new(),
        head_bytes: 0,
        framing: Framing::None,
        closes_unannounced: false,
    };
    for (url, target) in config.targets.iter().enumerate() {
        let about = |problem| Error::Preflight { url: target.url.clone(), problem };
        let request = book.bytes(book.range(url, 1));
        let mut stream = Stream::connect(&target.address, config).map_err(about)?;
        stream.write_all(request).map_err(|error| about(Problem::Broken(error)))?;
        let answer = Answer::read(&mut stream, config).map_err(about)?;
        seen.expected.push(answer.expected(config).map_err(about)?);
        seen.closes_unannounced |= !answer.closes && stream.is_closed();
        if url == 0 {
            seen.head_bytes = answer.head_bytes;
            seen.framing = answer.framing;
        }
    }
    Ok(seen)
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn connect(address: &Address, config: &Config) -> Result<Self, Problem> {
        let limit = Duration::from_nanos(config.timeout_ns);
        let stream = match address {
            Address::Tcp(address) => TcpStream::connect_timeout(address, limit).map(Self::Tcp),
            Address::Unix(path) => UnixStream::connect(path).map(Self::Unix),
        };
        let stream = stream.map_err(Problem::Connect)?;
        stream.limit_reads(limit).map_err(Problem::Broken)?;
        Ok(stream)
    }

    fn limit_reads(&self, limit: Duration) -> std::io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(limit)),
            Self::Unix(stream) => stream.set_read_timeout(Some(limit)),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes),
        }
    }

    /// Reads, and repeats the read after EINTR unless the user sent a signal. A read with a time
    /// limit also ends with EINTR after a SIGCONT, and when an io_uring has work left.
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let got = match self {
                Self::Tcp(stream) => stream.read(buffer),
                Self::Unix(stream) => stream.read(buffer),
            };
            match got {
                Err(error)
                    if error.kind() == ErrorKind::Interrupted && signals::received() == 0 => {}
                got => return got,
            }
        }
    }

    /// True if the server closes within `KEPT_WATCH`.
    fn is_closed(&mut self) -> bool {
        self.limit_reads(KEPT_WATCH).is_ok() && matches!(self.read(&mut [0]), Ok(0))
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
    fn read(stream: &mut Stream, config: &Config) -> Result<Self, Problem> {
        let deadline = Instant::now() + Duration::from_nanos(config.timeout_ns);
        let mut input = Input { bytes: Vec::new(), deadline };
        let to_head = config.method == "HEAD";
        loop {
            let parsed = parse_head(&input.bytes, to_head).map_err(Problem::Malformed)?;
            let Some(head) = parsed else {
                input.more(stream)?;
                continue;
            };
            let (status, framing, closes) = (head.status, head.framing, head.closes);
            let (head_bytes, media_type) = (head.bytes, head.media_type.to_vec());
            if is_interim(&head) {
                input.bytes.drain(..head_bytes);
                continue;
            }
            input.bytes.drain(..head_bytes);
            let body = input.body(stream, framing)?;
            return Ok(Self { status, media_type, body, head_bytes, framing, closes });
        }
    }

    /// The expected response that follows from this one and the options.
    fn expected(&self, config: &Config) -> Result<Expected, Problem> {
        let expect = &config.expect;
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
            to_head_request: config.method == "HEAD",
        })
    }
}

fn is_interim(head: &Head) -> bool {
    head.status < 200 && head.status != 101
}

/// Bytes that were read but not parsed.
struct Input {
    bytes: Vec<u8>,
    deadline: Instant,
}

impl Input {
    /// Reads more bytes; an error at the end of the stream.
    fn more(&mut self, stream: &mut Stream) -> Result<(), Problem> {
        let mut buffer = [0; 16 * 1024];
        if Instant::now() >= self.deadline {
            return Err(Problem::Timeout);
        }
        match stream.read(&mut buffer) {
            Ok(0) if self.bytes.is_empty() => Err(Problem::NoResponse),
            Ok(0) => Err(Problem::Truncated),
            Ok(got) => {
                self.bytes.extend_from_slice(&buffer[..got]);
                match self.bytes.len() > MAX_BODY_BYTES {
                    true => Err(Problem::TooLong(MAX_BODY_BYTES)),
                    false => Ok(()),
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(Problem::Timeout),
            Err(error) => Err(Problem::Broken(error)),
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
                    match stream.read(&mut buffer).map_err(Problem::Broken)? {
                        0 => return Ok(std::mem::take(&mut self.bytes)),
                        got => self.bytes.extend_from_slice(&buffer[..got]),
                    }
                    if self.bytes.len() > MAX_BODY_BYTES {
                        return Err(Problem::TooLong(MAX_BODY_BYTES));
                    }
                    if Instant::now() >= self.deadline {
                        return Err(Problem::Timeout);
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
