use std::error::Error;

use poem::listener::TcpListener;
use poem::{Route, Server, get, handler};

#[handler]
fn hello() -> &'static str {
    "Hello, World!"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let address = std::env::args().nth(1).ok_or("usage: server HOST:PORT")?;
    let app = Route::new().at("/", get(hello));
    let server = tokio::spawn(Server::new(TcpListener::bind(address)).run(app));
    Ok(server.await??)
}
