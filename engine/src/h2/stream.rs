//! One request and its response on a connection.

use super::events::Ended;
use super::fields::Fields;
use crate::classes::MalformedKind;
use crate::connection::Flight;
use crate::expected::{Comparison, Expected};
use crate::head::{Framing, Head};
use crate::response::Answer;

/// A request that is not sent, or is to be sent again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub flight: Flight,
    pub lane: u32,
    /// How often it was sent.
    pub tries: u8,
}

#[derive(Debug)]
pub(super) struct Stream {
    pub id: u32,
    pub request: Waiting,
    pub first_byte_ns: u64,
    pub in_body: bool,
    /// What the server and we may still send in DATA frames.
    pub receive_left: i64,
    pub send_left: i64,
    /// The bytes of the request's body that are sent.
    pub body_sent: usize,
    /// The request's body is not sent to its end.
    pub is_sending: bool,
    status: u16,
    comparison: Comparison,
    length: Option<u64>,
    body_bytes: u64,
}

/// What a head is.
pub(super) enum HeadKind {
    Interim,
    Final,
}

impl Stream {
    pub(super) fn new(id: u32, request: Waiting, receive_left: i64, send_left: i64) -> Self {
        Self {
            id,
            request,
            first_byte_ns: 0,
            in_body: false,
            receive_left,
            send_left,
            body_sent: 0,
            is_sending: false,
            status: 0,
            comparison: Comparison::Same,
            length: None,
            body_bytes: 0,
        }
    }

    /// Takes the head of a response, or of an interim one.
    pub(super) fn take_head(
        &mut self,
        fields: &Fields,
        expected: &Expected,
        ends: bool,
    ) -> Result<HeadKind, MalformedKind> {
        if let Some(kind) = fields.defect {
            return Err(kind);
        }
        match fields.status {
            0 | 101 => return Err(MalformedKind::H2Fields),
            100..200 if ends => return Err(MalformedKind::H2Fields),
            100..200 => return Ok(HeadKind::Interim),
            status => self.status = status,
        }
        self.in_body = true;
        self.length = fields.length;
        self.comparison = expected.compare_head(&Head {
            status: fields.status,
            framing: Framing::None,
            closes: false,
            media_type: &fields.media_type,
            bytes: 0,
        });
        Ok(HeadKind::Final)
    }

    /// Takes the trailers, which end the stream.
    pub(super) fn take_trailers(fields: &Fields, ends: bool) -> Result<(), MalformedKind> {
        match fields.defect {
            Some(kind) => Err(kind),
            None if fields.status > 0 || !ends => Err(MalformedKind::H2Fields),
            None => Ok(()),
        }
    }

    pub(super) fn take_body(&mut self, data: &[u8], expected: &Expected) {
        self.comparison = self.comparison.or(expected.compare_body(self.body_bytes, data));
        self.body_bytes += data.len() as u64;
    }

    /// The response, which is complete.
    pub(super) fn answer(&self, expected: &Expected) -> Result<Answer, MalformedKind> {
        // These have no body, whatever length they state (RFC 9110, section 8.6).
        let is_bare = expected.to_head_request || self.status == 304;
        if self.length.is_some_and(|length| length != self.body_bytes && !is_bare) {
            return Err(MalformedKind::H2Length);
        }
        let comparison = self.comparison.or(expected.compare_length(self.body_bytes));
        Ok(Answer { status: self.status, closes: false, comparison })
    }

    pub(super) fn ended(&self) -> Ended {
        Ended {
            flight: self.request.flight,
            first_byte_ns: self.first_byte_ns,
            in_body: self.in_body,
            lane: self.request.lane,
        }
    }
}
