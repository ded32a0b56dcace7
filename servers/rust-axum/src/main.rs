use std::error::Error;
use std::sync::LazyLock;
use std::time::Duration;

use askama::Template;
use axum::body::Body;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse};
use axum::routing::{get, post};
use axum::{Json, Router};
use axum_server::tls_rustls::RustlsConfig;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::net::TcpSocket;

type Failure = Box<dyn Error + Send + Sync>;

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

#[derive(Deserialize)]
struct PageNumber {
    page: String,
}

async fn wait() -> &'static str {
    tokio::time::sleep(Duration::from_millis(10)).await;
    "waited"
}

async fn echo(
    message: Result<Json<Message>, JsonRejection>,
) -> Result<Json<Message>, StatusCode> {
    let Json(mut message) = message.map_err(|_| StatusCode::BAD_REQUEST)?;
    message.seen = true;
    Ok(Json(message))
}

async fn page() -> Result<impl IntoResponse, StatusCode> {
    let page = Page { rows: &ROWS }.render();
    page.map(Html).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

async fn upload(body: Body) -> Result<String, StatusCode> {
    let mut checksum = crc32fast::Hasher::new();
    let mut length = 0;
    let mut stream = body.into_data_stream();
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|_| StatusCode::BAD_REQUEST)?;
        length += piece.len();
        checksum.update(&piece);
    }
    Ok(format!("{length} {:08x}", checksum.finalize()))
}

fn routes() -> Router {
    let app = Router::new()
        .route("/", get(async || "Hello, World!"))
        .route("/wait", get(wait))
        .route("/json", get(async || Json(account())))
        .route("/echo", post(echo))
        .route("/page", get(page))
        .route("/upload", post(upload));
    (0..100).fold(app, |app, n| {
        let collection = if n == 0 { "users".to_owned() } else { format!("resource{n}") };
        let path = format!("/{collection}/{{id}}/orders/{{order}}");
        let order = async move |Path((id, order)): Path<(String, String)>,
                                Query(query): Query<PageNumber>| {
            format!("{collection} {id} {order} {}", query.page)
        };
        app.route(&path, get(order))
    })
}

async fn serve(address: String) -> Result<(), Failure> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address.parse()?)?;
    let listener = socket.listen(4096)?;
    let (Ok(cert), Ok(key)) = (std::env::var("CERT"), std::env::var("KEY")) else {
        return Ok(axum::serve(listener, routes()).await?);
    };
    let tls = RustlsConfig::from_pem_file(cert, key).await?;
    let server = axum_server::from_tcp_rustls(listener.into_std()?, tls)?;
    Ok(server.serve(routes().into_make_service()).await?)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1).ok_or("usage: server HOST:PORT")?;
    tokio::spawn(serve(address)).await?
}
