use std::error::Error;

use ntex::SharedCfg;
use ntex::server::Affinity;
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
    HttpServer::new(async |_| App::new().service(hello))
        .workers(workers.parse()?)
        .affinity(Affinity::Disabled)
        .backlog(4096)
        .bind(address, SharedCfg::default())?
        .run()
        .await?;
    Ok(())
}
