//! Whether this kernel, and who restricts it, lets io_uring do what the driver needs.

use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use io_uring::types::Fd;
use io_uring::{cqueue, opcode};

use super::buffers::Buffers;
use super::uring;

/// Receives a byte as the driver does.
pub fn io_uring() -> io::Result<()> {
    let mut ring = uring::setup(8)?;
    let buffers = Buffers::register(&ring, 8, 64)?;
    ring.submitter().register_enable_rings()?;
    let (mut peer, socket) = UnixStream::pair()?;
    peer.write_all(b"x")?;
    let receive = opcode::RecvMulti::new(Fd(socket.as_raw_fd()), 0).build();
    // SAFETY: the buffers outlive the ring's operations.
    unsafe { ring.submission().push(&receive) }.map_err(io::Error::other)?;
    ring.submit_and_wait(1)?;
    let entry = ring.completion().next().ok_or_else(|| io::Error::other("no completion"))?;
    if entry.result() < 0 {
        return Err(io::Error::from_raw_os_error(-entry.result()));
    }
    let received = cqueue::buffer_select(entry.flags())
        .map(|buffer| buffers.filled(buffer, entry.result() as usize));
    match received == Some(b"x") && cqueue::more(entry.flags()) {
        true => Ok(()),
        false => Err(io::Error::other("no multishot receive")),
    }
}
