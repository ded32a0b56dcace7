//! Drivers with a session and real sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::clock;
use crate::driver::Driver;
use crate::driver::epoll::Epoll;
use crate::driver::route::Route;
use crate::plan::Plan;
use crate::session::{Action, Session, Window};
use crate::sockets::Endpoint;

use super::events::{SECOND, plan};

/// A connection without a request, and its server's end.
fn connected(plan: &Plan) -> (Epoll, Session<'_>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = Endpoint::of_tcp(listener.local_addr().unwrap());
    let mut epoll = Epoll::new(Route { to, from: Vec::new(), no_delay: true }, 1).unwrap();
    let mut session = Session::new(plan, 1, 1, None);
    epoll.launch(&mut session, clock::now_ns()).unwrap();
    while session.open_connections() == 0 {
        epoll.turn(&mut session, clock::now_ns() + SECOND).unwrap();
    }
    (epoll, session, listener.accept().unwrap().0)
}

/// Bug: if another send had written the rest of the output, the thread never slept again.
#[test]
#[cfg_attr(miri, ignore = "Miri has no timerfd with edges")]
fn bug_socket_is_not_polled_for_room_without_output() {
    let plan = plan(&[]);
    let (mut epoll, mut session, mut server) = connected(&plan);
    let output = vec![0; 64 << 20]; // more than a socket takes
    session.output(0).clone_from(&output);
    epoll.carry_out(&mut session, 0, Action::Flush).unwrap();
    let sent = output.len() - session.output(0).len();
    assert!((1..output.len()).contains(&sent));
    session.output(0).clear();
    server.read_exact(&mut vec![0; sent]).unwrap();
    while !epoll.turn(&mut session, clock::now_ns() + SECOND).unwrap() {}
    assert!(!epoll.turn(&mut session, clock::now_ns()).unwrap(), "it has nothing to write");
}

/// Bug: neither a timeout nor the end of the run nor a signal took effect while a server sent faster
/// than the client read.
#[test]
#[cfg_attr(miri, ignore = "Miri has no timerfd with edges")]
fn bug_response_without_end_does_not_keep_the_thread() {
    let plan = plan(&[]);
    let (mut epoll, mut session, mut server) = connected(&plan);
    thread::spawn(move || {
        let chunks = "1\r\nx\r\n".repeat(50_000);
        let _ = server.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        (0..1000).all(|_| server.write_all(chunks.as_bytes()).is_ok());
    });
    let now_ns = clock::now_ns();
    let end_ns = now_ns + 3600 * SECOND;
    session.begin(Window { load_ns: now_ns, measure_ns: now_ns, end_ns });
    epoll.launch(&mut session, now_ns).unwrap();
    let mut bytes_in = 0;
    while bytes_in < 200 << 20 {
        epoll.turn(&mut session, clock::now_ns() + SECOND).unwrap();
        let bytes = session.tallies[1].bytes_in - bytes_in;
        assert!(bytes <= 1 << 20, "{bytes} bytes in one turn");
        bytes_in += bytes;
    }
}
