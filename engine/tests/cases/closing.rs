//! How connections end, seen from the server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::common::{GOOD, assert_all_in, load};

#[derive(Debug, PartialEq, Eq)]
enum End {
    Fin,
    Other,
}

/// A server that responds once per connection, and then waits for the client to close.
fn start(server_first: bool) -> (String, Receiver<End>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, ends) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let sender = sender.clone();
            thread::spawn(move || serve(stream, server_first, &sender));
        }
    });
    (url, ends)
}

fn serve(mut stream: TcpStream, server_first: bool, ends: &Sender<End>) {
    let mut request = [0; 1024];
    let got = stream.read(&mut request).unwrap();
    assert!(request[..got].ends_with(b"\r\n\r\n"));
    stream.write_all(GOOD.as_bytes()).unwrap();
    if server_first {
        stream.shutdown(Shutdown::Write).unwrap();
    }
    let end = if matches!(stream.read(&mut request), Ok(0)) { End::Fin } else { End::Other };
    ends.send(end).unwrap();
}

/// Runs with a connection per request; all must end with a FIN.
fn check(server_first: bool, args: &[&str]) {
    let (url, ends) = start(server_first);
    let (document, _) = load(&url, &[&["--close", "-c", "20"], args].concat());
    let measured = document["requests"]["scheduled"].as_u64().unwrap();
    assert_all_in(&document, "ok", measured);
    let first = if server_first { "closed_by_server" } else { "closed_by_client" };
    assert_eq!(document["connections"][first], measured, "{args:?}");
    for _ in 0..=measured {
        let end = ends.recv_timeout(Duration::from_secs(30));
        assert_eq!(end, Ok(End::Fin), "{measured} requests and a preflight, {args:?}");
    }
    assert!(ends.try_recv().is_err(), "more connections than requests, {args:?}");
}

#[test]
fn connections_closed_by_the_server_are_closed_in_order() {
    check(true, &[]);
    check(true, &["--source", "127.0.0.7"]);
}

#[test]
fn connections_per_request_are_closed_in_order() {
    check(true, &["--rate", "2000"]);
}

#[test]
fn connections_closed_by_the_client_are_closed_in_order() {
    check(false, &[]);
}
