//! HTTPS: what works, and each way in which TLS fails.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustls::version::{TLS12, TLS13};
use rustls::{ALL_VERSIONS, ServerConfig};
use serde_json::Value;

use crate::common::null_server::NullServer;
use crate::common::tls::{Ca, TlsStream, accept, answer_all, end, read_request, serve};
use crate::common::{GOOD, class, classes, engine, load};

const NEXT_CENTURY: i32 = 2100;
const LOCALHOST: &[&str] = &["localhost", "127.0.0.1"];

/// A server that answers all requests over TLS, and its count of them.
fn well_behaved(config: ServerConfig) -> (String, Arc<AtomicU64>) {
    let (config, answered) = (Arc::new(config), Arc::new(AtomicU64::new(0)));
    let count = answered.clone();
    let url = serve(move |_, stream| answer_all(accept(&config, stream), &count));
    (url, answered)
}

/// A server that behaves in the preflight, the first connection, and then does `fault`.
fn after_preflight(
    ca: &Ca,
    fault: impl Fn(&Arc<ServerConfig>, TcpStream) + Send + Sync + 'static,
) -> String {
    let config = Arc::new(ca.config(LOCALHOST, NEXT_CENTURY));
    serve(move |number, stream| match number {
        0 => answer_all(accept(&config, stream), &AtomicU64::new(0)),
        _ => fault(&config, stream),
    })
}

fn handshakes(document: &Value) -> u64 {
    document["tls"]["handshakes"].as_u64().unwrap()
}

#[test]
fn counts_agree_with_the_server_in_both_versions() {
    let ca = Ca::new();
    for (version, name) in [(&TLS13, "TLS 1.3"), (&TLS12, "TLS 1.2")] {
        for close in [&[][..], &["--close"]] {
            let config = ca.config_of(LOCALHOST, NEXT_CENTURY, &[version], false);
            let (url, answered) = well_behaved(config);
            let (document, exit) = load(&url, &[&["--cacert", &ca.file()], close].concat());
            let ok = class(&document, "ok");
            assert_eq!(classes(&document), [("ok".to_owned(), ok)]);
            // And the preflight's.
            assert_eq!(ok + 1, answered.load(Ordering::SeqCst));
            assert!(exit == 0 || exit == 4, "{document}");
            let wanted = if close.is_empty() { 3 } else { ok };
            assert_eq!(handshakes(&document), wanted, "{name} {close:?}");
            assert_eq!(document["tls"]["handshake_us"]["count"], wanted);
            assert_eq!(document["tls"]["resumed"], 0);
            let parameters = document["tls"]["parameters"].as_object().unwrap();
            let suite = parameters.keys().next().unwrap();
            assert!(suite.starts_with(name) && suite.contains("AES_128_GCM_SHA256"), "{suite}");
            assert_eq!(document["expected"]["tls"], suite.as_str());
        }
    }
}

#[test]
fn server_sees_the_name_of_the_url_and_the_protocol() {
    let ca = Ca::new();
    let mut config = good(&ca);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let (config, seen) = (Arc::new(config), Arc::<Mutex<Vec<_>>>::default());
    let names = seen.clone();
    let url = serve(move |_, stream| {
        let mut stream = accept(&config, stream);
        if read_request(&mut stream) {
            let protocol = stream.conn.alpn_protocol().map(<[u8]>::to_vec);
            names.lock().unwrap().push((stream.conn.server_name().map(str::to_owned), protocol));
            let _ = stream.write_all(GOOD.as_bytes());
            answer_all(stream, &AtomicU64::new(0));
        }
    });
    for (host, name) in [("localhost", Some("localhost")), ("127.0.0.1", None)] {
        seen.lock().unwrap().clear();
        let (document, _) = load(&url.replace("127.0.0.1", host), &["--cacert", &ca.file()]);
        assert_eq!(classes(&document).len(), 1, "{document}");
        let (name, protocol) = (name.map(str::to_owned), Some(b"http/1.1".to_vec()));
        assert!(seen.lock().unwrap().iter().all(|each| *each == (name.clone(), protocol.clone())));
        assert!(seen.lock().unwrap().len() > 1, "the preflight's and the load's");
    }
}

