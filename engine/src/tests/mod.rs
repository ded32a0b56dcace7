//! Tests of several modules together, without a socket.

mod arguments;
mod between_slices;
mod connections;
mod drivers;
mod estimator;
mod events;
mod http2;
mod http2_sessions;
mod modules;
mod outputs;
mod parser;
mod phases;
mod responses;
mod splits;
mod tls;
mod virtual_time;
