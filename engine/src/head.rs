//! Parser of response heads.

use std::mem::MaybeUninit;

use crate::classes::MalformedKind;

/// A head longer than this is malformed.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;
/// A head with more header lines than this is malformed.
pub(crate) const MAX_HEADERS: usize = 256;

/// How the end of a body is found (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

impl Framing {
    /// Its name in the output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Length(_) => "length",
            Self::Chunked => "chunked",
            Self::UntilClose => "until_close",
        }
    }
}

/// The fields of a response head that the engine uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head<'b> {
    pub status: u16,
    pub framing: Framing,
    /// The server closes after this response.
    pub closes: bool,
    /// Media type without its parameters; empty when absent.
    pub media_type: &'b [u8],
    pub bytes: usize,
}

/// Parses a head at the start of `input`; `None` if it is incomplete.
pub(crate) fn parse_head(
    input: &[u8],
    to_head_request: bool,
) -> Result<Option<Head<'_>>, MalformedKind> {
    let input = &input[..input.len().min(MAX_HEAD_BYTES)];
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    let parsed = config.parse_response_with_uninit_headers(&mut response, input, &mut headers);
    let bytes = match parsed {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) if input.len() == MAX_HEAD_BYTES => {
            return Err(MalformedKind::HeadTooLong);
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(kind_of(error)),
    };
    let status = response.code.unwrap_or(0);
    if !(100..1000).contains(&status) {
        return Err(MalformedKind::StatusLine);
    }
    let fields = Fields::read(response.headers)?;
    let old = response.version == Some(0);
    let framing = fields.framing(status, old, to_head_request)?;
    let closes = framing == Framing::UntilClose
        || fields.close
        || (old && !fields.keep_alive)
        || status == 101;
    Ok(Some(Head {
        status,
        framing,
        closes,
        media_type: fields.media_type.unwrap_or_default(),
        bytes,
    }))
}

fn kind_of(error: httparse::Error) -> MalformedKind {
    match error {
        httparse::Error::HeaderName => MalformedKind::HeaderName,
        httparse::Error::HeaderValue => MalformedKind::HeaderValue,
        httparse::Error::NewLine => MalformedKind::LineEnd,
        httparse::Error::TooManyHeaders => MalformedKind::TooManyHeaders,
        _ => MalformedKind::StatusLine,
    }
}

/// The header fields that framing and comparison need.
#[derive(Default)]
struct Fields<'b> {
    length: Option<u64>,
    encoding: Option<Encoding>,
    close: bool,
    keep_alive: bool,
    media_type: Option<&'b [u8]>,
}

#[derive(PartialEq)]
enum Encoding {
    Chunked,
    Other,
}

impl<'b> Fields<'b> {
    fn read(headers: &[httparse::Header<'b>]) -> Result<Self, MalformedKind> {
        let mut fields = Self::default();
        for header in headers {
            if header.name.eq_ignore_ascii_case("content-length") {
                add_length(&mut fields.length, header.value)?;
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                fields.add_encoding(header.value)?;
            } else if header.name.eq_ignore_ascii_case("connection") {
                fields.close |= has_token(header.value, b"close");
                fields.keep_alive |= has_token(header.value, b"keep-alive");
            } else if header.name.eq_ignore_ascii_case("content-type") {
                fields.add_media_type(media_type(header.value))?;
            }
        }
        Ok(fields)
    }

    /// A repeated value may only differ in its parameters.
    fn add_media_type(&mut self, value: &'b [u8]) -> Result<(), MalformedKind> {
        match self.media_type.replace(value) {
            Some(other) if !other.eq_ignore_ascii_case(value) => Err(MalformedKind::TypeConflict),
            _ => Ok(()),
        }
    }

    fn add_encoding(&mut self, value: &[u8]) -> Result<(), MalformedKind> {
        for part in value.split(|&byte| byte == b',') {
            if self.encoding == Some(Encoding::Chunked) {
                return Err(MalformedKind::BadEncoding);
            }
            self.encoding = Some(match part.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                true => Encoding::Chunked,
                false => Encoding::Other,
            });
        }
        Ok(())
    }

    fn framing(
        &self,
        status: u16,
        old: bool,
        to_head_request: bool,
    ) -> Result<Framing, MalformedKind> {
        if self.encoding.is_some() && self.length.is_some() {
            return Err(MalformedKind::LengthAndEncoding);
        }
        if self.encoding.is_some() && old {
            return Err(MalformedKind::BadEncoding);
        }
        if to_head_request || status < 200 || status == 204 || status == 304 {
            return Ok(Framing::None);
        }
        Ok(match (&self.encoding, self.length) {
            (Some(Encoding::Chunked), _) => Framing::Chunked,
            (Some(Encoding::Other), _) => Framing::UntilClose,
            (None, Some(length)) => Framing::Length(length),
            (None, None) => Framing::UntilClose,
        })
    }
}

/// Adds a Content-Length value. Equal ones may be repeated, in one line or several (RFC 9110, section
/// 8.6).
pub(crate) fn add_length(length: &mut Option<u64>, value: &[u8]) -> Result<(), MalformedKind> {
    for part in value.split(|&byte| byte == b',') {
        let digits = part.trim_ascii();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(MalformedKind::BadLength);
        }
        let text = std::str::from_utf8(digits).map_err(|_| MalformedKind::BadLength)?;
        let number = text.parse().map_err(|_| MalformedKind::BadLength)?;
        if length.replace(number).is_some_and(|other| other != number) {
            return Err(MalformedKind::LengthConflict);
        }
    }
    Ok(())
}

fn has_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|&byte| byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

/// The media type of a Content-Type value, without its parameters.
pub(crate) fn media_type(value: &[u8]) -> &[u8] {
    value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii()
}
