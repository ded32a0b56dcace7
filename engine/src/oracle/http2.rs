//! The reference for HTTP/2: a second reader of a server's frames, written for clarity after RFC 9113
//! and RFC 7541. It has the whole stream at once, keeps whole bodies and header lists, and shares only
//! types and the static table with the client.

use std::collections::{BTreeMap, VecDeque};

use super::huffman_codes;
use crate::classes::MalformedKind as Kind;
use crate::connection::Flight;
use crate::expected::{Comparison, Expected};
use crate::h2::{Book, Client, Event, PREFACE, STATIC};
use crate::response::Answer;

type Field = (Vec<u8>, Vec<u8>);

const MAX_PAYLOAD: usize = 16_384;
const MAX_LIST: usize = 65_536;
const TABLE: usize = 4096;
const MAX_WINDOW: i64 = 0x7fff_ffff;

/// What the bytes of a server did, with the numbers of streams.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Answered(u32, Answer),
    Refused,
    Reset(u32, u32),
    Malformed(u32, Kind),
    Goaway { code: u32, retried: u64 },
    Broken(Kind, u32),
}

/// All that they did, and the frames that the client writes because of them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    said: Vec<Said>,
    in_flight: Vec<u32>,
    replies: Vec<u8>,
}

/// The bytes of a server, their pieces, and the number of requests before them.
#[derive(Debug)]
pub struct Http2Case {
    pub(crate) expected: Expected,
    pub requests: u32,
    pub pieces: Vec<usize>,
    pub stream: Vec<u8>,
}

impl Http2Case {
    /// Decodes a case from a fuzzer's bytes: flags, number of piece sizes, the sizes, the stream. It
    /// is bytes as they are, or short frames: kind, flags, stream and length, a byte each, before the
    /// payload.
    pub fn decode(data: &[u8]) -> Self {
        let (&flags, data) = data.split_first().unwrap_or((&0, &[]));
        let (&count, data) = data.split_first().unwrap_or((&0, &[]));
        let (sizes, mut rest) = data.split_at(data.len().min(usize::from(count % 8)));
        let has = |bit: u8| flags & bit != 0;
        let mut stream = if has(16) { vec![0, 0, 0, 4, 0, 0, 0, 0, 0] } else { Vec::new() };
        while has(8)
            && let [kind, flags, number, length, payload @ ..] = rest
        {
            let (payload, after) = payload.split_at(payload.len().min(usize::from(*length)));
            let length = payload.len() as u8;
            stream.extend_from_slice(&[0, 0, length, kind % 11, *flags, 0, 0, 0, number % 10]);
            stream.extend_from_slice(payload);
            rest = after;
        }
        stream.extend_from_slice(rest);
        Self {
            expected: Expected {
                status: 200,
                media_type: has(4).then(|| b"text/plain".to_vec()),
                body: has(2).then(|| b"Hello, World!".to_vec()),
                to_head_request: has(1),
            },
            requests: u32::from(flags >> 5).clamp(1, 4),
            pieces: sizes.iter().map(|size| usize::from(*size).max(1)).collect(),
            stream,
        }
    }

    /// Panics if the client, in one piece or in several, disagrees with the reference.
    pub fn check(&self) {
        let wanted = Reference::read(self);
        for pieces in [&[], &self.pieces[..]] {
            assert_eq!(self.taken(pieces), wanted, "pieces of {pieces:?}: {self:?}");
        }
    }

    /// The result of the client.
    fn taken(&self, pieces: &[usize]) -> Seen {
        let book = Book::bare();
        let mut client = Client::new(self.requests as usize);
        client.open();
        for n in 0..self.requests {
            let (begun_ns, sent_ns, intended_ns) = (u64::from(2 * n + 1), 0, 0);
            client.assign(Flight { begun_ns, sent_ns, intended_ns, url: 0, measured: true });
            client.send_next(&book, 1).expect("it may be sent");
        }
        let mut output = Vec::new();
        client.write_output(&book, &mut output);
        assert!(output.starts_with(PREFACE));
        let mut seen = Seen::default();
        let expected = [self.expected.clone()];
        let mut sizes = pieces.iter().copied().cycle();
        let mut rest = &self.stream[..];
        'pieces: while !rest.is_empty() {
            let size = sizes.next().unwrap_or(usize::MAX).min(rest.len());
            let (mut piece, after) = rest.split_at(size);
            rest = after;
            loop {
                let (used, event) = client.take(piece, &expected, 1);
                piece = &piece[used..];
                let id = |flight: &Flight| flight.begun_ns as u32;
                seen.said.push(match event {
                    Event::More => break,
                    Event::Answered { ended, answer } => Said::Answered(id(&ended.flight), answer),
                    Event::Refused => Said::Refused,
                    Event::Reset { ended, code } => Said::Reset(id(&ended.flight), code),
                    Event::Malformed { ended, kind } => Said::Malformed(id(&ended.flight), kind),
                    Event::Goaway { code, retried, given_up, .. } => {
                        assert!(given_up.is_empty(), "each was sent once");
                        Said::Goaway { code, retried }
                    }
                    Event::Broken { kind, stream } => {
                        seen.said.push(Said::Broken(kind, stream));
                        break 'pieces;
                    }
                });
            }
        }
        client.write_output(&book, &mut seen.replies);
        let in_flight = client.end_streams(0);
        seen.in_flight = in_flight.iter().map(|ended| ended.flight.begun_ns as u32).collect();
        seen
    }
}

