//! What a connection receives: frames become events.

use super::{Client, WINDOW};
use crate::classes::MalformedKind;
use crate::expected::Expected;
use crate::h2::events::Event;
use crate::h2::frame::{self, FrameHead, HEAD_BYTES, MAX_PAYLOAD_BYTES, MAX_STREAM, MAX_WINDOW};
use crate::h2::hpack::MAX_LIST_BYTES;
use crate::h2::stream::{HeadKind, Stream};

/// A window is opened again when this much of it is used.
const REOPEN: i64 = WINDOW / 2;
/// A request that the server gives back is sent this often.
const MAX_TRIES: u8 = 4;
/// More frames in a row than this that move no request on are a flood.
const MAX_IDLE_FRAMES: u32 = 10_000;
/// Output beyond this and the requests in flight is a flood too: the server makes us answer, and does
/// not read the answers.
const MAX_OUTPUT_BYTES: usize = 1 << 20;

impl Client {
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
        self.received.others += bytes.len() as u64;
        let taken = match head.kind {
            _ if self.idle_frames > MAX_IDLE_FRAMES || self.has_flooded() => {
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

    /// True if the server has made us write more than it reads.
    fn has_flooded(&self) -> bool {
        let heads_bytes = self.cycles_ns.len() * self.head_bytes_max;
        self.out.len() + self.unsent_bytes > MAX_OUTPUT_BYTES + heads_bytes
    }

    /// Checks the stream of a frame that must be on one that was opened.
    fn check_stream(&self, head: FrameHead) -> Result<(), MalformedKind> {
        let is_ours = head.stream % 2 == 1 && head.stream < self.next_id;
        if is_ours { Ok(()) } else { Err(MalformedKind::H2FrameStream) }
    }

    /// Counts the current frame, and those of no request before it, as bytes of a request.
    #[inline]
    fn attribute(&mut self, at: usize) {
        let measured = self.streams[at].request.flight.measured;
        let bytes = std::mem::take(&mut self.received.others);
        self.received.of_requests[usize::from(measured)] += bytes;
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
        self.attribute(at);
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
        self.attribute(at);
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
        let ended = match is_over {
            true => self.remove(at),
            false => self.cancel(at, frame::PROTOCOL_ERROR),
        };
        Event::Malformed { ended, kind }
    }

    fn reset(&mut self, head: FrameHead, payload: &[u8]) -> Result<Event, MalformedKind> {
        if head.length != 4 {
            return Err(MalformedKind::H2FrameSize);
        }
        self.check_stream(head)?;
        let Some(at) = self.find(head.stream) else { return Ok(Event::More) };
        self.idle_frames = 0;
        let code = frame::number(payload);
        let stream = &self.streams[at];
        // It was not processed (RFC 9113, section 8.7), unless an answer has begun.
        if code == frame::REFUSED_STREAM
            && stream.first_byte_ns == 0
            && stream.request.tries < MAX_TRIES
        {
            self.give_back(at);
            return Ok(Event::Refused);
        }
        Ok(Event::Reset { ended: self.remove(at), code })
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
        for setting in payload.as_chunks::<6>().0 {
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
            if self.streams[at].request.tries >= MAX_TRIES {
                given_up.push(self.remove(at));
                continue;
            }
            self.give_back(at);
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
}
