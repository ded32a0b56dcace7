//! A workload: requests from templates, each with the response that it alone must get.
//!
//! All requests are drawn and written before the load, so that a request of a workload costs no more
//! while it is sent than one of a URL.

mod equivalent;
mod given;
mod html;
mod text;

use std::collections::BTreeMap;

use crate::arg_values::{header, token};
use crate::error::{Error, Result};
use crate::expected::Expected;
use crate::schedule::SplitMix64;

pub(crate) use equivalent::Equivalent;
use given::{GivenExpect, GivenRequest, GivenWorkload, draw};
use text::{Text, Values};

/// Limits of the requests drawn, and of the bytes of their bodies and expected bodies.
const MAX_REQUESTS: usize = 1 << 20;
const MAX_BYTES: usize = 1 << 30;
/// Limit of the requests that the preflight sends because the server may choose the spelling of
/// their answers.
const MAX_PREFLIGHTS: usize = 4096;

/// The requests of a load, in the order in which each connection sends them.
#[derive(Debug)]
pub(crate) struct Workload {
    pub name: String,
    pub seed: u64,
    /// The first of the requests are one of each template, in order; so is each group after them.
    pub requests: Vec<Drawn>,
    pub templates: Vec<RequestTemplate>,
}

/// What all requests of one template have in common.
#[derive(Debug)]
pub(crate) struct RequestTemplate {
    pub method: String,
    pub headers: Vec<(String, String)>,
    pub status: u16,
    pub media_type: Option<String>,
    /// Without an expected body of given bytes: true if all its requests are the same, so that the
    /// first response is the expected one.
    pub is_learned: bool,
    path: Text,
    body: Text,
    expected_body: Option<ExpectedText>,
}

/// The body of a right response, to be filled in.
#[derive(Debug)]
enum ExpectedText {
    Body(Text),
    Json(Text),
    Html(Text),
}

/// One request, and the body of its response if that is known.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub template: usize,
    pub path: String,
    pub body: Vec<u8>,
    pub expected_body: Option<Vec<u8>>,
    /// The response to this request in the preflight is the expected one if it is equivalent.
    pub equivalent: Option<Equivalent>,
}

impl Workload {
    /// Reads the JSON of a workload and draws its requests. The error names the key.
    pub(crate) fn parse(json: &[u8]) -> Result<Self> {
        let given: GivenWorkload =
            serde_json::from_slice(json).map_err(|error| Error::usage(error.to_string()))?;
        for (name, variable) in &given.variables {
            variable.check(name)?;
        }
        if given.requests.is_empty() {
            return Err(Error::usage("requests: expected at least one"));
        }
        let count = given.draws.saturating_mul(given.requests.len());
        if !(1..=MAX_REQUESTS).contains(&count) {
            return Err(Error::usage(format!(
                "draws: {}: expected 1 to {}",
                given.draws,
                MAX_REQUESTS / given.requests.len()
            )));
        }
        let mut random = SplitMix64(given.seed);
        let sample = draw(&given.variables, &mut SplitMix64(given.seed));
        let templates = given
            .requests
            .iter()
            .enumerate()
            .map(|(n, request)| {
                RequestTemplate::new(request, &sample)
                    .map_err(|error| error.of_option(&format!("requests[{n}]")))
            })
            .collect::<Result<Vec<_>>>()?;
        let mut requests = Vec::with_capacity(count);
        let mut bytes = 0;
        for _ in 0..given.draws {
            for (n, template) in templates.iter().enumerate() {
                let drawn = template.fill(n, &draw(&given.variables, &mut random))?;
                bytes += drawn.body.len() + drawn.expected_body.as_ref().map_or(0, Vec::len);
                if bytes > MAX_BYTES {
                    return Err(Error::usage(format!(
                        "draws: the bodies of {count} requests are longer than {MAX_BYTES} bytes; \
                         draw fewer"
                    )));
                }
                requests.push(drawn);
            }
        }
        let workload = Self { name: given.name, seed: given.seed, requests, templates };
        let preflights = workload.preflights().count();
        if preflights > MAX_PREFLIGHTS {
            return Err(Error::usage(format!(
                "draws: {}: `expect.json` and `expect.html` ask for each answer once before the \
                 load, {preflights} in all, expected at most {MAX_PREFLIGHTS}; draw fewer",
                given.draws
            )));
        }
        Ok(workload)
    }

    /// The numbers of the requests that the preflight sends: one of each template, and each one
    /// whose answer the server may spell.
    pub(crate) fn preflights(&self) -> impl Iterator<Item = usize> {
        (0..self.requests.len()).filter(|n| {
            let drawn = &self.requests[*n];
            let is_first = *n < self.templates.len();
            let is_asked = drawn.equivalent.is_some() && !self.templates[drawn.template].is_learned;
            is_first || is_asked
        })
    }

