//! The client of HTTP/2 against its reference, in any pieces, and against hostile servers.

use crate::classes::MalformedKind;
use crate::connection::Flight;
use crate::expected::Expected;
use crate::h2::{Book, Client, Event};
use crate::oracle::Http2Case;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/http2");
const RANDOM_CASES: usize = if cfg!(miri) { 50 } else { 400_000 };

pub(super) fn frame(kind: u8, flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    [&[a, b, c, kind, flags][..], &id.to_be_bytes(), payload].concat()
}

pub(super) fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let pair =
        |(name, value): &(u16, u32)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(4, 0, 0, &values.iter().flat_map(pair).collect::<Vec<_>>())
}

/// A response with the body "ok".
pub(super) fn answer(id: u32) -> Vec<u8> {
    [frame(1, 4, id, &[0x88]), frame(0, 1, id, b"ok")].concat()
}

pub(super) fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(7, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// A field that is not put into the dynamic table, with a new name.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let (name, value) = (name.as_bytes(), value.as_bytes());
    [&[0, name.len() as u8][..], name, &[value.len() as u8], value].concat()
}

/// Header blocks: right and wrong ones.
fn blocks() -> Vec<Vec<u8>> {
    let status = [0x88].to_vec();
    let with = |name: &str, value: &str| [status.clone(), literal(name, value)].concat();
    let indexed = [&status[..], &[0x40, 1], b"x", &[1], b"y", &[0x5f, 10], b"text/plain"].concat();
    vec![
        status.clone(),
        indexed,
        vec![0x88, 0xbe, 0xbf],
        vec![0x88, 0xbf],
        vec![0x20, 0x88],
        vec![0x3f, 0xe1, 0x1f, 0x88],
        vec![0x3f, 0xe2, 0x1f, 0x88],
        vec![0x88, 0x20],
        vec![0x80],
        vec![0x8d],
        literal(":status", "103"),
        literal(":status", "101"),
        literal(":status", "304"),
        literal(":status", "20"),
        with(":status", "200"),
        with(":path", "/"),
        with("Server", "x"),
        with("connection", "close"),
        with("content-length", "13"),
        with("content-length", "2"),
        with("content-length", "2, 2"),
        with("content-length", "2x"),
        with("content-type", "text/plain; charset=utf-8"),
        with("x", " y"),
        with("", "y"),
        [with("content-type", "a/b"), literal("content-type", "a/c")].concat(),
        [with("content-length", "1"), literal("content-length", "2")].concat(),
        [literal("x", "y"), status.clone()].concat(),
        // Huffman: "www.example.com", a padding of 8 ones, and one that is not ones.
        [&[0x88, 0x0f, 0x27, 0x8c][..], b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"]
            .concat(),
        vec![0x88, 0x0f, 0x27, 0x82, 0x1f, 0xff],
        vec![0x88, 0x0f, 0x27, 0x81, 0x18],
        vec![],
    ]
}

/// Frames of a server: right and wrong ones.
fn frames() -> Vec<Vec<u8>> {
    let mut frames = vec![
        settings(&[]),
        settings(&[(3, 100), (4, 70_000), (5, 16_384)]),
        settings(&[(2, 1)]),
        settings(&[(4, 1 << 31)]),
        settings(&[(5, 5)]),
        frame(4, 1, 0, &[]),
        frame(4, 1, 0, &[0; 6]),
        frame(4, 0, 1, &[]),
        frame(4, 0, 0, &[0; 5]),
        frame(6, 0, 0, b"12345678"),
        frame(6, 1, 0, b"12345678"),
        frame(6, 0, 0, b"123"),
        goaway(1, 0),
        goaway(0x7fff_ffff, 0),
        goaway(0, 11),
        frame(7, 0, 0, &[0; 4]),
        frame(8, 0, 0, &[0, 0, 1, 0]),
        frame(8, 0, 0, &[0, 0, 0, 0]),
        frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff]),
        frame(2, 0, 1, &[0; 5]),
        frame(2, 0, 0, &[0; 5]),
        frame(5, 4, 1, &[0, 0, 0, 2, 0x82]),
        frame(77, 0, 0, b"unknown"),
        b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
        [&[0, 64, 1, 0, 0][..], &[0, 0, 0, 1]].concat(),
    ];
    for id in [1, 3, 5, 2, 0, 9] {
        frames.push(frame(0, 1, id, b"Hello, World!"));
        frames.push(frame(0, 0, id, b"Hello"));
        frames.push(frame(0, 1, id, b", World!"));
        frames.push(frame(0, 9, id, b"\x02Hello, World!!!"));
        frames.push(frame(0, 8, id, b"\x05abc"));
        frames.push(frame(0, 1, id, b""));
        frames.push(frame(3, 0, id, &[0, 0, 0, 7]));
        frames.push(frame(3, 0, id, &[0, 0, 0, 8]));
        frames.push(frame(3, 0, id, &[0, 0, 7]));
        frames.push(frame(8, 0, id, &[0, 0, 1, 0]));
        frames.push(frame(8, 0, id, &[0, 0, 0, 0]));
        frames.push(frame(8, 0, id, &[0x7f, 0xff, 0xff, 0xff]));
    }
    for block in blocks() {
        for id in [1, 3, 5] {
            frames.push(frame(1, 4, id, &block));
            frames.push(frame(1, 5, id, &block));
            let (first, second) = block.split_at(block.len() / 2);
            frames.push([frame(1, 0, id, first), frame(9, 4, id, second)].concat());
            let padded = [&[2][..], &block, &[0, 0]].concat();
            frames.push(frame(1, 0x0c, id, &padded));
            frames.push(frame(1, 0x24, id, &[&[0; 5][..], &block].concat()));
        }
        frames.push(frame(9, 4, 1, &block));
    }
    frames
}

