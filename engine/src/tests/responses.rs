//! The table of responses that the parser and the reader in Python (`measure/response.py`) agree on.

use serde::Deserialize;

use crate::expected::{Comparison, Expected};
use crate::response::{Answer, Parser, Progress};

#[derive(Deserialize)]
struct Case {
    name: String,
    bytes: Text,
    #[serde(default)]
    to_head_request: bool,
    responses: Vec<Response>,
    rest: String,
    at_close: Option<Response>,
}

/// Characters stand for bytes; a pair is a text and how often it is repeated.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Repeated(String, usize),
    Parts(Vec<Text>),
}

#[derive(Deserialize)]
struct Response {
    status: u16,
    body: String,
}

impl Text {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Plain(text) => text.chars().map(|char| u8::try_from(char).unwrap()).collect(),
            Self::Repeated(text, count) => Self::Plain(text.clone()).bytes().repeat(*count),
            Self::Parts(parts) => parts.iter().flat_map(Self::bytes).collect(),
        }
    }
}

impl Case {
    /// The expected response with this number; its body is compared byte by byte.
    fn expected(&self, number: usize) -> Expected {
        let response = self.responses.iter().chain(&self.at_close).nth(number);
        Expected {
            status: response.map_or(200, |response| response.status),
            media_type: None,
            body: response.map(|response| response.body.clone().into_bytes()),
            to_head_request: self.to_head_request,
        }
    }

    fn check(&self, answer: Answer, number: usize) {
        let status = self.expected(number).status;
        let seen = (answer.status, answer.comparison);
        assert_eq!(seen, (status, Comparison::Same), "response {number}: {}", self.name);
    }

    /// Reads the bytes in pieces of this size.
    fn read(&self, size: usize) {
        let stream = self.bytes.bytes();
        let mut parser = Parser::default();
        let (mut count, mut at, mut end_of_last) = (0, 0, 0);
        let mut rest = None;
        while at < stream.len() && rest.is_none() {
            let piece = &stream[at..(at + size).min(stream.len())];
            match parser.feed(piece, &self.expected(count)) {
                Progress::More => at += piece.len(),
                Progress::Malformed(kind) => rest = Some(kind.name()),
                Progress::Done { answer, used } => {
                    self.check(answer, count);
                    at += used;
                    (count, end_of_last) = (count + 1, at);
                }
            }
        }
        assert_eq!(count, self.responses.len(), "{}", self.name);
        let unfinished = match (end_of_last == stream.len(), parser.is_in_body()) {
            (_, true) => "body",
            (true, false) => "nothing",
            (false, false) => "head",
        };
        assert_eq!(rest.unwrap_or(unfinished), self.rest, "{}", self.name);
        let last = parser.end_of_stream(&self.expected(count));
        assert_eq!(last.is_some(), self.at_close.is_some(), "at the close: {}", self.name);
        last.into_iter().for_each(|answer| self.check(answer, count));
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn reads_what_the_reader_in_python_reads() {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("../../tests/responses.json")).unwrap();
    assert!(!cases.is_empty());
    for case in &cases {
        for size in [1, 2, 3, 7, 1_000, usize::MAX / 2] {
            case.read(size);
        }
    }
}
