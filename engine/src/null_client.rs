//! One connection of the null server: requests in, replies out.

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

use rustls::ServerConnection;

use crate::chunked::Chunked;
use crate::h2::{NullPeer, PREFACE};
use crate::head::{MAX_HEAD_BYTES, MAX_HEADERS};
use crate::sockets;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Answer,
    /// The request was not HTTP/1.x.
    Refusal,
}

/// The prepared replies, and the last parsed request.
pub(crate) struct Replies {
    keep: Vec<u8>,
    keep_old: Vec<u8>,
    close: Vec<u8>,
    body_bytes: usize,
    refusal: &'static [u8],
    /// A complete request without a body that keeps its connection; equal ones are not parsed.
    learned: Vec<u8>,
}

impl Replies {
    pub(crate) fn new(body: &str) -> Self {
        let reply = |connection: &str| {
            let length = body.len();
            format!(
                "HTTP/1.1 200 OK\r\nServer: deadheat-null\r\nContent-Type: text/plain\r\n\
                 Content-Length: {length}\r\n{connection}\r\n{body}"
            )
            .into_bytes()
        };
        Self {
            keep: reply(""),
            keep_old: reply("Connection: keep-alive\r\n"),
            close: reply("Connection: close\r\n"),
            body_bytes: body.len(),
            refusal: b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            learned: Vec::new(),
        }
    }

    fn body(&self) -> &[u8] {
        &self.keep[self.keep.len() - self.body_bytes..]
    }

    fn of(&self, request: &Request) -> &[u8] {
        let whole = match (request.keeps, request.old) {
            (true, false) => &self.keep,
            (true, true) => &self.keep_old,
            (false, _) => &self.close,
        };
        let cut = if request.to_head { self.body_bytes } else { 0 };
        &whole[..whole.len() - cut]
    }
}

/// The fields of a request head that the server uses.
struct Request {
    bytes: usize,
    old: bool,
    keeps: bool,
    to_head: bool,
    body: Body,
}

#[derive(Clone, Copy)]
enum Body {
    Length(u64),
    Chunked(Chunked),
}

pub(crate) struct Client {
    fd: OwnedFd,
    /// Input of an incomplete request.
    input: Vec<u8>,
    /// The rest of the body of a request that has its reply.
    body: Body,
    output: Vec<u8>,
    closing: bool,
    /// It speaks HTTP/2.
    http2: Option<Box<NullPeer>>,
    /// A request has begun.
    has_begun: bool,
    tls: Option<Box<ServerConnection>>,
    /// Records that the socket has not accepted yet.
    sealed: Vec<u8>,
}

impl Client {
    pub(crate) fn new(fd: OwnedFd, tls: Option<ServerConnection>) -> Self {
        Self {
            fd,
            input: Vec::new(),
            body: Body::Length(0),
            output: Vec::new(),
            closing: false,
            http2: None,
            has_begun: false,
            tls: tls.map(Box::new),
            sealed: Vec::new(),
        }
    }

    /// Takes bytes of the connection, sealed or not; false if the connection ended.
    pub(crate) fn receive(
        &mut self,
        mut bytes: &[u8],
        replies: &mut Replies,
        mut each: impl FnMut(Reply),
    ) -> bool {
        let Some(mut tls) = self.tls.take() else { return self.take(bytes, replies, each) };
        let mut open = true;
        let mut plain = Vec::new();
        while open && !bytes.is_empty() {
            open = tls.read_tls(&mut bytes).is_ok() && tls.process_new_packets().is_ok();
            // At most what has arrived; an error means that there is no more.
            let _ = tls.reader().read_to_end(&mut plain);
        }
        self.tls = Some(tls);
        if open && !plain.is_empty() {
            return self.take(&plain, replies, &mut each);
        }
        self.flush() && open
    }

    pub(crate) fn wants_write(&self) -> bool {
        !self.output.is_empty() || !self.sealed.is_empty()
    }

