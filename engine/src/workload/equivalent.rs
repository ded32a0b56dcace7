//! Right bodies of which a server may choose the spelling: JSON and HTML.

use serde_json::Value;

use super::html::canonical;
use crate::error::{Error, Result};

/// A body up to its spelling.
#[derive(Debug)]
pub(crate) enum Equivalent {
    /// Any order of keys, white space, escapes and spelling of numbers.
    Json(Value),
    /// In canonical form.
    Html(String),
}

impl Equivalent {
    pub(super) fn json(text: &str) -> Result<Self> {
        serde_json::from_str(text)
            .map(Self::Json)
            .map_err(|error| Error::usage(format!("expect.json: {error}")))
    }

    pub(super) fn html(text: &str) -> Self {
        Self::Html(canonical(text))
    }

    /// What a body should have been; `None` if it is right.
    pub(crate) fn missed_by(&self, body: &[u8]) -> Option<&'static str> {
        match self {
            Self::Json(wanted) => match serde_json::from_slice(body) {
                Ok(value) if same(&value, wanted) => None,
                _ => Some("the JSON of `expect.json`"),
            },
            Self::Html(wanted) => match std::str::from_utf8(body) {
                Ok(text) if canonical(text) == *wanted => None,
                _ => Some("the HTML of `expect.html`"),
            },
        }
    }
}

/// True if both are the same value; 1 and 1.0 are.
fn same(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => value == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_may_be_spelled_in_any_way() {
        let wanted = Equivalent::json(r#"{"id": 7, "name": "Z\u00fcrich", "list": [1.5, null]}"#);
        let wanted = wanted.unwrap();
        for body in [
            r#"{"id":7,"name":"Zürich","list":[1.5,null]}"#,
            "{ \"list\": [1.50, null],\n \"name\": \"Z\\u00FCrich\", \"id\": 7.0 }\n",
        ] {
            assert_eq!(wanted.missed_by(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn json_of_another_value_is_not_right() {
        let wanted = Equivalent::json(r#"{"id": 1, "list": [1, 2]}"#).unwrap();
        for body in [
            r#"{"id": 2, "list": [1, 2]}"#,
            r#"{"id": "1", "list": [1, 2]}"#,
            r#"{"id": true, "list": [1, 2]}"#,
            r#"{"id": 1, "list": [2, 1]}"#,
            r#"{"id": 1, "list": [1, 2], "more": null}"#,
            r#"{"id": 1}"#,
            r#"{"id": 1, "list": [1, 2]} {}"#,
            "{",
            "",
        ] {
            assert!(wanted.missed_by(body.as_bytes()).is_some(), "{body}");
        }
    }
}
