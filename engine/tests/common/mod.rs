//! Scripted servers that count their replies, and runs of the engine against them.
#![allow(dead_code, reason = "the tests of one driver do not need all")]

pub(crate) mod null_server;
pub(crate) mod resident;
pub(crate) mod schema;
pub(crate) mod tls;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// The action after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Keep,
    Close,
    /// Close with a RST.
    Reset,
    /// Send nothing more until the client closes.
    Hang,
}

/// One reply; its pieces are written apart, so that the client reads them apart.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub pieces: Vec<Vec<u8>>,
    pub then: Then,
    /// The name under which the server counts this reply.
    pub count_as: &'static str,
}

impl Reply {
    pub(crate) fn new(bytes: impl AsRef<[u8]>, then: Then, count_as: &'static str) -> Self {
        Self { pieces: vec![bytes.as_ref().to_vec()], then, count_as }
    }

    /// The same bytes in two pieces.
    pub(crate) fn split(mut self, at: usize) -> Self {
        let whole = self.pieces.concat();
        let (first, second) = whole.split_at(at.min(whole.len()));
        self.pieces = vec![first.to_vec(), second.to_vec()];
        self
    }
}

/// The number of a request, on the server and on its connection, from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nth {
    pub of_server: u64,
    pub of_connection: u64,
    /// True for the first request of a run, which is the preflight's.
    pub is_preflight: bool,
}

/// A server with one thread per connection.
pub(crate) struct Server {
    pub address: SocketAddr,
    preflight_next: Arc<AtomicBool>,
    requests: Arc<AtomicU64>,
    counts: Arc<Mutex<std::collections::BTreeMap<&'static str, u64>>>,
}

const PIECE_REST: Duration = Duration::from_micros(300);

impl Server {
    pub(crate) fn start(script: impl Fn(Nth) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            preflight_next: Arc::new(AtomicBool::new(true)),
            requests: Arc::default(),
            counts: Arc::default(),
        };
        let script = Arc::new(script);
        let (requests, counts) = (server.requests.clone(), server.counts.clone());
        let preflight_next = server.preflight_next.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, requests, counts) = (script.clone(), requests.clone(), counts.clone());
                let preflight_next = preflight_next.clone();
                thread::spawn(move || {
                    serve(&stream, &*script, &requests, &preflight_next, |name| {
                        *counts.lock().unwrap().entry(name).or_default() += 1;
                    });
                });
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Runs the engine against this server until it has seen `wanted` requests. Calls `check` with
    /// each document and the server's count of `count_as`; returns the last document.
    pub(crate) fn load_until(
        &self,
        wanted: usize,
        args: &[&str],
        count_as: &str,
        check: impl Fn(&Value, u64),
    ) -> Value {
        loop {
            self.preflight_next.store(true, Ordering::SeqCst);
            let before = self.count(count_as);
            let (document, _) = load(&self.url(), args);
            check(&document, self.count(count_as) - before);
            if self.requests() > wanted as u64 {
                return document;
            }
        }
    }

    /// The number of requests so far, including the preflight's.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.counts.lock().unwrap().get(name).copied().unwrap_or(0)
    }
}

fn serve(
    mut stream: &TcpStream,
    script: &(impl Fn(Nth) -> Reply + ?Sized),
    requests: &AtomicU64,
    preflight_next: &AtomicBool,
    count: impl Fn(&'static str),
) {
    stream.set_nodelay(true).unwrap();
    let mut of_connection = 0;
    while read_request(stream) {
        let of_server = requests.fetch_add(1, Ordering::SeqCst);
        let is_preflight = preflight_next.swap(false, Ordering::SeqCst);
        let reply = script(Nth { of_server, of_connection, is_preflight });
        of_connection += 1;
        count(reply.count_as);
        for (n, piece) in reply.pieces.iter().enumerate() {
            if n > 0 {
                thread::sleep(PIECE_REST);
            }
            if !piece.is_empty() && stream.write_all(piece).is_err() {
                return;
            }
        }
        match reply.then {
            Then::Keep => {}
            Then::Close => return,
            Then::Reset => {
                thread::sleep(PIECE_REST);
                return reset_on_close(stream);
            }
            Then::Hang => {
                let _ = stream.read(&mut [0; 1]);
                return;
            }
        }
    }
}

/// Reads a request without a body.
fn read_request(mut stream: &TcpStream) -> bool {
    let mut request = Vec::new();
    let mut byte = [0; 1024];
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(0) | Err(_) => return false,
            Ok(got) => request.extend_from_slice(&byte[..got]),
        }
    }
    true
}

