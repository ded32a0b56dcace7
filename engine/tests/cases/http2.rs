//! HTTP/2 against the null server and scripted ones: every request in its class, and the server's
//! own counts.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::null_server::NullServer;
use crate::common::resident::{Resident, assert_all_ok, number, sent};
use crate::common::schema::assert_follows_schema;
use crate::common::tls::Ca;
use crate::common::{GOOD, assert_all_in, class, classes, engine, load};
use serde_json::Value;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const BODY: &[u8] = b"Hello, World!";

fn frame(kind: u8, flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    [&[a, b, c, kind, flags][..], &id.to_be_bytes(), payload].concat()
}

fn answer(id: u32) -> Vec<u8> {
    [frame(1, 4, id, &[0x88]), frame(0, 1, id, BODY)].concat()
}

fn goaway(last: u32) -> Vec<u8> {
    frame(7, 0, 0, &[last.to_be_bytes(), [0; 4]].concat())
}

/// A request: its number on the server and on its connection, and its stream. The first of a server
/// is the preflight's.
#[derive(Clone, Copy)]
struct Nth {
    of_server: u64,
    of_connection: u64,
    id: u32,
}

type Reacts = dyn Fn(Nth) -> (Vec<Vec<u8>>, &'static str) + Send + Sync;

/// A server whose script says what to write after each request, in pieces, and how to count it.
struct Peer {
    url: String,
    counts: Arc<Mutex<Vec<&'static str>>>,
}

impl Peer {
    fn start(script: impl Fn(Nth) -> (Vec<Vec<u8>>, &'static str) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let script: Arc<Reacts> = Arc::new(script);
        let (requests, counts) = (Arc::new(AtomicU64::new(0)), Arc::<Mutex<Vec<_>>>::default());
        let peer = Self { url, counts: counts.clone() };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, requests) = (script.clone(), requests.clone());
                let counts = counts.clone();
                thread::spawn(move || serve(stream, &*script, &requests, &counts));
            }
        });
        peer
    }

    /// How often it counted this.
    fn count(&self, name: &str) -> u64 {
        self.counts.lock().unwrap().iter().filter(|other| **other == name).count() as u64
    }

    fn load(&self, args: &[&str]) -> (Value, i32) {
        load(&self.url, &[&["--http2"], args].concat())
    }
}

/// Serves a connection until its end; `None` then.
fn serve(
    mut stream: TcpStream,
    script: &Reacts,
    requests: &AtomicU64,
    counts: &Mutex<Vec<&'static str>>,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut preface = [0; PREFACE.len()];
    stream.read_exact(&mut preface).ok()?;
    assert_eq!(preface, PREFACE);
    stream.write_all(&frame(4, 0, 0, &[])).ok()?;
    let mut of_connection = 0;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).ok()?;
        let (kind, flags) = (head[3], head[4]);
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        if kind == 4 && flags == 0 {
            stream.write_all(&frame(4, 1, 0, &[])).ok()?;
        }
        if kind > 1 || flags & 1 == 0 {
            continue;
        }
        let of_server = requests.fetch_add(1, Ordering::SeqCst);
        let (pieces, count_as) = script(Nth { of_server, of_connection, id });
        of_connection += 1;
        counts.lock().unwrap().push(count_as);
        for (n, piece) in pieces.iter().enumerate() {
            if n > 0 {
                thread::sleep(Duration::from_micros(300));
            }
            stream.write_all(piece).ok()?;
        }
    }
}

/// A server that answers the preflight, and does the same after every other request.
fn after_preflight(fault: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) -> Peer {
    Peer::start(move |nth| match nth.of_server {
        0 => (vec![answer(nth.id)], "preflight"),
        _ => (vec![fault(nth.id)], "fault"),
    })
}

#[test]
fn counts_equal_those_of_the_server() {
    for args in [
        &["--streams", "4"][..],
        &["--streams", "4", "--rate", "2000"],
        &["--streams", "2", "--requests-per-connection", "5"],
        &["--close"],
        &["-t", "2", "--streams", "100"],
    ] {
        let server = NullServer::start();
        let (document, _) = load(&server.url, &[&["--http2"], args].concat());
        let counts = server.end();
        assert_all_in(&document, "ok", counts["answered"].as_u64().unwrap() - 1);
        assert_follows_schema(&document, "document");
        let opened = document["connections"]["opened"].as_u64().unwrap();
        // Connecting may be under way at the end.
        assert!(counts["connections"].as_u64().unwrap() > opened, "{args:?}");
        assert_eq!(document["expected"]["framing"], "frames");
        assert_eq!(document["http2"]["allowed_streams"], 1000);
    }
}

