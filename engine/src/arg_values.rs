//! The values of options, read from text.

use std::io::Read;
use std::str::FromStr;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::schedule::Arrival;
use crate::shard::Shard;

/// Parses a number or an address; the error says what was `expected`.
pub(crate) fn number<T: FromStr>(value: &str, expected: &str) -> Result<T> {
    value.parse().map_err(|_| Error::usage(format!("{value:?}: expected {expected}")))
}

pub(crate) fn at_least_one(value: &str) -> Result<usize> {
    match value.parse() {
        Ok(count) if (1..=10_000_000).contains(&count) => Ok(count),
        _ => Err(Error::usage(format!("{value:?}: expected a whole number from 1 to 10000000"))),
    }
}

pub(crate) fn arrival(value: &str) -> Result<Arrival> {
    match value {
        "constant" => Ok(Arrival::Constant),
        "poisson" => Ok(Arrival::Poisson),
        _ => Err(Error::usage(format!("{value:?}: expected constant or poisson"))),
    }
}

pub(crate) fn backend(value: &str) -> Result<Option<Backend>> {
    match value {
        "auto" => Ok(None),
        "epoll" => Ok(Some(Backend::Epoll)),
        "io_uring" => Ok(Some(Backend::IoUring)),
        _ => Err(Error::usage(format!("{value:?}: expected auto, epoll or io_uring"))),
    }
}

/// Parses FIRST/COUNT/TOTAL, which the engine passes to its own processes.
pub(crate) fn shard(value: &str) -> Result<Shard> {
    let wrong = || Error::usage(format!("{value:?}: expected FIRST/COUNT/TOTAL"));
    let parts: Vec<usize> =
        value.split('/').map(|part| part.parse().map_err(|_| wrong())).collect::<Result<_>>()?;
    match parts[..] {
        [first, count, total] if count > 0 && first + count <= total => {
            Ok(Shard { first, count, total })
        }
        _ => Err(wrong()),
    }
}

pub(crate) fn token(value: &str) -> Result<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    match !value.is_empty() && value.bytes().all(fits) {
        true => Ok(value.to_owned()),
        false => Err(Error::usage(format!("{value:?}: expected an HTTP token, as GET or X-Name"))),
    }
}

pub(crate) fn header(value: &str) -> Result<(String, String)> {
    let (name, content) = value
        .split_once(':')
        .ok_or_else(|| Error::usage(format!("{value:?}: expected 'NAME: VALUE'")))?;
    if content.bytes().any(|byte| byte == b'\r' || byte == b'\n') {
        return Err(Error::usage(format!("{value:?}: expected a header of one line")));
    }
    Ok((token(name)?, content.trim().to_owned()))
}

/// A device or a pipe may never end.
const FILE_BYTES_MAX: u64 = 64 << 20;

pub(crate) fn text_or_file(value: &str) -> Result<Vec<u8>> {
    let Some(path) = value.strip_prefix('@') else {
        return Ok(value.as_bytes().to_vec());
    };
    let refused = |error: std::io::Error| Error::usage(format!("{path}: {error}"));
    let mut content = Vec::new();
    let file = std::fs::File::open(path).map_err(refused)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut content).map_err(refused)?;
    match content.len() as u64 > FILE_BYTES_MAX {
        true => Err(Error::usage(format!("{path}: expected at most {FILE_BYTES_MAX} bytes"))),
        false => Ok(content),
    }
}
