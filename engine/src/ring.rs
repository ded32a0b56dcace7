//! An io_uring instance of one thread. Operations are queued, submitted in one call, and identified
//! by a tag when they complete.

use std::io;
use std::os::fd::RawFd;

use io_uring::squeue::{self, Flags};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};

use crate::batching::Batching;
use crate::buffers::Buffers;
use crate::error::{Error, Result};

pub(crate) struct Ring {
    // Dropped before the buffers that it uses.
    ring: IoUring,
    buffers: Buffers,
    /// Number of submissions, plus one. The kernel has an operation in the turn after the one in
    /// which it was queued.
    turn: u64,
    /// The kernel can wait for several completions, and for one after a time limit.
    gathers: bool,
}

/// Identifies an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub slot: u32,
    /// Distinguishes the successive connections of a slot.
    pub generation: u32,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Receive,
    Send,
    Writable,
}

/// Generations wrap around here.
pub(crate) const GENERATIONS: u32 = 1 << 30;

impl Tag {
    fn to_bits(self) -> u64 {
        u64::from(self.slot) << 32 | u64::from(self.generation) << 2 | self.what as u64
    }

    fn of_bits(bits: u64) -> Self {
        let what = [What::Receive, What::Send, What::Writable][bits as usize & 3];
        Self { slot: (bits >> 32) as u32, generation: (bits as u32) >> 2, what }
    }
}

/// A completion of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    pub tag: Tag,
    /// The result of the call, or its error number.
    pub result: Result<u32, i32>,
    buffer: Option<u16>,
    /// More completions of this operation follow.
    pub more: bool,
    /// There is more to receive, perhaps only the end of the stream.
    pub sock_nonempty: bool,
}

impl Ring {
    /// A ring with room for `entries` operations per turn and `count` buffers, both powers of two.
    /// Fails if the kernel forbids io_uring or is older than Linux 6.1.
    pub(crate) fn new(entries: u32, count: u16, bytes_each: usize) -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_r_disabled()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .build(entries)?;
        // SAFETY: both move into one struct, which drops the ring first.
        let buffers = unsafe { Buffers::register(&ring, count, bytes_each) }?;
        let gathers = ring.params().is_feature_min_timeout();
        Ok(Self { ring, buffers, turn: 1, gathers })
    }

    /// Makes the calling thread the only one that may use the ring.
    pub(crate) fn enable(&self) -> Result<()> {
        self.ring.submitter().register_enable_rings().map_err(Error::system("io_uring"))
    }

    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// Queues an operation for the next [`Ring::submit`].
    ///
    /// # Safety
    ///
    /// What the operation points to must stay valid and unchanged until the operation is complete
    /// or the ring is dropped.
    #[inline]
    pub(crate) unsafe fn queue(&mut self, tag: Tag, entry: squeue::Entry) -> Result<()> {
        let entry = entry.user_data(tag.to_bits());
        // SAFETY: the caller keeps what the operation points to.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.ring.submit().map_err(Error::system("io_uring"))?;
        }
        Ok(())
    }

    /// Submits the queued operations and waits for completions from `now_ns` until `wake_ns`, with
    /// `batching` if the kernel has it (Linux 6.12). True if all operations were taken, which
    /// starts a new turn.
    #[inline]
    pub(crate) fn submit(&mut self, now_ns: u64, wake_ns: u64, batching: Batching) -> Result<bool> {
        let batching = if self.gathers { batching } else { Batching::NONE };
        let left_ns = wake_ns.saturating_sub(now_ns);
        let (seconds, rest_ns) = (left_ns / 1_000_000_000, left_ns % 1_000_000_000);
        let left = Timespec::new().sec(seconds).nsec(rest_ns as u32);
        let args = SubmitArgs::new().timespec(&left).min_wait_usec(batching.gather_us);
        if let Err(error) = self.ring.submitter().submit_with_args(batching.completions, &args) {
            match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => {}
                _ => return Err(Error::System { what: "io_uring", source: error }),
            }
        }
        let all = self.ring.submission().is_empty();
        self.turn += u64::from(all);
        Ok(all)
    }

    /// Moves the completions to `completed`.
    #[inline]
    pub(crate) fn take(&mut self, completed: &mut Vec<Completion>) {
        completed.extend(self.ring.completion().map(|entry| Completion {
            tag: Tag::of_bits(entry.user_data()),
            result: u32::try_from(entry.result()).map_err(|_| -entry.result()),
            buffer: cqueue::buffer_select(entry.flags()),
            more: cqueue::more(entry.flags()),
            sock_nonempty: cqueue::sock_nonempty(entry.flags()),
        }));
    }

    /// The bytes received; empty at the end of the stream.
    #[inline]
    pub(crate) fn received(&self, completion: &Completion) -> &[u8] {
        match (completion.result, completion.buffer) {
            (Ok(bytes), Some(buffer)) => self.buffers.filled(buffer, bytes as usize),
            _ => &[],
        }
    }

    /// Returns the buffer of a completion.
    #[inline]
    pub(crate) fn give_back(&mut self, completion: &Completion) {
        if let Some(buffer) = completion.buffer {
            self.buffers.give_back(buffer);
        }
    }
}

/// Receives into the ring's buffers, until an error, the end of the stream or the last buffer.
pub(crate) fn receive(fd: RawFd) -> squeue::Entry {
    opcode::RecvMulti::new(Fd(fd), 0).build()
}

/// Sends what the socket accepts now; makes no completion if that is everything.
#[inline]
pub(crate) fn send(fd: RawFd, bytes: &[u8]) -> squeue::Entry {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL;
    let send = opcode::Send::new(Fd(fd), bytes.as_ptr(), bytes.len() as u32).flags(flags);
    send.build().flags(Flags::SKIP_SUCCESS)
}

/// Completes when the socket accepts bytes or has failed.
pub(crate) fn writable(fd: RawFd) -> squeue::Entry {
    opcode::PollAdd::new(Fd(fd), libc::POLLOUT as u32).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_survive_encoding() {
        for what in [What::Receive, What::Send, What::Writable] {
            for (slot, generation) in [(0, 0), (1, GENERATIONS - 1), (u32::MAX, 5)] {
                let tag = Tag { slot, generation, what };
                assert_eq!(Tag::of_bits(tag.to_bits()), tag);
            }
        }
    }
}
