//! TLS of the client: the options as a configuration of rustls, with the crypto provider ring.

pub(crate) mod secure;

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
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
        let builder = match options.insecure {
            true => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider))),
            false => builder.with_root_certificates(roots(options.cacert.as_deref())?),
        };
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

/// Trusts every certificate; the server must still have its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