    /// For each request the number of its kind: those of one template whose responses have the same
    /// length, and therefore the same head.
    pub(crate) fn kinds(&self, expected: &[Expected]) -> Vec<u32> {
        let mut numbers = BTreeMap::new();
        let kind = |(drawn, expected): (&Drawn, &Expected)| {
            let next = numbers.len() as u32;
            let bytes = expected.body.as_ref().map(Vec::len);
            *numbers.entry((drawn.template, bytes)).or_insert(next)
        };
        self.requests.iter().zip(expected).map(kind).collect()
    }

    /// How far apart the connections begin, so that they do not send the same requests at a time.
    pub(crate) fn stride(&self) -> usize {
        let groups = self.requests.len() / self.templates.len();
        (groups * 5 / 8).max(1) * self.templates.len() + 1
    }
}

impl RequestTemplate {
    fn new(given: &GivenRequest, known: &Values) -> Result<Self> {
        let path = Text::parse(&given.path);
        path.check("path", known, false)?;
        if !given.path.starts_with('/') {
            return Err(Error::usage(format!(
                "path: {:?}: expected one that begins with /",
                given.path
            )));
        }
        let body = Text::parse(given.body.as_deref().unwrap_or_default());
        body.check("body", known, false)?;
        let expected_body = ExpectedText::parse(&given.expect)?;
        if let Some(expected) = &expected_body {
            expected.text().check(expected.key(), known, true)?;
        }
        let default_method = if given.body.is_some() { "POST" } else { "GET" };
        let headers = given.headers.iter().map(|(name, value)| header(&format!("{name}:{value}")));
        Ok(Self {
            method: token(given.method.as_deref().unwrap_or(default_method))?,
            headers: headers.collect::<Result<_>>()?,
            status: given.expect.status.unwrap_or(200),
            media_type: given.expect.media_type.clone(),
            is_learned: !matches!(expected_body, Some(ExpectedText::Body(_)))
                && path.is_literal()
                && body.is_literal(),
            path,
            body,
            expected_body,
        })
    }

    fn fill(&self, template: usize, values: &Values) -> Result<Drawn> {
        let path = self.path.fill(values, b"");
        if path.bytes().any(|byte| byte <= b' ' || byte >= 0x7f) {
            return Err(Error::usage(format!(
                "requests[{template}].path: {path:?}: expected blanks and other than ASCII \
                 characters as %XX"
            )));
        }
        let body = self.body.fill(values, b"").into_bytes();
        let (mut expected_body, mut equivalent) = (None, None);
        if let Some(expected) = &self.expected_body {
            let text = expected.text().fill(values, &body);
            match expected {
                ExpectedText::Body(_) => expected_body = Some(text.into_bytes()),
                ExpectedText::Json(_) => {
                    let json = Equivalent::json(&text);
                    let place = format!("requests[{template}]");
                    equivalent = Some(json.map_err(|error| error.of_option(&place))?);
                }
                ExpectedText::Html(_) => equivalent = Some(Equivalent::html(&text)),
            }
        }
        Ok(Drawn { template, path, body, expected_body, equivalent })
    }
}

impl ExpectedText {
    /// What is expected, if it is; an error if it is given in two ways.
    fn parse(given: &GivenExpect) -> Result<Option<Self>> {
        let texts = [
            given.body.as_deref().map(|text| Self::Body(Text::parse(text))),
            given.json.as_deref().map(|text| Self::Json(Text::parse(text))),
            given.html.as_deref().map(|text| Self::Html(Text::parse(text))),
        ];
        let mut texts = texts.into_iter().flatten();
        match (texts.next(), texts.next()) {
            (_, Some(_)) => Err(Error::usage("expect: expected one of body, json and html")),
            (text, None) => Ok(text),
        }
    }

    fn text(&self) -> &Text {
        match self {
            Self::Body(text) | Self::Json(text) | Self::Html(text) => text,
        }
    }

    fn key(&self) -> &'static str {
        match self {
            Self::Body(_) => "expect.body",
            Self::Json(_) => "expect.json",
            Self::Html(_) => "expect.html",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTE: &str = r#"{
        "name": "route", "draws": 50, "seed": 1,
        "variables": {"id": {"min": 1, "max": 1000}, "word": {"one_of": ["a", "b"]}},
        "requests": [
            {"path": "/users/{id}?w={word}", "expect": {"body": "{id} {word}"}},
            {"path": "/echo", "body": "{word}", "expect": {"status": 201, "body": "{body.length}"}}
        ]
    }"#;

