//! HTTP/2 without I/O (RFC 9113): [`Client`] is one connection of the engine, and [`NullPeer`] one of
//! the null server. Bytes go in, events and bytes come out.

mod client;
mod events;
mod fields;
mod frame;
mod hpack;
mod huffman;
mod null;
mod request;
mod stream;

pub(crate) use client::{Captured, Client, Received};
pub(crate) use events::{Ended, Event};
pub(crate) use frame::{PREFACE, code_name};
#[cfg(any(test, fuzzing))]
pub(crate) use hpack::STATIC;
pub(crate) use null::NullPeer;
pub(crate) use request::Book;
