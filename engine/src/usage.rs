//! CPU usage of the client.

use std::fs;
use std::mem::MaybeUninit;

use serde::{Deserialize, Serialize};

use crate::clock;

/// CPU time and run-queue wait of one thread up to `at_ns`, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ThreadUsage {
    pub at_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    /// Time in which the thread was ready but another ran (second field of schedstat).
    pub wait_ns: u64,
    /// Time in which the thread only polled for the next request.
    pub polled_ns: u64,
}

impl ThreadUsage {
    /// The usage of the calling thread.
    pub(crate) fn read(polled_ns: u64) -> Self {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: getrusage fills the struct it is given; zeroes are a valid one too.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
            usage.assume_init()
        };
        let schedstat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let wait_ns = schedstat.split_whitespace().nth(1).and_then(|field| field.parse().ok());
        Self {
            at_ns: clock::now_ns(),
            user_ns: of_timeval(usage.ru_utime),
            system_ns: of_timeval(usage.ru_stime),
            wait_ns: wait_ns.unwrap_or(0),
            polled_ns,
        }
    }

    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            at_ns: self.at_ns - earlier.at_ns,
            user_ns: self.user_ns - earlier.user_ns,
            system_ns: self.system_ns - earlier.system_ns,
            wait_ns: self.wait_ns - earlier.wait_ns,
            polled_ns: self.polled_ns - earlier.polled_ns,
        }
    }

    pub(crate) fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// CPU time without polling.
    pub(crate) fn busy_ns(&self) -> u64 {
        self.cpu_ns().saturating_sub(self.polled_ns)
    }
}

fn of_timeval(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}

/// CPU time that the hypervisor gave to others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Steal {
    /// Of all CPU time of the machine.
    pub share: f64,
    /// The share of one tick per CPU, as the kernel counts whole ticks.
    pub resolution: f64,
}

/// Ticks of the whole machine, from the first line of /proc/stat.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MachineTicks {
    at_ns: u64,
    total: u64,
    steal: u64,
}

/// USER_HZ is 100 on every architecture.
const TICK_NS: f64 = 1e7;

impl MachineTicks {
    pub(crate) fn read() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).take(8).filter_map(|tick| tick.parse().ok()).collect();
        let steal = ticks.get(7).copied().unwrap_or(0);
        Self { at_ns: clock::now_ns(), total: ticks.iter().sum(), steal }
    }

    pub(crate) fn steal_since(&self, earlier: &Self) -> Steal {
        let total = self.total.saturating_sub(earlier.total).max(1);
        let elapsed_ns = self.at_ns.saturating_sub(earlier.at_ns).max(1);
        Steal {
            share: self.steal.saturating_sub(earlier.steal) as f64 / total as f64,
            resolution: TICK_NS / elapsed_ns as f64,
        }
    }
}

/// The TCP sockets in TIME_WAIT in this network namespace, from /proc/net/sockstat.
pub(crate) fn time_wait_sockets() -> Option<u64> {
    let text = fs::read_to_string("/proc/net/sockstat").ok()?;
    let line = text.lines().find(|line| line.starts_with("TCP:"))?;
    let mut fields = line.split_whitespace();
    fields.find(|field| *field == "tw")?;
    fields.next()?.parse().ok()
}
