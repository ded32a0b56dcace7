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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_differ_by_at_most_one() {
        let shares: Vec<usize> = (0..4).map(|part| share(10, 4, part)).collect();
        assert_eq!(shares, [3, 3, 2, 2]);
    }
}
