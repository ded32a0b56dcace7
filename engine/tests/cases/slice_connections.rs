//! The connections of the resident mode: closed and frozen by the server, renewed and hung up.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::common::null_server::NullServer;
use crate::common::resident::{
    CONNECTIONS, Resident, assert_all_ok, assert_classes_add_up, number, sent,
};
use crate::common::{GOOD, Reply, Server, Then};
use serde_json::Value;

/// Serves each connection until `idle` passes without a request; then does `when_idle` once.
fn impatient_server(idle: Duration, when_idle: fn(&mut TcpStream) -> bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(idle)).unwrap();
                let mut buffer = [0; 4096];
                loop {
                    match stream.read(&mut buffer) {
                        Ok(0) => return,
                        Ok(_) if stream.write_all(GOOD.as_bytes()).is_err() => return,
                        Ok(_) => {}
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            if !when_idle(&mut stream) {
                                return;
                            }
                        }
                        Err(_) => return,
                    }
                }
            });
        }
    });
    url
}

#[test]
fn connections_closed_while_idle_are_reopened_without_error() {
    let url = impatient_server(Duration::from_millis(100), |_| false);
    let mut resident = Resident::start(&url, &[]);
    for _ in 0..3 {
        // A server that is slow to run may close as a request comes, but not each time.
        let slice = loop {
            thread::sleep(Duration::from_millis(300));
            let slice = resident.slice("");
            if number(&slice, "/connections/stale_reuse") == 0 {
                break slice;
            }
        };
        assert_all_ok(&slice);
        assert_eq!(number(&slice, "/connections/opened"), CONNECTIONS, "{slice}");
        assert_eq!(number(&slice, "/connections/closed_by_server"), CONNECTIONS);
        assert_eq!(number(&slice, "/connections/served"), CONNECTIONS);
    }
}

#[test]
fn bytes_while_idle_are_counted_without_error() {
    let url = impatient_server(Duration::from_millis(100), |stream| {
        stream.write_all(b"surprise").unwrap();
        thread::sleep(Duration::from_secs(3600));
        false
    });
    let mut resident = Resident::start(&url, &[]);
    thread::sleep(Duration::from_millis(400));
    let slice = resident.slice("");
    assert_all_ok(&slice);
    assert_eq!(number(&slice, "/connections/unsolicited_idle"), CONNECTIONS);
    assert_eq!(number(&slice, "/connections/opened"), CONNECTIONS);
}

#[test]
fn renew_replaces_every_connection() {
    let server = NullServer::start();
    for args in [&[][..], &["-t", "2"], &["--rate", "2000"]] {
        let mut resident = Resident::start(&server.url, args);
        resident.slice("");
        let slice = resident.slice(r#", "renew": true"#);
        assert_all_ok(&slice);
        assert_eq!(number(&slice, "/connections/opened"), CONNECTIONS);
        assert_eq!(number(&slice, "/connections/closed_by_client"), CONNECTIONS);
        assert_eq!(number(&resident.slice(""), "/connections/opened"), 0, "once");
    }
}

#[test]
fn hang_up_leaves_no_connection_open() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &[]);
    assert_all_ok(&resident.slice(r#", "hang_up": true"#));
    let slice = resident.slice("");
    assert_all_ok(&slice);
    assert_eq!(number(&slice, "/connections/opened"), CONNECTIONS);
    assert_eq!(number(&slice, "/connections/closed_by_client"), CONNECTIONS);
    assert_eq!(number(&resident.slice(""), "/connections/opened"), 0);
}

#[test]
fn slices_work_with_a_connection_per_request() {
    for pace in [&[][..], &["--rate", "1000"]] {
        let server = NullServer::start();
        let mut resident = Resident::start(&server.url, &[&["--close"], pace].concat());
        assert_eq!(number(&resident.ready, "/connections/opened"), 0);
        let mut requests = 1;
        for keys in ["", r#", "renew": true"#, ""] {
            let slice = resident.slice(keys);
            assert_all_ok(&slice);
            assert_eq!(number(&slice, "/connections/opened"), sent(&slice));
            assert_eq!(number(&slice, "/connections/served"), CONNECTIONS);
            requests += sent(&slice);
        }
        assert_eq!(resident.end(), Some(0));
        assert_eq!(server.end()["answered"], requests);
    }
}

#[test]
fn slices_work_with_a_server_that_closes_after_each_response() {
    let announced = GOOD.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    for (answer, unannounced) in [(announced, false), (GOOD.to_owned(), true)] {
        let server = Server::start(move |_| Reply::new(&answer, Then::Close, "answered"));
        let mut resident = Resident::start(&server.url(), &[]);
        assert_eq!(resident.ready["expected"]["closes_unannounced"], unannounced);
        for _ in 0..3 {
            let slice = resident.slice("");
            assert_all_ok(&slice);
            assert_eq!(number(&slice, "/connections/served"), CONNECTIONS);
            assert_eq!(number(&slice, "/connections/stale_reuse"), 0);
        }
    }
}

#[test]
fn silent_server_leaves_unfinished_requests_and_a_clean_next_slice() {
    let stuck = Arc::new(AtomicBool::new(false));
    let script = stuck.clone();
    let server = Server::start(move |_| match script.load(Ordering::SeqCst) {
        true => Reply::new("", Then::Hang, "hung"),
        false => Reply::new(GOOD, Then::Keep, "answered"),
    });
    let mut resident = Resident::start(&server.url(), &[]);
    stuck.store(true, Ordering::SeqCst);
    let keys = r#", "timeout_s": 0.2, "drain_s": 0.05"#;
    let slice = resident.slice(keys);
    assert_classes_add_up(&slice);
    let unfinished =
        number(&slice, "/classes/unfinished") + number(&slice, "/warmup/classes/unfinished");
    assert_eq!(unfinished, CONNECTIONS, "{slice}");
    assert_eq!(number(&slice, "/classes/ok"), 0);
    stuck.store(false, Ordering::SeqCst);
    let slice = resident.slice("");
    assert_all_ok(&slice);
    assert_eq!(number(&slice, "/connections/opened"), CONNECTIONS, "those that hung are closed");
}

#[test]
fn frozen_server_times_out_and_recovers() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &["--timeout", "200ms", "--drain", "100ms"]);
    server.signal(libc::SIGSTOP);
    let slice = resident.slice("");
    assert_classes_add_up(&slice);
    assert_eq!(number(&slice, "/classes/ok") + number(&slice, "/warmup/classes/ok"), 0);
    assert!(number(&slice, "/warmup/classes/timeout_first_byte") >= CONNECTIONS, "{slice}");
    server.signal(libc::SIGCONT);
    let slice = resident.slice("");
    assert_all_ok(&slice);
    assert_eq!(number(&slice, "/connections/served"), CONNECTIONS);
}

