use std::error::Error;

use salvo::prelude::*;

#[handler]
async fn hello() -> &'static str {
    "Hello, World!"
}

async fn serve(address: String) {
    let acceptor = TcpListener::new(address).bind().await;
    Server::new(acceptor).serve(Router::new().get(hello)).await;
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let address = std::env::args().nth(1).ok_or("usage: server HOST:PORT")?;
    Ok(tokio::spawn(serve(address)).await?)
}
