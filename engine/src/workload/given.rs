//! The JSON of a workload, as given.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::text::Values;
use crate::error::{Error, Result};
use crate::schedule::SplitMix64;

const MAX_LETTERS: usize = 64 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GivenWorkload {
    pub name: String,
    pub requests: Vec<GivenRequest>,
    #[serde(default)]
    pub variables: BTreeMap<String, Variable>,
    /// The number of requests drawn from each template.
    #[serde(default = "single")]
    pub draws: usize,
    #[serde(default)]
    pub seed: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GivenRequest {
    pub method: Option<String>,
    pub path: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    pub body: Option<String>,
    #[serde(default)]
    pub expect: GivenExpect,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GivenExpect {
    pub status: Option<u16>,
    pub media_type: Option<String>,
    pub body: Option<String>,
    pub json: Option<String>,
    pub html: Option<String>,
}

/// Exactly one kind of values: whole numbers, texts, or random letters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variable {
    min: Option<u64>,
    max: Option<u64>,
    one_of: Option<Vec<String>>,
    letters: Option<usize>,
}

fn single() -> usize {
    1
}

impl Variable {
    pub(super) fn check(&self, name: &str) -> Result<()> {
        let right = match (self.min, self.max, &self.one_of, self.letters) {
            (Some(min), Some(max), None, None) => min <= max && max < u64::MAX,
            (None, None, Some(texts), None) => !texts.is_empty(),
            (None, None, None, Some(count)) => (1..=MAX_LETTERS).contains(&count),
            _ => false,
        };
        match right {
            true => Ok(()),
            false => Err(Error::usage(format!(
                "variables.{name}: expected {{\"min\": A, \"max\": B}} with A <= B, \
                 {{\"one_of\": [\"a\", ...]}} or {{\"letters\": N}} with N up to {MAX_LETTERS}"
            ))),
        }
    }

    fn draw(&self, random: &mut SplitMix64) -> String {
        let mut below = |count: u64| ((u128::from(random.next()) * u128::from(count)) >> 64) as u64;
        match (self.min, self.max, &self.one_of, self.letters) {
            (Some(min), Some(max), ..) => (min + below(max - min + 1)).to_string(),
            (_, _, Some(texts), _) => texts[below(texts.len() as u64) as usize].clone(),
            (.., letters) => {
                let letter = |_| char::from(b'a' + below(26) as u8);
                (0..letters.unwrap_or(0)).map(letter).collect()
            }
        }
    }
}

/// A value of each variable.
pub(super) fn draw(variables: &BTreeMap<String, Variable>, random: &mut SplitMix64) -> Values {
    variables.iter().map(|(name, variable)| (name.clone(), variable.draw(random))).collect()
}
