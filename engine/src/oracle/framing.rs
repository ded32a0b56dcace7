//! The reference rules for the end of the body and of the connection.

use crate::classes::MalformedKind;

use super::head::Head;

pub(super) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

/// The elements of all lists under one name.
fn elements<'h>(head: &'h Head, name: &'h [u8]) -> impl Iterator<Item = Vec<u8>> + 'h {
    let lists = head.headers.iter().filter(move |(other, _)| other == name);
    lists
        .flat_map(|(_, list)| list.split(|byte| *byte == b','))
        .map(|element| element.trim_ascii().to_ascii_lowercase())
}

pub(super) fn framing(head: &Head, to_head_request: bool) -> Result<Framing, MalformedKind> {
    // Header lines are checked in order; the first fault is the kind.
    let mut length = None;
    let mut codings = Vec::new();
    let mut media_type = None;
    for (name, list) in &head.headers {
        if name == b"content-type" {
            let value = list.split(|byte| *byte == b';').next().unwrap_or(b"");
            let value = value.trim_ascii().to_ascii_lowercase();
            if media_type.replace(value.clone()).is_some_and(|other| other != value) {
                return Err(MalformedKind::TypeConflict);
            }
        }
        for element in list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            match &name[..] {
                b"content-length" => {
                    let value = decimal(element).ok_or(MalformedKind::BadLength)?;
                    if length.is_some_and(|other| other != value) {
                        return Err(MalformedKind::LengthConflict);
                    }
                    length = Some(value);
                }
                b"transfer-encoding" => {
                    if codings.last().is_some_and(|coding| coding == b"chunked") {
                        return Err(MalformedKind::BadEncoding);
                    }
                    codings.push(element.to_ascii_lowercase());
                }
                _ => {}
            }
        }
    }
    if !codings.is_empty() && length.is_some() {
        return Err(MalformedKind::LengthAndEncoding);
    }
    if !codings.is_empty() && head.old {
        return Err(MalformedKind::BadEncoding);
    }
    let bodiless = to_head_request || head.status < 200 || [204, 304].contains(&head.status);
    Ok(match (bodiless, codings.last(), length) {
        (true, ..) => Framing::Length(0),
        (_, Some(coding), _) if coding == b"chunked" => Framing::Chunked,
        (_, None, Some(length)) => Framing::Length(length),
        _ => Framing::UntilClose,
    })
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let value = digits.iter().try_fold(0u64, |value, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    });
    value.filter(|_| !digits.is_empty())
}

pub(super) fn closes(head: &Head, framing: &Framing) -> bool {
    let says = |option: &[u8]| elements(head, b"connection").any(|element| element == option);
    let kept = !head.old || says(b"keep-alive");
    matches!(framing, Framing::UntilClose) || head.status == 101 || says(b"close") || !kept
}