pub(crate) fn reset_on_close(stream: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let length = size_of::<libc::linger>() as libc::socklen_t;
    let pointer = std::ptr::from_ref(&linger).cast();
    // SAFETY: `pointer` points to `length` valid bytes.
    let result = unsafe {
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, pointer, length)
    };
    assert_eq!(result, 0);
}

/// A correct response.
pub(crate) const GOOD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";

pub(crate) fn engine(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_deadheat-load")).args(args).output().unwrap()
}

/// The backend under test: tests/on_io_uring.rs repeats the tests with io_uring.
pub(crate) fn backend() -> &'static str {
    let io_uring = env!("CARGO_CRATE_NAME") == "on_io_uring";
    if io_uring && allows_io_uring() { "io_uring" } else { "epoll" }
}

/// Whether this machine lets the engine use io_uring.
pub(crate) fn allows_io_uring() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| {
        let server = Server::start(|_| Reply::new(GOOD, Then::Keep, "answered"));
        let args = ["-d", "1ms", "--warmup", "0s", "--backend", "io_uring"];
        let output = engine(&[&[server.url().as_str()], &args[..]].concat());
        !String::from_utf8_lossy(&output.stderr).contains("io_uring: not allowed here")
    })
}

/// Of a short run.
pub(crate) const CONNECTIONS: u64 = 3;

/// The document and the exit code of a short run.
pub(crate) fn load(url: &str, args: &[&str]) -> (Value, i32) {
    let connections = CONNECTIONS.to_string();
    let fixed = [
        "--backend",
        backend(),
        "--json",
        "--warmup",
        "0s",
        "-c",
        &connections,
        "-d",
        "200ms",
        "--timeout",
        "20s", // nothing hangs that long
    ];
    let output = engine(&[&[url], &fixed[..], args].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let document = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{errors}"));
    (document, output.status.code().unwrap())
}

/// The classes with a count above 0.
pub(crate) fn classes(document: &Value) -> Vec<(String, u64)> {
    let classes = document["classes"].as_object().unwrap();
    classes
        .iter()
        .map(|(class, count)| (class.clone(), count.as_u64().unwrap()))
        .filter(|(_, count)| *count > 0)
        .collect()
}

pub(crate) fn class(document: &Value, name: &str) -> u64 {
    document["classes"][name].as_u64().unwrap_or_else(|| panic!("no class {name}"))
}

/// Checks that every measured request is in class `name`, and that the server's count agrees.
pub(crate) fn assert_all_in(document: &Value, name: &str, server_count: u64) {
    let scheduled = document["requests"]["scheduled"].as_u64().unwrap();
    assert!(scheduled > 0, "nothing was sent");
    assert_eq!(classes(document), [(name.to_owned(), scheduled)]);
    assert_eq!(scheduled, server_count, "the server's own count of {name}");
}

/// Makes the kernel drop what arrives for a connection, as if the network had lost it.
pub(crate) fn drop_segments(stream: &TcpStream, drops: bool) {
    let mut drop_all = libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut drop_all };
    let option = if drops { libc::SO_ATTACH_FILTER } else { libc::SO_DETACH_FILTER };
    let (pointer, length) = ((&raw const program).cast(), size_of_val(&program));
    // SAFETY: the pointer and length are those of the program, which the kernel copies.
    let result = unsafe {
        let length = length as libc::socklen_t;
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, option, pointer, length)
    };
    assert_eq!(result, 0);
}