#[test]
fn sessions_are_resumed_only_if_asked() {
    let ca = Ca::new();
    let (url, _) = well_behaved(ca.config(LOCALHOST, NEXT_CENTURY));
    let (document, _) = load(&url, &["--cacert", &ca.file(), "--close", "--tls-resume"]);
    let resumed = document["tls"]["resumed"].as_u64().unwrap();
    assert!(resumed > 0 && resumed < handshakes(&document), "the first ones are full");
    assert_eq!(classes(&document).len(), 1, "{document}");
}

#[test]
fn bodies_of_many_records_go_both_ways() {
    let ca = Ca::new();
    let [cert, key] = ca.leaf(LOCALHOST, NEXT_CENTURY);
    let body = "x".repeat(100_000);
    let server = NullServer::start_with(&["--cert", &cert, "--key", &key, "--null-body", &body]);
    let sent = ca.path("sent");
    std::fs::write(&sent, "y".repeat(300_000)).unwrap();
    let url = server.url.replace("http", "https");
    let (document, _) = load(&url, &["--cacert", &ca.file(), "--body", &format!("@{sent}")]);
    let ok = class(&document, "ok");
    assert_eq!(classes(&document), [("ok".to_owned(), ok)]);
    assert_eq!(server.end()["answered"], ok + 1);
}

#[test]
fn insecure_trusts_any_certificate() {
    let ca = Ca::new();
    let (url, _) = well_behaved(ca.config(&["elsewhere.test"], 2020));
    // With a name, which is in SNI.
    let (document, _) = load(&url.replace("127.0.0.1", "localhost"), &["--insecure"]);
    assert_eq!(classes(&document).len(), 1);
    assert!(class(&document, "ok") > 0);
}

#[test]
fn client_certificate_opens_a_server_that_asks_for_one() {
    let ca = Ca::new();
    let (url, _) = well_behaved(ca.config_of(LOCALHOST, NEXT_CENTURY, ALL_VERSIONS, true));
    let [cert, key] = ca.leaf(&["client"], NEXT_CENTURY);
    let (document, _) = load(&url, &["--cacert", &ca.file(), "--cert", &cert, "--key", &key]);
    assert!(class(&document, "ok") > 0, "{document}");
    let (document, exit) = load(&url, &["--cacert", &ca.file()]);
    let error = document["preflight_error"].as_str().unwrap();
    assert!(error.contains("use --cert FILE and --key FILE") && exit == 3, "{error}");
}

/// The preflight names each fault and what to do about it.
#[test]
fn preflight_says_what_is_wrong_and_the_fix() {
    let ca = Ca::new();
    let tls10 = |mut stream: TcpStream| drop(stream.write_all(&[21, 3, 1, 0, 2, 2, 70]));
    let plain = |mut stream: TcpStream| drop(stream.write_all(b"HTTP/1.1 400 Bad\r\n\r\n"));
    let (expired, _) = well_behaved(ca.config(LOCALHOST, 2020));
    let (renamed, _) = well_behaved(ca.config(&["elsewhere.test"], NEXT_CENTURY));
    let (of_other_ca, _) = well_behaved(Ca::new().config(LOCALHOST, NEXT_CENTURY));
    for (url, wanted) in [
        (expired, ["the certificate expired", "--insecure"]),
        (renamed, ["for elsewhere.test, not for 127.0.0.1", "use a name of the certificate"]),
        (of_other_ca, ["the issuer of the certificate is unknown", "--cacert FILE"]),
        (well_behaved(h2_alone(&ca)).0, ["none of the offered protocols", "http/1.1 (ALPN)"]),
        (serve(move |_, stream| tls10(stream)), ["neither TLS 1.3 nor TLS 1.2", "enable TLS"]),
        (serve(move |_, stream| plain(stream)), ["plain HTTP on this port", "use http://"]),
        (serve(|_, stream| drop(stream)), ["within the TLS handshake", "does it speak TLS"]),
    ] {
        let (document, exit) = load(&url, &["--cacert", &ca.file()]);
        let error = document["preflight_error"].as_str().unwrap();
        assert!(wanted.iter().all(|part| error.contains(part)), "{error}");
        assert_eq!(exit, 3);
    }
}

