//! An epoll instance with nanosecond timeouts.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::clock;
use crate::error::{Error, Result};
use crate::sockets::check;

/// The token of the timer.
const TIMER: u64 = u64::MAX;

pub(crate) struct Poll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
    /// Ends waits. A time limit of each wait would cost more (docs/engine-design.md).
    timer: OwnedFd,
    /// When the timer expires (CLOCK_MONOTONIC); the end of time if it is not set.
    timer_ns: u64,
}

impl Poll {
    /// The largest token of a descriptor.
    pub(crate) const MAX_TOKEN: usize = usize::MAX - 1;

    /// A wait returns at most `capacity` events.
    pub(crate) fn new(capacity: usize) -> Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }, "epoll_create1")?;
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: no pointers are passed.
        let timer =
            owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) }, "timerfd_create")?;
        let event = libc::epoll_event { events: 0, u64: 0 };
        let poll = Self { fd, events: vec![event; capacity + 1], timer, timer_ns: u64::MAX };
        // With edges, the timer need not be read.
        let expires = (libc::EPOLLIN | libc::EPOLLET) as u32;
        poll.control(libc::EPOLL_CTL_ADD, poll.timer.as_raw_fd(), TIMER, expires)?;
        Ok(poll)
    }

    pub(crate) fn add(&self, fd: RawFd, token: usize, interest: u32) -> Result<()> {
        debug_assert!(token <= Self::MAX_TOKEN);
        self.control(libc::EPOLL_CTL_ADD, fd, token as u64, interest)
    }

    pub(crate) fn modify(&self, fd: RawFd, token: usize, interest: u32) -> Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token as u64, interest)
    }

    fn control(&self, what: i32, fd: RawFd, token: u64, interest: u32) -> Result<()> {
        let mut event = libc::epoll_event { events: interest, u64: token };
        // SAFETY: `event` is valid for the call.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), what, fd, &mut event) })
            .map(drop)
            .map_err(|errno| Error::of_errno("epoll_ctl", errno))
    }

    /// Waits for events until `wake_ns` (CLOCK_MONOTONIC) or an earlier limit; returns their number.
    #[inline]
    pub(crate) fn wait(&mut self, wake_ns: u64) -> Result<usize> {
        let mut timeout_ms = 0;
        if wake_ns > clock::now_ns() {
            timeout_ms = -1;
            if wake_ns < self.timer_ns {
                self.set_timer(wake_ns)?;
            }
        }
        let capacity = self.events.len() as i32;
        // SAFETY: `events` has room for `capacity` events.
        let ready = unsafe {
            libc::epoll_wait(self.fd.as_raw_fd(), self.events.as_mut_ptr(), capacity, timeout_ms)
        };
        match check(ready) {
            Ok(ready) => Ok(self.without_timer(ready as usize)),
            Err(libc::EINTR) => Ok(0),
            Err(errno) => Err(Error::of_errno("epoll_wait", errno)),
        }
    }

    /// The token and flags of one event of the last wait.
    #[inline]
    pub(crate) fn event(&self, at: usize) -> (usize, u32) {
        let event = self.events[at];
        (event.u64 as usize, event.events)
    }

    fn set_timer(&mut self, wake_ns: u64) -> Result<()> {
        // SAFETY: zeroes are a valid itimerspec: no period.
        let mut timer: libc::itimerspec = unsafe { MaybeUninit::zeroed().assume_init() };
        timer.it_value.tv_sec = (wake_ns / 1_000_000_000) as libc::time_t;
        timer.it_value.tv_nsec = (wake_ns % 1_000_000_000) as libc::c_long;
        let fd = self.timer.as_raw_fd();
        // SAFETY: `timer` is valid for the call, and the old setting is not wanted.
        check(unsafe {
            libc::timerfd_settime(fd, libc::TFD_TIMER_ABSTIME, &timer, std::ptr::null_mut())
        })
        .map_err(|errno| Error::of_errno("timerfd_settime", errno))?;
        self.timer_ns = wake_ns;
        Ok(())
    }

    /// Moves the timer's event behind the others; returns the number of these.
    #[inline]
    fn without_timer(&mut self, ready: usize) -> usize {
        let is_timer = |event: &libc::epoll_event| event.u64 == TIMER;
        match self.events[..ready].iter().position(is_timer) {
            None => ready,
            Some(at) => {
                self.events[at..ready].rotate_left(1);
                self.timer_ns = u64::MAX;
                ready - 1
            }
        }
    }
}

fn owned(result: i32, call: &'static str) -> Result<OwnedFd> {
    let fd = check(result).map_err(|errno| Error::of_errno(call, errno))?;
    // SAFETY: `fd` is new, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    const LONG_NS: u64 = 3_600_000_000_000;
    const WAITS_MAX: usize = 5;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no timerfd with edges")]
    fn wait_ends_at_the_nearest_limit_and_has_no_event_for_it() {
        let mut poll = Poll::new(16).unwrap();
        let (mut peer, socket) = UnixStream::pair().unwrap();
        poll.add(socket.as_raw_fd(), 7, libc::EPOLLIN as u32 | libc::EPOLLET as u32).unwrap();
        peer.write_all(b"x").unwrap();
        assert_eq!(poll.wait(clock::now_ns() + LONG_NS).unwrap(), 1);
        assert_eq!(poll.event(0), (7, libc::EPOLLIN as u32));
        for limit_ns in [20_000_000, 5_000_000] {
            let end_ns = clock::now_ns() + limit_ns;
            // A stop of this process (SIGSTOP, SIGCONT) ends a wait early, with EINTR.
            let waits = (1..).find(|_| {
                assert_eq!(poll.wait(end_ns).unwrap(), 0);
                clock::now_ns() >= end_ns
            });
            assert!(waits.unwrap() <= WAITS_MAX);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no timerfd with edges")]
    fn expired_timer_hides_no_event() {
        let mut poll = Poll::new(1).unwrap();
        let (mut peer, socket) = UnixStream::pair().unwrap();
        poll.add(socket.as_raw_fd(), 7, libc::EPOLLIN as u32).unwrap();
        peer.write_all(b"x").unwrap();
        assert_eq!(poll.wait(clock::now_ns() + 1).unwrap(), 1);
        std::thread::sleep(std::time::Duration::from_millis(1));
        for _ in 0..3 {
            assert_eq!(poll.wait(0).unwrap(), 1);
            assert_eq!(poll.event(0), (7, libc::EPOLLIN as u32));
        }
    }
}
