//! One connection as a state machine without syscalls.

use std::collections::VecDeque;

use super::events::{Ended, Event};
use super::fields::BlockReader;
use super::frame::{self, FrameHead, HEAD_BYTES, MAX_PAYLOAD_BYTES, MAX_STREAM, MAX_WINDOW};
use super::hpack::{MAX_LIST_BYTES, NO_TABLE};
use super::request::Book;
use super::stream::{HeadKind, MALFORMED, Stream, Waiting};
use crate::classes::MalformedKind;
use crate::connection::Flight;
use crate::expected::Expected;

/// Our flow-control windows, of each stream and of the connection: so large that a server never
/// waits for us.
const WINDOW: i64 = (1 << 30) - 1;
/// A window is opened again when this much of it is used.
const REOPEN: i64 = WINDOW / 2;
/// The window of a connection, and of a stream until SETTINGS say otherwise.
const DEFAULT_WINDOW: i64 = 65_535;
/// How many streams to open before the server's SETTINGS say how many it allows (RFC 9113, section
/// 6.5.2, recommends that it allows no fewer).
const STREAMS_BEFORE_SETTINGS: usize = 100;
/// A request that a GOAWAY gives back is sent this often.
const MAX_TRIES: u8 = 4;
/// More frames in a row than this that move no request on are a flood.
const MAX_IDLE_FRAMES: u32 = 10_000;
/// Output beyond this is a flood too: the server makes us answer, and does not read the answers.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// DATA frames are written while less than this waits to be sent.
const ENOUGH_OUTPUT_BYTES: usize = 256 * 1024;
/// How many streams that we reset may still get frames.
const MAX_CANCELLED: usize = 4096;

/// The response of a preflight.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    pub status: u16,
    pub media_type: Vec<u8>,
    pub body: Vec<u8>,
    pub head_bytes: usize,
}

/// What the server's SETTINGS say.
#[derive(Clone, Copy, Debug)]
struct Settings {
    max_streams: Option<u32>,
    window: i64,
}

const DEFAULTS: Settings = Settings { max_streams: None, window: DEFAULT_WINDOW };

#[derive(Debug)]
pub(crate) struct Client {
    out: Vec<u8>,
    /// What waited to be sent after the last [`Client::write_output`].
    unsent_bytes: usize,
    /// The bytes of an incomplete frame.
    held: Vec<u8>,
    reader: BlockReader,
    /// An incomplete header block, its stream, and the flags of its first frame.
    block: Vec<u8>,
    continued: Option<(u32, u8)>,
    /// In flight, by number.
    streams: VecDeque<Stream>,
    /// Not sent on this connection.
    waiting: VecDeque<Waiting>,
    /// A lane is the place of a request among the concurrent ones: those that are free, and when the
    /// current cycle of each began; 0 before the first request of a slice.
    free: Vec<u32>,
    cycles_ns: Vec<u64>,
    next_id: u32,
    settings: Settings,
    is_settled: bool,
    send_left: i64,
    receive_left: i64,
    /// The code of the first GOAWAY.
    goaway: Option<u32>,
    /// Streams that we reset, oldest first; older ones are forgotten.
    cancelled: VecDeque<u32>,
    forgotten: u32,
    /// Streams whose request's body is not sent to its end.
    sending: usize,
    idle_frames: u32,
    /// It waits for a request, in the session's queue.
    pub is_queued: bool,
    /// Keep the response.
    pub captured: Option<Captured>,
}

impl Client {
    /// A connection with at most this many concurrent requests.
    pub(crate) fn new(streams: usize) -> Self {
        Self {
            out: Vec::new(),
            unsent_bytes: 0,
            held: Vec::new(),
            reader: BlockReader::new(),
            block: Vec::new(),
            continued: None,
            streams: VecDeque::with_capacity(streams),
            waiting: VecDeque::new(),
            free: (0..streams as u32).rev().collect(),
            cycles_ns: vec![0; streams],
            next_id: 1,
            settings: DEFAULTS,
            is_settled: false,
            send_left: DEFAULT_WINDOW,
            receive_left: WINDOW,
            goaway: None,
            cancelled: VecDeque::new(),
            forgotten: 0,
            sending: 0,
            idle_frames: 0,
            is_queued: false,
            captured: None,
        }
    }