/// A response so far.
#[derive(Default)]
struct Response {
    /// A head came, also an interim one.
    begun: bool,
    head: Option<Vec<Field>>,
    body: Vec<u8>,
    send_window: i64,
}

struct Frame<'s> {
    kind: u8,
    flags: u8,
    id: u32,
    payload: &'s [u8],
}

/// What is unusable: a stream, which the server has ended or not, or the connection.
enum Wrong {
    Stream { id: u32, ended: bool, kind: Kind },
    Connection(Kind),
}

impl From<Kind> for Wrong {
    fn from(kind: Kind) -> Self {
        Self::Connection(kind)
    }
}

struct Reference<'c> {
    case: &'c Http2Case,
    table: VecDeque<Field>,
    table_limit: usize,
    settled: bool,
    open: BTreeMap<u32, Response>,
    cancelled: Vec<u32>,
    /// An incomplete header block, its stream, and whether that ends with it.
    block: Option<(u32, bool, Vec<u8>)>,
    send_window: i64,
    stream_send_window: i64,
    seen: Seen,
}

impl<'c> Reference<'c> {
    fn read(case: &'c Http2Case) -> Seen {
        let window = 65_535;
        let of = |n| (2 * n + 1, Response { send_window: window, ..Response::default() });
        let mut reader = Self {
            case,
            table: VecDeque::new(),
            table_limit: TABLE,
            settled: false,
            open: (0..case.requests).map(of).collect(),
            cancelled: Vec::new(),
            block: None,
            send_window: window,
            stream_send_window: window,
            seen: Seen::default(),
        };
        let mut rest = &case.stream[..];
        while rest.len() >= 9 {
            let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
            let id = u32::from_be_bytes([rest[5] & 0x7f, rest[6], rest[7], rest[8]]);
            let wrong = match () {
                () if !reader.settled && rest.starts_with(b"HTTP/") => Some(Kind::H2Http1),
                () if !reader.settled && (rest[3] != 4 || rest[4] & 1 == 1) => {
                    Some(Kind::H2Preface)
                }
                () if length > MAX_PAYLOAD => Some(Kind::H2FrameSize),
                () => None,
            };
            if let Some(kind) = wrong {
                reader.seen.said.push(Said::Broken(kind, id));
                break;
            }
            let Some(payload) = rest.get(9..9 + length) else { break };
            let frame = Frame { kind: rest[3], flags: rest[4], id, payload };
            rest = &rest[9 + length..];
            match reader.frame(&frame) {
                Ok(()) => {}
                Err(Wrong::Stream { id, ended, kind }) => {
                    reader.open.remove(&id);
                    reader.seen.said.push(Said::Malformed(id, kind));
                    if !ended {
                        reader.cancelled.push(id);
                        reader.reply(3, 0, id, &[0, 0, 0, 1]);
                    }
                }
                Err(Wrong::Connection(kind)) => {
                    reader.seen.said.push(Said::Broken(kind, id));
                    break;
                }
            }
        }
        reader.seen.in_flight = reader.open.keys().copied().collect();
        reader.seen
    }

    fn reply(&mut self, kind: u8, flags: u8, id: u32, payload: &[u8]) {
        self.seen.replies.extend_from_slice(&[0, 0, payload.len() as u8, kind, flags]);
        self.seen.replies.extend_from_slice(&id.to_be_bytes());
        self.seen.replies.extend_from_slice(payload);
    }

    fn was_opened(&self, id: u32) -> Result<(), Kind> {
        match id % 2 == 1 && id < 2 * self.case.requests {
            true => Ok(()),
            false => Err(Kind::H2FrameStream),
        }
    }

