//! An epoll instance with nanosecond timeouts.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::clock;
use crate::error::{Error, Result};
use crate::sockets::check;

pub(crate) struct Poll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
    /// False if the kernel has no epoll_pwait2 (before Linux 5.11).
    to_the_nanosecond: bool,
}

impl Poll {
    /// A wait returns at most `capacity` events.
    pub(crate) fn new(capacity: usize) -> Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
            .map_err(|errno| Error::of_errno("epoll_create1", errno))?;
        // SAFETY: `fd` is new, and nothing else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let event = libc::epoll_event { events: 0, u64: 0 };
        Ok(Self { fd, events: vec![event; capacity], to_the_nanosecond: true })
    }

    pub(crate) fn add(&self, fd: RawFd, token: usize, interest: u32) -> Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest)
    }

    pub(crate) fn modify(&self, fd: RawFd, token: usize, interest: u32) -> Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest)
    }

    fn control(&self, what: i32, fd: RawFd, token: usize, interest: u32) -> Result<()> {
        let mut event = libc::epoll_event { events: interest, u64: token as u64 };
        // SAFETY: `event` is valid for the call.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), what, fd, &mut event) })
            .map(drop)
            .map_err(|errno| Error::of_errno("epoll_ctl", errno))
    }

    /// Waits for events until `wake_ns` (CLOCK_MONOTONIC); returns their number.
    #[inline]
    pub(crate) fn wait(&mut self, wake_ns: u64) -> Result<usize> {
        let left_ns = wake_ns.saturating_sub(clock::now_ns());
        let ready = match self.to_the_nanosecond {
            true => self.wait_precisely(left_ns),
            false => self.wait_coarsely(left_ns),
        };
        match check(ready) {
            Ok(ready) => Ok(ready as usize),
            Err(libc::EINTR) => Ok(0),
            Err(libc::ENOSYS) if self.to_the_nanosecond => {
                self.to_the_nanosecond = false;
                Ok(0)
            }
            Err(errno) => Err(Error::of_errno("epoll_wait", errno)),
        }
    }

    /// The token and flags of one event of the last wait.
    #[inline]
    pub(crate) fn event(&self, at: usize) -> (usize, u32) {
        let event = self.events[at];
        (event.u64 as usize, event.events)
    }

    #[inline]
    fn wait_precisely(&mut self, left_ns: u64) -> i32 {
        let timeout = libc::timespec {
            tv_sec: (left_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (left_ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: `events` has room for as many events as it says; the signal mask is absent.
        unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as i32,
                std::ptr::from_ref(&timeout),
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            ) as i32
        }
    }

    /// Rounds down, so that a wait does not end up to a millisecond late.
    fn wait_coarsely(&mut self, left_ns: u64) -> i32 {
        let timeout_ms = (left_ns / 1_000_000).min(i32::MAX as u64) as i32;
        let capacity = self.events.len() as i32;
        // SAFETY: `events` has room for `capacity` events.
        unsafe {
            libc::epoll_wait(self.fd.as_raw_fd(), self.events.as_mut_ptr(), capacity, timeout_ms)
        }
    }
}
