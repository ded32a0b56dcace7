//! Comparison of responses with the expected one.

use crate::classes::Class;
use crate::head::Head;

/// The expected response of one URL; `None` accepts anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub status: u16,
    pub media_type: Option<Vec<u8>>,
    pub body: Option<Vec<u8>>,
    /// The requests are HEAD, so responses have no body.
    pub to_head_request: bool,
}

/// The most important difference between a response and the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Comparison {
    Same,
    Body,
    Length,
    MediaType,
    Status,
}

impl Comparison {
    /// The more important of two differences.
    pub(crate) fn or(self, other: Self) -> Self {
        self.max(other)
    }

    pub(crate) fn class(self) -> Class {
        match self {
            Self::Same => Class::Ok,
            Self::Body => Class::BodyMismatch,
            Self::Length => Class::BodyLength,
            Self::MediaType => Class::ContentType,
            Self::Status => Class::Status,
        }
    }
}

impl Expected {
    pub(crate) fn compare_head(&self, head: &Head) -> Comparison {
        if head.status != self.status {
            return Comparison::Status;
        }
        match &self.media_type {
            Some(media_type) if !media_type.eq_ignore_ascii_case(head.media_type) => {
                Comparison::MediaType
            }
            _ => Comparison::Same,
        }
    }

    /// Compares a piece of the body that starts at offset `at`.
    pub(crate) fn compare_body(&self, at: u64, data: &[u8]) -> Comparison {
        let Some(body) = &self.body else { return Comparison::Same };
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        match body.get(at..at.saturating_add(data.len())) {
            Some(piece) if piece == data => Comparison::Same,
            Some(_) => Comparison::Body,
            None => Comparison::Length,
        }
    }

    pub(crate) fn compare_length(&self, body_bytes: u64) -> Comparison {
        match &self.body {
            Some(body) if body.len() as u64 != body_bytes => Comparison::Length,
            _ => Comparison::Same,
        }
    }
}
