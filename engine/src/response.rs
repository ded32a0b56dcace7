//! The response parser; it accepts a response in any pieces.

use crate::chunked::Chunked;
use crate::classes::MalformedKind;
use crate::expected::{Comparison, Expected};
use crate::head::{Framing, Head, MAX_HEAD_BYTES, parse_head};

/// One complete response, compared with the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub status: u16,
    pub closes: bool,
    pub comparison: Comparison,
}

/// The result of feeding bytes; `used` counts those of this response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
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

/// Parser of the responses of one connection.
#[derive(Debug)]
pub(crate) struct Parser {
    state: State,
    /// The bytes of an incomplete head.
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
    /// True before the first byte of a response.
    pub(crate) fn is_fresh(&self) -> bool {
        matches!(self.state, State::Head) && self.head.is_empty()
    }

    pub(crate) fn is_in_body(&self) -> bool {
        !matches!(self.state, State::Head)
    }

    /// Resets the parser for a new connection.
    pub(crate) fn reset(&mut self) {
        self.state = State::Head;
        self.head.clear();
    }

    /// Parses `input`, which may be less or more than one response.
    pub(crate) fn feed(&mut self, input: &[u8], expected: &Expected) -> Progress {
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

    /// The end of the stream; it completes a body that lasts until the close.
    pub(crate) fn end_of_stream(&mut self, expected: &Expected) -> Option<Answer> {
        matches!(self.state, State::UntilClose).then(|| self.finish(expected))
    }

    /// Parses one head, skipping interim responses; the number of bytes of `input` used.
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

    /// Skips an interim response, or prepares for the body of a final one.
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