fn good(ca: &Ca) -> ServerConfig {
    ca.config(LOCALHOST, NEXT_CENTURY)
}

fn h2_alone(ca: &Ca) -> ServerConfig {
    let mut config = good(ca);
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

/// Bug: with --http2, an alert looked like the start of a frame, and the hint was missing.
#[test]
fn plain_http_to_a_tls_port_names_https() {
    let ca = Ca::new();
    let said = "Client sent an HTTP request to an HTTPS server.\n";
    let length = said.len();
    let refusal = format!("HTTP/1.0 400 Bad Request\r\nContent-Length: {length}\r\n\r\n{said}");
    let alert = [21, 3, 1, 0, 2, 2, 70];
    let answering = |bytes: Vec<u8>| {
        serve(move |_, mut stream| {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(&bytes);
        })
    };
    for url in [
        well_behaved(good(&ca)).0,
        answering(refusal.into_bytes()),
        answering(alert.to_vec()),
        answering(Vec::new()),
        serve(|_, stream| drop(stream)), // which resets the connection
    ] {
        for args in [&[][..], &["--http2"]] {
            let (document, exit) = load(&url.replace("https", "http"), args);
            let error = document["preflight_error"].as_str().unwrap();
            assert!(error.contains("use https://") && exit == 3, "{args:?}: {error}");
        }
    }
}

/// After the preflight, each fault is a class of its own, and never ok.
#[test]
fn each_failure_is_in_its_class() {
    let ca = Arc::new(Ca::new());
    let with = |config: ServerConfig| {
        let config = Arc::new(config);
        move |stream: TcpStream| answer_all(accept(&config, stream), &AtomicU64::new(0))
    };
    let expired = with(ca.config(LOCALHOST, 2020));
    let renamed = with(ca.config(&["elsewhere.test"], NEXT_CENTURY));
    let unknown = with(Ca::new().config(LOCALHOST, NEXT_CENTURY));
    let h2 = with(h2_alone(&ca));
    let raw = |bytes: &'static [u8]| move |mut stream: TcpStream| drop(stream.write_all(bytes));
    let silent = |stream: TcpStream| {
        std::thread::sleep(std::time::Duration::from_secs(5));
        drop(stream);
    };
    let url = |fault: Box<dyn Fn(TcpStream) + Send + Sync>| {
        after_preflight(&ca, move |_, stream| fault(stream))
    };
    for (name, url) in [
        ("tls_expired", url(Box::new(expired))),
        ("tls_wrong_name", url(Box::new(renamed))),
        ("tls_unknown_issuer", url(Box::new(unknown))),
        ("tls_alpn", url(Box::new(h2))),
        ("tls_version", url(Box::new(raw(&[21, 3, 1, 0, 2, 2, 70])))),
        ("tls_alert", url(Box::new(raw(&[21, 3, 3, 0, 2, 2, 40])))),
        ("tls_broken", url(Box::new(raw(&[22, 3, 3, 0, 4, 99, 0, 0, 0])))),
        ("not_tls", url(Box::new(raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")))),
        ("tls_closed", url(Box::new(drop))),
        ("tls_timeout", url(Box::new(silent))),
    ] {
        // Requests of kept connections wait for the handshake before the load.
        let (document, exit) =
            load(&url, &["--cacert", &ca.file(), "--close", "--timeout", "700ms"]);
        let scheduled = document["requests"]["scheduled"].as_u64().unwrap();
        assert!(scheduled > 0, "{name}: nothing was sent");
        assert_eq!(classes(&document), [(name.to_owned(), scheduled)], "{document}");
        let errors = document["tls"]["errors"].as_object().unwrap();
        let counted: u64 = errors.values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(counted, scheduled, "{errors:?}");
        assert_eq!((exit, handshakes(&document)), (3, 0), "{name}");
    }
}

/// Bug to prevent: a body until the close would be ok although anyone could have cut it off.
#[test]
fn body_until_the_close_needs_a_close_notify() {
    const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nHello, World!";
    let ca = Ca::new();
    for (notifies, name) in [(true, "ok"), (false, "tls_truncated")] {
        let config = Arc::new(good(&ca));
        let url = serve(move |number, stream| {
            let mut stream = accept(&config, stream);
            if read_request(&mut stream) {
                let _ = stream.write_all(UNTIL_CLOSE.as_bytes());
                if notifies || number == 0 {
                    end(&mut stream);
                }
            }
        });
        let (document, _) = load(&url, &["--cacert", &ca.file(), "--close"]);
        let scheduled = document["requests"]["scheduled"].as_u64().unwrap();
        assert_eq!(classes(&document), [(name.to_owned(), scheduled)]);
        let unnotified = document["tls"]["closed_without_notify"].as_u64().unwrap();
        assert_eq!(unnotified, if notifies { 0 } else { scheduled });
    }
}

/// A response whose length is known is complete without a close_notify, which is counted.
#[test]
fn close_without_notify_after_a_complete_response_is_counted() {
    let ca = Ca::new();
    let last = GOOD.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let config = Arc::new(good(&ca));
    let answer = move |mut stream: TlsStream| {
        if read_request(&mut stream) {
            let _ = stream.write_all(last.as_bytes());
        }
    };
    let url = serve(move |_, stream| answer(accept(&config, stream)));
    let (document, _) = load(&url, &["--cacert", &ca.file(), "--close"]);
    let ok = class(&document, "ok");
    assert_eq!(classes(&document), [("ok".to_owned(), ok)]);
    assert_eq!(document["tls"]["closed_without_notify"], ok);
}

#[test]
fn slices_over_tls_keep_their_connections() {
    use std::process::{Command, Stdio};
    let ca = Ca::new();
    let (url, _) = well_behaved(good(&ca));
    let mut child = Command::new(env!("CARGO_BIN_EXE_deadheat-load"))
        .args([&url, "--cacert", &ca.file(), "--slices", "-c", "2"])
        .args(["--backend", crate::common::backend()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = "{\"id\": 1, \"duration_s\": 0.05}\n{\"id\": 2, \"duration_s\": 0.05}\n\
                 {\"id\": 3, \"duration_s\": 0.05, \"renew\": true}\n";
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(answers[0]["expected"]["tls"].as_str().unwrap().starts_with("TLS 1.3"));
    let counts: Vec<u64> = answers[1..].iter().map(handshakes).collect();
    assert_eq!(counts, [0, 0, 2], "{text}");
    for answer in &answers[1..] {
        assert!(class(answer, "ok") > 0);
        assert_eq!(classes(answer).len(), 1);
    }
}

#[test]
fn wrong_options_of_tls_name_the_fix() {
    let ca = Ca::new();
    let [cert, key] = ca.leaf(LOCALHOST, NEXT_CENTURY);
    let (ca_file, none) = (ca.file(), ca.path("none"));
    for (args, wanted) in [
        (&["http://127.0.0.1:1/", "--cacert", &ca_file][..], "--cacert needs a URL with https://"),
        (&["http://127.0.0.1:1/", "--tls-resume"], "--tls-resume needs a URL with https://"),
        (&["https://127.0.0.1:1/", "--cert", &cert], "--cert needs --key FILE"),
        (&["https://127.0.0.1:1/", "--key", &key], "--key needs --cert FILE"),
        (&["https://127.0.0.1:1/", "--cacert", &none], "No such file"),
        (&["https://127.0.0.1:1/", "--cacert", &key], "expected a certificate in PEM"),
        (&["https://127.0.0.1:1/", "--cert", &cert, "--key", &cert], "a private key in PEM"),
        (&["https://127.0.0.1:1/", "--insecure", "--cacert", &ca_file], "exclude each other"),
        (&["https://127.0.0.1:1/", "--calibrate"], "--calibrate measures http:// alone"),
        (&["https://127.0.0.1:1/", "http://127.0.0.1:1/"], "another server than"),
    ] {
        let output = engine(args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(wanted) && output.status.code() == Some(2), "{args:?}: {error}");
    }
}
