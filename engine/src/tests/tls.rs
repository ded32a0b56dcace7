//! Sessions over TLS in virtual time, against a server in memory.

use std::io::{Read, Write};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};

use crate::classes::Class;
use crate::plan::Plan;
use crate::session::{Action, Session};
use crate::tls::{self, TlsOptions};

use super::events::{ANSWER, LOAD, MEASURE, MS, SECOND, begun, closed, plan};

const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\n\r\nok";

fn plan_over_tls() -> Plan {
    let options = TlsOptions { insecure: true, ..TlsOptions::default() };
    let client = tls::Client::new(&options, "127.0.0.1", &[tls::HTTP_1_1]).unwrap();
    Plan { tls: Some(client), ..plan(&[]) }
}

fn server() -> ServerConnection {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![]).unwrap().self_signed(&key).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    ServerConnection::new(Arc::new(config)).unwrap()
}

/// A session whose only connection speaks with a server in memory, which splits what it sends.
struct Talk<'p> {
    session: Session<'p>,
    server: ServerConnection,
    piece: usize,
    now_ns: u64,
}

impl<'p> Talk<'p> {
    /// Connects, and shakes hands until the first request is at the server.
    fn begin(plan: &'p Plan, piece: usize) -> Self {
        let mut session = closed(plan, 1);
        let slot = session.next_open(MEASURE).unwrap();
        session.opening(slot, MEASURE);
        assert_eq!(session.connected(slot, MEASURE), Action::Flush);
        let mut talk = Self { session, server: server(), piece, now_ns: MEASURE };
        talk.exchange();
        talk
    }

    /// Moves all bytes both ways; the last action that was not to wait.
    fn exchange(&mut self) -> Action {
        let mut last = Action::Wait;
        loop {
            let output = std::mem::take(self.session.output(0));
            let mut rest = &output[..];
            while !rest.is_empty() {
                self.server.read_tls(&mut rest).unwrap();
                self.server.process_new_packets().unwrap();
            }
            let mut sealed = Vec::new();
            while self.server.wants_write() {
                self.server.write_tls(&mut sealed).unwrap();
            }
            if sealed.is_empty() {
                return last;
            }
            for piece in sealed.chunks(self.piece) {
                // Far enough apart, as the time that the handshake computes is added.
                self.now_ns += (self.piece as u64 * 2 * MS).min(200 * MS);
                let action = self.session.received(0, piece, self.now_ns, false);
                if action != Action::Wait {
                    last = action;
                }
            }
        }
    }

    fn answer(&mut self, text: &str) -> Action {
        let mut request = [0; 4096];
        let got = self.server.reader().read(&mut request).unwrap();
        assert!(request[..got].ends_with(b"\r\n\r\n"), "a whole request");
        self.server.writer().write_all(text.as_bytes()).unwrap();
        self.exchange()
    }

    fn count(&self, class: Class) -> u64 {
        self.session.tallies.iter().map(|tally| tally.count(class)).sum()
    }
}

#[test]
#[cfg_attr(miri, ignore = "ring has assembler")]
fn records_arrive_in_any_pieces() {
    let plan = plan_over_tls();
    for piece in [1, 2, 7, 100, 100_000] {
        let mut talk = Talk::begin(&plan, piece);
        for served in 1..=3 {
            assert_eq!(talk.answer(ANSWER), Action::Flush, "the next request");
            assert_eq!(talk.count(Class::Ok), served);
        }
        // Also after the session tickets that the server has sent.
        assert_eq!(talk.session.stats.unsolicited_idle, 0);
        let [warmup, tally] = &talk.session.tallies;
        assert_eq!(warmup.handshake.count() + tally.handshake.count(), 1);
        let handshake_ns = tally.handshake.sum_ns + warmup.handshake.sum_ns;
        assert!(handshake_ns > 0, "the handshake is timed apart from its connect");
    }
}

#[test]
#[cfg_attr(miri, ignore = "ring has assembler")]
fn damaged_record_fails_its_request() {
    let plan = plan_over_tls();
    let mut talk = Talk::begin(&plan, 100_000);
    let record =
        [23, 3, 3, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];
    let action = talk.session.received(0, &record, talk.now_ns + 1, false);
    assert_eq!((action, talk.count(Class::TlsBroken)), (Action::Close, 1));
    let output = talk.session.output(0);
    let alert_bytes = 5 + usize::from(u16::from_be_bytes([output[3], output[4]]));
    assert_eq!(output.len(), alert_bytes, "the engine sent more than one alert");
}

#[test]
#[cfg_attr(miri, ignore = "ring has assembler")]
fn body_until_the_close_needs_the_end_of_tls() {
    let plan = plan_over_tls();
    for (notifies, class) in [(true, Class::Ok), (false, Class::TlsTruncated)] {
        let mut talk = Talk::begin(&plan, 100_000);
        assert_eq!(talk.answer(UNTIL_CLOSE), Action::Wait);
        if notifies {
            talk.server.send_close_notify();
            assert_eq!(talk.exchange(), Action::Close);
        } else {
            assert_eq!(talk.session.ended(0, talk.now_ns + 1), Action::Close);
        }
        assert_eq!(talk.count(class), 1);
    }
}

#[test]
#[cfg_attr(miri, ignore = "ring has assembler")]
fn client_that_closes_first_ends_tls() {
    let plan = Plan { requests_per_connection: 1, ..plan_over_tls() };
    let mut talk = Talk::begin(&plan, 100_000);
    assert_eq!(talk.answer(ANSWER), Action::Close);
    let last = std::mem::take(talk.session.output(0));
    talk.server.read_tls(&mut &last[..]).unwrap();
    assert!(talk.server.process_new_packets().unwrap().peer_has_closed());
}

/// Bug: a load with a connection per request had at most 256 handshakes at a time.
#[test]
#[cfg_attr(miri, ignore = "ring has assembler")]
fn bug_handshakes_within_the_load_do_not_count_as_connects() {
    let plan = plan_over_tls();
    let mut session = begun(Session::new(&plan, 3, 1, None));
    for (slot, now_ns) in [LOAD - 1, LOAD, LOAD].into_iter().enumerate() {
        assert_eq!(session.next_open(now_ns), Some(slot));
        session.opening(slot, now_ns);
        assert_eq!(session.next_open(LOAD), None, "one connects");
        assert_eq!(session.connected(slot, now_ns), Action::Flush);
        assert_eq!(session.next_open(LOAD - 1), None, "before the load they count");
    }
    assert!(!session.is_connected());
    for slot in 0..3 {
        assert_eq!(session.ended(slot, LOAD + 1), Action::Close);
    }
    assert!(session.is_connected());
    assert_eq!(session.next_open(LOAD + SECOND), Some(0), "none shakes hands any more");
}
