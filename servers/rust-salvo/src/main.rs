use std::env;
use std::error::Error;

use salvo::conn::rustls::{Keycert, RustlsConfig};
use salvo::prelude::*;

type Failure = Box<dyn Error + Send + Sync>;

#[handler]
async fn hello() -> &'static str {
    "Hello, World!"
}

async fn serve(address: String) -> Result<(), Failure> {
    let app = Router::new().get(hello);
    let listener = TcpListener::new(address);
    let (Ok(cert), Ok(key)) = (env::var("CERT"), env::var("KEY")) else {
        Server::new(listener.bind().await).serve(app).await;
        return Ok(());
    };
    let keycert = Keycert::new().cert_from_path(cert)?.key_from_path(key)?;
    let listener = listener.rustls(RustlsConfig::new(keycert));
    Server::new(listener.bind().await).serve(app).await;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let address = env::args().nth(1).ok_or("usage: server HOST:PORT")?;
    tokio::spawn(serve(address)).await?
}
