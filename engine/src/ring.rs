//! An io_uring instance of one thread. Operations are queued, submitted in one call, and identified
//! by a tag when they complete.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::RawFd;

use io_uring::squeue::{self, Flags};
use io_uring::types::{Fd, SubmitArgs, TimeoutFlags, Timespec};
use io_uring::{IoUring, cqueue, opcode};

use crate::batching::{self, Batching};
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
    /// When the timers that the kernel has expire (CLOCK_MONOTONIC).
    timers_ns: BinaryHeap<Reverse<u64>>,
    /// When the newest timer expires. The kernel reads it when it takes the operation.
    newest_timer: Box<Timespec>,
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

/// The user data of a timer; no tag has it, as there is no fourth `What`.
const TIMER: u64 = u64::MAX;

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
        let (timers_ns, newest_timer) = (BinaryHeap::new(), Box::new(Timespec::new()));
        Ok(Self { ring, buffers, turn: 1, gathers, timers_ns, newest_timer })
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
        // SAFETY: as the caller says.
        unsafe { self.push(&entry.user_data(tag.to_bits())) }
    }

    /// # Safety
    ///
    /// As for [`Ring::queue`].
    #[inline]
    unsafe fn push(&mut self, entry: &squeue::Entry) -> Result<()> {
        // SAFETY: the caller keeps what the operation points to.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit().map_err(Error::system("io_uring"))?;
        }
        Ok(())
    }

    /// Submits the queued operations and waits for completions from `now_ns` until `wake_ns`, with
    /// `batching`. True if all operations were taken, which starts a new turn.
    #[inline]
    pub(crate) fn submit(&mut self, now_ns: u64, wake_ns: u64, batching: Batching) -> Result<bool> {
        let gathers = batching.gather_us > 0 && wake_ns > now_ns;
        let submitted = if gathers && !self.gathers {
            // Linux before 6.12.
            let submitted = self.ring.submit();
            batching::sleep(batching.gather_ns());
            self.set_timer(wake_ns)?;
            submitted.and_then(|_| self.ring.submit_and_wait(1))
        } else if gathers || wake_ns <= now_ns {
            let left = timespec(wake_ns.saturating_sub(now_ns));
            let args = SubmitArgs::new().timespec(&left).min_wait_usec(batching.gather_us);
            self.ring.submitter().submit_with_args(batching.completions, &args)
        } else {
            self.set_timer(wake_ns)?;
            self.ring.submit_and_wait(1)
        };
        if let Err(error) = submitted {
            match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => {}
                _ => return Err(Error::System { what: "io_uring", source: error }),
            }
        }
        let all = self.ring.submission().is_empty();
        self.turn += u64::from(all);
        Ok(all)
    }

    /// Makes sure that a timer ends the wait by `wake_ns`. It outlives the wait: the kernel would set
    /// and remove the time limit of a call in each call, which costs more (docs/engine-design.md).
    #[inline]
    fn set_timer(&mut self, wake_ns: u64) -> Result<()> {
        if self.timers_ns.peek().is_some_and(|Reverse(first_ns)| *first_ns <= wake_ns) {
            return Ok(());
        }
        *self.newest_timer = timespec(wake_ns);
        let timer = opcode::Timeout::new(&raw const *self.newest_timer).flags(TimeoutFlags::ABS);
        // SAFETY: the box keeps the address of its content, which lives as long as the ring.
        unsafe { self.push(&timer.build().user_data(TIMER)) }?;
        self.timers_ns.push(Reverse(wake_ns));
        Ok(())
    }

    /// Moves the completions, except those of timers, to `completed`.
    #[inline]
    pub(crate) fn take(&mut self, completed: &mut Vec<Completion>) {
        for entry in self.ring.completion() {
            if entry.user_data() == TIMER {
                self.timers_ns.pop();
                continue;
            }
            completed.push(Completion {
                tag: Tag::of_bits(entry.user_data()),
                result: u32::try_from(entry.result()).map_err(|_| -entry.result()),
                buffer: cqueue::buffer_select(entry.flags()),
                more: cqueue::more(entry.flags()),
                sock_nonempty: cqueue::sock_nonempty(entry.flags()),
            });
        }
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

fn timespec(ns: u64) -> Timespec {
    Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32)
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
    use crate::clock;

    const LONG_NS: u64 = 3_600_000_000_000;
    const WAITS_MAX: usize = 5;

    #[test]
    fn tags_survive_encoding() {
        for what in [What::Receive, What::Send, What::Writable] {
            for (slot, generation) in [(0, 0), (1, GENERATIONS - 1), (u32::MAX, 5)] {
                let tag = Tag { slot, generation, what };
                assert_eq!(Tag::of_bits(tag.to_bits()), tag);
            }
        }
    }

    /// A ring, unless the kernel refuses one.
    fn ring() -> Option<Ring> {
        let ring = Ring::new(8, 8, 64).ok()?;
        ring.enable().unwrap();
        Some(ring)
    }

    /// Waits until this time at most; returns when the wait ended, and the completions.
    fn wait_until(ring: &mut Ring, limit_at_ns: u64) -> (u64, Vec<Completion>) {
        ring.submit(clock::now_ns(), limit_at_ns, Batching::NONE).unwrap();
        let mut completed = Vec::new();
        ring.take(&mut completed);
        (clock::now_ns(), completed)
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no io_uring")]
    fn wait_ends_at_the_nearest_limit_and_has_no_completion_for_it() {
        let Some(mut ring) = ring() else { return };
        // An operation that completes immediately ends the first wait, and its timer stays.
        let tag = Tag { slot: 1, generation: 2, what: What::Receive };
        // SAFETY: the operation points to nothing.
        unsafe { ring.queue(tag, opcode::Nop::new().build()) }.unwrap();
        let (_, completed) = wait_until(&mut ring, clock::now_ns() + LONG_NS);
        assert_eq!(completed.iter().map(|completion| completion.tag).collect::<Vec<_>>(), [tag]);
        for limit_ns in [20_000_000, 5_000_000] {
            let limit_at_ns = clock::now_ns() + limit_ns;
            // A stop of this process (SIGSTOP, SIGCONT) ends a wait early, with EINTR.
            let waits = (1..).find(|_| {
                let (end_ns, completed) = wait_until(&mut ring, limit_at_ns);
                assert!(completed.is_empty());
                end_ns >= limit_at_ns
            });
            assert!(waits.unwrap() <= WAITS_MAX);
        }
        assert_eq!(ring.timers_ns.len(), 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no io_uring")]
    fn gathers_for_as_long_as_asked_on_every_kernel() {
        let Some(mut ring) = ring() else { return };
        for gathers in [ring.gathers, false] {
            ring.gathers = gathers;
            let tag = Tag { slot: 1, generation: 2, what: What::Receive };
            // SAFETY: the operation points to nothing.
            unsafe { ring.queue(tag, opcode::Nop::new().build()) }.unwrap();
            let now_ns = clock::now_ns();
            let batching = Batching { completions: 8, gather_us: 2000 };
            ring.submit(now_ns, now_ns + LONG_NS, batching).unwrap();
            assert!(clock::now_ns() >= now_ns + batching.gather_ns());
            let mut completed = Vec::new();
            ring.take(&mut completed);
            assert_eq!(completed.len(), 1);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no io_uring")]
    fn later_limit_needs_no_timer_of_its_own() {
        let Some(mut ring) = ring() else { return };
        for slot in 0..100 {
            let tag = Tag { slot, generation: 0, what: What::Receive };
            // SAFETY: the operation points to nothing.
            unsafe { ring.queue(tag, opcode::Nop::new().build()) }.unwrap();
            let (_, completed) = wait_until(&mut ring, clock::now_ns() + LONG_NS);
            assert_eq!(completed.len(), 1);
        }
        assert_eq!(ring.timers_ns.len(), 1);
    }
}
