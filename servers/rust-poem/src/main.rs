use std::error::Error;
use std::{env, fs};

use poem::listener::{Listener, RustlsCertificate, RustlsConfig, TcpListener};
use poem::{Route, Server, get, handler};

#[handler]
fn hello() -> &'static str {
    "Hello, World!"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let address = env::args().nth(1).ok_or("usage: server HOST:PORT")?;
    let app = Route::new().at("/", get(hello));
    let listener = TcpListener::bind(address);
    let server = match (env::var("CERT"), env::var("KEY")) {
        (Ok(cert), Ok(key)) => {
            let certificate = RustlsCertificate::new().cert(fs::read(cert)?).key(fs::read(key)?);
            let listener = listener.rustls(RustlsConfig::new().fallback(certificate));
            tokio::spawn(Server::new(listener).run(app))
        }
        _ => tokio::spawn(Server::new(listener).run(app)),
    };
    Ok(server.await??)
}