    /// For frames on streams that are not open any more.
    fn is_forgiven(&self, id: u32) -> Result<(), Wrong> {
        match self.cancelled.contains(&id) {
            true => Ok(()),
            false => Err(Kind::H2StreamClosed.into()),
        }
    }

    fn frame(&mut self, frame: &Frame) -> Result<(), Wrong> {
        let Frame { kind, flags, id, payload } = *frame;
        if kind == 9 {
            let (of, ended, mut block) = self.block.take().ok_or(Kind::H2FrameOrder)?;
            if of != id {
                return Err(Kind::H2FrameOrder.into());
            }
            if block.len() + payload.len() > MAX_LIST {
                return Err(Kind::H2HeaderList.into());
            }
            block.extend_from_slice(payload);
            if flags & 4 == 0 {
                self.block = Some((id, ended, block));
                return Ok(());
            }
            return self.header_block(id, ended, &block);
        }
        if self.block.is_some() {
            return Err(Kind::H2FrameOrder.into());
        }
        let wants_length = |length: usize| match payload.len() == length {
            true => Ok(()),
            false => Err(Kind::H2FrameSize),
        };
        let on_connection = if id == 0 { Ok(()) } else { Err(Kind::H2FrameStream) };
        match kind {
            0 => {
                self.was_opened(id)?;
                let data = without_padding(flags, payload)?;
                self.data(id, flags & 1 == 1, data)
            }
            1 => {
                self.was_opened(id)?;
                let mut block = without_padding(flags, payload)?;
                if flags & 0x20 != 0 {
                    block = block.get(5..).ok_or(Kind::H2FrameSize)?;
                }
                if flags & 4 == 0 {
                    self.block = Some((id, flags & 1 == 1, block.to_vec()));
                    return Ok(());
                }
                self.header_block(id, flags & 1 == 1, block)
            }
            2 => {
                wants_length(5)?;
                if id == 0 { Err(Kind::H2FrameStream.into()) } else { Ok(()) }
            }
            3 => {
                wants_length(4)?;
                self.was_opened(id)?;
                if let Some(response) = self.open.remove(&id) {
                    self.seen.said.push(match big_endian(payload) {
                        7 if !response.begun => Said::Refused,
                        code => Said::Reset(id, code),
                    });
                }
                Ok(())
            }
            4 => {
                on_connection?;
                if !payload.len().is_multiple_of(6) || (flags & 1 == 1 && !payload.is_empty()) {
                    return Err(Kind::H2FrameSize.into());
                }
                if flags & 1 == 1 { Ok(()) } else { self.settings(payload) }
            }
            5 => Err(Kind::H2Push.into()),
            6 => {
                wants_length(8)?;
                on_connection?;
                if flags & 1 == 0 {
                    self.reply(6, 1, 0, payload);
                }
                Ok(())
            }
            7 => {
                if payload.len() < 8 {
                    return Err(Kind::H2FrameSize.into());
                }
                on_connection?;
                let last = big_endian(payload) & 0x7fff_ffff;
                let before = self.open.len();
                self.open.retain(|id, _| *id <= last);
                let retried = (before - self.open.len()) as u64;
                self.seen.said.push(Said::Goaway { code: big_endian(&payload[4..]), retried });
                Ok(())
            }
            8 => {
                wants_length(4)?;
                let growth = i64::from(big_endian(payload) & 0x7fff_ffff);
                let fits = |window: i64| growth > 0 && window <= MAX_WINDOW;
                if id == 0 {
                    self.send_window += growth;
                    return match fits(self.send_window) {
                        true => Ok(()),
                        false => Err(Kind::H2FlowControl.into()),
                    };
                }
                self.was_opened(id)?;
                let Some(response) = self.open.get_mut(&id) else { return Ok(()) };
                response.send_window += growth;
                match fits(response.send_window) {
                    true => Ok(()),
                    false => Err(Wrong::Stream { id, ended: false, kind: Kind::H2FlowControl }),
                }
            }
            _ => Ok(()),
        }
    }

    fn settings(&mut self, payload: &[u8]) -> Result<(), Wrong> {
        self.settled = true;
        for setting in payload.chunks(6) {
            let value = big_endian(&setting[2..]);
            match big_endian(&[0, 0, setting[0], setting[1]]) {
                2 if value != 0 => return Err(Kind::H2Settings.into()),
                5 if !(1 << 14..1 << 24).contains(&value) => return Err(Kind::H2Settings.into()),
                4 => {
                    let window = i64::from(value);
                    if window > MAX_WINDOW {
                        return Err(Kind::H2FlowControl.into());
                    }
                    for response in self.open.values_mut() {
                        response.send_window += window - self.stream_send_window;
                        if response.send_window > MAX_WINDOW {
                            return Err(Kind::H2FlowControl.into());
                        }
                    }
                    self.stream_send_window = window;
                }
                _ => {}
            }
        }
        self.reply(4, 1, 0, &[]);
        Ok(())
    }