fn case(stream: Vec<u8>, pieces: &[usize]) -> Http2Case {
    let expected = Expected {
        status: 200,
        media_type: None,
        body: Some(b"Hello, World!".to_vec()),
        to_head_request: false,
    };
    Http2Case { expected, requests: 3, pieces: pieces.to_vec(), stream }
}

/// Each frame alone behind the SETTINGS and a head, split at every byte.
#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn every_frame_split_at_every_byte_means_the_same() {
    for one in frames() {
        for before in [Vec::new(), frame(1, 4, 1, &[0x88])] {
            let start = [settings(&[]), before].concat();
            let stream = [&start[..], &one, &answer(3)].concat();
            for at in 0..one.len() {
                case(stream.clone(), &[start.len() + at, 1, usize::MAX]).check();
            }
            case(stream.clone(), &[1]).check();
            case([&one[..], &answer(3)].concat(), &[1]).check();
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn agrees_with_the_reference_on_random_frames_and_the_corpus() {
    let frames = frames();
    let mut random = Random(20_261_127);
    for n in 0..RANDOM_CASES {
        let mut stream = if random.below(8) > 0 { settings(&[]) } else { Vec::new() };
        for _ in 0..random.below(12) {
            stream.extend_from_slice(&frames[random.below(frames.len())]);
        }
        if random.below(3) == 0 && !stream.is_empty() {
            let at = random.below(stream.len());
            stream[at] = random.below(256) as u8;
        }
        let mut case = case(stream, &[1 + random.below(9), 1 + random.below(40)]);
        case.expected.to_head_request = n % 7 == 0;
        case.expected.media_type = (n % 3 == 0).then(|| b"text/plain".to_vec());
        case.requests = 1 + random.below(3) as u32;
        case.check();
    }
    let mut files = 0;
    for file in std::fs::read_dir(CORPUS).unwrap() {
        let data = std::fs::read(file.unwrap().path()).unwrap();
        files += 1;
        Http2Case::decode(&data).check();
        for _ in 0..200 {
            let mut data = data.clone();
            let at = random.below(data.len());
            data[at] = random.below(256) as u8;
            Http2Case::decode(&data).check();
        }
    }
    assert!(files > 0);
}

/// Every string of one symbol, and the examples of RFC 7541, appendix C.6: a dynamic table of 256
/// bytes, from which entries are evicted.
#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn decodes_the_examples_of_the_standard() {
    let response = |hex: &str| -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(|byte| *byte != b' ').collect();
        let byte =
            |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    };
    let first = response(
        "3f e1 01 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 \
         2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
    );
    let second = response("4883 640e ffc1 c0bf");
    let third = response(
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 \
         821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed \
         4ee5 b106 3d50 07",
    );
    let stream =
        [settings(&[]), frame(1, 5, 1, &first), frame(1, 5, 3, &second), frame(1, 5, 5, &third)];
    let mut client = client(3);
    let expected = [anything()];
    let mut statuses = Vec::new();
    for bytes in stream {
        if let (_, Event::Answered { answer, .. }) = client.take(&bytes, &expected, 1) {
            statuses.push(answer.status);
        }
    }
    assert_eq!(statuses, [302, 307, 200]);
    case(stream_of_huffman(), &[7]).check();
}

