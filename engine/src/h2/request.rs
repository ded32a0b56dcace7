//! The requests, encoded once before the run.

use std::ops::Range;

use super::hpack;
use crate::config::Config;
use crate::request;

/// The header blocks and bodies of the requests in rotation.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    bytes: Vec<u8>,
    /// The block and the body of each request.
    requests: Vec<(Range<usize>, Range<usize>)>,
    /// Concurrent requests on a connection.
    pub streams: usize,
}

impl Book {
    pub(crate) fn new(config: &Config) -> Self {
        let mut book = Self { bytes: Vec::new(), requests: Vec::new(), streams: config.streams };
        for n in 0..config.exchanges() {
            let exchange = config.exchange(n);
            let mut headers = request::headers(config, &exchange);
            // With the value that a given Host has.
            let host = headers.iter().position(|(name, _)| name.eq_ignore_ascii_case("host"));
            let authority = host.map_or(String::new(), |at| headers.remove(at).1.into_owned());
            let start = book.bytes.len();
            for (name, value) in [
                (":method", exchange.method),
                (":scheme", if config.tls.is_some() { "https" } else { "http" }),
                (":authority", &authority),
                (":path", exchange.path),
            ] {
                hpack::encode(&mut book.bytes, name, value);
            }
            for (name, value) in headers {
                if !name.eq_ignore_ascii_case("connection") {
                    hpack::encode(&mut book.bytes, &name.to_ascii_lowercase(), value.trim());
                }
            }
            let body = book.bytes.len();
            book.bytes.extend_from_slice(exchange.body);
            book.requests.push((start..body, body..book.bytes.len()));
        }
        book
    }

    /// One request, to be written only.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn bare() -> Self {
        Self { bytes: vec![0x82], requests: vec![(0..1, 1..1)], streams: 1 }
    }

    pub(super) fn block(&self, url: u32) -> &[u8] {
        &self.bytes[self.requests[url as usize].0.clone()]
    }

    pub(super) fn body(&self, url: u32) -> &[u8] {
        &self.bytes[self.requests[url as usize].1.clone()]
    }
}
