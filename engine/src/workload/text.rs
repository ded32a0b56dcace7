//! Texts with placeholders, such as `/users/{id}`.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// The checksum of CRC-32 (ISO 3309) of a request's body, as eight hexadecimal digits.
const CRC32: &str = "body.crc32";
/// The number of bytes of a request's body.
const LENGTH: &str = "body.length";

/// A text and its placeholders. A brace that does not begin `{name}` is a part of the text, so JSON
/// needs no escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Variable(String),
    BodyLength,
    BodyCrc32,
}

/// The values of the variables of one request.
pub(super) type Values = BTreeMap<String, String>;

impl Text {
    pub(super) fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (before, after) = (&rest[..open], &rest[open + 1..]);
            literal.push_str(before);
            match after.split_once('}').filter(|(name, _)| is_name(name)) {
                None => {
                    literal.push('{');
                    rest = after;
                }
                Some((name, behind)) => {
                    if !literal.is_empty() {
                        parts.push(Part::Literal(std::mem::take(&mut literal)));
                    }
                    parts.push(match name {
                        LENGTH => Part::BodyLength,
                        CRC32 => Part::BodyCrc32,
                        name => Part::Variable(name.to_owned()),
                    });
                    rest = behind;
                }
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Self(parts)
    }

    /// The error if it names an unknown variable, or the body where there is none yet.
    pub(super) fn check(&self, place: &str, known: &Values, after_body: bool) -> Result<()> {
        for part in &self.0 {
            match part {
                Part::Variable(name) if !known.contains_key(name) => {
                    return Err(Error::usage(format!(
                        "{place}: unknown variable {{{name}}}; expected one of `variables`"
                    )));
                }
                Part::BodyLength | Part::BodyCrc32 if !after_body => {
                    return Err(Error::usage(format!(
                        "{place}: {{{LENGTH}}} and {{{CRC32}}} are of the request's body, and \
                         belong into `expect.body`"
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// True if it is the same for all requests.
    pub(super) fn is_literal(&self) -> bool {
        self.0.iter().all(|part| matches!(part, Part::Literal(_)))
    }

    /// The text with these values; `body` is the request's.
    pub(super) fn fill(&self, values: &Values, body: &[u8]) -> String {
        let mut out = String::new();
        for part in &self.0 {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Variable(name) => out.push_str(&values[name]),
                Part::BodyLength => out.push_str(&body.len().to_string()),
                Part::BodyCrc32 => out.push_str(&format!("{:08x}", crc32fast::hash(body))),
            }
        }
        out
    }
}

/// True for the name of a variable, or of a property of the body.
fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        [("id", "7"), ("name", "ann")].map(|(k, v)| (k.to_owned(), v.to_owned())).into()
    }

    #[test]
    fn fills_placeholders_and_keeps_other_braces() {
        for (text, wanted) in [
            ("/users/{id}?n={name}", "/users/7?n=ann"),
            (r#"{"id": {id}, "a": {}}"#, r#"{"id": 7, "a": {}}"#),
            ("{{id}", "{7"),
            ("{id", "{id"),
            ("{Id}{ id}", "{Id}{ id}"),
            ("", ""),
        ] {
            assert_eq!(Text::parse(text).fill(&values(), b""), wanted, "{text}");
        }
    }

    #[test]
    fn knows_length_and_checksum_of_the_body() {
        let text = Text::parse("{body.length} {body.crc32}");
        assert_eq!(text.fill(&values(), b"123456789"), "9 cbf43926");
        assert_eq!(text.fill(&values(), b""), "0 00000000");
    }

    #[test]
    fn rejects_unknown_variables() {
        let error = Text::parse("/{nam}").check("path", &values(), false).unwrap_err().to_string();
        assert!(error.contains("path: unknown variable {nam}"), "{error}");
        let of_body = Text::parse("{body.length}");
        assert!(of_body.check("body", &values(), false).is_err());
        assert!(of_body.check("expect.body", &values(), true).is_ok());
    }
}