#[test]
fn server_frozen_during_a_slice_times_out() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &["--timeout", "200ms", "--drain", "100ms"]);
    resident.send(r#"{"id": 9, "duration_s": 1}"#);
    thread::sleep(Duration::from_millis(300));
    server.signal(libc::SIGSTOP);
    let slice = resident.answer().unwrap();
    assert_eq!((&slice["type"], &slice["id"]), (&"slice".into(), &9.into()));
    assert_classes_add_up(&slice);
    assert!(number(&slice, "/classes/ok") > 0);
    assert!(number(&slice, "/classes/timeout_first_byte") >= CONNECTIONS, "{slice}");
    server.signal(libc::SIGCONT);
    assert_all_ok(&resident.slice(""));
}

#[test]
fn stopped_server_does_not_delay_a_slice_until_the_timeout() {
    let server = NullServer::start();
    let mut resident = Resident::start(&server.url, &["--timeout", "1h"]);
    server.end();
    let slice = resident.slice("");
    assert_classes_add_up(&slice);
    assert!(number(&slice, "/classes/connect_refused") > 0, "{slice}");
    assert_eq!(number(&slice, "/classes/ok"), 0);
}

/// A server of one connection after the preflight; the receiver gets its stream.
fn open_server() -> (String, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, streams) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            sender.send(stream.try_clone().unwrap()).unwrap();
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|got| got > 0) {
                    stream.write_all(GOOD.as_bytes()).unwrap();
                }
            });
        }
    });
    (url, streams)
}

/// The count of a slice's own connections; that of the network namespace has all other traffic.
#[test]
fn slice_counts_the_segments_of_its_own_connections() {
    let (url, streams) = open_server();
    let mut resident = Resident::start(&url, &["-c", "1"]);
    let retransmits = |slice: &Value| number(slice, "/connections/retransmits");
    assert_eq!(retransmits(&resident.slice("")), 0);
    let stream = streams.iter().nth(1).unwrap();
    crate::common::drop_segments(&stream, true);
    resident.send(r#"{"id": 1, "duration_s": 0.1}"#);
    thread::sleep(Duration::from_millis(500));
    crate::common::drop_segments(&stream, false);
    let lossy = resident.answer().unwrap();
    assert!(retransmits(&lossy) >= 1, "{}", lossy["connections"]);
    assert_eq!(retransmits(&resident.slice("")), 0, "the loss was in an earlier slice");
    let renewed = resident.slice(r#", "renew": true"#);
    assert_eq!((retransmits(&renewed), number(&renewed, "/connections/opened")), (0, 1));
    assert_eq!(resident.end(), Some(0));
}
