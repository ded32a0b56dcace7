//! Parsing of URLs: `http://host:port/path` or `unix:/socket:/path`.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};

/// Time limit of a connect to one of several addresses of a host.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// One URL, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub url: String,
    pub address: Address,
    /// Value of the Host header.
    pub host: String,
    /// Path and query.
    pub path: String,
}

impl Target {
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let wrong = |what: &str| {
            Error::usage(format!("URL {url:?}: {what}; expected http://HOST[:PORT]/PATH"))
        };
        if url.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(wrong("blank or control character"));
        }
        if let Some(rest) = url.strip_prefix("unix:") {
            let (socket, path) = rest.split_once(':').unwrap_or((rest, "/"));
            if !socket.starts_with('/') || !path.starts_with('/') {
                return Err(Error::usage(format!("URL {url:?}: expected unix:/SOCKET[:/PATH]")));
            }
            return Ok(Self {
                url: url.to_owned(),
                address: Address::Unix(socket.into()),
                host: "localhost".to_owned(),
                path: path.to_owned(),
            });
        }
        if url.starts_with("https://") {
            return Err(wrong("https is not supported"));
        }
        let rest = url.strip_prefix("http://").ok_or_else(|| wrong("missing http://"))?;
        let rest = rest.split('#').next().unwrap_or_default();
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(cut);
        if host.is_empty() || host.contains('@') {
            return Err(wrong("missing host, or user name in it"));
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let address = resolve(host).map_err(|error| wrong(&error.to_string()))?;
        Ok(Self { url: url.to_owned(), address, host: host.to_owned(), path })
    }
}

fn resolve(host: &str) -> io::Result<Address> {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    let full = if has_port { host.to_owned() } else { format!("{host}:80") };
    let found = full.to_socket_addrs()?;
    let address = choose(&found.collect::<Vec<_>>());
    address.map(Address::Tcp).ok_or_else(|| io::Error::other("the host has no address"))
}

/// The first address that accepts a connection, or the first of all. `localhost` is often both
/// `::1` and 127.0.0.1, and servers listen on one of them.
fn choose(found: &[SocketAddr]) -> Option<SocketAddr> {
    let answers = |address: &&SocketAddr| TcpStream::connect_timeout(address, LOOK).is_ok();
    let several = (found.len() > 1).then(|| found.iter().find(answers)).flatten();
    several.or(found.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_urls_into_their_parts() {
        let target = Target::parse("http://127.0.0.1:4000").unwrap();
        assert_eq!((target.host.as_str(), target.path.as_str()), ("127.0.0.1:4000", "/"));
        let target = Target::parse("http://127.0.0.1/a?b#c").unwrap();
        assert_eq!(target.address, Address::Tcp("127.0.0.1:80".parse().unwrap()));
        assert_eq!(target.path, "/a?b");
        let target = Target::parse("http://[::1]:8080?q").unwrap();
        assert_eq!(target.address, Address::Tcp("[::1]:8080".parse().unwrap()));
        assert_eq!(target.path, "/?q");
        let target = Target::parse("unix:/run/app.sock:/users/1").unwrap();
        assert_eq!(target.address, Address::Unix("/run/app.sock".into()));
        assert_eq!(target.path, "/users/1");
    }

    /// Only the first address was tried, so `localhost` was refused if it was `::1` first and the
    /// server listened on 127.0.0.1.
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no sockets")]
    fn chooses_the_address_that_listens() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let listens = listener.local_addr().unwrap();
        let closed = SocketAddr::new([127, 0, 0, 2].into(), listens.port());
        assert_eq!(choose(&[closed, listens]), Some(listens));
        assert_eq!(choose(&[closed, closed]), Some(closed));
        assert_eq!(choose(&[closed]), Some(closed));
        assert_eq!(choose(&[]), None);
    }

    #[test]
    fn rejects_wrong_urls() {
        for url in ["127.0.0.1:80", "https://127.0.0.1/", "http://", "http://a b/", "unix:x"] {
            let error = Target::parse(url).unwrap_err().to_string();
            assert!(error.contains("expected"), "{error}");
        }
    }
}
