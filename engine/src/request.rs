//! The bytes of the requests, built once before the run.

use std::borrow::Cow;
use std::ops::Range;

use crate::config::{Config, Exchange};

/// The requests in rotation, to all URLs or of a workload; consecutive ones are one range of bytes.
#[derive(Clone, Debug)]
pub(crate) struct RequestBook {
    bytes: Vec<u8>,
    /// The start of each request, and the end of the last.
    starts: Vec<usize>,
    urls: usize,
}

impl RequestBook {
    pub(crate) fn new(config: &Config) -> Self {
        let urls = config.exchanges();
        let mut book = Self { bytes: Vec::new(), starts: vec![0], urls };
        for n in 0..urls + config.pipeline - 1 {
            write_request(&mut book.bytes, config, &config.exchange(n % urls));
            book.starts.push(book.bytes.len());
        }
        book
    }

    pub(crate) fn urls(&self) -> usize {
        self.urls
    }

    /// The range of `count` requests that begin with the one to `url`.
    pub(crate) fn range(&self, url: usize, count: usize) -> Range<usize> {
        self.starts[url]..self.starts[url + count]
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }
}

/// True if the request has a Content-Length. POST, PUT and PATCH have one even for an empty body
/// (RFC 9110, section 8.6); without it some servers respond with 411.
fn has_content(exchange: &Exchange) -> bool {
    !exchange.body.is_empty() || ["POST", "PUT", "PATCH"].contains(&exchange.method)
}

/// The headers of a request in their order, those that the options do not replace first.
pub(crate) fn headers<'c>(
    config: &'c Config,
    exchange: &Exchange<'c>,
) -> Vec<(&'c str, Cow<'c, str>)> {
    let has_header = |name: &str| {
        let own = exchange.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        own || config.has_header(name)
    };
    let mut headers: Vec<(&str, Cow<str>)> = Vec::new();
    let agent = concat!("deadheat-load/", env!("CARGO_PKG_VERSION"));
    for (name, value) in [("Host", exchange.host), ("User-Agent", agent), ("Accept", "*/*")] {
        if !has_header(name) {
            headers.push((name, value.into()));
        }
    }
    for (name, value) in config.headers.iter().chain(exchange.headers) {
        headers.push((name, value.into()));
    }
    if has_content(exchange) && !has_header("Content-Length") && !has_header("Transfer-Encoding") {
        headers.push(("Content-Length", exchange.body.len().to_string().into()));
    }
    if config.close && !has_header("Connection") {
        headers.push(("Connection", "close".into()));
    }
    headers
}

fn write_request(out: &mut Vec<u8>, config: &Config, exchange: &Exchange) {
    let mut write = |text: &str| out.extend_from_slice(text.as_bytes());
    write(&format!("{} {} HTTP/1.1\r\n", exchange.method, exchange.path));
    for (name, value) in headers(config, exchange) {
        write(&format!("{name}: {value}\r\n"));
    }
    write("\r\n");
    out.extend_from_slice(exchange.body);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{self, Command};

    /// The first request of a command line.
    fn request(args: &[&str]) -> String {
        let words = ["http://127.0.0.1/a"].iter().chain(args).map(std::ffi::OsString::from);
        let Ok(Command::Load(config)) = args::parse(words) else { panic!("{args:?}") };
        let book = RequestBook::new(&config);
        String::from_utf8(book.bytes(book.range(0, 1)).to_vec()).unwrap()
    }

    #[test]
    fn given_headers_replace_the_defaults() {
        let text = request(&["-H", "host: b", "-H", "X: 1", "-H", "Accept: a/b", "--close"]);
        let agent = concat!("deadheat-load/", env!("CARGO_PKG_VERSION"));
        let wanted = format!(
            "GET /a HTTP/1.1\r\nUser-Agent: {agent}\r\nhost: b\r\nX: 1\r\nAccept: a/b\r\n\
             Connection: close\r\n\r\n"
        );
        assert_eq!(text, wanted);
    }

    /// A POST without a body had no length, which some servers reject with 411.
    #[test]
    fn methods_with_content_send_a_length_of_zero() {
        for (args, wanted) in [
            (&["--body", "abc"][..], Some("3")),
            (&["--body", ""], Some("0")),
            (&["-X", "POST"], Some("0")),
            (&["-X", "PUT"], Some("0")),
            (&["-X", "DELETE"], None),
            (&["-X", "DELETE", "--body", "ab"], Some("2")),
            (&[], None),
            (&["-H", "Transfer-Encoding: chunked", "--body", "0\r\n\r\n"], None),
            (&["-X", "POST", "-H", "content-length: 7"], None),
        ] {
            let text = request(args);
            let length = text.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            assert_eq!(length, wanted, "{args:?}");
        }
    }

    /// An empty --body was sent with GET.
    #[test]
    fn empty_body_makes_a_post() {
        assert!(request(&["--body", ""]).starts_with("POST /a "));
        assert!(request(&["--body", "", "-X", "PUT"]).starts_with("PUT /a "));
    }
}
