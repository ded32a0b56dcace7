//! The parser against its reference: the fuzzer's corpus, seeded random changes, and past bugs.
//! `cargo fuzz` runs the same checks; see docs/engine-design.md.

use crate::expected::Expected;
use crate::head::{Framing, MAX_HEAD_BYTES, MAX_HEADERS, parse_head};

use crate::oracle::Case;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/response");
const RANDOM_CASES: usize = if cfg!(miri) { 100 } else { 2_000_000 };

fn corpus() -> Vec<Vec<u8>> {
    let mut files: Vec<_> =
        std::fs::read_dir(CORPUS).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Checks this stream in these pieces; any response is expected.
fn check(stream: Vec<u8>, pieces: &[usize]) {
    let expected = Expected { status: 200, media_type: None, body: None, to_head_request: false };
    Case { expected, pieces: pieces.to_vec(), stream }.check();
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn agrees_with_the_reference_on_the_corpus() {
    let corpus = corpus();
    assert!(!corpus.is_empty());
    for data in corpus {
        for size in [1, 2, 3, 7] {
            let case = Case::decode(&data);
            Case { pieces: vec![size], ..case }.check();
        }
        Case::decode(&data).check();
    }
}

#[test]
fn agrees_with_the_reference_on_random_changes_to_the_corpus() {
    let corpus = corpus();
    let mut random = Random(20_261_120);
    for _ in 0..RANDOM_CASES {
        // Most of the corpus is short; the longest of several has complete responses.
        let some = [(); 4].map(|()| &corpus[random.below(corpus.len())]);
        let mut data = some.into_iter().max_by_key(|data| data.len()).cloned().unwrap_or_default();
        if random.below(2) == 0 && data.len() > 2 {
            data[..2].fill_with(|| random.below(256) as u8);
        }
        for _ in 0..=random.below(4) {
            random.change(&mut data, &corpus);
        }
        Case::decode(&data).check();
    }
}

/// Bug: a long body in one piece counted as head if the head had begun in an earlier piece.
#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn head_in_pieces_does_not_include_the_body() {
    let body = vec![b'x'; 100_000];
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
    let stream = [&head[..], &body, head, &body].concat();
    check(stream, &[10, 65_536]);
}

/// Bug: they were malformed; by RFC 9112, section 5.2, user agents join them.
#[test]
fn joins_folded_header_lines() {
    let head = "HTTP/1.1 200 OK\r\nX: a\r\n\tb\r\nY:\n \nContent-Length:\r\n 2\r\n\r\n";
    let parsed = parse_head(head.as_bytes(), false).unwrap().unwrap();
    assert_eq!((parsed.framing, parsed.bytes), (Framing::Length(2), head.len()));
    for size in 1..20 {
        check(format!("{head}ok").repeat(2).into_bytes(), &[size]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn limits_the_length_of_a_head() {
    let (start, end) = ("HTTP/1.1 200 OK\r\nX: ", "\r\nContent-Length: 2\r\n\r\n");
    for excess in -1..=1 {
        let padding = (MAX_HEAD_BYTES - start.len() - end.len()).saturating_add_signed(excess);
        let stream = format!("{start}{}{end}ok", "x".repeat(padding));
        for size in [1_000, 65_535, 65_536, 65_537] {
            check(stream.clone().into_bytes(), &[size]);
        }
    }
}

#[test]
fn limits_the_number_of_headers() {
    for count in MAX_HEADERS - 1..=MAX_HEADERS + 1 {
        let stream = format!("HTTP/1.1 204 \r\n{}\r\n", "A: b\r\n".repeat(count));
        check(stream.into_bytes(), &[100]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn limits_extensions_and_trailers() {
    for length in 65_535..=65_537 {
        let half = "e".repeat(length / 2);
        let rest = "t".repeat(length - length / 2);
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(format!("{head}2;{half}\r\nok\r\n0\r\n{rest}\r\n\r\n").into_bytes(), &[1_000]);
    }
}

/// A small generator with a seed (SplitMix64).
struct Random(u64);

/// Parts of responses, to insert.
const WORDS: &[&str] = &[
    "\r\n",
    "\n",
    "\r\n\r\n",
    "0\r\n\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.0 ",
    "204",
    "304",
    "101",
    "Content-Length: 13\r\n",
    "Content-Length: 5, 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: close\r\n",
    "\r\n ",
    "Connection: keep-alive\r\n",
    "Content-Type: text/plain; a=b\r\n",
    "HTTP/1.1 103 Early Hints\r\n\r\n",
    "Hello, World!",
    "d\r\n",
    "ffffffffffffffff",
    ";x",
    ",",
    ":",
];

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }

    fn change(&mut self, data: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(data.len() + 1);
        let end = (at + self.below(12)).min(data.len());
        match self.below(6) {
            0 => drop(data.drain(at..end)),
            1 => drop(data.splice(at..end, WORDS[self.below(WORDS.len())].bytes())),
            2 => drop(data.splice(at..at, WORDS[self.below(WORDS.len())].bytes())),
            3 => data.insert(at, self.below(256) as u8),
            4 => {
                let other = &corpus[self.below(corpus.len())];
                data.truncate(at);
                data.extend_from_slice(&other[self.below(other.len() + 1)..]);
            }
            _ => data[..end].iter_mut().skip(at).for_each(|byte| *byte = self.below(256) as u8),
        }
    }
}
