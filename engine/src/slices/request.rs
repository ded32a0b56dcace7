//! The input lines, such as `{"id": 7, "duration_s": 0.08}`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A line of input.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Slice(SliceRequest),
    /// Measure the slice that waits.
    Go,
    /// End the load of the slice that has measured.
    Stop,
    End,
}

/// The settings of a slice; durations in nanoseconds, `None` if the command line sets them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SliceRequest {
    pub id: u64,
    pub duration_ns: u64,
    pub discard_ns: u64,
    pub discard_requests: usize,
    pub renew: bool,
    pub hang_up: bool,
    pub together: bool,
    pub drain_ns: Option<u64>,
    pub timeout_ns: Option<u64>,
}

/// Why a line was rejected.
#[derive(Debug, PartialEq)]
pub(super) struct BadRequest {
    /// The `id` of the line, if it is readable.
    pub id: Option<u64>,
    pub key: Option<String>,
    pub message: String,
}

const DEFAULT_DISCARD_NS: u64 = 10_000_000;
const MAX_S: f64 = 3600.0;
const MAX_DISCARD_REQUESTS: u64 = 1_000_000_000;
const KEYS: &[&str] = &[
    "type",
    "id",
    "duration_s",
    "discard_s",
    "discard_requests",
    "renew",
    "hang_up",
    "together",
    "drain_s",
    "timeout_s",
];

impl Request {
    pub(super) fn parse(line: &str) -> Result<Self, BadRequest> {
        let fail = |message: String| BadRequest { id: None, key: None, message };
        let object: Map<String, Value> =
            serde_json::from_str(line).map_err(|error| fail(format!("no JSON object: {error}")))?;
        let fields = Fields(object.into_iter().collect());
        fields.request().map_err(|(key, message)| BadRequest {
            id: fields.0.get("id").and_then(Value::as_u64),
            key: Some(key.to_owned()),
            message: format!("{key}: {message}"),
        })
    }
}

/// A key and its problem.
type Wrong<'f> = (&'f str, String);

struct Fields(BTreeMap<String, Value>);

