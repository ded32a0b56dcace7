//! The output lines: `ready`, `slice` and `error`.

use serde::Serialize;

use super::request::BadRequest;
use crate::backend::Backend;
use crate::config::Config;
use crate::document::{Document, ExpectedPart, SCHEMA};
use crate::phase::Phase;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Answer<'a> {
    Ready(Box<Ready<'a>>),
    Waiting {
        id: u64,
    },
    Going {
        id: u64,
    },
    Measured {
        id: u64,
    },
    Slice {
        id: u64,
        #[serde(flatten)]
        document: &'a Document,
    },
    Error {
        id: Option<u64>,
        key: Option<&'a str>,
        message: &'a str,
    },
}

/// The first line: the first response, and the connections opened.
#[derive(Serialize)]
pub(super) struct Ready<'a> {
    pub schema: &'static str,
    pub version: &'static str,
    pub urls: Vec<&'a str>,
    pub backend: Option<Backend>,
    /// Why the preflight failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preflight_error: Option<&'a str>,
    pub expected: Option<ExpectedPart>,
    pub preflight_requests: usize,
    pub connections: Opened,
    pub phases: Vec<Phase>,
}

#[derive(Default, Serialize)]
pub(super) struct Opened {
    pub asked: usize,
    pub opened: u64,
    pub failed: u64,
}

impl<'a> Ready<'a> {
    /// A line without preflight and connections.
    pub(super) fn new(config: &'a Config) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            urls: config.targets.iter().map(|target| target.url.as_str()).collect(),
            backend: None,
            preflight_error: None,
            expected: None,
            preflight_requests: 0,
            connections: Opened { asked: config.connections, ..Opened::default() },
            phases: Vec::new(),
        }
    }
}

impl<'a> From<&'a BadRequest> for Answer<'a> {
    fn from(bad: &'a BadRequest) -> Self {
        Self::Error { id: bad.id, key: bad.key.as_deref(), message: &bad.message }
    }
}