    /// Begins a new connection, on which no request is in flight; those that wait stay.
    pub(crate) fn open(&mut self) {
        debug_assert!(self.streams.is_empty());
        self.out.clear();
        self.unsent_bytes = 0;
        self.held.clear();
        self.reader.reset();
        self.block.clear();
        self.continued = None;
        self.next_id = 1;
        self.settings = DEFAULTS;
        self.is_settled = false;
        self.send_left = DEFAULT_WINDOW;
        self.receive_left = WINDOW;
        self.goaway = None;
        self.cancelled.clear();
        self.forgotten = 0;
        self.sending = 0;
        self.idle_frames = 0;
        self.out.extend_from_slice(frame::PREFACE);
        let mut settings = Vec::with_capacity(18);
        for (name, value) in [
            (frame::ENABLE_PUSH, 0),
            (frame::INITIAL_WINDOW_SIZE, WINDOW as u32),
            (frame::MAX_HEADER_LIST_SIZE, MAX_LIST_BYTES as u32),
        ] {
            settings.extend_from_slice(&name.to_be_bytes());
            settings.extend_from_slice(&value.to_be_bytes());
        }
        frame::write(&mut self.out, frame::SETTINGS, 0, 0, &settings);
        self.open_window(0, WINDOW - DEFAULT_WINDOW);
    }

    /// Restarts the cycles, for a slice.
    pub(crate) fn restart_cycles(&mut self) {
        self.cycles_ns.fill(0);
    }

    /// Requests that have not ended, sent or not.
    pub(crate) fn in_flight(&self) -> usize {
        self.streams.len() + self.waiting.len()
    }