    fn error(json: &str) -> String {
        Workload::parse(json.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn each_request_has_its_own_expected_body() {
        let workload = Workload::parse(ROUTE.as_bytes()).unwrap();
        assert_eq!(workload.requests.len(), 100);
        for drawn in workload.requests.iter().step_by(2) {
            let body = String::from_utf8(drawn.expected_body.clone().unwrap()).unwrap();
            let (id, word) = body.split_once(' ').unwrap();
            assert_eq!(drawn.path, format!("/users/{id}?w={word}"));
            assert!((1..=1000).contains(&id.parse().unwrap()), "{id}");
        }
        assert_eq!(workload.requests[1].expected_body.as_deref(), Some(&b"1"[..]));
        assert_eq!(workload.templates[1].method, "POST");
        let paths: std::collections::BTreeSet<_> =
            workload.requests.iter().map(|drawn| &drawn.path).collect();
        assert!(paths.len() > 40, "{} paths", paths.len());
    }

    #[test]
    fn same_seed_draws_the_same_requests() {
        let paths = |seed: &str| -> Vec<String> {
            let json = ROUTE.replace("\"seed\": 1", seed);
            let requests = Workload::parse(json.as_bytes()).unwrap().requests;
            requests.into_iter().map(|drawn| drawn.path).collect()
        };
        assert_eq!(paths("\"seed\": 7"), paths("\"seed\": 7"));
        assert_ne!(paths("\"seed\": 7"), paths("\"seed\": 8"));
    }

    #[test]
    fn kinds_are_of_one_template_and_length() {
        let workload = Workload::parse(ROUTE.as_bytes()).unwrap();
        let of = |drawn: &Drawn| Expected {
            status: 200,
            media_type: None,
            body: drawn.expected_body.clone(),
            to_head_request: false,
        };
        let kinds = workload.kinds(&workload.requests.iter().map(of).collect::<Vec<_>>());
        for (drawn, kind) in workload.requests.iter().zip(&kinds) {
            let same: Vec<_> =
                workload.requests.iter().zip(&kinds).filter(|(_, k)| *k == kind).collect();
            let bytes = |drawn: &Drawn| drawn.expected_body.as_ref().map(Vec::len);
            assert!(same.iter().all(|(other, _)| {
                other.template == drawn.template && bytes(other) == bytes(drawn)
            }));
        }
    }

    #[test]
    fn rejects_wrong_workloads_and_names_the_key() {
        for (from, to, wanted) in [
            ("\"draws\": 50", "\"draws\": 0", "draws: 0: expected 1 to 524288"),
            ("\"draws\"", "\"drawn\"", "unknown field `drawn`"),
            ("\"min\": 1, ", "", "variables.id: expected"),
            ("\"min\": 1, ", "\"min\": 2000, ", "variables.id: expected"),
            ("[\"a\", \"b\"]", "[]", "variables.word: expected"),
            ("/users/{id}", "users/{id}", "requests[0]: path: \"users/{id}?w={word}\": expected"),
            ("/users/{id}", "/users/{ids}", "requests[0]: path: unknown variable {ids}"),
            ("/users/{id}", "/users {id}", "requests[0].path"),
            ("\"{word}\",", "\"{body.length}\",", "requests[1]: body: {body.length}"),
            ("{body.length}", "{none}", "requests[1]: expect.body: unknown variable {none}"),
            ("\"/echo\",", "\"/echo\", \"method\": \"A B\",", "expected an HTTP token"),
            ("\"/echo\",", "\"/echo\", \"headers\": {\"A\": \"b\\r\\nc\"},", "one line"),
        ] {
            let json = ROUTE.replacen(from, to, 1);
            assert_ne!(json, ROUTE, "{from}");
            assert!(error(&json).contains(wanted), "{wanted}: {}", error(&json));
        }
        assert!(error("{\"name\": \"a\", \"requests\": []}").contains("requests: expected"));
    }

    #[test]
    fn preflight_asks_each_request_whose_answer_the_server_spells() {
        let json = r#"{
            "name": "a", "draws": 3, "variables": {"n": {"min": 1, "max": 9}},
            "requests": [
                {"path": "/{n}", "expect": {"body": "{n}"}},
                {"path": "/{n}", "expect": {"json": "{\"n\": {n}}"}},
                {"path": "/page", "expect": {"html": "<p>a</p>"}}
            ]}"#;
        let workload = Workload::parse(json.as_bytes()).unwrap();
        assert_eq!(workload.preflights().collect::<Vec<_>>(), [0, 1, 2, 4, 7]);
        let learned: Vec<bool> = workload.templates.iter().map(|t| t.is_learned).collect();
        assert_eq!(learned, [false, false, true]);
        for (from, to, wanted) in [
            ("{\\\"n\\\": {n}}", "{", "requests[1]: expect.json: EOF"),
            ("{\"body\"", "{\"html\": \"a\", \"body\"", "requests[0]: expect: expected one of"),
            ("\"draws\": 3", "\"draws\": 4095", "draws: 4095: `expect.json`"),
        ] {
            assert!(json.contains(from), "{from}");
            let message = error(&json.replacen(from, to, 1));
            assert!(message.contains(wanted), "{wanted}: {message}");
        }
    }

    #[test]
    fn learns_only_from_templates_without_variables() {
        let json = r#"{"name": "a", "draws": 2, "variables": {"n": {"min": 1, "max": 9}},
                       "requests": [{"path": "/a"}, {"path": "/{n}"}]}"#;
        let workload = Workload::parse(json.as_bytes()).unwrap();
        let learned: Vec<bool> = workload.templates.iter().map(|t| t.is_learned).collect();
        assert_eq!(learned, [true, false]);
    }
}
