//! Workloads against a scripted server that looks at the path of each request.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::common::resident::Resident;
use crate::common::schema::assert_follows_schema;
use crate::common::{engine, load};
use serde_json::Value;

const ROUTE: &str = r#"{
    "name": "route", "draws": 200, "seed": 3,
    "variables": {"id": {"min": 1, "max": 100000}},
    "requests": [{"path": "/users/{id}", "expect": {"media_type": "text/plain", "body": "user {id}"}}]
}"#;
const UPLOAD: &str = r#"{
    "name": "upload", "draws": 4,
    "variables": {"data": {"letters": 3000000}},
    "requests": [{"path": "/upload", "body": "{data}", "expect": {"body": "{body.length}"}}]
}"#;

const JSON: &str = r#"{
    "name": "json", "draws": 50, "seed": 3,
    "variables": {"id": {"min": 10000, "max": 99999}},
    "requests": [{"path": "/users/{id}", "expect": {"json": "{\"id\": {id}, \"seen\": true}"}}]
}"#;

/// The body of the response to a path, the length of a body, and the number of earlier requests.
type Answer = fn(&str, usize, u64) -> String;

fn start(answer: Answer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let requests = requests.clone();
            thread::spawn(move || serve(&stream, answer, &requests));
        }
    });
    address
}

fn serve(mut stream: &TcpStream, answer: Answer, requests: &AtomicU64) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            (reader.read_line(&mut head).ok()? > 0).then_some(())?;
        }
        let path = head.split(' ').nth(1)?.to_owned();
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body).ok()?;
        let text = answer(&path, body.len(), requests.fetch_add(1, Ordering::SeqCst));
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}",
            text.len()
        );
        stream.write_all(format!("{head}\r\n\r\n{text}").as_bytes()).ok()?;
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/")
}

fn user(path: &str) -> String {
    path.replace("/users/", "user ")
}

fn run(address: SocketAddr, workload: &str) -> Value {
    let args = ["--workload", workload, "-c", "5", "-d", "100ms", "--warmup", "0s"];
    load(&url(address), &args).0
}

fn class(document: &Value, name: &str) -> u64 {
    document["classes"][name].as_u64().unwrap()
}

#[test]
fn each_answer_is_compared_with_its_own_request() {
    let document = run(start(|path, _, _| user(path)), ROUTE);
    assert_follows_schema(&document, "document");
    assert!(class(&document, "ok") > 200, "more than one round: {document}");
    assert_eq!(document["classes"]["ok"], document["requests"]["scheduled"]);
    assert_eq!(document["config"]["workload"]["requests"], 200);
    assert_eq!(document["requests"]["preflight"], 1);
}

/// The first answer, to the preflight, is right. Later each user with an even number gets the answer
/// of the next one, which has the same length.
#[test]
fn answer_of_another_request_is_a_body_mismatch() {
    let document = run(
        start(|path, _, nth| match path.ends_with(['0', '2', '4', '6', '8']) && nth > 0 {
            true => user(path).split_at(user(path).len() - 1).0.to_owned() + "9",
            false => user(path),
        }),
        ROUTE,
    );
    let (right, wrong) = (class(&document, "ok"), class(&document, "body_mismatch"));
    assert!(right > 0 && wrong > 0, "{document}");
    assert_eq!(document["requests"]["scheduled"], right + wrong, "{document}");
}

#[test]
fn bodies_larger_than_a_socket_buffer_arrive_whole() {
    let document = run(start(|_, length, _| length.to_string()), UPLOAD);
    assert!(class(&document, "ok") > 0, "{document}");
    assert_eq!(document["classes"]["ok"], document["requests"]["scheduled"]);
    assert!(document["bytes_out"].as_u64().unwrap() > 3_000_000 * class(&document, "ok"));
    assert_eq!(document["config"]["method"], "POST");
}

/// A server spells its JSON in its own way, but in the same way each time.
fn user_json(path: &str) -> String {
    format!("{{ \"seen\":true,\"id\": {} }}\n", path.replace("/users/", ""))
}

#[test]
fn json_is_compared_with_the_first_answer_to_the_same_request() {
    let document = run(start(|path, _, _| user_json(path)), JSON);
    assert!(class(&document, "ok") > 50, "more than one round: {document}");
    assert_eq!(document["classes"]["ok"], document["requests"]["scheduled"]);
    assert_eq!(document["requests"]["preflight"], 50);
}

#[test]
fn json_with_the_id_of_another_request_is_a_body_mismatch() {
    let document = run(
        start(|path, _, nth| match nth >= 50 && path.ends_with(['0', '2', '4', '6', '8']) {
            true => user_json(&(path.split_at(path.len() - 1).0.to_owned() + "9")),
            false => user_json(path),
        }),
        JSON,
    );
    let (right, wrong) = (class(&document, "ok"), class(&document, "body_mismatch"));
    assert!(right > 0 && wrong > 0, "{document}");
    assert_eq!(document["requests"]["scheduled"], right + wrong, "{document}");
}

#[test]
fn json_of_another_value_ends_the_preflight() {
    let document = run(start(|path, _, _| user_json(path).replace("true", "false")), JSON);
    let error = document["preflight_error"].as_str().unwrap();
    assert!(error.ends_with("which is not the JSON of `expect.json`"), "{error}");
}

#[test]
fn slices_send_a_workload() {
    let address = start(|path, _, _| user(path));
    let mut resident = Resident::start(&url(address), &["--workload", ROUTE, "-c", "3"]);
    let slice = resident.ask(r#"{"id": 1, "duration_s": 0.05}"#);
    assert!(class(&slice, "ok") > 0, "{slice}");
    assert_eq!(slice["classes"]["ok"], slice["requests"]["scheduled"]);
}

#[test]
fn wrong_first_answer_ends_the_preflight_and_names_the_request() {
    let document = run(start(|_, _, _| "user 0".to_owned()), ROUTE);
    let error = document["preflight_error"].as_str().unwrap();
    assert!(error.contains("GET http://127.0.0.1:") && error.contains("/users/"), "{error}");
}

#[test]
fn options_of_requests_conflict_with_a_workload() {
    for args in [
        &["--body", "a"][..],
        &["-X", "PUT"],
        &["--expect-body", "a"],
        &["--any-body"],
        &["http://127.0.0.1:9/"],
    ] {
        let output = engine(&[&["http://127.0.0.1:9/", "--workload", ROUTE], args].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
        assert!(message.contains("--workload exclude each other"), "{message}");
    }
}
