//! What the bytes of a server mean.

use crate::classes::MalformedKind;
use crate::connection::Flight;
use crate::response::Answer;

/// A request that is no longer in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub flight: Flight,
    /// When the first bytes of its response came; 0 before that.
    pub first_byte_ns: u64,
    /// The head of its response is complete.
    pub in_body: bool,
    /// Its place among the concurrent requests of the connection.
    pub lane: u32,
}

#[derive(Debug)]
pub(crate) enum Event {
    /// All bytes are taken.
    More,
    Answered {
        ended: Ended,
        answer: Answer,
    },
    /// The server did not process a request, which waits to be sent again.
    Refused,
    /// The server reset the stream.
    Reset {
        ended: Ended,
        code: u32,
    },
    /// The response is malformed; the connection is usable.
    Malformed {
        ended: Ended,
        kind: MalformedKind,
    },
    /// The server takes no more requests. Those that it did not process wait for the next connection,
    /// except `given_up`, which were sent too often.
    Goaway {
        is_first: bool,
        code: u32,
        retried: u64,
        given_up: Vec<Ended>,
    },
    /// The server broke the protocol: the connection is unusable. `stream` is the one concerned.
    Broken {
        kind: MalformedKind,
        stream: u32,
    },
}
