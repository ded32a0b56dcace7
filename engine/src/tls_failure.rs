//! Why TLS failed: the class of the request, what happened, and what the user can do.

use std::fmt;

use rustls::{AlertDescription as Alert, CertificateError, Error, PeerIncompatible};

use crate::classes::Class;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub class: Class,
    pub cause: String,
}

impl Failure {
    pub(crate) fn of(error: &Error) -> Self {
        let (class, cause) = match error {
            Error::InvalidCertificate(error) => of_certificate(error),
            Error::AlertReceived(Alert::ProtocolVersion) => (Class::TlsVersion, no_version()),
            Error::AlertReceived(Alert::NoApplicationProtocol) | Error::NoApplicationProtocol => {
                (Class::TlsAlpn, "the server accepts none of the offered protocols".to_owned())
            }
            Error::AlertReceived(alert) => {
                (Class::TlsAlert, format!("the server sent the alert {alert:?}"))
            }
            Error::PeerIncompatible(
                PeerIncompatible::ServerDoesNotSupportTls12Or13
                | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
            ) => (Class::TlsVersion, no_version()),
            other => (Class::TlsBroken, other.to_string()),
        };
        Self { class, cause }
    }

    /// The first bytes from the server are no TLS record.
    pub(crate) fn not_tls(input: &[u8]) -> Self {
        let spoken = if input.starts_with(b"HTTP/") { "with plain HTTP" } else { "without TLS" };
        Self { class: Class::NotTls, cause: format!("the server answers {spoken} on this port") }
    }

    pub(crate) fn closed() -> Self {
        let cause = "the server closed the connection within the TLS handshake".to_owned();
        Self { class: Class::TlsClosed, cause }
    }

    pub(crate) fn timed_out() -> Self {
        let cause = "the TLS handshake did not end within --timeout".to_owned();
        Self { class: Class::TlsTimeout, cause }
    }

    pub(crate) fn truncated() -> Self {
        let cause = "the server closed the connection without a close_notify".to_owned();
        Self { class: Class::TlsTruncated, cause }
    }

    /// What the user can do.
    fn hint(&self) -> &'static str {
        match self.class {
            Class::NotTls => "use http://, or the port on which it speaks TLS",
            Class::TlsExpired => "renew it, set the clock, or use --insecure",
            Class::TlsWrongName => "use a name of the certificate in the URL, or --insecure",
            Class::TlsUnknownIssuer => "trust its CA with --cacert FILE, or use --insecure",
            Class::TlsCertificate => "give the server another one, or use --insecure",
            Class::TlsVersion => "enable TLS 1.3 or 1.2 in the server",
            Class::TlsAlpn => "let it offer http/1.1 (ALPN), or h2 with --http2",
            Class::TlsAlert if self.cause.contains("CertificateRequired") => {
                "it asks for a certificate: use --cert FILE and --key FILE"
            }
            Class::TlsClosed => "see its log; does it speak TLS on this port?",
            _ => "see the server's log",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}; {}", self.cause, self.hint())
    }
}

fn no_version() -> String {
    "the server speaks neither TLS 1.3 nor TLS 1.2".to_owned()
}

fn of_certificate(error: &CertificateError) -> (Class, String) {
    match error {
        CertificateError::Expired => (Class::TlsExpired, "the certificate has expired".to_owned()),
        CertificateError::ExpiredContext { time, not_after } => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / 86_400;
            (Class::TlsExpired, format!("the certificate expired {days} days ago"))
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            (Class::TlsExpired, "the certificate is not valid yet".to_owned())
        }
        CertificateError::NotValidForName => {
            (Class::TlsWrongName, "the certificate is for another name".to_owned())
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names = match presented.is_empty() {
                true => "no name at all".to_owned(),
                // Each is written as `DnsName("a.test")`.
                false => presented
                    .iter()
                    .map(|name| name.split('"').nth(1).unwrap_or(name))
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            let expected = expected.to_str();
            (Class::TlsWrongName, format!("the certificate is for {names}, not for {expected}"))
        }
        CertificateError::UnknownIssuer => {
            (Class::TlsUnknownIssuer, "the issuer of the certificate is unknown".to_owned())
        }
        other => (Class::TlsCertificate, format!("the certificate is refused: {other}")),
    }
}
