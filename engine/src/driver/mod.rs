//! The seam between a [`Session`] and the kernel.

pub mod epoll;
pub mod patience;
pub mod probe;
pub mod route;
pub mod uring;

use crate::session::Session;

/// Moves bytes for a session: reports what happened to it and carries out its actions.
///
/// A completion-based driver fits as well: nothing in a session depends on readiness, input is a
/// borrowed slice that is not needed after [`Session::received`], and output is a range of the
/// request book, which outlives the run.
pub trait Driver: Send {
    /// Takes the thread that calls this as the one that calls the rest.
    fn begin(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Starts what the session wants started now, connects and sends; whether there was any.
    fn launch(&mut self, session: &mut Session, now_ns: u64) -> Result<bool, String>;

    /// Gives up the slots whose time is up.
    fn expire(&mut self, session: &mut Session, now_ns: u64) -> Result<(), String>;

    /// Waits until something happens, or until `wake_ns` (CLOCK_MONOTONIC), and handles it;
    /// whether anything happened.
    fn turn(&mut self, session: &mut Session, wake_ns: u64) -> Result<bool, String>;
}
