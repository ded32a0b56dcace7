//! The parser: every split of every response gives what the whole gives.

use crate::expected::{Comparison, Expected};
use crate::response::{Parser, Progress};

const RESPONSES: &[&str] = &[
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nHell\r\n9\r\no, World!\r\n0\r\n\
     A: b\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "\r\nHTTP/1.1 404 Not Found\nContent-Length: 3\n\nabc",
    "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nHelloX",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
    "HTTP/2 200\r\n\r\n",
    "garbage",
];

fn expected() -> Expected {
    Expected {
        status: 200,
        media_type: None,
        body: Some(b"Hello, World!".to_vec()),
        to_head_request: false,
    }
}

/// Feeds pieces until there is an end; `used` counts from the start of the first piece.
fn feed(pieces: &[&[u8]]) -> (Progress, bool) {
    let mut parser = Parser::default();
    let mut before = 0;
    for piece in pieces {
        match parser.feed(piece, &expected()) {
            Progress::More => before += piece.len(),
            Progress::Done { answer, used } => {
                return (Progress::Done { answer, used: before + used }, parser.is_fresh());
            }
            malformed => return (malformed, false),
        }
    }
    (Progress::More, parser.is_fresh())
}

#[test]
fn parses_two_pieces_like_the_whole() {
    for response in RESPONSES.iter().map(|response| response.as_bytes()) {
        let whole = feed(&[response]);
        for at in 0..=response.len() {
            assert_eq!(feed(&[&response[..at], &response[at..]]), whole, "split at {at}");
        }
    }
}

#[test]
fn parses_single_bytes_like_the_whole() {
    for response in RESPONSES.iter().map(|response| response.as_bytes()) {
        let bytes: Vec<&[u8]> = response.chunks(1).collect();
        assert_eq!(feed(&bytes), feed(&[response]));
    }
}

#[test]
fn leaves_bytes_after_a_response() {
    for response in &RESPONSES[..5] {
        let twice = [response.as_bytes(), b"HTTP/1.1 200 OK"].concat();
        for at in 0..=twice.len() {
            let (progress, fresh) = feed(&[&twice[..at], &twice[at..]]);
            let Progress::Done { used, .. } = progress else { panic!("{progress:?}") };
            assert_eq!((used, fresh), (response.len(), true));
        }
    }
}

#[test]
fn close_ends_a_close_delimited_body() {
    for at in 0..13 {
        let mut parser = Parser::default();
        let (first, second) = b"Hello, World!".split_at(at);
        let head = b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n";
        for piece in [&head[..], first, second] {
            assert_eq!(parser.feed(piece, &expected()), Progress::More);
        }
        let answer = parser.end_of_stream(&expected()).unwrap();
        assert_eq!((answer.comparison, answer.closes), (Comparison::Same, true));
    }
}
