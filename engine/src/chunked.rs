//! Decoder of the chunked transfer coding (RFC 9112, section 7.1).

use crate::classes::MalformedKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size {
        digits: u8,
    },
    Extension,
    SizeEnd,
    Data,
    DataEnd,
    DataEndLf,
    TrailerStart,
    /// A trailer line before its colon.
    TrailerName,
    Trailer,
    LastLf,
}

/// Decoder of one chunked body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunked {
    state: State,
    left: u64,
    trailer_bytes: u32,
}

/// Chunk extensions and trailers longer than this in all are malformed.
const MAX_TRAILER_BYTES: u32 = 64 * 1024;

impl Default for Chunked {
    fn default() -> Self {
        Self { state: State::Size { digits: 0 }, left: 0, trailer_bytes: 0 }
    }
}

impl Chunked {
    /// Passes the data in `input` to `sink`; the number of bytes used, at the end of the body.
    pub(crate) fn feed(
        &mut self,
        input: &[u8],
        mut sink: impl FnMut(&[u8]),
    ) -> Result<Option<usize>, MalformedKind> {
        let mut at = 0;
        while at < input.len() {
            if self.state == State::Data {
                let take = self.left.min((input.len() - at) as u64) as usize;
                sink(&input[at..at + take]);
                at += take;
                self.left -= take as u64;
                if self.left == 0 {
                    self.state = State::DataEnd;
                }
                continue;
            }
            let byte = input[at];
            at += 1;
            if self.step(byte)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Takes one byte outside the data; true at the end of the body.
    fn step(&mut self, byte: u8) -> Result<bool, MalformedKind> {
        self.state = match (self.state, byte) {
            (State::Size { digits }, _) if byte.is_ascii_hexdigit() => {
                if digits == 16 {
                    return Err(MalformedKind::ChunkSize);
                }
                let value = (byte as char).to_digit(16).unwrap_or(0);
                self.left = self.left << 4 | u64::from(value);
                State::Size { digits: digits + 1 }
            }
            (State::Size { digits: 0 }, _) => return Err(MalformedKind::ChunkSize),
            (State::Size { .. } | State::Extension, b'\r') => State::SizeEnd,
            (State::Size { .. } | State::Extension | State::SizeEnd, b'\n') => self.after_size(),
            (State::Size { .. }, b';' | b' ' | b'\t') => State::Extension,
            (State::Extension, _) => self.lengthen(State::Extension)?,
            (State::Size { .. } | State::SizeEnd, _) => return Err(MalformedKind::ChunkSize),
            (State::DataEnd, b'\r') => State::DataEndLf,
            (State::DataEnd | State::DataEndLf, b'\n') => State::Size { digits: 0 },
            (State::DataEnd | State::DataEndLf, _) => return Err(MalformedKind::ChunkEnd),
            (State::TrailerStart, b'\r') => State::LastLf,
            (State::TrailerStart | State::LastLf, b'\n') => return Ok(true),
            (State::LastLf, _) => return Err(MalformedKind::Trailer),
            (State::Trailer, b'\n') => State::TrailerStart,
            (State::TrailerStart, b':') | (State::TrailerName, b'\n') => {
                return Err(MalformedKind::Trailer);
            }
            // A line that begins with a blank continues the value of the line before.
            (State::TrailerStart, b' ' | b'\t')
            | (State::Trailer, _)
            | (State::TrailerName, b':') => self.lengthen(State::Trailer)?,
            (State::TrailerStart | State::TrailerName, _) => self.lengthen(State::TrailerName)?,
            (State::Data, _) => unreachable!("data is taken in whole pieces"),
        };
        Ok(false)
    }

    fn after_size(&self) -> State {
        if self.left == 0 { State::TrailerStart } else { State::Data }
    }

    fn lengthen(&mut self, next: State) -> Result<State, MalformedKind> {
        self.trailer_bytes += 1;
        if self.trailer_bytes > MAX_TRAILER_BYTES {
            return Err(MalformedKind::Trailer);
        }
        Ok(next)
    }
}
