//! The general response parser: any split of the bytes, no syscall, nothing remembered but state.

use std::mem::MaybeUninit;

use crate::chunked::Chunked;
use crate::classes::MalformedKind;
use crate::expected::{Comparison, Expected};

/// A head longer than this is malformed.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// A head with more header lines than this is malformed.
pub const MAX_HEADERS: usize = 256;

/// How the end of a body is found (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

impl Framing {
    /// As the outputs name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Length(_) => "length",
            Self::Chunked => "chunked",
            Self::UntilClose => "until_close",
        }
    }
}

/// What a response head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'b> {
    pub status: u16,
    pub framing: Framing,
    /// The connection ends with this response.
    pub closes: bool,
    /// Media type without its parameters; empty when absent.
    pub media_type: &'b [u8],
    pub bytes: usize,
}

/// One whole response, compared with what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub closes: bool,
    pub comparison: Comparison,
}

/// What feeding bytes led to; `used` counts the bytes that belong to this response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    More,
    Done { answer: Answer, used: usize },
    Malformed(MalformedKind),
}

#[derive(Clone, Copy, Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
}

/// Parser of one response after another on one connection.
#[derive(Debug)]
pub struct Parser {
    state: State,
    /// Bytes of a head that came in pieces.
    head: Vec<u8>,
    status: u16,
    closes: bool,
    comparison: Comparison,
    body_bytes: u64,
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            state: State::Head,
            head: Vec::new(),
            status: 0,
            closes: false,
            comparison: Comparison::Same,
            body_bytes: 0,
        }
    }
}

impl Parser {
    /// True when no byte of a response is held.
    pub fn is_fresh(&self) -> bool {
        matches!(self.state, State::Head) && self.head.is_empty()
    }

    pub fn is_in_body(&self) -> bool {
        !matches!(self.state, State::Head)
    }

    /// Forgets everything, for a new connection.
    pub fn reset(&mut self) {
        self.state = State::Head;
        self.head.clear();
    }

    /// Takes `input`, which may hold less or more than one response.
    pub fn feed(&mut self, input: &[u8], expected: &Expected) -> Progress {
        let mut at = 0;
        while matches!(self.state, State::Head) {
            match self.feed_head(&input[at..], expected) {
                Ok(Some(used)) => at += used,
                Ok(None) => return Progress::More,
                Err(kind) => return Progress::Malformed(kind),
            }
        }
        self.feed_body(input, at, expected)
    }

    /// The connection ended: the whole answer where the body lasts until then.
    pub fn end_of_stream(&mut self, expected: &Expected) -> Option<Answer> {
        matches!(self.state, State::UntilClose).then(|| self.finish(expected))
    }

    /// Takes one head, skipping interim ones; returns the bytes of `input` it used.
    fn feed_head(
        &mut self,
        input: &[u8],
        expected: &Expected,
    ) -> Result<Option<usize>, MalformedKind> {
        if self.head.is_empty() {
            let Some(head) = parse_head(input, expected.to_head_request)? else {
                self.head.extend_from_slice(input);
                return Ok(None);
            };
            self.begin_body(&head, expected);
            return Ok(Some(head.bytes));
        }
        let held = self.head.len();
        let mut pieces = std::mem::take(&mut self.head);
        pieces.extend_from_slice(&input[..input.len().min(MAX_HEAD_BYTES - held)]);
        let used = parse_head(&pieces, expected.to_head_request)?.map(|head| {
            self.begin_body(&head, expected);
            head.bytes - held
        });
        if used.is_some() {
            pieces.clear();
        }
        self.head = pieces;
        Ok(used)
    }

    /// Leaves interim responses behind, and prepares for the body of a final one.
    fn begin_body(&mut self, head: &Head, expected: &Expected) {
        if head.status < 200 && head.status != 101 {
            return;
        }
        self.status = head.status;
        self.closes = head.closes;
        self.comparison = expected.compare_head(head);
        self.body_bytes = 0;
        self.state = match head.framing {
            Framing::None => State::Length(0),
            Framing::Length(bytes) => State::Length(bytes),
            Framing::Chunked => State::Chunked(Chunked::default()),
            Framing::UntilClose => State::UntilClose,
        };
    }

    fn feed_body(&mut self, input: &[u8], mut at: usize, expected: &Expected) -> Progress {
        match self.state {
            State::Head => unreachable!("a head is taken before its body"),
            State::Length(left) => {
                let take = left.min((input.len() - at) as u64) as usize;
                self.take_body(&input[at..at + take], expected);
                if (take as u64) < left {
                    self.state = State::Length(left - take as u64);
                    return Progress::More;
                }
                at += take;
            }
            State::UntilClose => {
                self.take_body(&input[at..], expected);
                return Progress::More;
            }
            State::Chunked(mut chunked) => {
                let fed = chunked.feed(&input[at..], |data| self.take_body(data, expected));
                match fed {
                    Err(kind) => return Progress::Malformed(kind),
                    Ok(None) => {
                        self.state = State::Chunked(chunked);
                        return Progress::More;
                    }
                    Ok(Some(used)) => at += used,
                }
            }
        }
        Progress::Done { answer: self.finish(expected), used: at }
    }

