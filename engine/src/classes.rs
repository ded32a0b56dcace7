//! How requests end. Every request ends in exactly one [`Class`].

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

/// Defines an enum with a list of its variants and their names in the output.
macro_rules! named {
    ($(#[$doc:meta])* $kind:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $kind { $($(#[$variant_doc])* $variant,)* }

        impl $kind {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant,)*];
            pub(crate) const COUNT: usize = Self::ALL.len();

            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

named! {
    /// How a request ended.
    Class {
        /// The complete expected response arrived.
        Ok = "ok",
        /// The server's address refused the connection.
        ConnectRefused = "connect_refused",
        /// No connection within the timeout.
        ConnectTimeout = "connect_timeout",
        /// Any other failure to connect; the error numbers are under `connect_errnos`.
        ConnectOther = "connect_other",
        /// The client ran out of local ports (EADDRNOTAVAIL).
        AddrNotAvail = "addr_not_avail",
        /// The client ran out of file descriptors (EMFILE, ENFILE).
        FdLimit = "fd_limit",
        /// The server answered the TLS handshake with something that is not TLS.
        NotTls = "not_tls",
        /// The server's certificate has expired, or is not valid yet.
        TlsExpired = "tls_expired",
        /// The server's certificate is for another name.
        TlsWrongName = "tls_wrong_name",
        /// The issuer of the server's certificate is not trusted.
        TlsUnknownIssuer = "tls_unknown_issuer",
        /// Any other reason to refuse the server's certificate.
        TlsCertificate = "tls_certificate",
        /// The server speaks neither TLS 1.3 nor TLS 1.2.
        TlsVersion = "tls_version",
        /// No protocol in common (ALPN).
        TlsAlpn = "tls_alpn",
        /// The server ended TLS with an alert.
        TlsAlert = "tls_alert",
        /// The connection ended within the TLS handshake.
        TlsClosed = "tls_closed",
        /// No end of the TLS handshake within the timeout.
        TlsTimeout = "tls_timeout",
        /// The connection ended inside the response, without the end of TLS (close_notify).
        TlsTruncated = "tls_truncated",
        /// The server broke the rules of TLS otherwise.
        TlsBroken = "tls_broken",
        /// The connection broke while the request was being written.
        WriteReset = "write_reset",
        /// The server closed without a byte, on a connection without an earlier response.
        EofOnFresh = "eof_on_fresh",
        /// The server closed without a byte, on a connection with an earlier response.
        EofOnReused = "eof_on_reused",
        /// The server closed inside the response head.
        EofMidHead = "eof_mid_head",
        /// The server closed inside the response body.
        EofMidBody = "eof_mid_body",
        /// The connection was reset before the first byte of the response.
        ResetBeforeByte = "reset_before_byte",
        /// The connection was reset inside the response.
        ResetMid = "reset_mid",
        /// No byte of the response within the timeout.
        TimeoutFirstByte = "timeout_first_byte",
        /// The response began and did not end within the timeout.
        TimeoutBody = "timeout_body",
        /// HTTP/2: the server reset the stream; the codes are under `http2`.
        StreamReset = "stream_reset",
        /// HTTP/2: the server ended the connection with an error, or returned the request too often.
        Goaway = "goaway",
        /// Not a valid response; the kinds are under `malformed_kinds`.
        Malformed = "malformed",
        /// Another status than expected; the codes are under `status_codes`.
        Status = "status",
        /// Another media type than expected.
        ContentType = "content_type",
        /// A body as long as expected, with other bytes.
        BodyMismatch = "body_mismatch",
        /// A body of another length than expected.
        BodyLength = "body_length",
        /// The expected response, followed by unsolicited bytes.
        Unsolicited = "unsolicited",
        /// Open loop: the expected response, after the deadline.
        Late = "late",
        /// Open loop: dropped, because the deadline passed before it could be sent.
        Shed = "shed",
        /// Not sent or without a complete response when the run ended.
        Unfinished = "unfinished",
    }
}

named! {
    /// Why a response is not HTTP/1.x, or not HTTP/2.
    MalformedKind {
        StatusLine = "status_line",
        HeaderName = "header_name",
        HeaderValue = "header_value",
        LineEnd = "line_end",
        TooManyHeaders = "too_many_headers",
        HeadTooLong = "head_too_long",
        /// A Content-Length that is not a number.
        BadLength = "bad_length",
        /// Two Content-Length values that differ.
        LengthConflict = "length_conflict",
        /// Two media types that differ.
        TypeConflict = "type_conflict",
        /// Content-Length beside Transfer-Encoding.
        LengthAndEncoding = "length_and_encoding",
        /// Transfer-Encoding in a response of HTTP/1.0, or `chunked` before another coding.
        BadEncoding = "bad_encoding",
        ChunkSize = "chunk_size",
        ChunkEnd = "chunk_end",
        Trailer = "trailer",
        /// HTTP/2 was expected, and HTTP/1.x came.
        H2Http1 = "h2_http1",
        /// The first frame is not SETTINGS.
        H2Preface = "h2_preface",
        H2FrameSize = "h2_frame_size",
        /// A frame on a stream that it cannot be on, or that was never opened.
        H2FrameStream = "h2_frame_stream",
        /// A header block that is interrupted or was not begun, or a body before its head.
        H2FrameOrder = "h2_frame_order",
        /// A frame on a stream that the server had ended.
        H2StreamClosed = "h2_stream_closed",
        H2Padding = "h2_padding",
        H2Settings = "h2_settings",
        /// More than a window allows, or a window that is too large or grows by 0.
        H2FlowControl = "h2_flow_control",
        /// A header block that cannot be decoded.
        H2Hpack = "h2_hpack",
        H2HeaderList = "h2_header_list",
        /// Fields that HTTP/2 forbids, or a head without a status.
        H2Fields = "h2_fields",
        /// A body of another length than its Content-Length.
        H2Length = "h2_length",
        /// A push, which the client has disabled.
        H2Push = "h2_push",
        /// Thousands of frames that move no request on, or answers that are not read.
        H2Flood = "h2_flood",
    }
}

/// A count of each class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<u64>", try_from = "Vec<u64>")]
pub(crate) struct ClassCounts([u64; Class::COUNT]);

impl Default for ClassCounts {
    fn default() -> Self {
        Self([0; Class::COUNT])
    }
}

impl Deref for ClassCounts {
    type Target = [u64; Class::COUNT];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for ClassCounts {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl From<ClassCounts> for Vec<u64> {
    fn from(counts: ClassCounts) -> Self {
        counts.0.to_vec()
    }
}

impl TryFrom<Vec<u64>> for ClassCounts {
    type Error = String;

    fn try_from(counts: Vec<u64>) -> Result<Self, String> {
        <[u64; Class::COUNT]>::try_from(counts)
            .map(Self)
            .map_err(|counts| format!("{} classes, expected {}", counts.len(), Class::COUNT))
    }
}

impl Class {
    /// True if the server, or the path to it, is at fault (exit code 3).
    pub(crate) fn is_server_error(self) -> bool {
        !matches!(self, Self::Ok | Self::Late | Self::Shed | Self::Unfinished)
            && !self.is_client_limit()
    }

    /// True if the client ran out of a resource (exit code 4).
    pub(crate) fn is_client_limit(self) -> bool {
        matches!(self, Self::AddrNotAvail | Self::FdLimit)
    }

    /// True if, on a kept connection, the server may have closed before it read the request.
    pub(crate) fn is_stale_reuse(self) -> bool {
        matches!(self, Self::EofOnReused | Self::ResetBeforeByte | Self::WriteReset)
    }

    /// The class of a failed connect.
    pub(crate) fn of_connect_errno(errno: i32) -> Self {
        match errno {
            libc::ECONNREFUSED => Self::ConnectRefused,
            libc::ETIMEDOUT => Self::ConnectTimeout,
            libc::EADDRNOTAVAIL => Self::AddrNotAvail,
            libc::EMFILE | libc::ENFILE => Self::FdLimit,
            _ => Self::ConnectOther,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the table in docs/engine-classes.md.
    #[test]
    fn classes_have_the_documented_exit_codes() {
        let page = include_str!("../../docs/engine-classes.md");
        for class in Class::ALL {
            let row =
                page.lines().find(|line| line.starts_with(&format!("| `{}` |", class.name())));
            let exit = row.and_then(|row| row.trim_end_matches(" |").rsplit("| ").next());
            let wanted = match (class.is_server_error(), class.is_client_limit()) {
                (true, false) => '3',
                (false, true) => '4',
                _ => '0',
            };
            assert_eq!(exit.and_then(|exit| exit.chars().next()), Some(wanted), "{}", class.name());
        }
    }

    #[test]
    fn class_of_failed_connect_follows_its_error_number() {
        for (errno, class) in [
            (libc::ECONNREFUSED, Class::ConnectRefused),
            (libc::ETIMEDOUT, Class::ConnectTimeout),
            (libc::EADDRNOTAVAIL, Class::AddrNotAvail),
            (libc::EMFILE, Class::FdLimit),
            (libc::ENFILE, Class::FdLimit),
            (libc::ENETUNREACH, Class::ConnectOther),
        ] {
            assert_eq!(Class::of_connect_errno(errno), class, "errno {errno}");
        }
    }

    #[test]
    fn stale_reuse_ends_before_the_first_byte() {
        let stale = Class::ALL.iter().filter(|class| class.is_stale_reuse()).copied();
        let wanted = [Class::WriteReset, Class::EofOnReused, Class::ResetBeforeByte];
        assert_eq!(stale.collect::<Vec<_>>(), wanted);
    }
}
