//! An HTTP load engine. Requests are written and responses checked by a [`session::Session`],
//! which knows no syscall; a [`driver::Driver`] moves the bytes; [`engine`] runs threads of them.

mod arg_values;
mod args;
mod backend;
mod backlog;
mod batching;
mod buffers;
mod calibrate;
mod chunked;
mod classes;
mod cli;
mod clock;
mod config;
mod connection;
mod connection_stats;
mod descriptors;
mod document;
mod driver;
mod duration;
mod engine;
mod error;
mod expected;
mod gathering;
mod h2;
mod head;
mod histogram;
mod limits;
mod load;
mod message;
mod meter;
mod null_client;
mod null_server;
mod output;
mod packets;
mod phase;
mod plan;
mod poll;
mod preflight;
mod preflight_problem;
mod process;
mod report;
mod request;
mod response;
mod ring;
mod row_log;
mod run;
mod schedule;
mod series;
mod session;
mod shard;
mod signals;
mod slice;
mod slices;
mod sockets;
mod stream;
mod summary;
mod tally;
mod target;
mod tcp_info;
mod template;
mod tls;
mod tls_failure;
mod usage;
mod worker;
mod workload;

#[cfg(any(test, fuzzing))]
#[cfg_attr(not(fuzzing), allow(dead_code, reason = "the fuzzer decodes its input"))]
pub mod oracle;
#[cfg(test)]
mod tests;

pub use cli::main;
