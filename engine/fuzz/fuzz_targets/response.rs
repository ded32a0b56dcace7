//! Any bytes in any pieces: the parser and its reference see the same.
#![no_main]

#[path = "../../tests/oracle/mod.rs"]
mod oracle;

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::Case::decode(data).check());