    pub(crate) fn oldest(&self) -> Option<&Flight> {
        let sent = self.streams.front().map(|stream| &stream.request);
        sent.or(self.waiting.front()).map(|request| &request.flight)
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// When the oldest request was first sent; `None` if none was.
    pub(crate) fn oldest_sent_ns(&self) -> Option<u64> {
        let sent = self.streams.iter().map(|stream| &stream.request).chain(&self.waiting);
        sent.map(|request| request.flight.sent_ns).filter(|sent_ns| *sent_ns > 0).min()
    }

    /// The number of concurrent requests that the server allows, if it has said so.
    pub(crate) fn allowed_streams(&self) -> Option<u32> {
        self.settings.max_streams
    }

    /// True if nothing is in flight on a connection that takes no more.
    pub(crate) fn is_drained(&self) -> bool {
        self.streams.is_empty() && self.is_ending()
    }

    /// The error code of a GOAWAY other than NO_ERROR.
    pub(crate) fn goaway_error(&self) -> Option<u32> {
        self.goaway.filter(|code| *code != frame::NO_ERROR)
    }

    fn is_ending(&self) -> bool {
        self.goaway.is_some() || self.next_id > MAX_STREAM
    }

    /// True if a request may be sent.
    fn has_room(&self) -> bool {
        let unsettled = if self.is_settled { usize::MAX } else { STREAMS_BEFORE_SETTINGS };
        let allowed = self.settings.max_streams.map_or(unsettled, |streams| streams as usize);
        self.streams.len() < allowed && !self.is_ending()
    }

    /// True if a request that does not wait yet may be sent.
    pub(crate) fn is_free(&self) -> bool {
        !self.free.is_empty() && self.waiting.is_empty() && self.has_room()
    }

    /// Takes a request, to be sent with [`Client::send_next`]. A lane must be free.
    pub(crate) fn assign(&mut self, flight: Flight) {
        let lane = self.free.pop().expect("a request is assigned to a free lane");
        let cycle_ns = &mut self.cycles_ns[lane as usize];
        if *cycle_ns == 0 {
            *cycle_ns = flight.begun_ns;
        }
        self.waiting.push_back(Waiting { flight, lane, tries: 0 });
    }

    /// Ends the cycle of a lane; returns how long it took.
    pub(crate) fn end_cycle(&mut self, lane: u32, now_ns: u64) -> u64 {
        now_ns - std::mem::replace(&mut self.cycles_ns[lane as usize], now_ns)
    }

    /// Writes the request that waits longest; returns it as it was before, `None` if there is none
    /// or it must wait.
    pub(crate) fn send_next(&mut self, book: &Book, now_ns: u64) -> Option<Flight> {
        if self.waiting.is_empty() || !self.has_room() {
            return None;
        }
        let mut request = self.waiting.pop_front()?;
        let was = request.flight;
        request.tries += 1;
        if was.sent_ns == 0 {
            request.flight.sent_ns = now_ns;
        }
        let mut stream = Stream::new(self.next_id, request, WINDOW, self.settings.window);
        let before: &[u8] = if self.next_id == 1 { &[NO_TABLE] } else { &[] };
        self.next_id += 2;
        stream.is_sending = !book.body(was.url).is_empty();
        self.sending += usize::from(stream.is_sending);
        let end = if stream.is_sending { 0 } else { frame::END_STREAM };
        frame::write_block(&mut self.out, stream.id, end, before, book.block(was.url));
        self.streams.push_back(stream);
        Some(was)
    }

    /// Appends the next bytes to send to those that wait to be sent. If much waits, long bodies
    /// have more afterwards.
    #[inline]
    pub(crate) fn write_output(&mut self, book: &Book, output: &mut Vec<u8>) {
        if output.is_empty() {
            std::mem::swap(&mut self.out, output);
        } else {
            output.append(&mut self.out);
        }
        if self.sending > 0 {
            self.write_bodies(book, output);
        }
        self.unsent_bytes = output.len();
    }

    /// Writes DATA frames of each request in turn, as far as the windows allow.
    fn write_bodies(&mut self, book: &Book, output: &mut Vec<u8>) {
        loop {
            let mut wrote = false;
            for stream in self.streams.iter_mut().filter(|stream| stream.is_sending) {
                if output.len() >= ENOUGH_OUTPUT_BYTES {
                    return;
                }
                let body = book.body(stream.request.flight.url);
                let rest = &body[stream.body_sent..];
                let allowed = self.send_left.min(stream.send_left).max(0) as usize;
                let bytes = rest.len().min(allowed).min(MAX_PAYLOAD_BYTES);
                if bytes == 0 {
                    continue;
                }
                stream.body_sent += bytes;
                stream.send_left -= bytes as i64;
                self.send_left -= bytes as i64;
                stream.is_sending = bytes < rest.len();
                self.sending -= usize::from(!stream.is_sending);
                let flags = if stream.is_sending { 0 } else { frame::END_STREAM };
                frame::write(output, frame::DATA, flags, stream.id, &rest[..bytes]);
                self.idle_frames = 0;
                wrote = true;
            }
            if !wrote {
                return;
            }
        }
    }

    /// Ends the requests that were first sent `timeout_ns` ago or earlier.
    pub(crate) fn expire(&mut self, now_ns: u64, timeout_ns: u64) -> Vec<Ended> {
        let is_late = |request: &Waiting| {
            let sent_ns = request.flight.sent_ns;
            sent_ns > 0 && now_ns.saturating_sub(sent_ns) >= timeout_ns
        };
        let mut ended = Vec::new();
        for at in (0..self.streams.len()).rev() {
            if is_late(&self.streams[at].request) {
                ended.push(self.cancel(at, frame::CANCEL));
            }
        }
        ended.reverse();
        self.end_waiting(is_late, &mut ended);
        ended
    }

    /// Ends all requests that are in flight on this connection, that on stream `first` first; those
    /// that wait stay.
    pub(crate) fn end_streams(&mut self, first: u32) -> Vec<Ended> {
        if let Some(at) = self.find(first)
            && let Some(stream) = self.streams.remove(at)
        {
            self.streams.push_front(stream);
        }
        let ended: Vec<Ended> = self.streams.drain(..).map(|stream| stream.ended()).collect();
        self.free.extend(ended.iter().rev().map(|ended| ended.lane));
        self.sending = 0;
        ended
    }

    /// Ends all requests that are not sent.
    pub(crate) fn end_all_waiting(&mut self) -> Vec<Ended> {
        let mut ended = Vec::new();
        self.end_waiting(|_| true, &mut ended);
        ended
    }

    fn end_waiting(&mut self, which: impl Fn(&Waiting) -> bool, ended: &mut Vec<Ended>) {
        let free = &mut self.free;
        self.waiting.retain(|request| {
            let Waiting { flight, lane, .. } = *request;
            let ends = which(request);
            if ends {
                free.push(lane);
                ended.push(Ended { flight, first_byte_ns: 0, in_body: false, lane });
            }
            !ends
        });
    }

    /// Takes bytes up to the next event; returns how many were taken.
    #[inline]
    pub(crate) fn take(
        &mut self,
        input: &[u8],
        expected: &[Expected],
        now_ns: u64,
    ) -> (usize, Event) {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            let (done, event) = match self.held.is_empty() {
                true => {
                    let whole = match self.whole_bytes(rest) {
                        Err(event) => return (at, event),
                        Ok(Some(whole)) if whole <= rest.len() => whole,
                        Ok(_) => {
                            self.held.extend_from_slice(rest);
                            return (input.len(), Event::More);
                        }
                    };
                    (whole, self.frame(&rest[..whole], expected, now_ns))
                }
                false => {
                    let mut held = std::mem::take(&mut self.held);
                    let mut taken = 0;
                    let mut event = None;
                    for _ in 0..2 {
                        let whole = match self.whole_bytes(&held) {
                            Err(event) => return (at + taken, event),
                            Ok(whole) => whole,
                        };
                        let wanted = whole.unwrap_or(HEAD_BYTES);
                        let more = (wanted - held.len()).min(rest.len() - taken);
                        held.extend_from_slice(&rest[taken..taken + more]);
                        taken += more;
                        if whole == Some(held.len()) {
                            event = Some(self.frame(&held, expected, now_ns));
                            held.clear();
                            break;
                        }
                    }
                    self.held = held;
                    match event {
                        Some(event) => (taken, event),
                        None => return (at + taken, Event::More),
                    }
                }
            };
            at += done;
            if !matches!(event, Event::More) {
                return (at, event);
            }
        }
    }

