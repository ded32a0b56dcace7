//! Checks that the kernel and its sandbox allow the io_uring operations that the driver needs.

use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use crate::batching::Batching;
use crate::clock;
use crate::ring::{self, Ring, Tag, What};

/// Time limit for a byte that has already arrived.
const WAIT_NS: u64 = 1_000_000_000;

/// Receives a byte as the driver does.
pub(crate) fn io_uring() -> io::Result<()> {
    let mut ring = Ring::new(8, 8, 64)?;
    ring.enable().map_err(io::Error::other)?;
    let (mut peer, socket) = UnixStream::pair()?;
    peer.write_all(b"x")?;
    let tag = Tag { slot: 0, generation: 0, what: What::Receive };
    // SAFETY: a receive points to nothing but the ring's own buffers.
    unsafe { ring.queue(tag, ring::receive(socket.as_raw_fd())) }.map_err(io::Error::other)?;
    let now_ns = clock::now_ns();
    ring.submit(now_ns, now_ns + WAIT_NS, Batching::NONE).map_err(io::Error::other)?;
    let mut completed = Vec::new();
    ring.take(&mut completed);
    let completion = completed.first().ok_or_else(|| io::Error::other("no completion"))?;
    completion.result.map_err(io::Error::from_raw_os_error)?;
    match ring.received(completion) == b"x" && completion.more {
        true => Ok(()),
        false => Err(io::Error::other("no multishot receive")),
    }
}
