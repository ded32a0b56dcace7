use std::error::Error;

use iron::{Iron, IronResult, Request, Response, status};
use router::Router;

fn hello(_: &mut Request) -> IronResult<Response> {
    Ok(Response::with((status::Ok, "Hello, World!")))
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, address, threads] = args.as_slice() else {
        return Err("usage: server HOST:PORT THREADS".into());
    };
    let mut router = Router::new();
    router.get("/", hello, "hello");
    let mut iron = Iron::new(router);
    iron.threads = threads.parse()?;
    iron.http(address)?;
    Ok(())
}
