//! One complete response of the preflight, over HTTP/1.1 or HTTP/2, and what it must be.

use super::stream::Stream;
use crate::chunked::Chunked;
use crate::classes::MalformedKind;
use crate::config::Expect;
use crate::connection::Flight;
use crate::expected::Expected;
use crate::h2;
use crate::head::{Framing, Head, media_type, parse_head};
use crate::preflight_problem::PreflightProblem as Problem;
use crate::workload::Equivalent;

/// What servers say of plain HTTP on a port of TLS, in the body or the status line.
const HTTPS: &[u8] = b"HTTPS";
/// Longest body that is stored for comparison.
const MAX_BODY_BYTES: usize = 256 * 1024 * 1024;

/// One complete response.
pub(super) struct Answer {
    status: u16,
    media_type: Vec<u8>,
    pub body: Vec<u8>,
    pub head_bytes: usize,
    pub framing: Framing,
    pub closes: bool,
}

impl Answer {
    pub(super) fn read(stream: &mut Stream, to_head: bool) -> Result<Self, Problem> {
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
    pub(super) fn expected(
        &self,
        expect: &Expect,
        to_head_request: bool,
    ) -> Result<Expected, Problem> {
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

    /// True if it is what servers answer to plain HTTP on a port of HTTPS.
    pub(super) fn wants_tls(&self) -> bool {
        self.status == 400 && names_https(&self.body)
    }

    pub(super) fn require(&self, equivalent: &Equivalent) -> Result<(), Problem> {
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
pub(super) fn http2_answer(
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
