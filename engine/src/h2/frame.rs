//! Frames: their heads, and how they are written.

/// What a client sends first.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const END_STREAM: u8 = 0x1;
pub(super) const ACK: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const HAS_PRIORITY: u8 = 0x20;

pub(super) const ENABLE_PUSH: u16 = 2;
pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(super) const MAX_FRAME_SIZE: u16 = 5;
pub(super) const MAX_HEADER_LIST_SIZE: u16 = 6;

pub(super) const NO_ERROR: u32 = 0;
pub(super) const PROTOCOL_ERROR: u32 = 1;
pub(super) const REFUSED_STREAM: u32 = 7;
pub(super) const CANCEL: u32 = 8;

/// Bytes of the head of a frame.
pub(super) const HEAD_BYTES: usize = 9;
/// The longest payload that either side may send unless the other allows more; we never do.
pub(super) const MAX_PAYLOAD_BYTES: usize = 16_384;
/// The largest flow-control window.
pub(super) const MAX_WINDOW: i64 = (1 << 31) - 1;
/// Streams of a client have odd numbers up to this one.
pub(super) const MAX_STREAM: u32 = (1 << 31) - 1;

const CODES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

/// The name of an error code, or its number.
pub(crate) fn code_name(code: u32) -> String {
    CODES.get(code as usize).map_or_else(|| format!("{code:#x}"), |name| (*name).to_owned())
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub length: usize,
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
}

impl FrameHead {
    /// `None` if `bytes` has no whole head.
    #[inline]
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, kind, flags, ref stream @ ..] = bytes.get(..HEAD_BYTES)? else {
            return None;
        };
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        Some(Self { length, kind, flags, stream: number(stream) & MAX_STREAM })
    }

    #[inline]
    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The number in four bytes.
pub(super) fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Writes the head of a frame.
#[inline]
pub(super) fn write_head(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags, d, e, f, g]);
}

/// Writes a whole frame.
pub(super) fn write(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    write_head(out, payload.len(), kind, flags, stream);
    out.extend_from_slice(payload);
}

/// Writes a header block as HEADERS and as many CONTINUATION frames as it needs. `before` is put in
/// front of the block.
pub(super) fn write_block(
    out: &mut Vec<u8>,
    stream: u32,
    end_stream: u8,
    before: &[u8],
    block: &[u8],
) {
    let first = block.len().min(MAX_PAYLOAD_BYTES - before.len());
    let (mut piece, mut rest) = block.split_at(first);
    let (mut kind, mut flags, mut before) = (HEADERS, end_stream, before);
    loop {
        let last = if rest.is_empty() { END_HEADERS } else { 0 };
        write_head(out, before.len() + piece.len(), kind, flags | last, stream);
        out.extend_from_slice(before);
        out.extend_from_slice(piece);
        if rest.is_empty() {
            return;
        }
        (piece, rest) = rest.split_at(rest.len().min(MAX_PAYLOAD_BYTES));
        (kind, flags, before) = (CONTINUATION, 0, &[]);
    }
}

/// The payload of a frame without its padding; the error is that the padding is too long.
pub(super) fn unpadded(head: FrameHead, payload: &[u8]) -> Result<&[u8], ()> {
    if !head.has(PADDED) {
        return Ok(payload);
    }
    let (pad, rest) = payload.split_first().ok_or(())?;
    rest.len().checked_sub(usize::from(*pad)).map(|bytes| &rest[..bytes]).ok_or(())
}
