//! The choice of the driver, and cases that are hard for both.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::time::Duration;

use crate::common::{GOOD, Reply, Server, Then, allows_io_uring, assert_all_in, load};
use serde_json::Value;

/// The backends that this machine allows.
fn backends() -> Vec<&'static str> {
    let io_uring = allows_io_uring().then_some("io_uring");
    ["epoll"].into_iter().chain(io_uring).collect()
}

fn good_server() -> Server {
    Server::start(|_| Reply::new(GOOD, Then::Keep, "answered"))
}

/// Runs the engine with an io_uring_setup that fails with EPERM, as in many containers.
fn engine_without_io_uring(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat-load"));
    command.args(args);
    // SAFETY: two calls of prctl, which may be made between fork and exec.
    unsafe { command.pre_exec(refuse_io_uring) };
    command.output().unwrap()
}

fn refuse_io_uring() -> std::io::Result<()> {
    let step = |code: u32, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let mut steps = [
        // The first field of the filter's input is the number of the call.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_io_uring_setup as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter is valid for the call, which copies it.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1usize, 0usize, 0usize, 0usize) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) != 0
    };
    if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

#[test]
fn uses_io_uring_where_it_is_cheaper_and_allowed() {
    let allowed = if allows_io_uring() { "io_uring" } else { "epoll" };
    let server = good_server();
    for (args, backend) in [
        (&["-c", "8"][..], allowed),
        (&["-c", "7"], "epoll"),
        (&["-c", "15", "-t", "2"], "epoll"),
        (&["-c", "64", "--close"], "epoll"),
        (&["-c", "64", "--requests-per-connection", "9"], "epoll"),
        (&["-c", "64", "--rate", "100"], "epoll"),
    ] {
        let (document, _) = load(&server.url(), &[args, &["--backend", "auto"]].concat());
        assert_eq!(document["backend"], backend, "{args:?}");
        assert_eq!(document["requests"]["ok"], document["requests"]["scheduled"], "{args:?}");
    }
}

#[test]
fn only_a_closed_loop_gathers_and_states_it() {
    let server = good_server();
    for backend in backends() {
        let share = |args: &[&str]| {
            let args = [&["--backend", backend, "-c", "16"], args].concat();
            let (document, _) = load(&server.url(), &args);
            assert_eq!(document["requests"]["ok"], document["requests"]["scheduled"], "{args:?}");
            document["client"]["gathered_share"].clone()
        };
        assert!(share(&[]).is_number());
        assert!(share(&["--rate", "1000"]).is_null());
        assert!(share(&["--no-gather"]).is_null());
    }
}

#[test]
fn falls_back_to_epoll_if_io_uring_is_refused() {
    let server = good_server();
    let args = [&server.url(), "--json", "-c", "64", "-d", "200ms", "--warmup", "0s"];
    let output = engine_without_io_uring(&args);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["backend"], "epoll");
    assert_all_in(&document, "ok", server.count("answered") - 1);
}

#[test]
fn refused_io_uring_is_a_usage_error() {
    let output = engine_without_io_uring(&[&good_server().url(), "--backend", "io_uring"]);
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("--backend io_uring: not allowed here"), "{error}");
    assert!(error.contains("Operation not permitted"), "{error}");
}

/// Requests that are longer than a socket buffer, to a slow server.
#[test]
fn long_requests_arrive_complete_and_in_order() {
    const BYTES: usize = 9_000_000;
    let body: Vec<u8> = (0..BYTES).map(|at| (at / 7 % 251) as u8).collect();
    let path = std::env::temp_dir().join(format!("deadheat-load-body-{}", std::process::id()));
    std::fs::write(&path, &body).unwrap();
    for backend in backends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let body = body.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let body = body.clone();
                std::thread::spawn(move || {
                    loop {
                        let mut head = Vec::new();
                        while !head.ends_with(b"\r\n\r\n") {
                            let mut byte = [0];
                            if !stream.read(&mut byte).is_ok_and(|got| got == 1) {
                                return;
                            }
                            head.push(byte[0]);
                        }
                        std::thread::sleep(Duration::from_millis(5));
                        let mut got = vec![0; BYTES];
                        stream.read_exact(&mut got).unwrap();
                        let same = if got == body { "same" } else { "else" };
                        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{same}");
                        stream.write_all(reply.as_bytes()).unwrap();
                    }
                });
            }
        });
        let from_file = format!("@{}", path.display());
        let args = ["--backend", backend, "--body", &from_file, "--expect-body", "same"];
        let (document, _) = load(&url, &args);
        let scheduled = document["requests"]["scheduled"].as_u64().unwrap();
        assert_all_in(&document, "ok", scheduled);
    }
    std::fs::remove_file(&path).unwrap();
}

/// Responses that are larger than all receive buffers.
#[test]
fn long_responses_are_compared_completely() {
    const BYTES: usize = 12_000_000;
    let body: String = (0..BYTES).map(|at| char::from(b'a' + (at / 11 % 26) as u8)).collect();
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n{body}");
    let mut other = response.clone().into_bytes();
    *other.last_mut().unwrap() = b'!';
    for backend in backends() {
        let (response, other) = (response.clone(), other.clone());
        let server = Server::start(move |nth| match nth.of_server % 3 {
            2 => Reply::new(&other, Then::Keep, "other"),
            _ => Reply::new(&response, Then::Keep, "same"),
        });
        let (document, _) = load(&server.url(), &["--backend", backend, "-c", "8"]);
        assert_eq!(crate::common::class(&document, "ok"), server.count("same") - 1);
        assert_eq!(crate::common::class(&document, "body_mismatch"), server.count("other"));
        assert_eq!(crate::common::classes(&document).len(), 2);
    }
}

/// Slots, descriptors and ports are reused while completions of old connections arrive.
#[test]
fn connections_closed_by_the_client_leave_no_completions() {
    for backend in backends() {
        let server = good_server();
        let args = ["--backend", backend, "-c", "20", "--requests-per-connection", "3"];
        let (document, _) = load(&server.url(), &args);
        assert_all_in(&document, "ok", server.count("answered") - 1);
        let connections = &document["connections"];
        let opened = connections["opened"].as_u64().unwrap();
        let scheduled = document["requests"]["scheduled"].as_u64().unwrap();
        assert!(opened >= scheduled / 3, "{scheduled} requests on {opened} connections");
        assert_eq!(connections["unsolicited_idle"], 0);
    }
}