/// Responses whose header values together have every symbol, in a block each.
fn stream_of_huffman() -> Vec<u8> {
    let coded: [&[u8]; 3] = [
        b"\xff\xc7\xff\xff\xd8\xff",
        b"\xf8\xd0\x94\xe7\x44\x43\x01\x02\x7f\xff\xff\xff",
        b"\x07\x1c\x69\x56\x9f\x3f\xcf\xdf\xbf\x7f\xfb\xff\xcf\xe7\xff\xfd",
    ];
    let mut stream = settings(&[]);
    for (n, text) in coded.iter().enumerate() {
        let block = [&[0x88, 0x0f, 0x27, 0x80 | text.len() as u8][..], text].concat();
        stream.extend(frame(1, 5, 2 * n as u32 + 1, &block));
    }
    stream
}

fn anything() -> Expected {
    Expected { status: 0, media_type: None, body: None, to_head_request: false }
}

/// A client with so many requests in flight.
fn client(requests: u32) -> Client {
    let mut client = Client::new(requests as usize);
    client.open();
    for _ in 0..requests {
        let (begun_ns, sent_ns, intended_ns) = (1, 0, 0);
        client.assign(Flight { begun_ns, sent_ns, intended_ns, url: 0, measured: true });
        client.send_next(&Book::bare(), 1).unwrap();
    }
    client
}