/// ALPN chooses HTTP/2, also for a server of both.
#[test]
fn counts_equal_those_of_the_server_over_tls() {
    let ca = Ca::new();
    let [cert, key] = ca.leaf(&["localhost", "127.0.0.1"], 2100);
    let body = "b".repeat(50_000);
    for args in [&["--streams", "5"][..], &["--rate", "500"], &["--close"], &["--body", &body]] {
        let server = NullServer::start_with(&["--cert", &cert, "--key", &key]);
        let url = server.url.replacen("http:", "https:", 1);
        let (document, _) = load(&url, &[&["--http2", "--cacert", &ca.file()], args].concat());
        assert_all_in(&document, "ok", server.end()["answered"].as_u64().unwrap() - 1);
        assert!(document["tls"]["handshakes"].as_u64() > Some(0), "{}", document["tls"]);
        assert_follows_schema(&document, "document");
    }
}

#[test]
fn streams_are_all_in_use_in_a_closed_loop() {
    let peer = Peer::start(|nth| {
        // An answer is late enough that Little's law sees the time between.
        thread::sleep(Duration::from_micros(200));
        (vec![answer(nth.id)], "answered")
    });
    let (document, _) = peer.load(&["--streams", "5", "-d", "500ms"]);
    assert_all_in(&document, "ok", peer.count("answered") - 1);
    assert_eq!(
        (&document["config"]["http2"], &document["config"]["streams"]),
        (&true.into(), &5.into())
    );
    let error = document["little_law_error"].as_f64().unwrap();
    assert!(error.abs() < 0.1, "{error}");
}

#[test]
fn slices_count_every_request_of_every_stream() {
    let server = NullServer::start();
    let args = ["-c", "5", "--http2", "--streams", "4"];
    let mut resident = Resident::start(&server.url, &args);
    let mut requests = number(&resident.ready, "/preflight_requests");
    for keys in ["", r#", "renew": true"#, r#", "hang_up": true"#, ""] {
        let slice = resident.slice(keys);
        assert_all_ok(&slice);
        assert_eq!(number(&slice, "/connections/served"), 5);
        assert_follows_schema(&slice, "slice");
        let (window_s, elapsed_s) = (slice["window_s"].as_f64(), slice["elapsed_s"].as_f64());
        let ratio = elapsed_s.unwrap() / window_s.unwrap();
        assert!((0.5..2.0).contains(&ratio), "the cycles fill the window: {ratio}");
        requests += sent(&slice);
    }
    assert_eq!(resident.end(), Some(0));
    assert_eq!(server.end()["answered"], requests);
}

#[test]
fn answers_split_at_every_byte_are_taken() {
    let peer = Peer::start(|nth| {
        let bytes =
            [frame(6, 0, 0, &[7; 8]), answer(nth.id), frame(8, 0, 0, &[0, 0, 0, 9])].concat();
        let (first, second) = bytes.split_at(nth.of_server as usize % bytes.len());
        (vec![first.to_vec(), second.to_vec()], "answered")
    });
    let (document, _) = peer.load(&["--streams", "3", "-d", "400ms"]);
    assert_all_in(&document, "ok", peer.count("answered") - 1);
}

#[test]
fn each_fault_is_in_its_class() {
    let with = |block: &'static [u8], body: &'static [u8]| {
        move |id| [frame(1, 4, id, block), frame(0, 1, id, body)].concat()
    };
    let all_are = |name: &str, peer: &Peer| {
        let (document, exit) = peer.load(&["--streams", "3"]);
        assert_all_in(&document, name, peer.count("fault"));
        assert_eq!(exit, 3);
        document
    };
    let peer = after_preflight(|id| frame(3, 0, id, &[0, 0, 0, 11]));
    let document = all_are("stream_reset", &peer);
    let resets = &document["http2"]["reset_codes"]["ENHANCE_YOUR_CALM"];
    assert_eq!(*resets, document["requests"]["scheduled"]);
    assert_eq!(document["connections"]["opened"], 3, "the connections are kept");
    let document = all_are("status", &after_preflight(with(&[0x8d], BODY)));
    assert_eq!(document["status_codes"]["404"], document["requests"]["scheduled"]);
    all_are("body_mismatch", &after_preflight(with(&[0x88], b"Hello, World?")));
    all_are("body_length", &after_preflight(with(&[0x88], b"Hello")));
    all_are("content_type", &after_preflight(with(b"\x88\x0f\x10\x03a/b", BODY)));
    let document = all_are("malformed", &after_preflight(with(b"\x88\x0f\x0d\x011", BODY)));
    assert_eq!(document["malformed_kinds"]["h2_length"], document["requests"]["scheduled"]);
}

#[test]
fn broken_protocol_ends_the_connection_and_its_other_requests() {
    let peer = after_preflight(|id| frame(0, 1, id + 1, BODY));
    let (document, exit) = peer.load(&["--streams", "2"]);
    let kinds = &document["malformed_kinds"];
    assert_eq!(kinds["h2_frame_stream"], class(&document, "malformed"));
    let names: Vec<String> = classes(&document).into_iter().map(|(name, _)| name).collect();
    assert_eq!((names, exit), (vec!["malformed".to_owned(), "unfinished".to_owned()], 3));
}

