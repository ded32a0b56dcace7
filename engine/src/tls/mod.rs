//! TLS of the client: the options as a configuration of rustls, with the crypto provider ring.

pub(crate) mod secure;

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::ring::cipher_suite as suite;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};

use crate::error::{Error, Result};

/// The protocols offered with ALPN.
pub(crate) const HTTP_1_1: &[u8] = b"http/1.1";
pub(crate) const HTTP_2: &[u8] = b"h2";

/// The options of TLS.
#[derive(Clone, Debug, Default)]
pub(crate) struct TlsOptions {
    /// A file with the certificates to trust, instead of those of the system.
    pub cacert: Option<String>,
    /// Trust every certificate.
    pub insecure: bool,
    /// Files with a certificate chain and its key.
    pub cert: Option<String>,
    pub key: Option<String>,
    /// Resume sessions.
    pub resume: bool,
}

/// How the client speaks TLS with one server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    config: Arc<ClientConfig>,
    /// The name in SNI, which the certificate must have; an address is not in SNI.
    name: ServerName<'static>,
    resumes: bool,
}

impl Client {
    /// A client of the server `host` that offers `protocols`; the error names the option and file.
    pub(crate) fn new(options: &TlsOptions, host: &str, protocols: &[&[u8]]) -> Result<Self> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            Error::usage(format!("{host}: expected a name or an address that a certificate has"))
        })?;
        let provider = provider();
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let trusted = match options.insecure {
            true => None,
            false => Some(roots(options.cacert.as_deref())?),
        };
        let verifier = Arc::new(Verifier::new(provider, trusted)?);
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let mut config = match key_pair(options)? {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| Error::usage(format!("--cert and --key: {error}")))?,
        };
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        config.resumption = Resumption::disabled();
        Ok(Self { config: Arc::new(config), name, resumes: options.resume })
    }

    /// The configuration of one thread, which has tickets of its own.
    fn config_of_thread(&self) -> Arc<ClientConfig> {
        if !self.resumes {
            return self.config.clone();
        }
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = Resumption::in_memory_sessions(256);
        Arc::new(config)
    }
}

/// The configuration of a server with the certificate of `--cert` and `--key`, if they are given.
pub(crate) fn server(options: &TlsOptions) -> Result<Option<Arc<ServerConfig>>> {
    let Some((chain, key)) = key_pair(options)? else { return Ok(None) };
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| Error::usage(format!("--cert and --key: {error}")))?;
    config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1_1.to_vec()];
    Ok(Some(Arc::new(config)))
}

/// What it speaks, and by which library.
pub(crate) fn summary() -> String {
    let first = format!("{:?}", provider().cipher_suites[0].suite()).replace("TLS13_", "TLS_");
    format!("TLS 1.3 with {first}, or TLS 1.2, by rustls and ring")
}

/// Of TLS 1.3, one suite, which every implementation must have (RFC 8446, section 9.1), so that all
/// servers are compared with the same; of TLS 1.2, that one first.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![
            suite::TLS13_AES_128_GCM_SHA256,
            suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ],
        ..ring::default_provider()
    })
}

fn unusable(error: rustls::Error) -> Error {
    Error::usage(format!("TLS: {error}"))
}

/// The certificates of `--cacert`, or those that the system trusts.
fn roots(cacert: Option<&str>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(path) = cacert else {
        let system = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(system.certs);
        return Ok(roots);
    };
    for certificate in certificates("--cacert", path)? {
        roots
            .add(certificate)
            .map_err(|error| Error::usage(format!("--cacert {path}: {error}")))?;
    }
    Ok(roots)
}

type KeyPair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn key_pair(options: &TlsOptions) -> Result<Option<KeyPair>> {
    match (&options.cert, &options.key) {
        (None, None) => Ok(None),
        (Some(cert), Some(key)) => {
            let chain = certificates("--cert", cert)?;
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| unreadable("--key", key, "private key", &error))?;
            Ok(Some((chain, key)))
        }
        (Some(_), None) => Err(Error::usage("--cert needs --key FILE, its private key")),
        (None, Some(_)) => Err(Error::usage("--key needs --cert FILE, its certificate")),
    }
}

fn certificates(option: &str, path: &str) -> Result<Vec<CertificateDer<'static>>> {
    let read = || CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, pem::Error>>();
    match read() {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(unreadable(option, path, "certificate", &pem::Error::NoItemsFound)),
        Err(error) => Err(unreadable(option, path, "certificate", &error)),
    }
}

fn unreadable(option: &str, path: &str, what: &str, error: &pem::Error) -> Error {
    let cause = match error {
        pem::Error::Io(error) => error.to_string(),
        _ => format!("expected a {what} in PEM (-----BEGIN ...)"),
    };
    Error::usage(format!("{option} {path}: {cause}"))
}

/// Verifies certificates, or trusts every one; the server must have its key in any case.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// `None`: trust every certificate.
    issuers: Option<Arc<WebPkiServerVerifier>>,
    /// The last certificate that was right, and when, in seconds. A server sends it in each handshake,
    /// and to verify it takes as long as the server's part of one.
    verified: Mutex<Option<(CertificateDer<'static>, u64)>>,
}

impl Verifier {
    fn new(provider: Arc<CryptoProvider>, roots: Option<RootCertStore>) -> Result<Self> {
        let verifier = |roots: RootCertStore| {
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .build()
                .map_err(|_| Error::usage("this system trusts no certificate: use --cacert FILE"))
        };
        let issuers = roots.map(verifier).transpose()?;
        Ok(Self { provider, issuers, verified: Mutex::new(None) })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(issuers) = &self.issuers else { return Ok(ServerCertVerified::assertion()) };
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, at_s)) = &*verified
            && known == certificate
            && *at_s == now.as_secs()
        {
            return Ok(ServerCertVerified::assertion());
        }
        let right = issuers.verify_server_cert(certificate, intermediates, name, ocsp, now)?;
        *verified = Some((certificate.clone().into_owned(), now.as_secs()));
        Ok(right)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "ring has assembler")]
    fn only_the_certificate_that_was_right_is_right_again_for_its_second() {
        let name = |name: &str| ServerName::try_from(name.to_owned()).unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let ca = params.self_signed(&key).unwrap();
        let issuer = Issuer::new(params, key);
        let leaf = |names: &str| {
            let params = CertificateParams::new(vec![names.to_owned()]).unwrap();
            let made = params.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap();
            made.der().clone()
        };
        let [right, wrong] = [leaf("a.test"), leaf("b.test")];
        let mut roots = RootCertStore::empty();
        roots.add(ca.der().clone()).unwrap();
        let verifier = Verifier::new(provider(), Some(roots)).unwrap();
        let now = UnixTime::now();
        let at = |certificate: &CertificateDer<'_>, now| {
            verifier.verify_server_cert(certificate, &[], &name("a.test"), &[], now).is_ok()
        };
        assert_eq!([at(&right, now), at(&right, now), at(&wrong, now)], [true, true, false]);
        let expired = UnixTime::since_unix_epoch(Duration::from_secs(1 << 40));
        assert!(at(&right, now) && !at(&right, expired));
        assert!(Verifier::new(provider(), Some(RootCertStore::empty())).is_err());
    }
}