/// Repeats a piece of input until the client gives up; returns why and after how many repetitions.
/// The answers of the client are read if `is_reader`.
fn endure(start: &[u8], piece: &[u8], is_reader: bool) -> (MalformedKind, usize) {
    let mut client = client(1);
    let (expected, book) = ([anything()], Book::bare());
    let mut output = Vec::new();
    client.take(&[&settings(&[])[..], start].concat(), &expected, 1);
    for n in 0..1_000_000 {
        let (_, event) = client.take(piece, &expected, 1);
        client.write_output(&book, &mut output);
        assert!(output.len() < 2 << 20, "output without end");
        if is_reader {
            output.clear();
        }
        match event {
            Event::More => {}
            Event::Broken { kind, .. } | Event::Malformed { kind, .. } => return (kind, n),
            other => panic!("{other:?}"),
        }
    }
    panic!("it endures anything");
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn hostile_servers_are_given_up_on() {
    let block = frame(1, 0, 1, &[0x88]);
    let ping = frame(6, 0, 0, &[0; 8]);
    let interim = frame(1, 4, 1, &literal(":status", "103"));
    let small = frame(9, 0, 1, &[0; 1]);
    for (name, start, piece, kind, most) in [
        ("CONTINUATION", &block, frame(9, 0, 1, &[0; 16_384]), MalformedKind::H2HeaderList, 4),
        ("empty CONTINUATION", &block, frame(9, 0, 1, &[]), MalformedKind::H2Flood, 10_000),
        ("short CONTINUATION", &block, small, MalformedKind::H2Flood, 10_000),
        ("PING", &Vec::new(), ping.clone(), MalformedKind::H2Flood, 10_000),
        ("SETTINGS", &Vec::new(), settings(&[(4, 1)]), MalformedKind::H2Flood, 10_000),
        ("PRIORITY", &Vec::new(), frame(2, 0, 1, &[0; 5]), MalformedKind::H2Flood, 10_000),
        (
            "empty DATA",
            &frame(1, 4, 1, &[0x88]),
            frame(0, 0, 1, &[]),
            MalformedKind::H2Flood,
            10_000,
        ),
        ("padding", &frame(1, 4, 1, &[0x88]), frame(0, 8, 1, &[0]), MalformedKind::H2Flood, 10_000),
        ("interim", &Vec::new(), interim, MalformedKind::H2Flood, 10_000),
        ("RST_STREAM", &Vec::new(), frame(3, 0, 7, &[0; 4]), MalformedKind::H2FrameStream, 0),
        (
            "windows",
            &Vec::new(),
            frame(8, 0, 0, &[0x3f, 0xff, 0xff, 0xff]),
            MalformedKind::H2FlowControl,
            2,
        ),
    ] {
        let (seen, repeats) = endure(start, &piece, true);
        assert_eq!(seen, kind, "{name}");
        assert!(repeats <= most, "{name}: {repeats}");
    }
    // Many requests for an answer in one piece, and answers that are not read.
    let many = ping.repeat(5_000);
    assert_eq!(endure(&[], &many, false).0, MalformedKind::H2Flood);
}

/// A block of 16 KiB may refer thousands of times to an entry of 4 KiB.
#[test]
fn header_bombs_end_at_the_limit_of_a_list() {
    let value = [&[0x40, 1][..], b"x", &[0x7f, 0x80, 0x1e], &[b'y'; 3967]].concat();
    let bomb = [&[0x88][..], &value, &[0xbe; 12_000]].concat();
    let stream = [settings(&[]), frame(1, 5, 1, &bomb)].concat();
    let (_, event) = client(1).take(&stream, &[anything()], 1);
    let wanted = MalformedKind::H2HeaderList;
    assert!(matches!(event, Event::Broken { kind, .. } if kind == wanted), "{event:?}");
    case(stream, &[100]).check();
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn windows_are_opened_again_after_half_a_gigabyte() {
    let mut client = client(1);
    let (expected, book) = ([anything()], Book::bare());
    let begin = [settings(&[]), frame(1, 4, 1, &[0x88])].concat();
    assert!(matches!(client.take(&begin, &expected, 1), (_, Event::More)));
    client.write_output(&book, &mut Vec::new());
    let (data, mut sent) = (frame(0, 0, 1, &[0; 16_384]), Vec::new());
    for _ in 0..33_000 {
        assert!(matches!(client.take(&data, &expected, 1), (_, Event::More)));
        client.write_output(&book, &mut sent);
    }
    let opened: Vec<_> = sent.chunks(13).map(|update| (update[3], update[8])).collect();
    assert_eq!(opened, [(8, 0), (8, 1)], "of the connection and of the stream");
}

/// What the client believes to be in flight is what was not ended, however the server ends it.
#[test]
fn rapid_resets_leave_nothing() {
    let mut client = client(1);
    let (expected, book) = ([anything()], Book::bare());
    client.take(&settings(&[]), &expected, 1);
    for n in 0..20_000u32 {
        let (_, event) = client.take(&frame(3, 0, 2 * n + 1, &[0, 0, 0, 8]), &expected, 1);
        let Event::Reset { code: 8, .. } = event else { panic!("{event:?}") };
        assert!(client.is_free() && client.in_flight() == 0);
        let (begun_ns, sent_ns, intended_ns) = (1, 0, 0);
        client.assign(Flight { begun_ns, sent_ns, intended_ns, url: 0, measured: true });
        client.send_next(&book, 1).unwrap();
        client.write_output(&book, &mut Vec::new());
    }
}

/// A small generator with a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }
}
