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
        if !url.is_ascii() {
            return Err(wrong("character that is not ASCII; write it percent-encoded"));
        }
        if starts_with(url, "https://") {
            return Err(wrong("https is not supported"));
        }
        if !starts_with(url, "http://") {
            return Err(wrong("missing http://"));
        }
        let rest = url["http://".len()..].split('#').next().unwrap_or_default();
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(cut);
        if host.contains('@') {
            return Err(Error::usage(
                "URL: user name or password in it, which would be printed; expected \
                 http://HOST[:PORT]/PATH",
            ));
        }
        check_authority(host).map_err(wrong)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let address = resolve(host).map_err(|error| wrong(&error.to_string()))?;
        Ok(Self { url: url.to_owned(), address, host: host.to_owned(), path })
    }
}

/// Whether `text` begins with `scheme`, in any case.
fn starts_with(text: &str, scheme: &str) -> bool {
    text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

/// The rules of `deadheat.measure.url`, with the same messages.
fn check_authority(authority: &str) -> std::result::Result<(), &'static str> {
    const PORT: &str = "expected a port from 1 to 65535 behind the host";
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').unwrap_or_default();
            if host.parse::<std::net::Ipv6Addr>().is_err() {
                return Err("expected an IPv6 address in brackets");
            }
            (host, if after.is_empty() { after } else { after.strip_prefix(':').ok_or(PORT)? })
        }
        None => match authority.rsplit_once(':') {
            Some((host, _)) if host.contains(':') => {
                return Err("an IPv6 address needs brackets, as in http://[::1]:8080/");
            }
            parts => parts.unwrap_or((authority, "")),
        },
    };
    if host.is_empty() {
        return Err("missing host");
    }
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit())
        && port.parse::<u16>().is_ok_and(|number| number > 0);
    if port.is_empty() || is_port { Ok(()) } else { Err(PORT) }
}

fn resolve(host: &str) -> io::Result<Address> {
    let host = host.strip_suffix(':').unwrap_or(host);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    let full = if has_port { host.to_owned() } else { format!("{host}:80") };
    let addresses: Vec<SocketAddr> = full.to_socket_addrs()?.collect();
    let address = choose(&addresses);
    address.map(Address::Tcp).ok_or_else(|| io::Error::other("the host has no address"))
}

/// The first address that accepts a connection, or the first of all. `localhost` is often both
/// `::1` and 127.0.0.1, and servers listen on one of them.
fn choose(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let answers = |address: &&SocketAddr| TcpStream::connect_timeout(address, LOOK).is_ok();
    let several = (addresses.len() > 1).then(|| addresses.iter().find(answers)).flatten();
    several.or(addresses.first()).copied()
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

    /// `deadheat.measure.url` is tested with the same cases.
    #[test]
    fn takes_the_urls_that_the_command_line_takes() {
        let cases = include_str!("../../tests/url_cases.json");
        let cases: Vec<serde_json::Value> = serde_json::from_str(cases).unwrap();
        for case in cases {
            let url = case["url"].as_str().unwrap();
            match case["error"].as_str() {
                Some(error) => {
                    let said = Target::parse(url).unwrap_err().to_string();
                    assert!(said.contains(error), "{said}");
                    assert!(!said.contains("secret"), "{said}");
                }
                None => {
                    let target = Target::parse(url).unwrap();
                    assert_eq!(Some(target.path.as_str()), case["target"].as_str(), "{url}");
                    let Address::Tcp(address) = target.address else { panic!("{url}") };
                    assert_eq!(u64::from(address.port()), case["port"].as_u64().unwrap(), "{url}");
                    let host: std::net::IpAddr = case["host"].as_str().unwrap().parse().unwrap();
                    assert_eq!(address.ip(), host, "{url}");
                }
            }
        }
    }

    #[test]
    fn rejects_wrong_urls() {
        for url in ["127.0.0.1:80", "http://", "http://a b/", "unix:x"] {
            let error = Target::parse(url).unwrap_err().to_string();
            assert!(error.contains("expected"), "{error}");
        }
    }
}