    /// The length of the frame that `bytes` begin; `None` if its head is incomplete.
    fn whole_bytes(&self, bytes: &[u8]) -> Result<Option<usize>, Event> {
        let Some(head) = FrameHead::read(bytes) else { return Ok(None) };
        let broken = |kind| Err(Event::Broken { kind, stream: head.stream });
        if !self.is_settled {
            if bytes.starts_with(b"HTTP/") {
                return broken(MalformedKind::H2Http1);
            }
            if head.kind != frame::SETTINGS || head.has(frame::ACK) {
                return broken(MalformedKind::H2Preface);
            }
        }
        if head.length > MAX_PAYLOAD_BYTES {
            return broken(MalformedKind::H2FrameSize);
        }
        Ok(Some(HEAD_BYTES + head.length))
    }

    /// Takes a whole frame.
    fn frame(&mut self, bytes: &[u8], expected: &[Expected], now_ns: u64) -> Event {
        let Some(head) = FrameHead::read(bytes) else { return Event::More };
        let payload = &bytes[HEAD_BYTES..];
        self.idle_frames += 1;
        let taken = match head.kind {
            _ if self.idle_frames > MAX_IDLE_FRAMES
                || self.out.len() + self.unsent_bytes > MAX_OUTPUT_BYTES =>
            {
                Err(MalformedKind::H2Flood)
            }
            frame::CONTINUATION => self.continuation(head, payload, expected, now_ns),
            _ if self.continued.is_some() => Err(MalformedKind::H2FrameOrder),
            frame::DATA => self.data(head, payload, expected),
            frame::HEADERS => self.headers(head, payload, expected, now_ns),
            frame::PRIORITY if head.length != 5 => Err(MalformedKind::H2FrameSize),
            frame::PRIORITY if head.stream == 0 => Err(MalformedKind::H2FrameStream),
            frame::RST_STREAM => self.reset(head, payload),
            frame::SETTINGS => self.settings(head, payload),
            frame::PUSH_PROMISE => Err(MalformedKind::H2Push),
            frame::PING => self.ping(head, payload),
            frame::GOAWAY => self.goaway(head, payload),
            frame::WINDOW_UPDATE => self.window_update(head, payload),
            _ => Ok(Event::More),
        };
        taken.unwrap_or_else(|kind| Event::Broken { kind, stream: head.stream })
    }

