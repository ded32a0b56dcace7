//! The fast path: a response that equals a verified one needs no parsing.

use crate::response::Answer;

/// Longer responses are always parsed; comparing their bodies is most of the cost.
const MAX_BYTES: usize = 32 * 1024;

/// The last verified response of one URL. A response that differs, such as by its `Date`, is parsed
/// and becomes the new template.
#[derive(Debug, Default)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    answer: Option<Answer>,
}

impl Template {
    /// The response and its length, if `input` starts with the learned one.
    #[inline]
    pub(crate) fn matches(&self, input: &[u8]) -> Option<(Answer, usize)> {
        let answer = self.answer?;
        input.starts_with(&self.bytes).then_some((answer, self.bytes.len()))
    }

    /// Learns an expected response that came in one piece.
    pub(crate) fn learn(&mut self, response: &[u8], answer: Answer) {
        if response.len() > MAX_BYTES {
            return;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(response);
        self.answer = Some(answer);
    }
}
