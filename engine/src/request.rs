//! The bytes of the requests, written once before the run.

use std::ops::Range;

use crate::config::Config;
use crate::target::Target;

/// Requests to every URL in rotation, laid out so that any run of them is one slice.
#[derive(Clone, Debug)]
pub struct RequestBook {
    bytes: Vec<u8>,
    /// Where each request starts, and where the last one ends.
    starts: Vec<usize>,
    urls: usize,
}

impl RequestBook {
    pub fn new(config: &Config) -> Self {
        let urls = config.targets.len();
        let mut book = Self { bytes: Vec::new(), starts: vec![0], urls };
        for n in 0..urls + config.pipeline - 1 {
            write_request(&mut book.bytes, config, &config.targets[n % urls]);
            book.starts.push(book.bytes.len());
        }
        book
    }

    pub fn urls(&self) -> usize {
        self.urls
    }

    /// Where `count` requests lie that begin with the one to `url`.
    pub fn range(&self, url: usize, count: usize) -> Range<usize> {
        self.starts[url]..self.starts[url + count]
    }

    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }
}

fn write_request(out: &mut Vec<u8>, config: &Config, target: &Target) {
    let mut line = |text: &str| {
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(b"\r\n");
    };
    line(&format!("{} {} HTTP/1.1", config.method, target.path));
    let agent = concat!("deadheat-load/", env!("CARGO_PKG_VERSION"));
    for (name, value) in [("Host", target.host.as_str()), ("User-Agent", agent), ("Accept", "*/*")]
    {
        if !config.has_header(name) {
            line(&format!("{name}: {value}"));
        }
    }
    for (name, value) in &config.headers {
        line(&format!("{name}: {value}"));
    }
    if !config.body.is_empty() && !config.has_header("Content-Length") {
        line(&format!("Content-Length: {}", config.body.len()));
    }
    if config.close && !config.has_header("Connection") {
        line("Connection: close");
    }
    line("");
    out.extend_from_slice(&config.body);
}
