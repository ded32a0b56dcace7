//! The division of a run over threads and processes.

/// The threads of one process among those of the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    pub first: usize,
    pub count: usize,
    pub total: usize,
}

/// The share of one of `parts` parts; all shares add up to `total`.
pub(crate) fn share(total: usize, parts: usize, part: usize) -> usize {
    total / parts + usize::from(part < total % parts)
}

/// The shards of as few processes as possible; `room` is how many connections a process with so
/// many threads can have. Each process has at least one thread.
pub(crate) fn split(
    connections: usize,
    threads: usize,
    room: impl Fn(usize) -> usize,
) -> Vec<Shard> {
    let fits = |processes: &usize| {
        // The first process has the most threads, and the first threads the most connections.
        let total = threads.max(*processes);
        let count = share(total, *processes, 0);
        let most: usize = (0..count).map(|thread| share(connections, total, thread)).sum();
        most <= room(count)
    };
    let processes = (1..connections).find(fits).unwrap_or(connections);
    let total = threads.max(processes);
    let mut first = 0;
    (0..processes)
        .map(|process| {
            let count = share(total, processes, process);
            first += count;
            Shard { first: first - count, count, total }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_differ_by_at_most_one() {
        let shares: Vec<usize> = (0..4).map(|part| share(10, 4, part)).collect();
        assert_eq!(shares, [3, 3, 2, 2]);
    }

    /// With four threads in three processes, one had half of the connections.
    #[test]
    fn bug_each_process_has_room_for_its_connections() {
        let room = |threads: usize| 48 - 2 * threads;
        for threads in 1..=9 {
            for connections in threads..400 {
                let shards = split(connections, threads, room);
                let total = shards[0].total;
                let mut next = 0;
                for Shard { first, count, .. } in &shards {
                    assert_eq!(*first, next);
                    next += count;
                    let of_thread = |thread| share(connections, total, thread);
                    let own: usize = (*first..next).map(of_thread).sum();
                    assert!(own <= room(*count), "{own} of {connections} on {count} threads");
                }
                assert_eq!((next, total), (total, threads.max(shards.len())));
            }
        }
    }

    #[test]
    fn run_that_fits_has_one_process() {
        for (connections, processes) in [(1, 1), (46, 1), (47, 2), (92, 2), (93, 3)] {
            let shards = split(connections, 1, |threads| 48 - 2 * threads);
            assert_eq!(shards.len(), processes, "{connections}");
        }
    }
}
