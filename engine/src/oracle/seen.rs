//! What a stream contains, for the parser and the reference alike.

use crate::classes::MalformedKind;
use crate::response::Answer;

/// The content of a stream: complete responses with the offsets of their ends, and the rest.
#[derive(Debug, PartialEq)]
pub(super) struct Seen {
    pub answers: Vec<(Answer, usize)>,
    pub rest: Rest,
}

#[derive(Debug, PartialEq)]
pub(super) enum Rest {
    /// Nothing, or an incomplete head.
    Head,
    /// An incomplete body, and the response that the end of the stream completes.
    Body(Option<Answer>),
    Malformed(MalformedKind),
}

impl Seen {
    pub(super) fn new(
        answers: Vec<(Answer, usize)>,
        malformed: Option<Rest>,
        in_body: bool,
        at_end: impl FnOnce() -> Option<Answer>,
    ) -> Self {
        let rest = malformed.unwrap_or_else(|| match in_body {
            true => Rest::Body(at_end()),
            false => Rest::Head,
        });
        Self { answers, rest }
    }
}
