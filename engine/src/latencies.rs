//! The mode that measures latencies of the machine; each line of input asks for a reading.

use std::io::{BufRead, stdin};

use serde::Serialize;

use crate::core_to_core::{self, CpuPair, Partner};
use crate::error::{Error, Result};
use crate::memory_latency::MemoryLatency;
use crate::output::{say, to_json};

#[derive(Serialize)]
struct Ready {
    ready: bool,
}

#[derive(Serialize)]
struct Latencies {
    core_to_core_ns: Option<f64>,
    memory_ns: f64,
}

/// Answers each line of standard input with a reading, until its end.
pub(crate) fn serve(pairs: &[CpuPair]) -> Result<u8> {
    let partners: Vec<Partner> = pairs.iter().map(Partner::start).collect::<Result<_>>()?;
    let cpus = distinct(pairs.iter().map(|pair| pair.from));
    let mut memory = MemoryLatency::new();
    say(&to_json(&Ready { ready: true }))?;
    let mut input = stdin().lock();
    while input.skip_until(b'\n').map_err(Error::system("stdin"))? > 0 {
        let core_to_core_ns = core_to_core::mean_ns(&partners)?.map(round_to_tenth);
        let memory_ns = round_to_tenth(mean_memory_ns(&mut memory, &cpus)?);
        say(&to_json(&Latencies { core_to_core_ns, memory_ns }))?;
    }
    Ok(0)
}

/// Over all CPUs.
fn mean_memory_ns(memory: &mut MemoryLatency, cpus: &[u16]) -> Result<f64> {
    let mut sum_ns = 0.0;
    for &cpu in cpus {
        core_to_core::pin("--from", cpu)?;
        sum_ns += memory.read_ns();
    }
    Ok(sum_ns / cpus.len() as f64)
}

fn distinct(cpus: impl Iterator<Item = u16>) -> Vec<u16> {
    let mut cpus: Vec<u16> = cpus.collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

fn round_to_tenth(ns: f64) -> f64 {
    (ns * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_memory_once_from_each_cpu() {
        assert_eq!(distinct([3, 0, 3].into_iter()), [0, 3]);
    }

    #[test]
    fn latencies_have_one_decimal() {
        assert_eq!(round_to_tenth(171.46), 171.5);
    }

    #[test]
    fn a_disturbed_core_to_core_latency_is_null() {
        let latencies = Latencies { core_to_core_ns: None, memory_ns: 171.5 };
        assert_eq!(to_json(&latencies), r#"{"core_to_core_ns":null,"memory_ns":171.5}"#);
    }
}
