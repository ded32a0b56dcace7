//! Durations such as `500ms`, `10s` and `1m`.

use crate::error::{Error, Result};

/// Parses a duration into nanoseconds; a number without a unit is in seconds.
pub(crate) fn parse_ns(text: &str) -> Result<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_ns = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" | "" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return Err(wrong(text)),
    };
    match number.parse::<f64>() {
        Ok(number) if (0.0..=1e6).contains(&number) => Ok((number * unit_ns).round() as u64),
        _ => Err(wrong(text)),
    }
}

fn wrong(text: &str) -> Error {
    Error::usage(format!("{text:?} is not a duration; expected one like 500ms, 10s or 1m"))
}

#[cfg(test)]
mod tests {
    use super::parse_ns;

    #[test]
    fn parses_all_units() {
        assert_eq!(parse_ns("500ms").unwrap(), 500_000_000);
        assert_eq!(parse_ns("1.5s").unwrap(), 1_500_000_000);
        assert_eq!(parse_ns("2").unwrap(), 2_000_000_000);
        assert_eq!(parse_ns("1m").unwrap(), 60_000_000_000);
        for wrong in ["", "ms", "1x", "-1s", "1e3s"] {
            assert!(parse_ns(wrong).is_err(), "{wrong:?}");
        }
    }
}
