//! How long a cache line takes from one CPU to another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::clock;
use crate::error::{Error, Result};

const MAX_PAIRS: usize = 4;
/// Of a reading. The first batch wakes the partner, and does not count.
const BATCHES: u32 = 6;
const ROUND_TRIPS_PER_BATCH: u32 = 50;
const TIMEOUT_NS: u64 = 5_000_000;
/// Many more than a cache line needs: then the clock delays only what was disturbed already.
const LOADS_PER_LOOK_AT_CLOCK: u32 = 4096;

/// The CPUs between which a cache line goes back and forth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuPair {
    pub(crate) from: u16,
    to: u16,
}

/// Pairs each CPU with one of the other list; the shorter list is repeated.
pub(crate) fn pairs(from: &[u16], to: &[u16]) -> Result<Vec<CpuPair>> {
    let longer = from.len().max(to.len());
    let pairs: Vec<CpuPair> = from
        .iter()
        .cycle()
        .zip(to.iter().cycle())
        .take(longer)
        .filter(|(from, to)| from != to)
        .map(|(&from, &to)| CpuPair { from, to })
        .take(MAX_PAIRS)
        .collect();
    match pairs.is_empty() {
        true => Err(Error::usage(
            "--from and --to pair each CPU with itself; name different CPUs, as --from 0 --to 1",
        )),
        false => Ok(pairs),
    }
}

/// Over all pairs; none if one of them was disturbed.
pub(crate) fn mean_ns(partners: &[Partner]) -> Result<Option<f64>> {
    let mut sum_ns = 0.0;
    for partner in partners {
        match partner.one_way_ns()? {
            Some(one_way_ns) => sum_ns += one_way_ns,
            None => return Ok(None),
        }
    }
    Ok(Some(sum_ns / partners.len() as f64))
}

/// What goes back and forth: a count of the passes, on a cache line of its own. Some processors
/// fetch two lines of 64 bytes at once.
#[derive(Default)]
#[repr(align(128))]
struct Ball(AtomicU32);

impl Ball {
    fn pass(&self, passes: u32) {
        self.0.store(passes, Ordering::Release);
    }

    /// Polls until the ball has been passed this often; false after the deadline. The loop has no
    /// hint for the processor: such a hint may take as long as the cache line does.
    fn arrives(&self, passes: u32, deadline_ns: u64) -> bool {
        loop {
            for _ in 0..LOADS_PER_LOOK_AT_CLOCK {
                if self.0.load(Ordering::Acquire) == passes {
                    return true;
                }
            }
            if clock::now_ns() > deadline_ns {
                return false;
            }
        }
    }
}

/// What a partner needs for one reading. A partner that is late for the last reading cannot
/// disturb this one, as each has its own ball.
struct Rally {
    ball: Arc<Ball>,
    deadline_ns: u64,
}

/// A thread on the second CPU of a pair.
pub(crate) struct Partner {
    from: u16,
    rallies: Sender<Rally>,
}

impl Partner {
    pub(crate) fn start(pair: &CpuPair) -> Result<Self> {
        let (rallies, received) = channel();
        // A new thread has the CPU of the thread that starts it.
        pin("--to", pair.to)?;
        thread::spawn(move || return_balls(&received));
        pin("--from", pair.from)?;
        Ok(Self { from: pair.from, rallies })
    }

    /// The shortest mean of a batch; none if the partner was late.
    fn one_way_ns(&self) -> Result<Option<f64>> {
        pin("--from", self.from)?;
        let ball = Arc::new(Ball::default());
        let deadline_ns = clock::now_ns() + TIMEOUT_NS;
        let rally = Rally { ball: ball.clone(), deadline_ns };
        self.rallies.send(rally).map_err(|_| Error::Thread)?;
        let (mut passes, mut shortest_ns) = (0, u64::MAX);
        for batch in 0..BATCHES {
            let start_ns = clock::now_ns();
            for _ in 0..ROUND_TRIPS_PER_BATCH {
                passes += 2;
                ball.pass(passes - 1);
                if !ball.arrives(passes, deadline_ns) {
                    return Ok(None);
                }
            }
            if batch > 0 {
                shortest_ns = shortest_ns.min(clock::now_ns() - start_ns);
            }
        }
        Ok(Some(shortest_ns as f64 / f64::from(2 * ROUND_TRIPS_PER_BATCH)))
    }
}

/// Sleeps between the readings; ends with the channel.
fn return_balls(rallies: &Receiver<Rally>) {
    for Rally { ball, deadline_ns } in rallies {
        for round_trip in 0..BATCHES * ROUND_TRIPS_PER_BATCH {
            if !ball.arrives(2 * round_trip + 1, deadline_ns) {
                break;
            }
            ball.pass(2 * round_trip + 2);
        }
    }
}

/// Moves the calling thread to this CPU, which `option` named.
pub(crate) fn pin(option: &str, cpu: u16) -> Result<()> {
    const BITS: usize = libc::c_ulong::BITS as usize;
    let cpu = usize::from(cpu);
    // A cpu_set_t ends at CPU 1023.
    let mut mask: Vec<libc::c_ulong> = vec![0; cpu / BITS + 1];
    mask[cpu / BITS] = 1 << (cpu % BITS);
    // SAFETY: `mask` has as many bytes as it says, and the kernel takes masks of any length.
    let result =
        unsafe { libc::sched_setaffinity(0, size_of_val(&mask[..]), mask.as_ptr().cast()) };
    match result {
        0 => Ok(()),
        _ => Err(Error::usage(format!(
            "{option} {cpu}: this process may not run on CPU {cpu}: {}; choose from the CPUs of \
             `grep Cpus_allowed_list /proc/self/status`",
            std::io::Error::last_os_error()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(from: &[u16], to: &[u16]) -> Vec<(u16, u16)> {
        pairs(from, to).unwrap().iter().map(|pair| (pair.from, pair.to)).collect()
    }

    #[test]
    fn pairs_the_lists_and_repeats_the_shorter() {
        assert_eq!(paired(&[0], &[1]), [(0, 1)]);
        assert_eq!(paired(&[0, 1], &[2, 3]), [(0, 2), (1, 3)]);
        assert_eq!(paired(&[0, 1], &[2, 3, 4]), [(0, 2), (1, 3), (0, 4)]);
        assert_eq!(paired(&[1, 2, 3], &[0]), [(1, 0), (2, 0), (3, 0)]);
    }

    #[test]
    fn leaves_out_a_cpu_with_itself() {
        assert_eq!(paired(&[0, 1], &[0, 2]), [(1, 2)]);
        assert_eq!(paired(&[0], &[0, 1, 2, 3, 4, 5]), [(0, 1), (0, 2), (0, 3), (0, 4)]);
        assert!(matches!(pairs(&[0, 1], &[0, 1]), Err(Error::Usage(_))));
    }
}
