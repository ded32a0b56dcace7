use std::collections::HashSet;
use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use tokio::net::{TcpListener, TcpSocket};

type Failure = Box<dyn Error + Send + Sync>;

static COLLECTIONS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let resources = (1..100).map(|n| format!("resource{n}"));
    resources.chain(["users".to_owned()]).collect()
});

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => Some(Bytes::from("Hello, World!")),
        (&Method::GET, "/wait") => {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Some(Bytes::from("waited"))
        }
        (&Method::GET, path) => order(path, request.uri().query()).map(Bytes::from),
        _ => None,
    };
    let mut response = Response::new(Full::default());
    if let Some(text) = text {
        *response.body_mut() = Full::from(text);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    } else {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    Ok(response)
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

async fn accept(listener: TcpListener) -> Result<(), Failure> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(
            http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)),
        );
    }
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
