//! One connection as a state machine without syscalls: what it sends. See `receive` for the rest.

mod receive;

use std::collections::VecDeque;

use super::events::Ended;
use super::fields::BlockReader;
use super::frame::{self, MAX_PAYLOAD_BYTES, MAX_STREAM};
use super::hpack::{MAX_LIST_BYTES, NO_TABLE};
use super::request::Book;
use super::stream::{Stream, Waiting};
use crate::connection::Flight;

/// Our flow-control windows, of each stream and of the connection: so large that a server never
/// waits for us.
const WINDOW: i64 = (1 << 30) - 1;
/// The window of a connection, and of a stream until SETTINGS say otherwise.
const DEFAULT_WINDOW: i64 = 65_535;
/// How many streams to open before the server's SETTINGS say how many it allows (RFC 9113, section
/// 6.5.2, recommends that it allows no fewer).
const STREAMS_BEFORE_SETTINGS: usize = 100;
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

/// Bytes that arrived, of whole frames.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    /// Of responses to requests before the measured window, and in it.
    pub of_requests: [u64; 2],
    /// Of other frames.
    pub others: u64,
}

#[derive(Debug)]
pub(crate) struct Client {
    out: Vec<u8>,
    /// What waited to be sent after the last [`Client::write_output`].
    unsent_bytes: usize,
    /// The most bytes that the head of a request took.
    head_bytes_max: usize,
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
    /// Bytes of whole frames since [`Client::take_received`].
    received: Received,
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
            head_bytes_max: 0,
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
            received: Received::default(),
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

    /// True if the server began with less than a frame that is not SETTINGS, such as an alert of TLS.
    pub(crate) fn began_otherwise(&self) -> bool {
        !self.is_settled && self.held.get(3).is_some_and(|kind| *kind != frame::SETTINGS)
    }

    /// The bytes that arrived since the last call.
    #[inline]
    pub(crate) fn take_received(&mut self) -> Received {
        std::mem::take(&mut self.received)
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
        let written = self.out.len();
        frame::write_block(&mut self.out, stream.id, end, before, book.block(was.url));
        self.head_bytes_max = self.head_bytes_max.max(self.out.len() - written);
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

    fn find(&self, id: u32) -> Option<usize> {
        self.streams.binary_search_by_key(&id, |stream| stream.id).ok()
    }

    fn remove(&mut self, at: usize) -> Ended {
        let stream = self.streams.remove(at).expect("the stream was found");
        self.sending -= usize::from(stream.is_sending);
        let ended = stream.ended();
        self.free.push(ended.lane);
        ended
    }

    /// Lets a request that the server did not process wait to be sent again.
    fn give_back(&mut self, at: usize) {
        let request = self.streams[at].request;
        self.remove(at);
        self.free.pop();
        self.waiting.push_front(request);
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

    /// Lets the server send so many more bytes, on a stream or (0) on the connection.
    fn open_window(&mut self, stream: u32, bytes: i64) {
        frame::write(&mut self.out, frame::WINDOW_UPDATE, 0, stream, &(bytes as u32).to_be_bytes());
    }
}
