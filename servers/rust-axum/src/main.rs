use std::error::Error;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpSocket;

type Failure = Box<dyn Error + Send + Sync>;

async fn serve(address: String) -> Result<(), Failure> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address.parse()?)?;
    let app = Router::new().route("/", get(async || "Hello, World!"));
    Ok(axum::serve(socket.listen(4096)?, app).await?)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1).ok_or("usage: server HOST:PORT")?;
    tokio::spawn(serve(address)).await?
}
