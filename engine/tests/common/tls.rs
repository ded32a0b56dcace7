//! Certificates made for each test, and HTTPS servers in threads.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use super::GOOD;

/// A CA, whose certificate is in a file of its own folder.
pub(crate) struct Ca {
    pub folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

impl Ca {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let name = format!("deadheat-tls-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&folder).unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        // Names tell issuers apart.
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(folder.join("ca.pem"), certificate.pem()).unwrap();
        Self { folder, issuer: Issuer::new(params, key), certificate }
    }

    pub(crate) fn file(&self) -> String {
        self.path("ca.pem")
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    /// Writes a certificate for these names and its key; returns their paths.
    pub(crate) fn leaf(&self, names: &[&str], year: i32) -> [String; 2] {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names.clone()).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = names.concat();
        let paths = [format!("{file}-{year}.pem"), format!("{file}-{year}.key")];
        let [cert, key_file] = paths.map(|name| self.path(&name));
        std::fs::write(&cert, certificate.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        [cert, key_file]
    }

    /// A server with a certificate for these names.
    pub(crate) fn config(&self, names: &[&str], year: i32) -> ServerConfig {
        self.config_of(names, year, rustls::ALL_VERSIONS, false)
    }

    pub(crate) fn config_of(
        &self,
        names: &[&str],
        year: i32,
        versions: &[&'static rustls::SupportedProtocolVersion],
        asks_client: bool,
    ) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder.with_protocol_versions(versions).unwrap();
        let builder = if asks_client {
            let mut roots = RootCertStore::empty();
            roots.add(self.certificate.der().clone()).unwrap();
            let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
                Arc::new(roots),
                provider,
            );
            builder.with_client_cert_verifier(verifier.build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        builder.with_single_cert(vec![certificate.der().clone()], key).unwrap()
    }
}

impl Drop for Ca {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What a connection does: the number of the connection, from 0, and its socket.
pub(crate) fn serve(each: impl Fn(u64, TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let each = Arc::new(each);
    thread::spawn(move || {
        for (number, stream) in (0..).zip(listener.incoming().map_while(Result::ok)) {
            let each = each.clone();
            thread::spawn(move || each(number, stream));
        }
    });
    format!("https://127.0.0.1:{port}/")
}

pub(crate) type TlsStream = rustls::StreamOwned<ServerConnection, TcpStream>;

pub(crate) fn accept(config: &Arc<ServerConfig>, stream: TcpStream) -> TlsStream {
    stream.set_nodelay(true).unwrap();
    TlsStream::new(ServerConnection::new(config.clone()).unwrap(), stream)
}

/// Reads one request without a body; false at the end of the connection.
pub(crate) fn read_request(stream: &mut TlsStream) -> bool {
    let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return false,
            Ok(got) => request.extend_from_slice(&buffer[..got]),
        }
    }
    true
}

/// Ends a connection with a close_notify.
pub(crate) fn end(stream: &mut TlsStream) {
    stream.conn.send_close_notify();
    let _ = stream.flush();
}

/// Answers every request of a connection; `answered` counts them.
pub(crate) fn answer_all(mut stream: TlsStream, answered: &AtomicU64) {
    while read_request(&mut stream) {
        answered.fetch_add(1, Ordering::SeqCst);
        // Two records, as servers send that write head and body apart.
        let (head, body) = GOOD.split_at(GOOD.len() - 13);
        if stream.write_all(head.as_bytes()).is_err() || stream.write_all(body.as_bytes()).is_err()
        {
            return;
        }
    }
    end(&mut stream);
}
