//! The fast path: a response that equals a verified one needs no parsing.

use crate::expected::Expected;
use crate::head::{Framing, parse_head};
use crate::response::Answer;

/// Longer responses are always parsed; comparing their bodies is most of the cost.
const MAX_BYTES: usize = 32 * 1024;

/// The last verified response of one URL. A response that differs, such as by its `Date`, is parsed
/// and becomes the new template.
///
/// URLs whose responses have the same head share one template. It holds that head alone, and the
/// body after it is compared with the one that its URL expects.
#[derive(Debug)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    answer: Option<Answer>,
    is_shared: bool,
}

impl Template {
    pub(crate) fn new(is_shared: bool) -> Self {
        Self { bytes: Vec::new(), answer: None, is_shared }
    }

    /// The response and its length, if `input` starts with the learned one.
    #[inline]
    pub(crate) fn matches(&self, input: &[u8], expected: &Expected) -> Option<(Answer, usize)> {
        let answer = self.answer?;
        let rest = input.strip_prefix(&self.bytes[..])?;
        if !self.is_shared {
            return Some((answer, self.bytes.len()));
        }
        let body = expected.body.as_deref()?;
        rest.starts_with(body).then_some((answer, self.bytes.len() + body.len()))
    }

    /// Learns an expected response that came in one piece.
    pub(crate) fn learn(&mut self, response: &[u8], answer: Answer, expected: &Expected) {
        if response.len() > MAX_BYTES {
            return;
        }
        let Some(learned) = self.learned(response, expected) else { return };
        self.bytes.clear();
        self.bytes.extend_from_slice(learned);
        self.answer = Some(answer);
    }

    /// The part of a response to learn. A shared template needs a head that gives the length of the
    /// body, which all URLs that share it have in common.
    fn learned<'r>(&self, response: &'r [u8], expected: &Expected) -> Option<&'r [u8]> {
        if !self.is_shared {
            return Some(response);
        }
        let body = expected.body.as_deref()?;
        let head = parse_head(response, expected.to_head_request).ok().flatten()?;
        let is_whole = head.bytes + body.len() == response.len();
        (head.framing == Framing::Length(body.len() as u64) && is_whole)
            .then(|| &response[..head.bytes])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expected::Comparison;

    const ANSWER: Answer = Answer { status: 200, closes: false, comparison: Comparison::Same };
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";

    fn expected(body: &str) -> Expected {
        Expected {
            status: 200,
            media_type: None,
            body: Some(body.as_bytes().to_vec()),
            to_head_request: false,
        }
    }

    fn response(body: &[u8]) -> Vec<u8> {
        [HEAD, body].concat()
    }

    #[test]
    fn shared_template_compares_each_body_with_its_own() {
        let mut template = Template::new(true);
        template.learn(&response(b"ab"), ANSWER, &expected("ab"));
        let whole = HEAD.len() + 2;
        assert_eq!(template.matches(&response(b"cd"), &expected("cd")), Some((ANSWER, whole)));
        assert_eq!(template.matches(&response(b"cd.."), &expected("cd")), Some((ANSWER, whole)));
        assert_eq!(template.matches(&response(b"ab"), &expected("cd")), None, "another's body");
        assert_eq!(template.matches(&response(b"c"), &expected("cd")), None, "incomplete");
    }

    #[test]
    fn shared_template_learns_no_chunked_response() {
        let mut template = Template::new(true);
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
        template.learn(chunked, ANSWER, &expected("ab"));
        assert_eq!(template.matches(chunked, &expected("ab")), None);
    }

    #[test]
    fn template_of_one_url_is_the_whole_response() {
        let mut template = Template::new(false);
        template.learn(&response(b"ab"), ANSWER, &expected("ab"));
        let matched = template.matches(&response(b"ab"), &expected("ab"));
        assert_eq!(matched, Some((ANSWER, HEAD.len() + 2)));
        assert_eq!(template.matches(&response(b"cd"), &expected("ab")), None);
    }
}
