//! The reference's way through a stream: one byte, then the next.

use crate::classes::MalformedKind;

use super::reference::Rest;

const MAX_HEAD_BYTES: usize = 65_536;

pub(super) struct Reader<'s> {
    pub stream: &'s [u8],
    pub at: usize,
    /// Set while a head is read, which must not be too long.
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

    /// Takes the rest of a line end whose first byte is `byte`; false when it is none.
    pub(super) fn ends_line(&mut self, byte: u8, kind: MalformedKind) -> Result<bool, Rest> {
        if byte == b'\r' && self.byte()? != b'\n' {
            return Err(Rest::Malformed(kind));
        }
        Ok(byte == b'\r' || byte == b'\n')
    }
}
