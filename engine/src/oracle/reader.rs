//! A reader of single bytes, for the reference parser.

use crate::classes::MalformedKind;

use super::seen::Rest;

const MAX_HEAD_BYTES: usize = 65_536;

pub(super) struct Reader<'s> {
    pub stream: &'s [u8],
    pub at: usize,
    /// Where the current head began; heads have a limit.
    pub head_start: Option<usize>,
}

impl Reader<'_> {
    pub(super) fn peek(&self) -> Result<u8, Rest> {
        if self.head_start.is_some_and(|start| self.at - start == MAX_HEAD_BYTES) {
            return Err(Rest::Malformed(MalformedKind::HeadTooLong));
        }
        let short = if self.head_start.is_some() { Rest::Head } else { Rest::Body(None) };
        self.stream.get(self.at).copied().ok_or(short)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Rest> {
        let byte = self.peek()?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads the rest of a line end that begins with `byte`; false if it is not one.
    pub(super) fn ends_line(&mut self, byte: u8, kind: MalformedKind) -> Result<bool, Rest> {
        if byte == b'\r' && self.byte()? != b'\n' {
            return Err(Rest::Malformed(kind));
        }
        Ok(byte == b'\r' || byte == b'\n')
    }
}
