use std::error::Error;

use ntex::web::{App, HttpServer, get};

#[get("/")]
async fn hello() -> &'static str {
    "Hello, World!"
}

#[ntex::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, address, workers] = args.as_slice() else {
        return Err("usage: server HOST:PORT WORKERS".into());
    };
    HttpServer::new(async || App::new().service(hello))
        .workers(workers.parse()?)
        .backlog(4096)
        .bind(address)?
        .run()
        .await?;
    Ok(())
}
