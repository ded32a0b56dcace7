#![feature(decl_macro, proc_macro_hygiene)]

use rocket::{get, routes};

#[get("/")]
fn hello() -> &'static str {
    "Hello, World!"
}

fn main() {
    rocket::ignite().mount("/", routes![hello]).launch();
}
