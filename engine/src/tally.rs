//! Counts and distributions of the requests of one part of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::classes::{Class, ClassCounts, MalformedKind};
use crate::connection::Flight;
use crate::histogram::Latency;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub scheduled: u64,
    pub classes: ClassCounts,
    pub status_codes: BTreeMap<u16, u64>,
    pub malformed_kinds: [u64; MalformedKind::COUNT],
    pub connect_errnos: BTreeMap<i32, u64>,
    /// HTTP/2: the error codes of streams that the server reset.
    pub reset_codes: BTreeMap<u32, u64>,
    /// What went wrong with TLS.
    pub tls_errors: BTreeMap<String, u64>,
    /// The handshakes of each version, cipher suite and key exchange.
    pub tls_parameters: BTreeMap<String, u64>,
    pub tls_resumed: u64,
    /// Connections that the server closed without a close_notify.
    pub tls_unnotified: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Time that connections spent on requests, including connecting; for Little's law.
    pub busy_ns: u128,
    /// Sum of the cycles of these requests, each from the end of the one before on its slot.
    pub cycle_ns: u128,
    /// Stretches without any answer, of at least `LEAST_GAP_NS`.
    pub gaps_ns: Vec<u64>,
    pub connect: Latency,
    /// From the end of the connect until the client may send its request.
    pub handshake: Latency,
    pub first_byte: Latency,
    /// From the write to the last byte, or to the timeout.
    pub service: Latency,
    /// Open loop: from the intended time to the last byte, or to the end of the wait.
    pub response: Latency,
    /// Requests that ended in any class but ok.
    pub error: Latency,
    /// Open loop: from the intended time to the write.
    pub send_lag: Latency,
    /// Open loop: the client's part of the send lag, from when a connection was free.
    pub client_lag: Latency,
}

impl Tally {
    pub(crate) fn count(&self, class: Class) -> u64 {
        self.classes[class as usize]
    }

    pub(crate) fn classed(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// Requests that failed because the client ran out of a resource.
    pub(crate) fn client_limits(&self) -> u64 {
        let limits = Class::ALL.iter().filter(|class| class.is_client_limit());
        limits.map(|class| self.count(*class)).sum()
    }

    /// Requests that ended in any class but ok.
    pub(crate) fn not_ok(&self) -> u64 {
        self.classed() - self.count(Class::Ok)
    }

    /// Counts the end of a request.
    #[inline]
    pub(crate) fn end(&mut self, flight: &Flight, class: Class, first_byte_ns: u64, now_ns: u64) {
        self.classes[class as usize] += 1;
        if first_byte_ns > 0 {
            self.first_byte.record(first_byte_ns - flight.sent_ns);
        }
        let answered = matches!(class, Class::Ok | Class::Late);
        if answered || matches!(class, Class::TimeoutFirstByte | Class::TimeoutBody) {
            self.service.record(now_ns - flight.sent_ns);
            if flight.intended_ns > 0 {
                self.response.record(now_ns - flight.intended_ns);
            }
        }
        if class == Class::Unfinished && flight.intended_ns > 0 {
            self.response.record(now_ns - flight.intended_ns);
        }
        if !answered {
            self.error.record(now_ns - flight.begun_ns);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.scheduled += other.scheduled;
        add(&mut *self.classes, &*other.classes);
        add(&mut self.malformed_kinds, &other.malformed_kinds);
        add_by_key(&mut self.reset_codes, &other.reset_codes);
        add_by_key(&mut self.status_codes, &other.status_codes);
        add_by_key(&mut self.connect_errnos, &other.connect_errnos);
        add_by_key(&mut self.tls_errors, &other.tls_errors);
        add_by_key(&mut self.tls_parameters, &other.tls_parameters);
        self.tls_resumed += other.tls_resumed;
        self.tls_unnotified += other.tls_unnotified;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.busy_ns += other.busy_ns;
        self.cycle_ns += other.cycle_ns;
        self.gaps_ns.extend(&other.gaps_ns);
        self.connect.merge(&other.connect);
        self.handshake.merge(&other.handshake);
        self.first_byte.merge(&other.first_byte);
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.error.merge(&other.error);
        self.send_lag.merge(&other.send_lag);
        self.client_lag.merge(&other.client_lag);
    }
}

fn add_by_key<K: Clone + Ord>(to: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (key, count) in from {
        *to.entry(key.clone()).or_default() += count;
    }
}

fn add(to: &mut [u64], from: &[u64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tally in which all figures differ and none is 0.
    fn full() -> Tally {
        let mut next = 0;
        let mut number = || {
            next += 1;
            next
        };
        let mut tally = Tally { scheduled: number(), ..Tally::default() };
        tally.classes.fill_with(&mut number);
        tally.malformed_kinds.fill_with(&mut number);
        tally.status_codes = [(404, number()), (500, number())].into();
        tally.connect_errnos = [(libc::ENETUNREACH, number())].into();
        tally.reset_codes = [(7, number())].into();
        tally.tls_errors = [("the certificate has expired".to_owned(), number())].into();
        tally.tls_parameters = [("TLS 1.3".to_owned(), number())].into();
        (tally.tls_resumed, tally.tls_unnotified) = (number(), number());
        (tally.bytes_in, tally.bytes_out) = (number(), number());
        tally.busy_ns = number().into();
        for latency in [
            &mut tally.connect,
            &mut tally.handshake,
            &mut tally.first_byte,
            &mut tally.service,
            &mut tally.response,
            &mut tally.error,
            &mut tally.send_lag,
            &mut tally.client_lag,
        ] {
            (0..number()).for_each(|us| latency.record(us * 1000));
        }
        tally
    }

    /// All numbers of a tally, with their paths, and the counts of its distributions.
    fn numbers(tally: &Tally) -> Vec<(String, u64)> {
        let mut numbers = Vec::new();
        let value = serde_json::to_value(tally).unwrap();
        flatten("", &value, &mut numbers);
        for (name, latency) in [
            ("connect", &tally.connect),
            ("handshake", &tally.handshake),
            ("first_byte", &tally.first_byte),
            ("service", &tally.service),
            ("response", &tally.response),
            ("error", &tally.error),
            ("send_lag", &tally.send_lag),
            ("client_lag", &tally.client_lag),
        ] {
            numbers.push((format!("{name}.count"), latency.count()));
        }
        numbers
    }

    fn flatten(at: &str, value: &serde_json::Value, numbers: &mut Vec<(String, u64)>) {
        use serde_json::Value::{Array, Number, Object};
        match value {
            Number(number) => numbers.push((at.to_owned(), number.as_u64().unwrap())),
            Object(members) => {
                members
                    .iter()
                    .for_each(|(name, part)| flatten(&format!("{at}.{name}"), part, numbers));
            }
            Array(items) => {
                items.iter().enumerate().for_each(|(n, part)| {
                    flatten(&format!("{at}[{n}]"), part, numbers);
                });
            }
            _ => {}
        }
    }

    #[test]
    fn merging_adds_every_figure() {
        let mut sum = full();
        sum.merge(&full());
        let doubled = numbers(&full()).into_iter().map(|(name, number)| (name, 2 * number));
        assert_eq!(numbers(&sum), doubled.collect::<Vec<_>>());
    }
}
