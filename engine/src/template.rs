//! The fast path: a response that repeats a verified one, byte for byte, needs no parsing.

use crate::response::Answer;

/// Responses longer than this are always parsed; their bodies dominate the cost anyway.
const MAX_BYTES: usize = 32 * 1024;

/// The last verified response to one URL. A new `Date` falls back to the parser once, and the
/// response that was parsed becomes the template for those that follow.
#[derive(Debug, Default)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    answer: Option<Answer>,
}

impl Template {
    /// The answer and its length, where `input` starts with the learned response.
    #[inline]
    pub(crate) fn matches(&self, input: &[u8]) -> Option<(Answer, usize)> {
        let answer = self.answer?;
        input.starts_with(&self.bytes).then_some((answer, self.bytes.len()))
    }

    /// Learns a response that was complete in one piece and as expected.
    pub(crate) fn learn(&mut self, response: &[u8], answer: Answer) {
        if response.len() > MAX_BYTES {
            return;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(response);
        self.answer = Some(answer);
    }
}
