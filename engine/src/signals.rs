//! SIGINT and SIGTERM end a run early: the first stops the load, the second the wait for answers.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::error::{Error, Result};

static RECEIVED: AtomicU32 = AtomicU32::new(0);
/// An eventfd that each signal is written to; -1 if there is none.
static EVENT: AtomicI32 = AtomicI32::new(-1);

extern "C" fn note(_signal: libc::c_int) {
    RECEIVED.fetch_add(1, Ordering::Relaxed);
    let event = EVENT.load(Ordering::Relaxed);
    if event >= 0 {
        let one = 1u64.to_ne_bytes();
        // SAFETY: write may be called in a handler, and `one` has as many bytes as it says. The
        // error number of what was interrupted is put back.
        unsafe {
            let errno = *libc::__errno_location();
            libc::write(event, one.as_ptr().cast(), one.len());
            *libc::__errno_location() = errno;
        }
    }
}

/// Starts to count the two signals.
pub(crate) fn install() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only adds to an atomic and writes to a descriptor, and zeroes are a
        // valid sigaction.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// A descriptor that becomes readable with the first signal; it is never closed.
pub(crate) fn event() -> Result<RawFd> {
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(Error::system("eventfd")(io::Error::last_os_error()));
    }
    EVENT.store(fd, Ordering::Relaxed);
    if received() > 0 {
        note(0);
    }
    Ok(fd)
}

#[inline]
pub(crate) fn received() -> u32 {
    RECEIVED.load(Ordering::Relaxed)
}