    /// Replies to the requests in the input; false if the connection ended.
    pub(crate) fn take(
        &mut self,
        new: &[u8],
        replies: &mut Replies,
        mut each: impl FnMut(Reply),
    ) -> bool {
        if new == replies.learned && self.is_between_requests() {
            each(Reply::Answer);
            return self.send(&replies.keep);
        }
        let mut held = std::mem::take(&mut self.input);
        held.extend_from_slice(new);
        if !self.has_begun && NullPeer::may_begin(&held) {
            if held.len() < PREFACE.len() {
                self.input = held;
                return true;
            }
            self.http2 = Some(Box::new(NullPeer::new(replies.body(), &mut self.output)));
            held.drain(..PREFACE.len());
        }
        self.has_begun = true;
        if let Some(peer) = &mut self.http2 {
            let taken = peer.take(&held, &mut self.output, || each(Reply::Answer));
            return taken.is_some() && self.flush();
        }
        let mut at = 0;
        while !self.closing && self.skip_body(&held, &mut at) && at < held.len() {
            match parse(&held[at..]) {
                Err(()) => {
                    self.closing = true;
                    self.output.extend_from_slice(replies.refusal);
                    each(Reply::Refusal);
                }
                Ok(None) => break,
                Ok(Some(request)) => {
                    self.output.extend_from_slice(replies.of(&request));
                    each(Reply::Answer);
                    let plain = request.keeps && !request.old && !request.to_head;
                    if plain && matches!(request.body, Body::Length(0)) {
                        replies.learned.clear();
                        replies.learned.extend_from_slice(&held[at..at + request.bytes]);
                    }
                    at += request.bytes;
                    self.body = request.body;
                    self.closing = !request.keeps;
                }
            }
        }
        held.drain(..at);
        self.input = held;
        self.flush()
    }

    /// Writes as much output as the socket accepts; false if the connection ended.
    pub(crate) fn flush(&mut self) -> bool {
        let output = std::mem::take(&mut self.output);
        self.send(&output)
    }

    fn send(&mut self, bytes: &[u8]) -> bool {
        let Some(tls) = &mut self.tls else { return self.send_plain(bytes) };
        let wrote = tls.writer().write_all(bytes);
        if self.closing {
            tls.send_close_notify();
        }
        while tls.wants_write() {
            if tls.write_tls(&mut self.sealed).is_err() {
                return false;
            }
        }
        match sockets::send(self.fd.as_raw_fd(), &self.sealed) {
            Ok(sent) if wrote.is_ok() => {
                self.sealed.drain(..sent);
                !(self.closing && self.sealed.is_empty())
            }
            _ => false,
        }
    }

    fn send_plain(&mut self, bytes: &[u8]) -> bool {
        match sockets::send(self.fd.as_raw_fd(), bytes) {
            Err(_) => false,
            Ok(sent) => {
                self.output.extend_from_slice(&bytes[sent..]);
                !(self.closing && self.output.is_empty())
            }
        }
    }

    fn is_between_requests(&self) -> bool {
        self.http2.is_none()
            && self.input.is_empty()
            && self.output.is_empty()
            && matches!(self.body, Body::Length(0))
    }

    /// Skips the body of the last request; true at its end.
    fn skip_body(&mut self, held: &[u8], at: &mut usize) -> bool {
        match &mut self.body {
            Body::Length(left) => {
                let skipped = (*left).min((held.len() - *at) as u64);
                *left -= skipped;
                *at += skipped as usize;
                *left == 0
            }
            Body::Chunked(chunked) => match chunked.feed(&held[*at..], |_| ()) {
                Ok(Some(used)) => {
                    *at += used;
                    self.body = Body::Length(0);
                    true
                }
                Ok(None) => {
                    *at = held.len();
                    false
                }
                Err(_) => {
                    self.closing = true;
                    false
                }
            },
        }
    }
}

/// Parses a request head at the start of `input`; `None` if it is incomplete.
fn parse(input: &[u8]) -> Result<Option<Request>, ()> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let bytes = match request.parse_with_uninit_headers(input, &mut headers) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) if input.len() <= MAX_HEAD_BYTES => return Ok(None),
        _ => return Err(()),
    };
    let old = request.version == Some(0);
    let mut keeps = !old;
    let mut body = Body::Length(0);
    for header in request.headers.iter() {
        let value = std::str::from_utf8(header.value).map_err(drop)?.trim();
        if header.name.eq_ignore_ascii_case("connection") {
            let has =
                |token: &str| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(token));
            keeps = (keeps || has("keep-alive")) && !has("close");
        } else if header.name.eq_ignore_ascii_case("content-length") {
            body = Body::Length(value.parse().map_err(drop)?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            body = Body::Chunked(Chunked::default());
        }
    }
    let to_head = request.method == Some("HEAD");
    Ok(Some(Request { bytes, old, keeps, to_head, body }))
}
