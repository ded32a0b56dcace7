//! One request to each URL before the run, or one of each template of a workload; all later
//! responses must equal its response, or the one that the workload expects. If a server may choose
//! the spelling of its answers, each request is sent once and its response is the expected one.

mod answer;
mod stream;

use std::collections::HashMap;

use crate::config::{Config, Expect};
use crate::error::{Error, Result};
use crate::expected::Expected;
use crate::h2;
use crate::head::Framing;
use crate::preflight_problem::PreflightProblem as Problem;
use crate::request::RequestBook;
use crate::workload::Equivalent;

use answer::{Answer, http2_answer};
use stream::Stream;

/// The result of the preflight.
#[derive(Clone, Debug)]
pub(crate) struct Preflight {
    /// One per URL.
    pub expected: Vec<Expected>,
    /// Of the response of the first URL.
    pub head_bytes: usize,
    pub framing: &'static str,
    /// The server closed after a response that did not announce it.
    pub closes_unannounced: bool,
    /// HTTP/2: the concurrent requests that the server allows, if it has said so.
    pub allowed_streams: Option<u32>,
    /// Version, cipher suite and key exchange of TLS.
    pub tls: Option<String>,
}

/// Sends one request to each URL, or one of each template; the error names the URL and the problem.
pub(crate) fn run(config: &Config) -> Result<Preflight> {
    let book = RequestBook::new(config);
    let mut seen = Preflight {
        expected: Vec::new(),
        head_bytes: 0,
        framing: Framing::None.name(),
        closes_unannounced: false,
        allowed_streams: None,
        tls: None,
    };
    let http2 = config.http2.then(|| h2::Book::new(config));
    let mut spelled = HashMap::new();
    for url in config.preflights() {
        let target = config.targets.get(url).unwrap_or(&config.targets[0]);
        let about = |problem| Error::Preflight { url: url_of(config, url), problem };
        let mut stream = Stream::connect(&target.address, config).map_err(about)?;
        let to_head = config.exchange(url).method == "HEAD";
        let answer = match &http2 {
            Some(book) => {
                let (answer, allowed) =
                    http2_answer(&mut stream, book, url, to_head).map_err(about)?;
                seen.allowed_streams = allowed;
                if allowed.is_some_and(|allowed| (allowed as usize) < config.streams) {
                    let (allowed, asked) = (allowed.unwrap_or(0), config.streams);
                    return Err(about(Problem::TooFewStreams { allowed, asked }));
                }
                answer
            }
            None => {
                let sent = stream.write_all(book.bytes(book.range(url, 1)));
                sent.map_err(|problem| about(stream.before_response(problem)))?;
                Answer::read(&mut stream, to_head).map_err(about)?
            }
        };
        if config.tls.is_none() && answer.wants_tls() {
            return Err(about(Problem::SpeaksTls));
        }
        let expected = answer.expected(&expect_of(config, url), to_head).map_err(about)?;
        if let Some(equivalent) = equivalent_of(config, url) {
            answer.require(equivalent).map_err(about)?;
            spelled.insert(url, answer.body.clone());
        }
        if url >= config.templates() {
            continue;
        }
        seen.expected.push(expected);
        seen.closes_unannounced |= http2.is_none() && !answer.closes && stream.is_closed();
        stream.hang_up();
        if url == 0 {
            seen.head_bytes = answer.head_bytes;
            seen.framing = if config.http2 { "frames" } else { answer.framing.name() };
            seen.tls = stream.parameters.take();
        }
    }
    if let Some(workload) = &config.workload {
        let templates = std::mem::take(&mut seen.expected);
        let drawn = workload.requests.iter().enumerate().map(|(number, drawn)| {
            let mut expected = templates[drawn.template].clone();
            if !workload.templates[drawn.template].is_learned {
                expected.body = spelled.remove(&number).or_else(|| drawn.expected_body.clone());
            }
            expected
        });
        seen.expected = drawn.collect();
    }
    Ok(seen)
}

/// The URL of a request, for errors.
fn url_of(config: &Config, number: usize) -> String {
    match &config.workload {
        None => config.targets[number].url.clone(),
        Some(_) => {
            let exchange = config.exchange(number);
            let base = config.targets[0].url.trim_end_matches('/');
            format!("{} {base}{}", exchange.method, exchange.path)
        }
    }
}

/// What the response to one of the first requests must be.
fn expect_of(config: &Config, number: usize) -> Expect {
    let Some(workload) = &config.workload else { return config.expect.clone() };
    let drawn = &workload.requests[number];
    let template = &workload.templates[drawn.template];
    Expect {
        status: Some(template.status),
        media_type: template.media_type.clone(),
        body: drawn.expected_body.clone(),
        any_body: drawn.expected_body.is_none() && !template.is_learned,
    }
}

/// What the body of the response to a request must be up to its spelling.
fn equivalent_of(config: &Config, number: usize) -> Option<&Equivalent> {
    config.workload.as_ref()?.requests[number].equivalent.as_ref()
}