#[test]
fn stream_without_an_end_times_out() {
    let peer = after_preflight(|id| [frame(1, 4, id, &[0x88]), frame(0, 0, id, b"Hello")].concat());
    let (document, _) = peer.load(&["--streams", "2", "--timeout", "300ms"]);
    assert_all_in(&document, "timeout_body", peer.count("fault"));
}

#[test]
fn requests_that_a_goaway_returns_are_sent_again() {
    let peer = Peer::start(|nth| match nth.of_connection {
        0..4 => (vec![answer(nth.id)], "answered"),
        4 => (vec![goaway(nth.id), answer(nth.id)], "answered"),
        _ => (vec![], "ignored"),
    });
    let (document, _) = peer.load(&["--streams", "3"]);
    assert_all_in(&document, "ok", peer.count("answered") - 1);
    let http2 = &document["http2"];
    let (goaways, retried) = (http2["goaways"]["NO_ERROR"].as_u64(), http2["retried"].as_u64());
    assert!(goaways > Some(0) && retried >= Some(peer.count("ignored")), "{http2}");
}

#[test]
fn refused_requests_are_sent_again() {
    let peer = Peer::start(|nth| match nth.of_connection % 50 {
        1 => (vec![frame(3, 0, nth.id, &[0, 0, 0, 7])], "refused"),
        _ => (vec![answer(nth.id)], "answered"),
    });
    let (document, _) = peer.load(&["--streams", "3"]);
    assert_all_in(&document, "ok", peer.count("answered") - 1);
    let http2 = &document["http2"];
    assert_eq!([&http2["refused"], &http2["retried"]], [peer.count("refused"); 2]);
    assert_eq!(document["connections"]["opened"], 3);
    let bytes = document["bytes_in"].as_u64().unwrap();
    let answers = class(&document, "ok") * answer(1).len() as u64;
    let others = http2["refused"].as_u64().unwrap() * 13 + 3 * 2 * 9;
    assert!((answers..=answers + others).contains(&bytes), "{bytes} bytes");
}

#[test]
fn bodies_larger_than_every_window_arrive() {
    let body = "b".repeat(120_000);
    let server = NullServer::start();
    let (document, _) = load(&server.url, &["--http2", "--streams", "2", "--body", &body]);
    assert_all_in(&document, "ok", server.end()["answered"].as_u64().unwrap() - 1);
    let scheduled = document["requests"]["scheduled"].as_u64().unwrap();
    let bytes = document["bytes_out"].as_u64().unwrap();
    assert!(bytes >= scheduled * 120_000, "{bytes} bytes in {scheduled} requests");
}

#[test]
fn preflight_says_what_the_server_speaks_and_allows() {
    let says = |url: &str, args: &[&str], wanted: &str| {
        let (document, exit) = load(url, &[&["--http2"], args].concat());
        let error = document["preflight_error"].as_str().unwrap();
        assert!(error.contains(wanted), "{error}");
        assert_eq!(exit, 3);
    };
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", plain.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
        stream.write_all(GOOD.as_bytes()).unwrap();
    });
    says(&url, &[], "the server answers in HTTP/1.1, expected HTTP/2; remove --http2");
    let limit = |id| [frame(4, 0, 0, &[0, 3, 0, 0, 0, 4]), answer(id)].concat();
    let peer = Peer::start(move |nth| (vec![limit(nth.id)], "answered"));
    says(&peer.url, &["--streams", "5"], "allows 4 concurrent requests on a connection, not 5");
    let peer = Peer::start(|nth| (vec![frame(3, 0, nth.id, &[0, 0, 0, 13])], "reset"));
    says(&peer.url, &[], "the server reset the stream (HTTP_1_1_REQUIRED)");
    let peer = Peer::start(|_| (vec![goaway(0)], "refused"));
    says(&peer.url, &[], "the server took no request on the connection (GOAWAY NO_ERROR)");
}

#[test]
fn options_of_http2_are_checked() {
    for (args, wanted) in [
        (&["--streams", "2"][..], "--streams needs --http2"),
        (&["--http2", "--pipeline", "2"], "--pipeline is of HTTP/1.1"),
        (&["--http2", "--streams", "1001"], "--streams 1001: expected 1 to 1000"),
        (&["--http2", "--streams", "2", "--close"], "--close is one request per connection"),
        (&["--http2", "-H", "Connection: close"], "-H Connection: HTTP/2 has no such header"),
    ] {
        let output = engine(&[&["http://127.0.0.1:1/"], args].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(wanted), "{args:?}: {error}");
        assert_eq!(output.status.code(), Some(2));
    }
}
