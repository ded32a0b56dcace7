//! The reference parser of chunked bodies (RFC 9112, section 7.1).

use crate::classes::MalformedKind;

use super::reader::Reader;
use super::seen::Rest;

const MAX_TRAILER_BYTES: usize = 65_536;

pub(super) fn chunked_body(reader: &mut Reader) -> Result<Vec<u8>, Rest> {
    let mut body = Vec::new();
    let mut extra = 0;
    loop {
        let size = chunk_size(reader, &mut extra)?;
        if size == 0 {
            break;
        }
        for _ in 0..size {
            body.push(reader.byte()?);
        }
        let byte = reader.byte()?;
        if !reader.ends_line(byte, MalformedKind::ChunkEnd)? {
            return Err(Rest::Malformed(MalformedKind::ChunkEnd));
        }
    }
    loop {
        let byte = reader.byte()?;
        if reader.ends_line(byte, MalformedKind::Trailer)? {
            return Ok(body);
        }
        if byte == b':' {
            return Err(Rest::Malformed(MalformedKind::Trailer));
        }
        count(&mut extra)?;
        let mut has_name = matches!(byte, b' ' | b'\t');
        loop {
            let byte = reader.byte()?;
            if byte == b'\n' {
                break;
            }
            count(&mut extra)?;
            has_name |= byte == b':';
        }
        if !has_name {
            return Err(Rest::Malformed(MalformedKind::Trailer));
        }
    }
}

/// One to sixteen digits, then nothing, or a blank or semicolon and anything up to the line end.
fn chunk_size(reader: &mut Reader, extra: &mut usize) -> Result<u64, Rest> {
    let bad = || Rest::Malformed(MalformedKind::ChunkSize);
    let mut size = 0u64;
    let mut digits = 0;
    let mut byte = reader.byte()?;
    while let Some(digit) = char::from(byte).to_digit(16) {
        digits += 1;
        if digits > 16 {
            return Err(bad());
        }
        size = size * 16 + u64::from(digit);
        byte = reader.byte()?;
    }
    if digits == 0 {
        return Err(bad());
    }
    if reader.ends_line(byte, MalformedKind::ChunkSize)? {
        return Ok(size);
    }
    if !matches!(byte, b';' | b' ' | b'\t') {
        return Err(bad());
    }
    loop {
        let byte = reader.byte()?;
        if reader.ends_line(byte, MalformedKind::ChunkSize)? {
            return Ok(size);
        }
        count(extra)?;
    }
}

/// Extensions and trailers have a common limit.
fn count(extra: &mut usize) -> Result<(), Rest> {
    *extra += 1;
    match *extra > MAX_TRAILER_BYTES {
        true => Err(Rest::Malformed(MalformedKind::Trailer)),
        false => Ok(()),
    }
}
