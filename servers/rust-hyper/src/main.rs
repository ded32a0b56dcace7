use std::collections::HashSet;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use askama::Template;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

type Failure = Box<dyn Error + Send + Sync>;

static COLLECTIONS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let resources = (1..100).map(|n| format!("resource{n}"));
    resources.chain(["users".to_owned()]).collect()
});

#[derive(Serialize)]
struct Item {
    id: u32,
    name: String,
    price: f64,
}

#[derive(Serialize)]
struct Account {
    id: u32,
    name: &'static str,
    email: &'static str,
    city: &'static str,
    active: bool,
    balance: f64,
    note: Option<&'static str>,
    created: &'static str,
    items: Vec<Item>,
}

#[derive(Deserialize, Serialize)]
struct Sender {
    name: String,
    city: String,
}

#[derive(Deserialize, Serialize)]
struct Message {
    id: u64,
    seen: bool,
    sender: Sender,
    tags: Vec<String>,
    score: f64,
    parent: Option<u64>,
    text: String,
}

struct Row {
    number: usize,
    name: String,
    note: &'static str,
    text: &'static str,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'r> {
    rows: &'r [Row],
}

const NOTES: [&str; 5] =
    ["plain", "<script>alert(\"x\")</script>", "fish & chips", "it's \"quoted\"", "a < b > c"];
const TEXT: &str = "Packed by hand on the day it came in, checked twice, and sent with the early van. \
    Leave it with a neighbor if nobody is at home, and ring the old bell before you go; \
    the gate sticks in wet weather. Keep it dry and upright, and return the empty box.";

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let row = |number| Row {
        number,
        name: format!("Item {number}"),
        note: NOTES[number % NOTES.len()],
        text: TEXT,
    };
    (1..=200).map(row).collect()
});

fn account() -> Account {
    let item = |id: u32| Item { id, name: format!("Item {id}"), price: f64::from(id) + 0.25 };
    Account {
        id: 4711,
        name: "Ada Example",
        email: "ada@example.org",
        city: "Zürich",
        active: true,
        balance: 1250.75,
        note: None,
        created: "2026-11-22T10:30:00Z",
        items: (1..=10).map(item).collect(),
    }
}

const PLAIN: &str = "text/plain";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";

type Body = Full<Bytes>;

async fn answer(request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    Ok(match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => content(PLAIN, "Hello, World!"),
        (&Method::GET, "/wait") => {
            tokio::time::sleep(Duration::from_millis(10)).await;
            content(PLAIN, "waited")
        }
        (&Method::GET, "/json") => content(JSON, serde_json::to_vec(&account())?),
        (&Method::GET, "/page") => content(HTML, Page { rows: &ROWS }.render()?),
        (&Method::POST, "/echo") => echo(request.into_body()).await?,
        (&Method::POST, "/upload") => upload(request.into_body()).await?,
        (&Method::GET, path) => match order(path, request.uri().query()) {
            Some(text) => content(PLAIN, text),
            None => status(StatusCode::NOT_FOUND),
        },
        _ => status(StatusCode::NOT_FOUND),
    })
}

fn content(media_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::from(body.into()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn status(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = code;
    response
}

async fn echo(body: Incoming) -> Result<Response<Body>, Failure> {
    let Ok(mut message) = serde_json::from_slice::<Message>(&body.collect().await?.to_bytes())
    else {
        return Ok(status(StatusCode::BAD_REQUEST));
    };
    message.seen = true;
    Ok(content(JSON, serde_json::to_vec(&message)?))
}

async fn upload(mut body: Incoming) -> Result<Response<Body>, Failure> {
    let mut checksum = crc32fast::Hasher::new();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            length += data.len();
            checksum.update(&data);
        }
    }
    Ok(content(PLAIN, format!("{length} {:08x}", checksum.finalize())))
}

/// The answer to /COLLECTION/{id}/orders/{order}?page=N; hyper has no router.
fn order(path: &str, query: Option<&str>) -> Option<String> {
    let mut segments = path.strip_prefix('/')?.split('/');
    let collection = COLLECTIONS.get(segments.next()?)?;
    let (id, orders, order) = (segments.next()?, segments.next()?, segments.next()?);
    if orders != "orders" || segments.next().is_some() {
        return None;
    }
    let mut pairs = form_urlencoded::parse(query?.as_bytes());
    let (_, page) = pairs.find(|(name, _)| name == "page")?;
    let decode = |text| percent_decode_str(text).decode_utf8().ok();
    Some(format!("{collection} {} {} {page}", decode(id)?, decode(order)?))
}

async fn serve_http1(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<(), Failure> {
    let connection =
        http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
    Ok(connection.await?)
}

async fn serve_http2(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<(), Failure> {
    let connection = http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service_fn(answer));
    Ok(connection.await?)
}

async fn serve_tls(stream: TcpStream, tls: TlsAcceptor) -> Result<(), Failure> {
    let stream = tls.accept(stream).await?;
    match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => serve_http2(stream).await,
        _ => serve_http1(stream).await,
    }
}

async fn accept(listener: TcpListener) -> Result<(), Failure> {
    let tls = tls_acceptor()?;
    let h2c = std::env::var_os("H2C").is_some();
    loop {
        let (stream, _) = listener.accept().await?;
        match &tls {
            Some(tls) => tokio::spawn(serve_tls(stream, tls.clone())),
            None if h2c => tokio::spawn(serve_http2(stream)),
            None => tokio::spawn(serve_http1(stream)),
        };
    }
}

fn tls_acceptor() -> Result<Option<TlsAcceptor>, Failure> {
    let (Ok(cert), Ok(key)) = (std::env::var("CERT"), std::env::var("KEY")) else {
        return Ok(None);
    };
    let chain = CertificateDer::pem_file_iter(cert)?.collect::<Result<Vec<_>, _>>()?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().collect();
    let [_, address, workers] = args.as_slice() else {
        return Err("usage: server HOST:PORT WORKERS".into());
    };
    let address: SocketAddr = address.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers.parse()?)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        tokio::spawn(accept(socket.listen(4096)?)).await?
    })
}
