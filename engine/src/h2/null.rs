//! The null server's side of a connection: it answers every request, whatever its header block says.

use std::collections::{HashMap, VecDeque};

use super::frame::{self, FrameHead, HEAD_BYTES, MAX_PAYLOAD_BYTES, MAX_STREAM, PREFACE};
use super::hpack;

const DEFAULT_WINDOW: i64 = 65_535;
/// As many concurrent requests as the engine may ask for.
const MAX_STREAMS: u32 = 1000;

/// The answer that a stream still gets.
struct Pending {
    stream: u32,
    body_sent: usize,
    window: i64,
}

/// One connection; it begins with the client's preface.
pub(crate) struct NullPeer {
    held: Vec<u8>,
    answer: Vec<u8>,
    body: Vec<u8>,
    /// The stream of a header block that is not complete, if it ends the request.
    continued: Option<u32>,
    pending: VecDeque<Pending>,
    window: i64,
    stream_window: i64,
    /// What streams were given beyond `stream_window`, before their answers began.
    extra: HashMap<u32, i64>,
}

impl NullPeer {
    /// True if a connection that begins with `input` is, or may become, one of HTTP/2.
    pub(crate) fn may_begin(input: &[u8]) -> bool {
        let shared = input.len().min(PREFACE.len());
        input[..shared] == PREFACE[..shared]
    }

    /// A connection whose answers have this body; its first bytes go to `output`.
    pub(crate) fn new(body: &[u8], output: &mut Vec<u8>) -> Self {
        let mut answer = Vec::new();
        for (name, value) in [
            (":status", "200"),
            ("server", "deadheat-null"),
            ("content-type", "text/plain"),
            ("content-length", &body.len().to_string()),
        ] {
            hpack::encode(&mut answer, name, value);
        }
        let mut setting = frame::MAX_CONCURRENT_STREAMS.to_be_bytes().to_vec();
        setting.extend_from_slice(&MAX_STREAMS.to_be_bytes());
        frame::write(output, frame::SETTINGS, 0, 0, &setting);
        Self {
            held: Vec::new(),
            answer,
            body: body.to_vec(),
            continued: None,
            pending: VecDeque::new(),
            window: DEFAULT_WINDOW,
            stream_window: DEFAULT_WINDOW,
            extra: HashMap::new(),
        }
    }

    /// Takes bytes behind the preface, and writes answers; `each` is called for every one. `None` if
    /// the client broke the protocol.
    pub(crate) fn take(
        &mut self,
        input: &[u8],
        output: &mut Vec<u8>,
        mut each: impl FnMut(),
    ) -> Option<()> {
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(input);
        let mut at = 0;
        while let Some(head) = FrameHead::read(&held[at..]) {
            if head.length > MAX_PAYLOAD_BYTES {
                return None;
            }
            let Some(payload) = held.get(at + HEAD_BYTES..at + HEAD_BYTES + head.length) else {
                break;
            };
            if let Some(stream) = self.request_ended_by(head, payload, output)? {
                each();
                let window = self.stream_window + self.extra.remove(&stream).unwrap_or(0);
                frame::write_block(output, stream, 0, &[], &self.answer);
                self.pending.push_back(Pending { stream, body_sent: 0, window });
            }
            at += HEAD_BYTES + head.length;
        }
        held.drain(..at);
        self.held = held;
        self.write_bodies(output);
        Some(())
    }

    /// Takes a frame; returns the stream whose request it ends.
    fn request_ended_by(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        output: &mut Vec<u8>,
    ) -> Option<Option<u32>> {
        let ends = head.has(frame::END_STREAM);
        match head.kind {
            frame::HEADERS if head.has(frame::END_HEADERS) => {
                return Some(ends.then_some(head.stream));
            }
            frame::HEADERS => self.continued = ends.then_some(head.stream),
            frame::CONTINUATION if head.has(frame::END_HEADERS) => {
                return Some(self.continued.take());
            }
            frame::DATA => {
                let bytes = (payload.len() as u32).to_be_bytes();
                if !payload.is_empty() {
                    frame::write(output, frame::WINDOW_UPDATE, 0, 0, &bytes);
                    frame::write(output, frame::WINDOW_UPDATE, 0, head.stream, &bytes);
                }
                return Some(ends.then_some(head.stream));
            }
            frame::RST_STREAM => self.pending.retain(|pending| pending.stream != head.stream),
            frame::SETTINGS if !head.has(frame::ACK) => {
                for setting in payload.as_chunks::<6>().0 {
                    if setting[..2] == frame::INITIAL_WINDOW_SIZE.to_be_bytes() {
                        let window = i64::from(frame::number(&setting[2..]));
                        let growth = window - self.stream_window;
                        self.pending.iter_mut().for_each(|pending| pending.window += growth);
                        self.stream_window = window;
                    }
                }
                frame::write(output, frame::SETTINGS, frame::ACK, 0, &[]);
            }
            frame::PING if !head.has(frame::ACK) => {
                frame::write(output, frame::PING, frame::ACK, 0, payload);
            }
            frame::WINDOW_UPDATE if payload.len() == 4 => {
                let growth = i64::from(frame::number(payload) & MAX_STREAM);
                let of_stream = self.pending.iter_mut().find(|p| p.stream == head.stream);
                match (head.stream, of_stream) {
                    (0, _) => self.window += growth,
                    (_, Some(pending)) => pending.window += growth,
                    // Its answer is sent, or is to come.
                    (stream, None) => *self.extra.entry(stream).or_default() += growth,
                }
                if self.extra.len() > MAX_STREAMS as usize {
                    self.extra.clear();
                }
            }
            frame::WINDOW_UPDATE => return None,
            _ => {}
        }
        Some(None)
    }

    /// Sends what the windows allow of the bodies.
    fn write_bodies(&mut self, output: &mut Vec<u8>) {
        let (body, connection_window) = (&self.body, &mut self.window);
        self.pending.retain_mut(|pending| {
            loop {
                let rest = &body[pending.body_sent..];
                let allowed = (*connection_window).min(pending.window).max(0) as usize;
                let bytes = rest.len().min(allowed).min(MAX_PAYLOAD_BYTES);
                if bytes == 0 && !rest.is_empty() {
                    return true;
                }
                let ends = bytes == rest.len();
                let flags = if ends { frame::END_STREAM } else { 0 };
                frame::write(output, frame::DATA, flags, pending.stream, &rest[..bytes]);
                pending.body_sent += bytes;
                pending.window -= bytes as i64;
                *connection_window -= bytes as i64;
                if ends {
                    return false;
                }
            }
        });
    }
}
