//! Reads lines of standard input; blocks without a timer.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsRawFd, RawFd};

use crate::error::{Error, Result};
use crate::signals;

/// Longer lines are rejected.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;
const READ_BYTES: usize = 4096;

/// A line of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    /// More than [`MAX_LINE_BYTES`], or not UTF-8.
    Unreadable,
    /// The end of the input, or a signal.
    End,
}

pub(super) struct Input<R> {
    source: R,
    /// The descriptors of the source and of signals.
    waits: [RawFd; 2],
    bytes: Vec<u8>,
    /// Skip the rest of a line that is too long.
    skipping: bool,
    ended: bool,
}

impl<R: Read + AsRawFd> Input<R> {
    /// A reader of `source`, until its end or a signal.
    pub(super) fn new(source: R) -> Result<Self> {
        let waits = [source.as_raw_fd(), signals::event()?];
        Ok(Self { source, waits, bytes: Vec::new(), skipping: false, ended: false })
    }

    /// Blocks until a line is complete.
    pub(super) fn next(&mut self) -> Result<Line> {
        loop {
            if signals::received() > 0 {
                return Ok(Line::End);
            }
            if let Some(line) = self.whole_line() {
                return Ok(line);
            }
            if self.ended {
                return Ok(Line::End);
            }
            self.read().map_err(Error::system("stdin"))?;
        }
    }

    /// The next complete line; at the end of the input, also one without a line feed.
    fn whole_line(&mut self) -> Option<Line> {
        let end = self.bytes.iter().position(|&byte| byte == b'\n');
        let too_long = end.unwrap_or(self.bytes.len()) > MAX_LINE_BYTES;
        let line = match end {
            Some(end) => self.bytes.drain(..=end).collect(),
            None if too_long || (self.ended && !self.bytes.is_empty()) => {
                std::mem::take(&mut self.bytes)
            }
            None => return None,
        };
        let skipped = std::mem::replace(&mut self.skipping, end.is_none() && too_long);
        if skipped {
            return self.whole_line();
        }
        match String::from_utf8(line) {
            Ok(text) if !too_long => Some(Line::Text(text)),
            _ => Some(Line::Unreadable),
        }
    }

    fn read(&mut self) -> io::Result<()> {
        let mut polls = self.waits.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        // SAFETY: `polls` is as long as it says.
        let ready = unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, -1) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        if polls[0].revents == 0 {
            return Ok(());
        }
        let mut buffer = [0; READ_BYTES];
        match self.source.read(&mut buffer) {
            Ok(0) => self.ended = true,
            Ok(got) => self.bytes.extend_from_slice(&buffer[..got]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The lines of an input that is written in these pieces.
    fn lines(pieces: &[&[u8]]) -> Vec<Line> {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut input = Input::new(reader).unwrap();
        let pieces: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
        let writes = std::thread::spawn(move || {
            pieces.iter().for_each(|piece| writer.write_all(piece).unwrap());
        });
        let mut lines = Vec::new();
        loop {
            match input.next().unwrap() {
                Line::End => break,
                line => lines.push(line),
            }
        }
        writes.join().unwrap();
        lines
    }

    fn text(text: &str) -> Line {
        Line::Text(text.to_owned())
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no poll()")]
    fn splits_input_into_lines() {
        assert_eq!(
            lines(&[b"a\nb", b"c\n\nd"]),
            [text("a\n"), text("bc\n"), text("\n"), text("d")]
        );
        assert_eq!(lines(&[]), []);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no poll()")]
    fn skips_a_line_that_is_too_long() {
        let long = vec![b'x'; 3 * MAX_LINE_BYTES];
        assert_eq!(lines(&[&long, b"\nb\n"]), [Line::Unreadable, text("b\n")]);
        assert_eq!(lines(&[&long]), [Line::Unreadable]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no poll()")]
    fn rejects_a_line_that_is_not_utf_8() {
        assert_eq!(lines(&[b"\xff\n", b"b\n"]), [Line::Unreadable, text("b\n")]);
    }
}