    fn find(&self, id: u32) -> Option<usize> {
        self.streams.binary_search_by_key(&id, |stream| stream.id).ok()
    }

    /// Checks the stream of a frame that must be on one that was opened.
    fn check_stream(&self, head: FrameHead) -> Result<(), MalformedKind> {
        let is_ours = head.stream % 2 == 1 && head.stream < self.next_id;
        if is_ours { Ok(()) } else { Err(MalformedKind::H2FrameStream) }
    }

    /// A frame came on a stream that is not in flight: we reset it, or the server ended it before.
    fn on_closed(&self, id: u32) -> Result<Event, MalformedKind> {
        match id <= self.forgotten || self.cancelled.contains(&id) {
            true => Ok(Event::More),
            false => Err(MalformedKind::H2StreamClosed),
        }
    }

    fn headers(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        expected: &[Expected],
        now_ns: u64,
    ) -> Result<Event, MalformedKind> {
        self.check_stream(head)?;
        let mut block = frame::unpadded(head, payload).map_err(|()| MalformedKind::H2Padding)?;
        if head.has(frame::HAS_PRIORITY) {
            block = block.get(5..).ok_or(MalformedKind::H2FrameSize)?;
        }
        if head.has(frame::END_HEADERS) {
            return self.whole_block(head.stream, head.flags, block, expected, now_ns);
        }
        self.block.clear();
        self.block.extend_from_slice(block);
        self.continued = Some((head.stream, head.flags));
        Ok(Event::More)
    }

    fn continuation(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        expected: &[Expected],
        now_ns: u64,
    ) -> Result<Event, MalformedKind> {
        let Some((stream, flags)) = self.continued.filter(|(stream, _)| *stream == head.stream)
        else {
            return Err(MalformedKind::H2FrameOrder);
        };
        if self.block.len() + payload.len() > MAX_LIST_BYTES {
            return Err(MalformedKind::H2HeaderList);
        }
        self.block.extend_from_slice(payload);
        if !head.has(frame::END_HEADERS) {
            return Ok(Event::More);
        }
        self.continued = None;
        let block = std::mem::take(&mut self.block);
        let taken = self.whole_block(stream, flags, &block, expected, now_ns);
        self.block = block;
        taken
    }

    /// Takes a whole header block: a head, an interim one, or trailers.
    fn whole_block(
        &mut self,
        id: u32,
        flags: u8,
        block: &[u8],
        expected: &[Expected],
        now_ns: u64,
    ) -> Result<Event, MalformedKind> {
        // Also if the stream is gone: the block may change the dynamic table.
        self.reader.read(block)?;
        let Some(at) = self.find(id) else { return self.on_closed(id) };
        let ends = flags & frame::END_STREAM != 0;
        let stream = &mut self.streams[at];
        let expected = &expected[stream.request.flight.url as usize];
        if stream.first_byte_ns == 0 {
            stream.first_byte_ns = now_ns;
        }
        let fields = &self.reader.fields;
        let taken = match stream.in_body {
            true => Stream::take_trailers(fields, ends).map(|()| HeadKind::Final),
            false => stream.take_head(fields, expected, ends),
        };
        match taken {
            Err(kind) => return Ok(self.malformed(at, ends, kind)),
            Ok(HeadKind::Interim) => return Ok(Event::More),
            Ok(HeadKind::Final) => self.idle_frames = 0,
        }
        if let Some(captured) = self.captured.as_mut().filter(|captured| captured.status == 0) {
            captured.status = fields.status;
            captured.media_type.clone_from(&fields.media_type);
            captured.head_bytes = block.len();
        }
        Ok(if ends { self.end(at, expected) } else { Event::More })
    }

