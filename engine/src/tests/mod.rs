//! Tests of several modules together, without a socket.

mod arguments;
mod connections;
mod events;
mod modules;
mod outputs;
mod parser;
mod phases;
mod splits;
mod virtual_time;
