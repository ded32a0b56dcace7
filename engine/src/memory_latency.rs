//! How long a read of memory takes that the CPU's own caches do not hold.

use std::hint::black_box;

use crate::clock;
use crate::schedule::SplitMix64;

/// 8 MiB: more than a level-2 cache.
const LINES: u32 = 131_072;
const BATCHES: usize = 12;
const READS_PER_BATCH: u32 = 500;
const SEED: u64 = 1;

/// A cache line with the index of the next one.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(u32);

/// A table of cache lines that form a single cycle in random order. Each read gives the place of
/// the next, so the processor can neither overlap nor predict them.
pub(crate) struct MemoryLatency {
    lines: Vec<Line>,
    position: u32,
}

impl MemoryLatency {
    pub(crate) fn new() -> Self {
        Self { lines: random_cycle(LINES), position: 0 }
    }

    /// A read from the CPU of the calling thread: the median over batches, so that an interrupt
    /// does not matter. Each reading walks on from the end of the last one, to lines that the CPU's
    /// own caches no longer hold.
    pub(crate) fn read_ns(&mut self) -> f64 {
        let mut batches_ns = [0; BATCHES];
        for batch_ns in &mut batches_ns {
            let start_ns = clock::now_ns();
            self.walk(READS_PER_BATCH);
            *batch_ns = clock::now_ns() - start_ns;
        }
        median(batches_ns) / f64::from(READS_PER_BATCH)
    }

    /// The black boxes keep the reads, and keep them between the looks at the clock.
    fn walk(&mut self, reads: u32) {
        let mut position = black_box(self.position);
        for _ in 0..reads {
            position = self.lines[position as usize].0;
        }
        self.position = black_box(position);
    }
}

/// By Sattolo's algorithm: a shuffle that never leaves an element in its place gives one cycle.
fn random_cycle(count: u32) -> Vec<Line> {
    let mut lines: Vec<Line> = (0..count).map(Line).collect();
    let mut random = SplitMix64(SEED);
    for last in (1..count as usize).rev() {
        let other = (u128::from(random.next()) * last as u128) >> 64;
        lines.swap(last, other as usize);
    }
    lines
}

/// The mean of the two middle ones.
fn median(mut batches_ns: [u64; BATCHES]) -> f64 {
    batches_ns.sort_unstable();
    (batches_ns[BATCHES / 2 - 1] + batches_ns[BATCHES / 2]) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cycle_visits_every_line_once() {
        let mut memory = MemoryLatency::new();
        let mut visited = vec![false; LINES as usize];
        for _ in 0..LINES {
            memory.walk(1);
            assert!(!std::mem::replace(&mut visited[memory.position as usize], true));
        }
        assert_eq!(memory.position, 0);
        assert!(visited.iter().all(|&visited| visited));
    }

    #[test]
    fn a_reading_walks_on_from_the_last_one() {
        let (mut memory, mut walked) = (MemoryLatency::new(), MemoryLatency::new());
        memory.read_ns();
        memory.read_ns();
        walked.walk(2 * BATCHES as u32 * READS_PER_BATCH);
        assert_eq!(memory.position, walked.position);
    }

    #[test]
    fn the_median_leaves_out_an_interrupted_batch() {
        assert_eq!(median([5, 7, 5, 5, 5, 9_000, 5, 7, 7, 7, 7, 5]), 6.0);
    }
}