impl Fields {
    fn request(&self) -> Result<Request, Wrong<'_>> {
        if let Some(key) = self.0.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err((key, format!("unknown key; expected {}", KEYS.join(", "))));
        }
        match self.0.get("type").map(|kind| kind.as_str()) {
            Some(Some("end")) => self.word("an end", Request::End),
            Some(Some("go")) => self.word("a go", Request::Go),
            Some(Some("stop")) => self.word("a stop", Request::Stop),
            None | Some(Some("slice")) => self.slice().map(Request::Slice),
            Some(_) => Err(("type", r#"expected "slice", "go", "stop" or "end""#.to_owned())),
        }
    }

    /// A line of a type alone.
    fn word(&self, name: &str, request: Request) -> Result<Request, Wrong<'_>> {
        match self.0.keys().find(|key| *key != "type") {
            Some(key) => Err((key, format!("{name} takes no other key"))),
            None => Ok(request),
        }
    }

    fn flag<'f>(&self, key: &'f str) -> Result<bool, Wrong<'f>> {
        match self.0.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err((key, format!("{other}: expected true or false"))),
        }
    }

    fn slice(&self) -> Result<SliceRequest, Wrong<'_>> {
        let discard_requests = self.whole("discard_requests", MAX_DISCARD_REQUESTS)?.unwrap_or(0);
        Ok(SliceRequest {
            id: self.whole("id", u64::MAX)?.ok_or(("id", "missing".to_owned()))?,
            duration_ns: self
                .duration("duration_s", true)?
                .ok_or(("duration_s", "missing".to_owned()))?,
            discard_ns: self.duration("discard_s", false)?.unwrap_or(DEFAULT_DISCARD_NS),
            discard_requests: discard_requests as usize,
            renew: self.flag("renew")?,
            hang_up: self.flag("hang_up")?,
            together: self.flag("together")?,
            drain_ns: self.duration("drain_s", false)?,
            timeout_ns: self.duration("timeout_s", true)?,
        })
    }

    fn whole(&self, key: &'static str, most: u64) -> Result<Option<u64>, Wrong<'_>> {
        let Some(value) = self.0.get(key) else { return Ok(None) };
        match value.as_u64() {
            Some(number) if number <= most => Ok(Some(number)),
            _ => Err((key, format!("{value}: expected a whole number from 0 to {most}"))),
        }
    }

    /// Reads a duration in seconds as nanoseconds.
    fn duration(&self, key: &'static str, positive: bool) -> Result<Option<u64>, Wrong<'_>> {
        let Some(value) = self.0.get(key) else { return Ok(None) };
        match value.as_f64().map(|seconds| (seconds, (seconds * 1e9).round())) {
            Some((seconds, ns)) if (0.0..=MAX_S).contains(&seconds) && (ns > 0.0 || !positive) => {
                Ok(Some(ns as u64))
            }
            _ => {
                let least = if positive { "more than 0" } else { "0" };
                Err((key, format!("{value}: expected seconds, {least} to {MAX_S}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_keys_get_defaults() {
        let wanted = SliceRequest {
            id: 7,
            duration_ns: 80_000_000,
            discard_ns: DEFAULT_DISCARD_NS,
            discard_requests: 0,
            renew: false,
            hang_up: false,
            together: false,
            drain_ns: None,
            timeout_ns: None,
        };
        for line in
            [r#"{"id": 7, "duration_s": 0.08}"#, r#"{"type":"slice","id":7,"duration_s":8e-2}"#]
        {
            assert_eq!(Request::parse(line), Ok(Request::Slice(wanted)));
        }
    }

    #[test]
    fn accepts_every_key() {
        let line = r#"{"id": 0, "duration_s": 1, "discard_s": 0, "discard_requests": 2500,
            "renew": true, "drain_s": 0, "timeout_s": 0.5}"#;
        let wanted = SliceRequest {
            id: 0,
            duration_ns: 1_000_000_000,
            discard_ns: 0,
            discard_requests: 2500,
            renew: true,
            hang_up: false,
            together: false,
            drain_ns: Some(0),
            timeout_ns: Some(500_000_000),
        };
        assert_eq!(Request::parse(line), Ok(Request::Slice(wanted)));
    }

    #[test]
    fn accepts_the_lines_of_a_type_alone() {
        assert_eq!(Request::parse(r#"{"type": "end"}"#), Ok(Request::End));
        assert_eq!(Request::parse(r#"{"type": "go"}"#), Ok(Request::Go));
        assert_eq!(Request::parse(r#"{"type": "stop"}"#), Ok(Request::Stop));
    }

    #[test]
    fn names_the_wrong_key() {
        for (line, key) in [
            (r#"{"id": 7, "duration_s": 1, "duration": 1}"#, "duration"),
            (r#"{"duration_s": 1}"#, "id"),
            (r#"{"id": 7}"#, "duration_s"),
            (r#"{"id": -1, "duration_s": 1}"#, "id"),
            (r#"{"id": "a", "duration_s": 1}"#, "id"),
            (r#"{"id": 7, "duration_s": 0}"#, "duration_s"),
            (r#"{"id": 7, "duration_s": 1e-12}"#, "duration_s"),
            (r#"{"id": 7, "duration_s": 1e9}"#, "duration_s"),
            (r#"{"id": 7, "duration_s": "1s"}"#, "duration_s"),
            (r#"{"id": 7, "duration_s": 1, "discard_s": -1}"#, "discard_s"),
            (r#"{"id": 7, "duration_s": 1, "discard_requests": 0.5}"#, "discard_requests"),
            (r#"{"id": 7, "duration_s": 1, "renew": 1}"#, "renew"),
            (r#"{"id": 7, "duration_s": 1, "drain_s": null}"#, "drain_s"),
            (r#"{"id": 7, "duration_s": 1, "timeout_s": 0}"#, "timeout_s"),
            (r#"{"type": "halt"}"#, "type"),
            (r#"{"type": "go", "id": 7}"#, "id"),
            (r#"{"type": 1}"#, "type"),
            (r#"{"type": "end", "id": 7}"#, "id"),
        ] {
            let error = Request::parse(line).unwrap_err();
            assert_eq!(error.key.as_deref(), Some(key), "{line}");
            assert!(error.message.starts_with(key), "{}", error.message);
        }
    }

    #[test]
    fn bad_line_keeps_its_id() {
        let id = |line| Request::parse(line).unwrap_err().id;
        assert_eq!(id(r#"{"id": 7, "duration_s": 0}"#), Some(7));
        assert_eq!(id(r#"{"duration_s": 0}"#), None);
    }

    #[test]
    fn rejects_lines_without_an_object() {
        for line in ["", "7", "[]", "{", "slice"] {
            let error = Request::parse(line).unwrap_err();
            assert_eq!((error.id, error.key), (None, None), "{line}");
        }
    }
}
