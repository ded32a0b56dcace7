//! The interface between a [`Session`] and the kernel.

pub(crate) mod choice;
pub(crate) mod epoll;
pub(crate) mod probe;
pub(crate) mod route;
pub(crate) mod uring;

use crate::batching::Gathered;
use crate::clock;
use crate::error::Result;
use crate::packets::Packets;
use crate::session::{Action, Session};

/// Moves bytes for a session: reports events to it and carries out its actions.
///
/// Drivers may be based on readiness or on completion: input is a slice that is not needed after
/// [`Session::received`], and output is a range of the request book, which outlives the run, or the
/// bytes of [`Session::output`].
pub(crate) trait Driver: Send {
    /// Makes the calling thread the only one that may call the other functions.
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    /// From now on, waits of a closed loop on the calling thread gather answers (batching.rs).
    fn gather(&mut self);

    /// The waits since the last call.
    fn take_gathered(&mut self) -> Gathered;

    /// Carries out an action of the session.
    fn carry_out(&mut self, session: &mut Session, slot: usize, action: Action) -> Result<()>;

    /// Waits for events until `wake_ns` (CLOCK_MONOTONIC) and handles them; true if there were any.
    fn turn(&mut self, session: &mut Session, wake_ns: u64) -> Result<bool>;

    /// The lost segments of all connections since the last call; `None` if the kernel has no count.
    fn take_packets(&mut self) -> Option<Packets>;

    /// Starts the connects and sends that are due; true if there were any.
    #[inline]
    fn launch(&mut self, session: &mut Session, mut now_ns: u64) -> Result<bool> {
        let begun_ns = now_ns;
        while let Some(slot) = session.next_open(now_ns) {
            self.carry_out(session, slot, Action::Open)?;
            now_ns = clock::now_ns();
        }
        while let Some((slot, action)) = session.next_send(now_ns) {
            self.carry_out(session, slot, action)?;
            now_ns = clock::now_ns();
        }
        Ok(now_ns != begun_ns)
    }

    /// Ends the requests that have timed out.
    fn expire(&mut self, session: &mut Session, now_ns: u64) -> Result<()> {
        while let Some(slot) = session.overdue(now_ns) {
            let action = session.timed_out(slot, now_ns);
            self.carry_out(session, slot, action)?;
        }
        Ok(())
    }

    /// Ends the load: ends the requests in flight, and closes their connections.
    fn finish(&mut self, session: &mut Session, now_ns: u64) -> Result<()> {
        let slots = session.finish(now_ns);
        slots.into_iter().try_for_each(|slot| self.carry_out(session, slot, Action::Close))
    }

    /// Closes all connections.
    fn renew(&mut self, session: &mut Session, now_ns: u64) -> Result<()> {
        let slots = session.renew(now_ns);
        slots.into_iter().try_for_each(|slot| self.carry_out(session, slot, Action::Close))
    }
}
