//! SIGINT and SIGTERM end a run early: the first stops the load, the second the wait for answers.

use std::sync::atomic::{AtomicU32, Ordering};

static RECEIVED: AtomicU32 = AtomicU32::new(0);

extern "C" fn note(_signal: libc::c_int) {
    RECEIVED.fetch_add(1, Ordering::Relaxed);
}

/// Counts the two signals from now on.
pub fn install() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only adds to an atomic, and zeroes are a valid sigaction.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

#[inline]
pub fn received() -> u32 {
    RECEIVED.load(Ordering::Relaxed)
}
