//! Compares the parser, in any pieces, with a reference parser. The tests and the fuzzer use it.

mod chunks;
mod framing;
mod head;
mod http2;
mod huffman_codes;
mod reader;
mod reference;
mod seen;

use crate::connection::{Connection, Flight};
use crate::expected::Expected;
use crate::response::{Answer, Parser, Progress};
use crate::template::Template;

pub use self::http2::Http2Case;
use self::seen::{Rest, Seen};

/// The bytes of a server, their pieces, and the expected response.
#[derive(Debug)]
pub struct Case {
    pub(crate) expected: Expected,
    /// Sizes of the pieces, repeated.
    pub pieces: Vec<usize>,
    pub stream: Vec<u8>,
}

/// Feeds one piece of a response.
type Feed<'f> = dyn FnMut(&[u8]) -> Progress + 'f;

impl Case {
    /// Decodes a case from a fuzzer's bytes: flags, number of piece sizes, the sizes, the stream.
    /// In a doubled stream one byte near the end may differ, which the fast path must notice.
    pub fn decode(data: &[u8]) -> Self {
        let (&flags, data) = data.split_first().unwrap_or((&0, &[]));
        let (&count, data) = data.split_first().unwrap_or((&0, &[]));
        let (sizes, stream) = data.split_at(data.len().min(usize::from(count % 8)));
        let has = |bit: u8| flags & bit != 0;
        let mut stream = if has(8) { stream.repeat(2) } else { stream.to_vec() };
        let from_end = usize::from(count / 8);
        if has(8) && (1..=stream.len() / 2).contains(&from_end) {
            let at = stream.len() - from_end;
            stream[at] ^= 1;
        }
        Self {
            expected: Expected {
                status: 200,
                media_type: has(4).then(|| b"text/plain".to_vec()),
                body: has(2).then(|| b"Hello, World!".to_vec()),
                to_head_request: has(1),
            },
            pieces: sizes.iter().map(|size| usize::from(*size).max(1)).collect(),
            stream,
        }
    }

    /// Panics if the parser, with or without its fast path, in one piece or in several, disagrees
    /// with the reference.
    pub fn check(&self) {
        let wanted = reference::read(&self.stream, &self.expected);
        for pieces in [&[], &self.pieces[..]] {
            assert_eq!(self.parsed(pieces), wanted, "parser, pieces of {pieces:?}: {self:?}");
            assert_eq!(
                self.connected(pieces),
                wanted,
                "connection, pieces of {pieces:?}: {self:?}"
            );
        }
    }

    /// The result of the parser.
    fn parsed(&self, pieces: &[usize]) -> Seen {
        let mut parser = Parser::default();
        let (answers, malformed) =
            self.feed(pieces, &mut |piece| parser.feed(piece, &self.expected));
        let in_body = parser.is_in_body();
        Seen::new(answers, malformed, in_body, || parser.end_of_stream(&self.expected))
    }

    /// The result of a connection, which has the fast path.
    fn connected(&self, pieces: &[usize]) -> Seen {
        let mut template = Template::new(false);
        let mut connection = Connection::new(0);
        let (begun_ns, sent_ns, intended_ns) = (1, 1, 0);
        connection.push(Flight { begun_ns, sent_ns, intended_ns, url: 0, measured: true });
        let (answers, malformed) =
            self.feed(pieces, &mut |piece| connection.take(piece, &self.expected, &mut template));
        let in_body = connection.is_in_body();
        Seen::new(answers, malformed, in_body, || connection.end_of_stream(&self.expected))
    }

    /// Feeds the stream; returns the responses with their ends, and the error that stopped it.
    fn feed(&self, pieces: &[usize], feed: &mut Feed) -> (Vec<(Answer, usize)>, Option<Rest>) {
        let mut answers = Vec::new();
        let mut sizes = pieces.iter().copied().cycle();
        let mut at = 0;
        while at < self.stream.len() {
            let size = sizes.next().unwrap_or(usize::MAX);
            let end = at.saturating_add(size).min(self.stream.len());
            while at < end {
                match feed(&self.stream[at..end]) {
                    Progress::More => at = end,
                    Progress::Malformed(kind) => return (answers, Some(Rest::Malformed(kind))),
                    Progress::Done { answer, used } => {
                        at += used;
                        assert!(used > 0 && at <= end, "{used} bytes used: {self:?}");
                        answers.push((answer, at));
                    }
                }
            }
        }
        (answers, None)
    }
}
