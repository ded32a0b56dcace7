//! HPACK (RFC 7541): decodes header blocks, and encodes those of requests without a dynamic table.

use std::collections::VecDeque;

use super::huffman;
use crate::classes::MalformedKind;

/// The size of the dynamic table that a server may use: the default, which our SETTINGS leave.
const TABLE_BYTES: usize = 4096;
/// What each entry counts for beside its text (RFC 7541, section 4.1).
const ENTRY_BYTES: usize = 32;
/// A block with more text or fields is rejected; as in HTTP/1.1.
pub(super) const MAX_LIST_BYTES: usize = 64 * 1024;
const MAX_FIELDS: usize = 256;

/// A dynamic table size update to 0, which begins the first block of a connection: no server waits
/// for another one then, whatever its SETTINGS say (RFC 7541, section 4.2).
pub(super) const NO_TABLE: u8 = 0x20;

#[rustfmt::skip]
pub(crate) const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// The dynamic table. The text of its entries is one stretch of `text`, oldest first.
#[derive(Debug)]
struct Table {
    text: Vec<u8>,
    /// Where the oldest entry begins.
    start: usize,
    /// The lengths of name and value, oldest first.
    entries: VecDeque<(usize, usize)>,
    bytes: usize,
    max_bytes: usize,
    /// Counts the changes.
    version: u64,
}

impl Table {
    fn new() -> Self {
        let (text, entries) = (Vec::new(), VecDeque::new());
        Self { text, start: 0, entries, bytes: 0, max_bytes: TABLE_BYTES, version: 0 }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
        (self.start, self.bytes, self.max_bytes, self.version) = (0, 0, TABLE_BYTES, 0);
    }

    fn resize(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
        self.version += 1;
        self.evict(max_bytes);
    }

    fn evict(&mut self, max_bytes: usize) {
        while self.bytes > max_bytes
            && let Some((name, value)) = self.entries.pop_front()
        {
            self.start += name + value;
            self.bytes -= name + value + ENTRY_BYTES;
        }
    }

    fn insert(&mut self, field: &[u8], name: usize) {
        self.version += 1;
        let bytes = field.len() + ENTRY_BYTES;
        self.evict(self.max_bytes.saturating_sub(bytes));
        if bytes > self.max_bytes {
            return;
        }
        if self.start >= TABLE_BYTES {
            self.text.drain(..self.start);
            self.start = 0;
        }
        self.text.extend_from_slice(field);
        self.entries.push_back((name, field.len() - name));
        self.bytes += bytes;
    }

    /// The text of an entry, and the length of its name; 0 is the newest.
    fn get(&self, index: usize) -> Option<(&[u8], usize)> {
        let newer = self.entries.iter().rev().take(index);
        let end = self.text.len() - newer.map(|(name, value)| name + value).sum::<usize>();
        let at = self.entries.len().checked_sub(index + 1)?;
        let (name, value) = self.entries[at];
        Some((&self.text[end - name - value..end], name))
    }
}

/// What decoding a block did to the dynamic table.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// The block refers to entries.
    pub reads: bool,
    pub resizes: bool,
    /// The entries inserted: their text, and their lengths.
    text: Vec<u8>,
    entries: Vec<(usize, usize)>,
}

impl Effects {
    pub(super) fn inserts(&self) -> bool {
        !self.entries.is_empty()
    }

    fn clear(&mut self) {
        (self.reads, self.resizes) = (false, false);
        self.text.clear();
        self.entries.clear();
    }
}