    fn data(&mut self, id: u32, ended: bool, data: &[u8]) -> Result<(), Wrong> {
        let Some(response) = self.open.get_mut(&id) else { return self.is_forgiven(id) };
        if response.head.is_none() {
            return Err(Wrong::Stream { id, ended, kind: Kind::H2FrameOrder });
        }
        response.body.extend_from_slice(data);
        if ended { self.answer(id) } else { Ok(()) }
    }

    fn header_block(&mut self, id: u32, ended: bool, block: &[u8]) -> Result<(), Wrong> {
        let fields = self.decode(block)?;
        let Some(response) = self.open.get_mut(&id) else { return self.is_forgiven(id) };
        response.begun = true;
        let wrong = |kind| Wrong::Stream { id, ended, kind };
        if let Some(kind) = defect(&fields) {
            return Err(wrong(kind));
        }
        let status = status(&fields);
        if response.head.is_some() {
            if status > 0 || !ended {
                return Err(wrong(Kind::H2Fields));
            }
            return self.answer(id);
        }
        if status == 0 || status == 101 || (status < 200 && ended) {
            return Err(wrong(Kind::H2Fields));
        }
        if status >= 200 {
            response.head = Some(fields);
        }
        if ended { self.answer(id) } else { Ok(()) }
    }

    fn answer(&mut self, id: u32) -> Result<(), Wrong> {
        let response = self.open.remove(&id).expect("an open stream");
        let head = response.head.expect("a head before the end");
        let expected = &self.case.expected;
        let status = status(&head);
        let bytes = response.body.len();
        let lengths = values(&head, "content-length");
        let is_bare = expected.to_head_request || status == 304;
        let is_other = |length: &&[u8]| number(first_part(length)) != Some(bytes as u64);
        if !is_bare && lengths.iter().any(is_other) {
            return Err(Wrong::Stream { id, ended: true, kind: Kind::H2Length });
        }
        let media_type =
            values(&head, "content-type").last().map_or(&b""[..], |value| media(value));
        let comparison = match () {
            () if status != expected.status => Comparison::Status,
            () if expected
                .media_type
                .as_ref()
                .is_some_and(|wanted| !wanted.eq_ignore_ascii_case(media_type)) =>
            {
                Comparison::MediaType
            }
            () => match &expected.body {
                Some(body) if body.len() != bytes => Comparison::Length,
                Some(body) if *body != response.body => Comparison::Body,
                _ => Comparison::Same,
            },
        };
        let answer = Answer { status, closes: false, comparison };
        self.seen.said.push(Said::Answered(id, answer));
        Ok(())
    }

    /// The fields of a header block.
    fn decode(&mut self, block: &[u8]) -> Result<Vec<Field>, Kind> {
        let mut bits = Bytes(block);
        let mut fields: Vec<Field> = Vec::new();
        let mut list = 0;
        while let Some(&first) = bits.0.first() {
            let (indexed, field) = match first.leading_zeros() {
                0 => (false, self.entry(bits.integer(7)?)?),
                1 => (true, self.literal(&mut bits, 6)?),
                2 => {
                    let limit = bits.integer(5)?;
                    if !fields.is_empty() || limit > TABLE {
                        return Err(Kind::H2Hpack);
                    }
                    self.table_limit = limit;
                    self.evict();
                    continue;
                }
                _ => (false, self.literal(&mut bits, 4)?),
            };
            if indexed {
                self.table.push_front(field.clone());
                self.evict();
            }
            list += field.0.len() + field.1.len() + 32;
            fields.push(field);
            if fields.len() > 256 || list > MAX_LIST {
                return Err(Kind::H2HeaderList);
            }
        }
        Ok(fields)
    }

    fn literal(&self, bits: &mut Bytes, prefix: u32) -> Result<Field, Kind> {
        let name = match bits.integer(prefix)? {
            0 => bits.text()?,
            index => self.entry(index)?.0,
        };
        Ok((name, bits.text()?))
    }

    fn entry(&self, index: usize) -> Result<Field, Kind> {
        match index {
            0 => Err(Kind::H2Hpack),
            1..=61 => {
                let (name, value) = STATIC[index - 1];
                Ok((name.into(), value.into()))
            }
            _ => self.table.get(index - 62).cloned().ok_or(Kind::H2Hpack),
        }
    }

