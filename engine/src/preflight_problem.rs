//! Why a preflight failed.

use std::io;

use crate::classes::MalformedKind;
use crate::tls_failure::Failure;

#[derive(Debug, thiserror::Error)]
pub(crate) enum PreflightProblem {
    #[error("no connection: {0}")]
    Connect(#[source] io::Error),
    #[error("{0}")]
    Broken(#[source] io::Error),
    #[error("{0}")]
    Tls(Failure),
    #[error("the server speaks TLS on this port; use https://")]
    SpeaksTls,
    #[error("the server closed the connection without a response")]
    NoResponse,
    #[error(
        "the server closed the connection without a response; if it speaks TLS on this port, use \
         https://"
    )]
    NoPlainResponse,
    #[error("the server closed the connection inside the response")]
    Truncated,
    #[error("no complete response within --timeout")]
    Timeout,
    #[error("the response is malformed ({})", .0.name())]
    Malformed(MalformedKind),
    #[error("the server answers in HTTP/1.1, expected HTTP/2; remove --http2")]
    NotHttp2,
    #[error("the server reset the stream ({0})")]
    Reset(String),
    #[error("the server took no request on the connection (GOAWAY {0})")]
    Goaway(String),
    #[error(
        "the server allows {allowed} concurrent requests on a connection, not {asked}; \
         use --streams {allowed}"
    )]
    TooFewStreams { allowed: u32, asked: usize },
    #[error("the response is longer than {0} bytes")]
    TooLong(usize),
    #[error("status {status}, expected {wanted}; set another with --expect-status")]
    Status { status: u16, wanted: String },
    #[error("media type {media_type:?}, expected {wanted:?} (--expect-type)")]
    MediaType { media_type: String, wanted: String },
    #[error("a body of {bytes} bytes, which is not the {wanted} bytes of --expect-body")]
    Body { bytes: usize, wanted: usize },
    #[error("a body of {bytes} bytes, which is not {wanted}")]
    NotEquivalent { bytes: usize, wanted: &'static str },
}