#[derive(Debug)]
pub(super) struct Decoder {
    table: Table,
    /// Name and value of the current field.
    field: Vec<u8>,
    pub effects: Effects,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self { table: Table::new(), field: Vec::new(), effects: Effects::default() }
    }

    /// Prepares for a new connection.
    pub(super) fn reset(&mut self) {
        self.table.clear();
    }

    /// The number of changes to the dynamic table.
    pub(super) fn version(&self) -> u64 {
        self.table.version
    }

    /// Inserts what a block inserts that was decoded before.
    pub(super) fn repeat(&mut self, effects: &Effects) {
        let mut at = 0;
        for (name, value) in &effects.entries {
            self.table.insert(&effects.text[at..at + name + value], *name);
            at += name + value;
        }
    }

    /// Decodes a block; `each` gets name and value of every field.
    pub(super) fn decode(
        &mut self,
        block: &[u8],
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), MalformedKind> {
        self.effects.clear();
        let mut input = Input { rest: block };
        let (mut fields, mut list_bytes) = (0, 0);
        while let Some(&first) = input.rest.first() {
            if first & 0xe0 == 0x20 {
                let bytes = input.integer(5)?;
                if fields > 0 || bytes > TABLE_BYTES {
                    return Err(MalformedKind::H2Hpack);
                }
                self.effects.resizes = true;
                self.table.resize(bytes);
                continue;
            }
            let name = self.field(&mut input, first)?;
            fields += 1;
            list_bytes += self.field.len() + ENTRY_BYTES;
            if fields > MAX_FIELDS || list_bytes > MAX_LIST_BYTES {
                return Err(MalformedKind::H2HeaderList);
            }
            let (name, value) = self.field.split_at(name);
            each(name, value);
        }
        Ok(())
    }

    /// Reads a field; returns the length of its name.
    fn field(&mut self, input: &mut Input, first: u8) -> Result<usize, MalformedKind> {
        self.field.clear();
        if first & 0x80 != 0 {
            let index = input.integer(7)?;
            return self.copy(index, true);
        }
        let indexed = first & 0x40 != 0;
        let name = match input.integer(if indexed { 6 } else { 4 })? {
            0 => {
                input.text(&mut self.field)?;
                self.field.len()
            }
            index => self.copy(index, false)?,
        };
        input.text(&mut self.field)?;
        if indexed {
            self.table.insert(&self.field, name);
            self.effects.text.extend_from_slice(&self.field);
            self.effects.entries.push((name, self.field.len() - name));
        }
        Ok(name)
    }

    /// Copies the name of an entry, or the whole; returns the length of the name.
    fn copy(&mut self, index: usize, whole: bool) -> Result<usize, MalformedKind> {
        if let Some((name, value)) = index.checked_sub(1).and_then(|at| STATIC.get(at)) {
            self.field.extend_from_slice(name.as_bytes());
            if whole {
                self.field.extend_from_slice(value.as_bytes());
            }
            return Ok(name.len());
        }
        let index = index.checked_sub(STATIC.len() + 1).ok_or(MalformedKind::H2Hpack)?;
        let (text, name) = self.table.get(index).ok_or(MalformedKind::H2Hpack)?;
        self.field.extend_from_slice(&text[..if whole { text.len() } else { name }]);
        self.effects.reads = true;
        Ok(name)
    }
}

struct Input<'b> {
    rest: &'b [u8],
}

impl Input<'_> {
    /// An integer behind a prefix of some bits (RFC 7541, section 5.1), of at most 28 further bits.
    fn integer(&mut self, bits: u8) -> Result<usize, MalformedKind> {
        let mask = (1u8 << bits) - 1;
        let mut value = usize::from(self.byte()? & mask);
        if value < usize::from(mask) {
            return Ok(value);
        }
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(MalformedKind::H2Hpack)
    }

    fn byte(&mut self) -> Result<u8, MalformedKind> {
        let (first, rest) = self.rest.split_first().ok_or(MalformedKind::H2Hpack)?;
        self.rest = rest;
        Ok(*first)
    }

    /// Appends a string.
    fn text(&mut self, out: &mut Vec<u8>) -> Result<(), MalformedKind> {
        let is_coded = self.rest.first().is_some_and(|byte| byte & 0x80 != 0);
        let bytes = self.integer(7)?;
        let (text, rest) = self.rest.split_at_checked(bytes).ok_or(MalformedKind::H2Hpack)?;
        self.rest = rest;
        match is_coded {
            true => huffman::decode(text, out).ok_or(MalformedKind::H2Hpack),
            false => {
                out.extend_from_slice(text);
                Ok(())
            }
        }
    }
}

/// Appends a field that is in no dynamic table, and is to be put in none.
pub(super) fn encode(out: &mut Vec<u8>, name: &str, value: &str) {
    if let Some(at) = STATIC.iter().position(|entry| *entry == (name, value)) {
        return write_integer(out, 0x80, 7, at + 1);
    }
    match STATIC.iter().position(|(other, _)| *other == name) {
        Some(at) => write_integer(out, 0, 4, at + 1),
        None => {
            out.push(0);
            write_text(out, name);
        }
    }
    write_text(out, value);
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    write_integer(out, 0, 7, text.len());
    out.extend_from_slice(text.as_bytes());
}

fn write_integer(out: &mut Vec<u8>, first: u8, bits: u8, value: usize) {
    let mask = (1usize << bits) - 1;
    if value < mask {
        return out.push(first | value as u8);
    }
    out.push(first | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}