    fn evict(&mut self) {
        let bytes = |table: &VecDeque<Field>| -> usize {
            table.iter().map(|(name, value)| name.len() + value.len() + 32).sum()
        };
        while bytes(&self.table) > self.table_limit {
            self.table.pop_back();
        }
    }
}

struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> Result<u8, Kind> {
        let (first, rest) = self.0.split_first().ok_or(Kind::H2Hpack)?;
        self.0 = rest;
        Ok(*first)
    }

    fn integer(&mut self, prefix: u32) -> Result<usize, Kind> {
        let most = 2usize.pow(prefix) - 1;
        let start = usize::from(self.next()?) % (most + 1);
        if start < most {
            return Ok(start);
        }
        let mut value = most;
        for power in 0..4 {
            let byte = usize::from(self.next()?);
            value += (byte % 128) * 128usize.pow(power);
            if byte < 128 {
                return Ok(value);
            }
        }
        Err(Kind::H2Hpack)
    }

    fn text(&mut self) -> Result<Vec<u8>, Kind> {
        let is_coded = self.0.first().is_some_and(|byte| *byte >= 128);
        let length = self.integer(7)?;
        if self.0.len() < length {
            return Err(Kind::H2Hpack);
        }
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        if is_coded { huffman_codes::decode(text).ok_or(Kind::H2Hpack) } else { Ok(text.to_vec()) }
    }
}

fn big_endian(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn without_padding(flags: u8, payload: &[u8]) -> Result<&[u8], Kind> {
    if flags & 8 == 0 {
        return Ok(payload);
    }
    let padding = usize::from(*payload.first().ok_or(Kind::H2Padding)?);
    match payload.len() > padding {
        true => Ok(&payload[1..payload.len() - padding]),
        false => Err(Kind::H2Padding),
    }
}

fn values<'f>(fields: &'f [Field], name: &str) -> Vec<&'f [u8]> {
    let named = fields.iter().filter(|(other, _)| other == name.as_bytes());
    named.map(|(_, value)| &value[..]).collect()
}

/// The status; 0 if there is none.
fn status(fields: &[Field]) -> u16 {
    let value = values(fields, ":status").first().and_then(|value| number(value));
    value.unwrap_or(0) as u16
}

fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    text.chars().all(|c| c.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn first_part(value: &[u8]) -> &[u8] {
    value.split(|byte| *byte == b',').next().unwrap_or_default().trim_ascii()
}

fn media(value: &[u8]) -> &[u8] {
    value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
}

/// The first defect of a header list, in the order of its fields.
fn defect(fields: &[Field]) -> Option<Kind> {
    const OF_CONNECTION: [&[u8]; 5] =
        [b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade"];
    for (at, (name, value)) in fields.iter().enumerate() {
        let before = &fields[..at];
        let ends = [value.first(), value.last()];
        if ends.iter().flatten().any(|byte| **byte == b' ' || **byte == b'\t')
            || value.iter().any(|byte| b"\0\r\n".contains(byte))
        {
            return Some(Kind::H2Fields);
        }
        if name.starts_with(b":") {
            let is_status = name == b":status"
                && value.len() == 3
                && number(value).is_some_and(|status| status >= 100);
            let is_first =
                before.iter().all(|(name, _)| name.starts_with(b":") && name != b":status");
            if !is_status || !is_first {
                return Some(Kind::H2Fields);
            }
            continue;
        }
        let is_allowed = |byte: &u8| (0x21..0x7f).contains(byte) && !byte.is_ascii_uppercase();
        if name.is_empty() || !name.iter().all(|byte| is_allowed(byte) && *byte != b':') {
            return Some(Kind::H2Fields);
        }
        if OF_CONNECTION.contains(&&name[..]) {
            return Some(Kind::H2Fields);
        }
        if name == b"content-length" {
            let mut first = values(before, "content-length").first().map(|value| first_part(value));
            for part in value.split(|byte| *byte == b',') {
                let part = part.trim_ascii();
                let Some(length) = number(part).filter(|_| !part.is_empty()) else {
                    return Some(Kind::BadLength);
                };
                if first.is_some_and(|first| number(first) != Some(length)) {
                    return Some(Kind::LengthConflict);
                }
                first = Some(part);
            }
        }
        if name == b"content-type"
            && let Some(last) = values(before, "content-type").last()
            && !media(last).eq_ignore_ascii_case(media(value))
        {
            return Some(Kind::TypeConflict);
        }
    }
    None
}