    fn data(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        expected: &[Expected],
    ) -> Result<Event, MalformedKind> {
        self.check_stream(head)?;
        let data = frame::unpadded(head, payload).map_err(|()| MalformedKind::H2Padding)?;
        let bytes = payload.len() as i64;
        self.receive_left -= bytes;
        if self.receive_left < 0 {
            return Err(MalformedKind::H2FlowControl);
        }
        if self.receive_left < WINDOW - REOPEN {
            self.open_window(0, WINDOW - self.receive_left);
            self.receive_left = WINDOW;
        }
        let Some(at) = self.find(head.stream) else { return self.on_closed(head.stream) };
        let ends = head.has(frame::END_STREAM);
        let stream = &mut self.streams[at];
        if !stream.in_body {
            return Ok(self.malformed(at, ends, MalformedKind::H2FrameOrder));
        }
        stream.receive_left -= bytes;
        if stream.receive_left < 0 {
            return Ok(self.malformed(at, ends, MalformedKind::H2FlowControl));
        }
        let expected = &expected[stream.request.flight.url as usize];
        stream.take_body(data, expected);
        if !data.is_empty() {
            self.idle_frames = 0;
        }
        if let Some(captured) = &mut self.captured {
            captured.body.extend_from_slice(data);
        }
        if ends {
            return Ok(self.end(at, expected));
        }
        if stream.receive_left < WINDOW - REOPEN {
            let used = WINDOW - stream.receive_left;
            stream.receive_left = WINDOW;
            self.open_window(head.stream, used);
        }
        Ok(Event::More)
    }

    /// Ends a stream whose response is complete.
    fn end(&mut self, at: usize, expected: &Expected) -> Event {
        match self.streams[at].answer(expected) {
            Err(kind) => self.malformed(at, true, kind),
            // An answer before the end of the request: the rest of that is not sent.
            Ok(answer) if self.streams[at].is_sending => {
                Event::Answered { ended: self.cancel(at, frame::CANCEL), answer }
            }
            Ok(answer) => Event::Answered { ended: self.remove(at), answer },
        }
    }

    /// Ends a stream whose response is malformed.
    fn malformed(&mut self, at: usize, ends: bool, kind: MalformedKind) -> Event {
        let is_over = ends && !self.streams[at].is_sending;
        let ended = if is_over { self.remove(at) } else { self.cancel(at, MALFORMED) };
        Event::Malformed { ended, kind }
    }

    fn remove(&mut self, at: usize) -> Ended {
        let stream = self.streams.remove(at).expect("the stream was found");
        self.sending -= usize::from(stream.is_sending);
        let ended = stream.ended();
        self.free.push(ended.lane);
        ended
    }

    /// Resets a stream.
    fn cancel(&mut self, at: usize, code: u32) -> Ended {
        let id = self.streams[at].id;
        frame::write(&mut self.out, frame::RST_STREAM, 0, id, &code.to_be_bytes());
        self.cancelled.push_back(id);
        if self.cancelled.len() > MAX_CANCELLED
            && let Some(oldest) = self.cancelled.pop_front()
        {
            self.forgotten = self.forgotten.max(oldest);
        }
        self.remove(at)
    }

    fn reset(&mut self, head: FrameHead, payload: &[u8]) -> Result<Event, MalformedKind> {
        if head.length != 4 {
            return Err(MalformedKind::H2FrameSize);
        }
        self.check_stream(head)?;
        let Some(at) = self.find(head.stream) else { return Ok(Event::More) };
        self.idle_frames = 0;
        Ok(Event::Reset { ended: self.remove(at), code: frame::number(payload) })
    }

