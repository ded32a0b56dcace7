//! Receive buffers that the kernel chooses from (a provided-buffer ring).

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

const PAGE_BYTES: usize = 4096;

/// The buffers of one ring, which they must outlive.
pub(crate) struct Buffers {
    entries: NonNull<BufRingEntry>,
    layout: Layout,
    count: u16,
    tail: u16,
    bytes_each: usize,
    bytes: Box<[u8]>,
}

// SAFETY: `entries` is memory of this struct alone, which only the kernel reads besides.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Registers `count` buffers, a power of two, as group 0 of `ring`.
    ///
    /// # Safety
    ///
    /// The kernel writes to the buffers for as long as the ring lives: the ring must be dropped
    /// before what this returns is.
    pub(crate) unsafe fn register(
        ring: &IoUring,
        count: u16,
        bytes_each: usize,
    ) -> io::Result<Self> {
        let ring_bytes = usize::from(count) * size_of::<BufRingEntry>();
        let layout = Layout::from_size_align(ring_bytes, PAGE_BYTES)
            .expect("32768 entries at most, and a power of two as the alignment");
        // SAFETY: the layout is not empty, and zeroes are entries.
        let entries = NonNull::new(unsafe { alloc_zeroed(layout) }.cast())
            .unwrap_or_else(|| handle_alloc_error(layout));
        let bytes = vec![0; usize::from(count) * bytes_each].into_boxed_slice();
        let mut buffers = Self { entries, layout, count, tail: 0, bytes_each, bytes };
        let address = entries.as_ptr() as u64;
        // SAFETY: the entries are page-aligned, and the caller keeps them longer than the ring.
        unsafe { ring.submitter().register_buf_ring_with_flags(address, count, 0, 0) }?;
        (0..count).for_each(|id| buffers.give_back(id));
        Ok(buffers)
    }

    /// The bytes that the kernel wrote to a buffer.
    #[inline]
    pub(crate) fn filled(&self, id: u16, bytes: usize) -> &[u8] {
        let at = usize::from(id) * self.bytes_each;
        &self.bytes[at..at + bytes.min(self.bytes_each)]
    }

    /// Returns a buffer to the kernel.
    #[inline]
    pub(crate) fn give_back(&mut self, id: u16) {
        let at = usize::from(id) * self.bytes_each;
        let address = self.bytes[at..].as_mut_ptr() as u64;
        // SAFETY: the masked index is within the entries; the tail lies in the first one, and the
        // kernel reads entries up to the tail only.
        unsafe {
            let entry = self.entries.add(usize::from(self.tail & (self.count - 1))).as_mut();
            entry.set_addr(address);
            entry.set_len(self.bytes_each as u32);
            entry.set_bid(id);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.entries.as_ptr().cast(), self.layout) };
    }
}
