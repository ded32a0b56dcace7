//! The TLS of a session's connections, without I/O: sealed bytes in, plain bytes out, and back.

use std::sync::Arc;
use std::time::Instant;

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, InsufficientSizeError, UnbufferedStatus};
use rustls::{ClientConfig, Error, HandshakeKind};

use super::Client;
use crate::tls_failure::Failure;

/// Content types of TLS records (RFC 8446, section 5.1): change_cipher_spec to application_data.
const RECORD_TYPES: std::ops::RangeInclusive<u8> = 20..=23;
/// Most plain bytes of a record, and room for its header, its tag and a key update before it.
const RECORD_BYTES: usize = 16 * 1024;
const RECORD_EXTRA: usize = 128;

/// The TLS connection of each slot.
pub(crate) struct Secure {
    client: Client,
    config: Arc<ClientConfig>,
    slots: Vec<Slot>,
    incoming: Vec<u8>,
}

#[derive(Default)]
struct Slot {
    connection: Option<Box<UnbufferedClientConnection>>,
    /// The bytes of an incomplete record.
    partial: Vec<u8>,
    established: bool,
    /// The server has sent its close_notify.
    notified: bool,
}

/// What sealed bytes brought, beside plain bytes, which come after the handshake and before the end.
pub(crate) struct Unsealed {
    pub established: Option<Handshake>,
    pub end: Option<End>,
}

/// How a TLS connection ends.
pub(crate) enum End {
    /// The server sent a close_notify.
    Notified,
    Failed(Failure),
}

/// A complete handshake.
pub(crate) struct Handshake {
    pub resumed: bool,
    /// Version, cipher suite and key exchange.
    pub parameters: String,
    /// How long the client computed after the last bytes had arrived.
    pub spent_ns: u64,
}

impl Secure {
    pub(crate) fn new(client: &Client, slots: usize) -> Self {
        Self {
            config: client.config_of_thread(),
            client: client.clone(),
            slots: (0..slots).map(|_| Slot::default()).collect(),
            incoming: Vec::new(),
        }
    }

    /// Starts the handshake of a new connection; its first bytes go to `out`.
    pub(crate) fn start(&mut self, slot: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
        let started =
            UnbufferedClientConnection::new(self.config.clone(), self.client.name.clone());
        let mut connection = Box::new(started.map_err(|error| Failure::of(&error))?);
        let (_, advanced) = advance(&mut connection, &mut [], &mut Vec::new(), out);
        self.slots[slot] = Slot { connection: Some(connection), ..Slot::default() };
        advanced.map(drop).map_err(|error| Failure::of(&error))
    }

    pub(crate) fn is_established(&self, slot: usize) -> bool {
        self.slots[slot].established
    }

    /// True if a record has begun to arrive.
    pub(crate) fn is_in_record(&self, slot: usize) -> bool {
        !self.slots[slot].partial.is_empty()
    }

