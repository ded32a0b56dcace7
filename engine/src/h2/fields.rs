//! The fields of a response that the engine uses, from a header block.

use super::hpack::{Decoder, Effects};
use crate::classes::MalformedKind;
use crate::head::{add_length, media_type};

/// The fields of a head.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    /// 0 if there is none.
    pub status: u16,
    pub length: Option<u64>,
    /// Without its parameters; empty if absent.
    pub media_type: Vec<u8>,
    has_media_type: bool,
    has_regular: bool,
    /// The first defect.
    pub defect: Option<MalformedKind>,
}

/// Reads header blocks. One that equals the last, and means the same, is not decoded again.
#[derive(Debug)]
pub(super) struct BlockReader {
    decoder: Decoder,
    pub fields: Fields,
    /// The block of `fields`, what it does to the dynamic table, and the version of the table that
    /// it refers to, if it does. Empty if it is not to be repeated.
    block: Vec<u8>,
    effects: Effects,
    version: Option<u64>,
}

impl BlockReader {
    pub(super) fn new() -> Self {
        let (decoder, fields, effects) = (Decoder::new(), Fields::default(), Effects::default());
        Self { decoder, fields, block: Vec::new(), effects, version: None }
    }

    /// Prepares for a new connection.
    pub(super) fn reset(&mut self) {
        self.decoder.reset();
        if self.version.is_some() {
            self.block.clear();
        }
    }

    /// Reads a block into `fields`. The error is that the block cannot be decoded.
    #[inline]
    pub(super) fn read(&mut self, block: &[u8]) -> Result<(), MalformedKind> {
        let is_known = self.version.is_none_or(|version| version == self.decoder.version());
        if is_known && !block.is_empty() && block == self.block {
            self.decoder.repeat(&self.effects);
            return Ok(());
        }
        self.decode(block)
    }

    fn decode(&mut self, block: &[u8]) -> Result<(), MalformedKind> {
        self.block.clear();
        let fields = &mut self.fields;
        fields.clear();
        self.decoder.decode(block, |name, value| fields.add(name, value))?;
        let effects = &self.decoder.effects;
        if !(effects.resizes || effects.reads && effects.inserts()) {
            self.block.extend_from_slice(block);
            self.version = effects.reads.then(|| self.decoder.version());
            std::mem::swap(&mut self.effects, &mut self.decoder.effects);
        }
        Ok(())
    }
}

impl Fields {
    fn clear(&mut self) {
        self.media_type.clear();
        let media_type = std::mem::take(&mut self.media_type);
        *self = Self { media_type, ..Self::default() };
    }

    /// Adds a field; RFC 9113, section 8.2, says which are malformed.
    fn add(&mut self, name: &[u8], value: &[u8]) {
        if let Err(kind) = self.check(name, value) {
            self.defect.get_or_insert(kind);
        }
    }

    fn check(&mut self, name: &[u8], value: &[u8]) -> Result<(), MalformedKind> {
        let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
        if is_blank(value.first()) || is_blank(value.last()) {
            return Err(MalformedKind::H2Fields);
        }
        if value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
            return Err(MalformedKind::H2Fields);
        }
        if name.first() == Some(&b':') {
            return self.add_status(name, value);
        }
        self.has_regular = true;
        let is_wrong = |byte: &u8| matches!(byte, 0..=b' ' | b'A'..=b'Z' | b':' | 0x7f..);
        if name.is_empty() || name.iter().any(is_wrong) {
            return Err(MalformedKind::H2Fields);
        }
        match name {
            b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding"
            | b"upgrade" => Err(MalformedKind::H2Fields),
            b"content-length" => add_length(&mut self.length, value),
            b"content-type" => self.add_media_type(media_type(value)),
            _ => Ok(()),
        }
    }

    fn add_status(&mut self, name: &[u8], value: &[u8]) -> Result<(), MalformedKind> {
        let is_number = value.len() == 3 && value.iter().all(u8::is_ascii_digit);
        if name != b":status" || self.has_regular || self.status > 0 || !is_number {
            return Err(MalformedKind::H2Fields);
        }
        let status = value.iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
        self.status = status;
        if status < 100 { Err(MalformedKind::H2Fields) } else { Ok(()) }
    }

    fn add_media_type(&mut self, value: &[u8]) -> Result<(), MalformedKind> {
        let conflicts = self.has_media_type && !self.media_type.eq_ignore_ascii_case(value);
        self.has_media_type = true;
        self.media_type.clear();
        self.media_type.extend_from_slice(value);
        if conflicts { Err(MalformedKind::TypeConflict) } else { Ok(()) }
    }
}
