use std::error::Error;

use tokio::net::TcpSocket;
use warp::{Filter, Reply};

type Failure = Box<dyn Error + Send + Sync>;

async fn serve(address: String) -> Result<(), Failure> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address.parse()?)?;
    let hello = warp::path::end()
        .and(warp::get())
        .map(|| "Hello, World!".into_response());
    warp::serve(hello)
        .incoming(socket.listen(4096)?)
        .run()
        .await;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1).ok_or("usage: server HOST:PORT")?;
    tokio::spawn(serve(address)).await?
}
