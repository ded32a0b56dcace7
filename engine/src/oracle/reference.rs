//! A second response parser, written for clarity after RFC 9112. It reads the whole buffer byte by
//! byte and shares only types with the parser.

use crate::expected::{Comparison, Expected};
use crate::response::Answer;

use super::chunks::chunked_body;
use super::framing::{Framing, closes, framing};
use super::head::{Head, head};
use super::reader::Reader;
use super::seen::{Rest, Seen};

/// Reads all responses of a stream.
pub(super) fn read(stream: &[u8], expected: &Expected) -> Seen {
    let mut answers = Vec::new();
    let mut reader = Reader { stream, at: 0, head_start: None };
    loop {
        match response(&mut reader, expected) {
            Ok(answer) => answers.push((answer, reader.at)),
            Err(rest) => return Seen { answers, rest },
        }
    }
}

fn response(reader: &mut Reader, expected: &Expected) -> Result<Answer, Rest> {
    let (head, framing) = loop {
        reader.head_start = Some(reader.at);
        let head = head(reader)?;
        let framing = framing(&head, expected.to_head_request).map_err(Rest::Malformed)?;
        reader.head_start = None;
        if head.status >= 200 || head.status == 101 {
            break (head, framing);
        }
    };
    let closes = closes(&head, &framing);
    let answer = |body: &[u8]| Answer {
        status: head.status,
        closes,
        comparison: compare(&head, body, expected),
    };
    let start = reader.at;
    match framing {
        Framing::Length(length) => {
            let length = usize::try_from(length).map_err(|_| Rest::Body(None))?;
            let end = start.checked_add(length).ok_or(Rest::Body(None))?;
            let body = reader.stream.get(start..end).ok_or(Rest::Body(None))?;
            reader.at = end;
            Ok(answer(body))
        }
        Framing::Chunked => Ok(answer(&chunked_body(reader)?)),
        Framing::UntilClose => Err(Rest::Body(Some(answer(&reader.stream[start..])))),
    }
}

/// The most important difference.
fn compare(head: &Head, body: &[u8], expected: &Expected) -> Comparison {
    let mut types = head.headers.iter().rev().filter(|(name, _)| name == b"content-type");
    let media_type = match types.next() {
        Some((_, value)) => value.split(|byte| *byte == b';').next().unwrap_or(b"").trim_ascii(),
        None => b"",
    };
    if head.status != expected.status {
        return Comparison::Status;
    }
    if let Some(wanted) = &expected.media_type
        && !wanted.eq_ignore_ascii_case(media_type)
    {
        return Comparison::MediaType;
    }
    match &expected.body {
        Some(wanted) if wanted.len() != body.len() => Comparison::Length,
        Some(wanted) if wanted != body => Comparison::Body,
        _ => Comparison::Same,
    }
}