    /// Takes the bytes of the server; appends its plain bytes to `plain`, and what must be sent to
    /// it to `out`.
    #[inline]
    pub(crate) fn unseal(
        &mut self,
        slot: usize,
        input: &[u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Unsealed {
        let Slot { connection, partial, established, notified } = &mut self.slots[slot];
        let Some(connection) = connection else {
            return Unsealed { established: None, end: None };
        };
        let begun = (!*established).then(Instant::now);
        self.incoming.clear();
        self.incoming.append(partial);
        self.incoming.extend_from_slice(input);
        let is_record = self.incoming.first().is_none_or(|first| RECORD_TYPES.contains(first));
        if begun.is_some() && !is_record {
            let end = Some(End::Failed(Failure::not_tls(&self.incoming)));
            return Unsealed { established: None, end };
        }
        let (used, advanced) = advance(connection, &mut self.incoming, plain, out);
        partial.extend_from_slice(&self.incoming[used..]);
        let handshake = match begun {
            Some(begun) if advanced.is_ok() && !connection.is_handshaking() => {
                *established = true;
                Some(Handshake {
                    resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
                    parameters: parameters(connection),
                    spent_ns: begun.elapsed().as_nanos() as u64,
                })
            }
            _ => None,
        };
        let end = match advanced {
            Ok(false) => None,
            Ok(true) => {
                *notified = true;
                Some(End::Notified)
            }
            Err(error) => {
                last_words(connection, &mut self.incoming[used..], out);
                Some(End::Failed(Failure::of(&error)))
            }
        };
        Unsealed { established: handshake, end }
    }

    /// Appends plain bytes as records to `out`; false if the connection takes no more of them.
    #[inline]
    pub(crate) fn seal(&mut self, slot: usize, plain: &[u8], out: &mut Vec<u8>) -> bool {
        let records = plain.len() / RECORD_BYTES + 1;
        self.write(slot, plain.len() + records * RECORD_EXTRA, out, |traffic, room| {
            traffic.encrypt(plain, room).ok()
        })
    }

    /// Ends the connection of a slot; with `notify`, its last record goes to `out`. True if the
    /// server has not sent its own.
    pub(crate) fn close(&mut self, slot: usize, notify: bool, out: &mut Vec<u8>) -> bool {
        if notify && self.slots[slot].established {
            self.write(slot, RECORD_EXTRA, out, |traffic, room| {
                traffic.queue_close_notify(room).ok()
            });
        }
        let closed = std::mem::take(&mut self.slots[slot]);
        closed.established && !closed.notified
    }

    #[inline]
    fn write(
        &mut self,
        slot: usize,
        room: usize,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut WriteTraffic<'_>, &mut [u8]) -> Option<usize>,
    ) -> bool {
        let Slot { connection, partial, .. } = &mut self.slots[slot];
        let Some(connection) = connection else { return false };
        // rustls remembers where a message lies in the bytes that it has not used up.
        let UnbufferedStatus { discard, state } = connection.process_tls_records(partial);
        let Ok(ConnectionState::WriteTraffic(mut traffic)) = state else { return false };
        let from = out.len();
        out.resize(from + room, 0);
        let wrote = write(&mut traffic, &mut out[from..]);
        out.truncate(from + wrote.unwrap_or(0));
        partial.drain(..discard);
        wrote.is_some()
    }
}

type WriteTraffic<'c> = rustls::unbuffered::WriteTraffic<'c, rustls::client::ClientConnectionData>;
type EncodeTlsData<'c> =
    rustls::unbuffered::EncodeTlsData<'c, rustls::client::ClientConnectionData>;

/// Takes all complete records of `incoming`. Returns how many bytes are used up, and whether the
/// server has sent its close_notify.
fn advance(
    connection: &mut UnbufferedClientConnection,
    incoming: &mut [u8],
    plain: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> (usize, Result<bool, Error>) {
    let (mut used, mut notified) = (0, false);
    loop {
        let UnbufferedStatus { mut discard, state } =
            connection.process_tls_records(&mut incoming[used..]);
        let state = match state {
            Ok(state) => state,
            Err(error) => return (used + discard, Err(error)),
        };
        let mut waits = false;
        match state {
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    match record {
                        Ok(record) => {
                            discard += record.discard;
                            plain.extend_from_slice(record.payload);
                        }
                        Err(error) => return (used + discard, Err(error)),
                    }
                }
            }
            ConnectionState::EncodeTlsData(data) => encode(data, out),
            ConnectionState::TransmitTlsData(data) => data.done(),
            ConnectionState::PeerClosed => notified = true,
            _ => waits = true,
        }
        used += discard;
        if waits {
            return (used, Ok(notified));
        }
    }
}

/// Appends what is left to send after an error: the alert with the reason. rustls sends what is in
/// its queue first. Once that is empty, it would read the bad record again and fail twice.
fn last_words(connection: &mut UnbufferedClientConnection, rest: &mut [u8], out: &mut Vec<u8>) {
    while connection.wants_write() {
        let UnbufferedStatus { state, .. } = connection.process_tls_records(rest);
        let Ok(ConnectionState::EncodeTlsData(data)) = state else { return };
        encode(data, out);
    }
}

fn encode(mut data: EncodeTlsData<'_>, out: &mut Vec<u8>) {
    let from = out.len();
    if let Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) =
        data.encode(&mut [])
    {
        out.resize(from + required_size, 0);
        let encoded = data.encode(&mut out[from..]).unwrap_or(0);
        out.truncate(from + encoded);
    }
}

/// Such as `TLS 1.3, TLS_AES_128_GCM_SHA256, X25519`.
fn parameters(connection: &UnbufferedClientConnection) -> String {
    let version = match connection.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_2) => "TLS 1.2",
        _ => "TLS 1.3",
    };
    let suite = connection.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite()));
    let suite = suite.unwrap_or_default().replace("TLS13_", "TLS_");
    match connection.negotiated_key_exchange_group() {
        Some(group) => format!("{version}, {suite}, {:?}", group.name()),
        None => format!("{version}, {suite}"),
    }
}