    fn settings(&mut self, head: FrameHead, payload: &[u8]) -> Result<Event, MalformedKind> {
        if head.stream != 0 {
            return Err(MalformedKind::H2FrameStream);
        }
        if !head.length.is_multiple_of(6) || (head.has(frame::ACK) && head.length > 0) {
            return Err(MalformedKind::H2FrameSize);
        }
        if head.has(frame::ACK) {
            return Ok(Event::More);
        }
        self.is_settled = true;
        for setting in payload.chunks_exact(6) {
            let name = u16::from_be_bytes([setting[0], setting[1]]);
            let value = frame::number(&setting[2..]);
            match name {
                frame::ENABLE_PUSH if value != 0 => return Err(MalformedKind::H2Settings),
                frame::MAX_CONCURRENT_STREAMS => self.settings.max_streams = Some(value),
                frame::INITIAL_WINDOW_SIZE => self.resize_windows(i64::from(value))?,
                // Longer frames than the default would save nothing here.
                frame::MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => {
                    return Err(MalformedKind::H2Settings);
                }
                _ => {}
            }
        }
        frame::write(&mut self.out, frame::SETTINGS, frame::ACK, 0, &[]);
        Ok(Event::More)
    }

    /// Changes the window that the server gives each stream, also those in flight.
    fn resize_windows(&mut self, window: i64) -> Result<(), MalformedKind> {
        if window > MAX_WINDOW {
            return Err(MalformedKind::H2FlowControl);
        }
        let growth = window - self.settings.window;
        self.settings.window = window;
        for stream in &mut self.streams {
            stream.send_left += growth;
            if stream.send_left > MAX_WINDOW {
                return Err(MalformedKind::H2FlowControl);
            }
        }
        Ok(())
    }

    fn ping(&mut self, head: FrameHead, payload: &[u8]) -> Result<Event, MalformedKind> {
        if head.length != 8 {
            return Err(MalformedKind::H2FrameSize);
        }
        if head.stream != 0 {
            return Err(MalformedKind::H2FrameStream);
        }
        if !head.has(frame::ACK) {
            frame::write(&mut self.out, frame::PING, frame::ACK, 0, payload);
        }
        Ok(Event::More)
    }

    fn goaway(&mut self, head: FrameHead, payload: &[u8]) -> Result<Event, MalformedKind> {
        if head.length < 8 {
            return Err(MalformedKind::H2FrameSize);
        }
        if head.stream != 0 {
            return Err(MalformedKind::H2FrameStream);
        }
        let last = frame::number(payload) & MAX_STREAM;
        let code = frame::number(&payload[4..]);
        let is_first = self.goaway.is_none();
        // An error is the last word.
        if is_first || code != frame::NO_ERROR {
            self.goaway = Some(code);
        }
        let (mut retried, mut given_up) = (0, Vec::new());
        while self.streams.back().is_some_and(|stream| stream.id > last) {
            let at = self.streams.len() - 1;
            let request = self.streams[at].request;
            if request.tries >= MAX_TRIES {
                given_up.push(self.remove(at));
                continue;
            }
            self.remove(at);
            self.free.pop();
            self.waiting.push_front(request);
            retried += 1;
        }
        given_up.reverse();
        Ok(Event::Goaway { is_first, code, retried, given_up })
    }

    fn window_update(&mut self, head: FrameHead, payload: &[u8]) -> Result<Event, MalformedKind> {
        if head.length != 4 {
            return Err(MalformedKind::H2FrameSize);
        }
        let growth = i64::from(frame::number(payload) & MAX_STREAM);
        if head.stream == 0 {
            self.send_left += growth;
            return match growth > 0 && self.send_left <= MAX_WINDOW {
                true => Ok(Event::More),
                false => Err(MalformedKind::H2FlowControl),
            };
        }
        self.check_stream(head)?;
        let Some(at) = self.find(head.stream) else { return Ok(Event::More) };
        let stream = &mut self.streams[at];
        stream.send_left += growth;
        match growth > 0 && stream.send_left <= MAX_WINDOW {
            true => Ok(Event::More),
            false => Ok(self.malformed(at, false, MalformedKind::H2FlowControl)),
        }
    }

    /// Lets the server send so many more bytes, on a stream or (0) on the connection.
    fn open_window(&mut self, stream: u32, bytes: i64) {
        frame::write(&mut self.out, frame::WINDOW_UPDATE, 0, stream, &(bytes as u32).to_be_bytes());
    }
}
