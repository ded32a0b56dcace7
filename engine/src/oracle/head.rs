//! The reference parser of heads (RFC 9112, sections 2 to 5).

use crate::classes::MalformedKind;

use super::reader::Reader;
use super::seen::Rest;

const MAX_HEADERS: usize = 256;

/// A name in lower case, and a value without the blanks around it.
pub(super) type Header = (Vec<u8>, Vec<u8>);

pub(super) struct Head {
    pub status: u16,
    pub old: bool,
    pub headers: Vec<Header>,
}

/// Blank lines, a status line, header lines, a blank line.
pub(super) fn head(reader: &mut Reader) -> Result<Head, Rest> {
    let bad_status = || Rest::Malformed(MalformedKind::StatusLine);
    while matches!(reader.peek()?, b'\r' | b'\n') {
        let byte = reader.byte()?;
        reader.ends_line(byte, MalformedKind::LineEnd)?;
    }
    for wanted in b"HTTP/1." {
        if reader.byte()? != *wanted {
            return Err(bad_status());
        }
    }
    let old = match reader.byte()? {
        b'0' => true,
        b'1' => false,
        _ => return Err(bad_status()),
    };
    if reader.byte()? != b' ' {
        return Err(bad_status());
    }
    let mut status = 0;
    for _ in 0..3 {
        match reader.byte()? {
            digit @ b'0'..=b'9' => status = status * 10 + u16::from(digit - b'0'),
            _ => return Err(bad_status()),
        }
    }
    let after = reader.byte()?;
    if !reader.ends_line(after, MalformedKind::StatusLine)? {
        if after != b' ' {
            return Err(bad_status());
        }
        while text_byte(reader, MalformedKind::StatusLine)?.is_some() {}
    }
    let mut headers = Vec::new();
    while let Some(header) = header(reader)? {
        if headers.len() == MAX_HEADERS {
            return Err(Rest::Malformed(MalformedKind::TooManyHeaders));
        }
        headers.push(header);
    }
    match status {
        100.. => Ok(Head { status, old, headers }),
        _ => Err(bad_status()),
    }
}

/// The next byte of a line of text; `None` at its end.
fn text_byte(reader: &mut Reader, kind: MalformedKind) -> Result<Option<u8>, Rest> {
    let byte = reader.byte()?;
    if reader.ends_line(byte, kind)? {
        return Ok(None);
    }
    let is_text = byte == b'\t' || (byte >= b' ' && byte != 127);
    if is_text { Ok(Some(byte)) } else { Err(Rest::Malformed(kind)) }
}

/// The next header; `None` at the end of the head.
fn header(reader: &mut Reader) -> Result<Option<Header>, Rest> {
    let mut byte = reader.byte()?;
    if reader.ends_line(byte, MalformedKind::LineEnd)? {
        return Ok(None);
    }
    let mut name = Vec::new();
    while byte != b':' || name.is_empty() {
        if !byte.is_ascii_alphanumeric() && !b"!#$%&'*+-.^_`|~".contains(&byte) {
            return Err(Rest::Malformed(MalformedKind::HeaderName));
        }
        name.push(byte.to_ascii_lowercase());
        byte = reader.byte()?;
    }
    let mut value = Vec::new();
    loop {
        while let Some(byte) = text_byte(reader, MalformedKind::HeaderValue)? {
            value.push(byte);
        }
        // A line that begins with a blank continues the value of the line before.
        if !matches!(reader.peek()?, b' ' | b'\t') {
            break;
        }
    }
    Ok(Some((name, value.trim_ascii().to_vec())))
}
