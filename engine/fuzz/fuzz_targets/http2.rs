//! Any frames in any pieces: the client of HTTP/2 and its reference see the same.
#![no_main]

use deadheat_load::oracle::Http2Case;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Http2Case::decode(data).check());
