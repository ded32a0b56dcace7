use std::env;
use std::error::Error;
use std::sync::LazyLock;
use std::time::Duration;

use actix_web::error::ErrorInternalServerError;
use actix_web::rt::time::sleep;
use actix_web::web::{Html, Json, Path, Payload, Query, ServiceConfig};
use actix_web::{App, HttpServer, get, post, web};
use askama::Template;
use futures_util::StreamExt;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};

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

#[get("/")]
async fn hello() -> &'static str {
    "Hello, World!"
}

#[get("/wait")]
async fn wait() -> &'static str {
    sleep(Duration::from_millis(10)).await;
    "waited"
}

#[get("/json")]
async fn json() -> Json<Account> {
    Json(account())
}

#[post("/echo")]
async fn echo(message: Json<Message>) -> Json<Message> {
    let mut message = message.into_inner();
    message.seen = true;
    Json(message)
}

#[get("/page")]
async fn page() -> actix_web::Result<Html> {
    Page { rows: &ROWS }.render().map(Html::new).map_err(ErrorInternalServerError)
}

#[post("/upload")]
async fn upload(mut body: Payload) -> actix_web::Result<String> {
    let mut checksum = crc32fast::Hasher::new();
    let mut length = 0;
    while let Some(piece) = body.next().await {
        let piece = piece?;
        length += piece.len();
        checksum.update(&piece);
    }
    Ok(format!("{length} {:08x}", checksum.finalize()))
}

fn orders(app: &mut ServiceConfig) {
    for n in 0..100 {
        let collection = if n == 0 { "users".to_owned() } else { format!("resource{n}") };
        let path = format!("/{collection}/{{id}}/orders/{{order}}");
        let order = move |path: Path<(String, String)>, query: Query<PageNumber>| {
            let text = format!("{collection} {} {} {}", path.0, path.1, query.page);
            async move { text }
        };
        app.route(&path, web::get().to(order));
    }
}

fn tls(cert: String, key: String) -> Result<ServerConfig, Box<dyn Error>> {
    let chain = CertificateDer::pem_file_iter(cert)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    Ok(ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?)
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().collect();
    let [_, address, workers] = args.as_slice() else {
        return Err("usage: server HOST:PORT WORKERS".into());
    };
    let app = || {
        App::new()
            .service(hello)
            .service(wait)
            .service(json)
            .service(echo)
            .service(page)
            .service(upload)
            .configure(orders)
    };
    let server = HttpServer::new(app).workers(workers.parse()?).backlog(4096);
    let server = match (env::var("CERT"), env::var("KEY")) {
        (Ok(cert), Ok(key)) => server.bind_rustls_0_23(address, tls(cert, key)?)?,
        _ if env::var_os("H2C").is_some() => server.bind_auto_h2c(address)?,
        _ => server.bind(address)?,
    };
    Ok(server.run().await?)
}