    fn take_body(&mut self, data: &[u8], expected: &Expected) {
        let seen = expected.compare_body(self.body_bytes, data);
        self.comparison = self.comparison.or(seen);
        self.body_bytes += data.len() as u64;
    }

    fn finish(&mut self, expected: &Expected) -> Answer {
        self.state = State::Head;
        let length = expected.compare_length(self.body_bytes);
        let comparison = self.comparison.or(length);
        Answer { status: self.status, closes: self.closes, comparison }
    }
}

/// Parses a head from the start of `input`: `None` when it is not all there yet.
pub fn parse_head(input: &[u8], to_head_request: bool) -> Result<Option<Head<'_>>, MalformedKind> {
    let input = &input[..input.len().min(MAX_HEAD_BYTES)];
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    let parsed = config.parse_response_with_uninit_headers(&mut response, input, &mut headers);
    let bytes = match parsed {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) if input.len() == MAX_HEAD_BYTES => {
            return Err(MalformedKind::HeadTooLong);
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(kind_of(error)),
    };
    let status = response.code.unwrap_or(0);
    if !(100..1000).contains(&status) {
        return Err(MalformedKind::StatusLine);
    }
    let fields = Fields::read(response.headers)?;
    let old = response.version == Some(0);
    let framing = fields.framing(status, old, to_head_request)?;
    let closes = framing == Framing::UntilClose
        || fields.close
        || (old && !fields.keep_alive)
        || status == 101;
    Ok(Some(Head { status, framing, closes, media_type: fields.media_type, bytes }))
}

fn kind_of(error: httparse::Error) -> MalformedKind {
    match error {
        httparse::Error::HeaderName => MalformedKind::HeaderName,
        httparse::Error::HeaderValue => MalformedKind::HeaderValue,
        httparse::Error::NewLine => MalformedKind::LineEnd,
        httparse::Error::TooManyHeaders => MalformedKind::TooManyHeaders,
        _ => MalformedKind::StatusLine,
    }
}

/// The header fields that decide the framing and the comparison.
#[derive(Default)]
struct Fields<'b> {
    length: Option<u64>,
    encoding: Option<Encoding>,
    close: bool,
    keep_alive: bool,
    media_type: &'b [u8],
}

#[derive(PartialEq)]
enum Encoding {
    Chunked,
    Other,
}

impl<'b> Fields<'b> {
    fn read(headers: &[httparse::Header<'b>]) -> Result<Self, MalformedKind> {
        let mut fields = Self::default();
        for header in headers {
            if header.name.eq_ignore_ascii_case("content-length") {
                fields.add_length(header.value)?;
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                fields.add_encoding(header.value)?;
            } else if header.name.eq_ignore_ascii_case("connection") {
                fields.close |= has_token(header.value, b"close");
                fields.keep_alive |= has_token(header.value, b"keep-alive");
            } else if header.name.eq_ignore_ascii_case("content-type") {
                fields.media_type = media_type(header.value);
            }
        }
        Ok(fields)
    }

    /// Equal values may be repeated, in one line or several (RFC 9110, section 8.6).
    fn add_length(&mut self, value: &[u8]) -> Result<(), MalformedKind> {
        for part in value.split(|&byte| byte == b',') {
            let digits = part.trim_ascii();
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                return Err(MalformedKind::BadLength);
            }
            let text = std::str::from_utf8(digits).map_err(|_| MalformedKind::BadLength)?;
            let length = text.parse().map_err(|_| MalformedKind::BadLength)?;
            if self.length.replace(length).is_some_and(|other| other != length) {
                return Err(MalformedKind::LengthConflict);
            }
        }
        Ok(())
    }

    fn add_encoding(&mut self, value: &[u8]) -> Result<(), MalformedKind> {
        for part in value.split(|&byte| byte == b',') {
            if self.encoding == Some(Encoding::Chunked) {
                return Err(MalformedKind::BadEncoding);
            }
            self.encoding = Some(match part.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                true => Encoding::Chunked,
                false => Encoding::Other,
            });
        }
        Ok(())
    }

    fn framing(
        &self,
        status: u16,
        old: bool,
        to_head_request: bool,
    ) -> Result<Framing, MalformedKind> {
        if self.encoding.is_some() && self.length.is_some() {
            return Err(MalformedKind::LengthAndEncoding);
        }
        if self.encoding.is_some() && old {
            return Err(MalformedKind::BadEncoding);
        }
        if to_head_request || status < 200 || status == 204 || status == 304 {
            return Ok(Framing::None);
        }
        Ok(match (&self.encoding, self.length) {
            (Some(Encoding::Chunked), _) => Framing::Chunked,
            (Some(Encoding::Other), _) => Framing::UntilClose,
            (None, Some(length)) => Framing::Length(length),
            (None, None) => Framing::UntilClose,
        })
    }
}

fn has_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|&byte| byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

/// The media type of a Content-Type value, without its parameters.
pub fn media_type(value: &[u8]) -> &[u8] {
    value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii()
}
