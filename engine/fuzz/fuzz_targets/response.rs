//! Any bytes in any pieces: the parser and its reference see the same.
#![no_main]

use deadheat_load::oracle::Case;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Case::decode(data).check());
