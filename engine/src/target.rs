//! Parsing of URLs: `http://host:port/path`, `https://...` or `unix:/socket:/path`.

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
    /// With https, the host without brackets and port, whose certificate the server must have.
    pub tls_host: Option<String>,
}

impl Target {
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let Parts { is_https, place, path } = Parts::of(url).map_err(|what| problem(url, &what))?;
        let (address, host, name) = match place {
            Place::Socket(socket) => (Address::Unix(socket), "localhost".to_owned(), None),
            Place::Tcp { host, port, authority } => {
                let address = resolve(&host, port).map_err(|e| problem(url, &e.to_string()))?;
                (Address::Tcp(address), authority, Some(host))
            }
        };
        let tls_host = name.filter(|_| is_https);
        Ok(Self { url: url.to_owned(), address, host, path, tls_host })
    }
}

/// A password is not printed.
fn problem(url: &str, what: &str) -> Error {
    let shown = if url.contains('@') { String::new() } else { format!(" {url:?}") };
    let expected = if url.starts_with(SOCKET) { "unix:/SOCKET[:/PATH]" } else { HTTP_FORM };
    Error::usage(format!("URL{shown}: {what}; expected {expected}"))
}

const SOCKET: &str = "unix:";
const HTTP_FORM: &str = "http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH";

/// What a URL says, before its host is looked up. `tests/url_cases.json` tests it, and the same
/// rules in `deadheat.measure.url`.
#[derive(Debug)]
struct Parts {
    is_https: bool,
    place: Place,
    path: String,
}

#[derive(Debug)]
enum Place {
    Socket(PathBuf),
    /// The host has no brackets; the authority is the value of the Host header.
    Tcp {
        host: String,
        port: u16,
        authority: String,
    },
}

impl Parts {
    fn of(url: &str) -> std::result::Result<Self, String> {
        if url.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err("blank or control character".into());
        }
        if let Some(rest) = url.strip_prefix(SOCKET) {
            let (socket, path) = rest.split_once(':').unwrap_or((rest, "/"));
            if !socket.starts_with('/') || !path.starts_with('/') {
                return Err("not the path of a socket".into());
            }
            let place = Place::Socket(socket.into());
            return Ok(Self { is_https: false, place, path: path.to_owned() });
        }
        if !url.is_ascii() {
            return Err("character that is not ASCII; write it percent-encoded".into());
        }
        let schemes = [(true, "https://", 443), (false, "http://", 80)];
        let scheme = schemes.iter().find(|(_, scheme, _)| starts_with(url, scheme));
        let (is_https, scheme, default_port) = *scheme.ok_or("missing http:// or https://")?;
        let rest = url[scheme.len()..].split('#').next().unwrap_or_default();
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(cut);
        if authority.contains('@') {
            return Err("user name or password in it, which would be stored and printed".into());
        }
        let (host, port) = host_and_port(authority, default_port)?;
        let authority = authority.strip_suffix(':').unwrap_or(authority).to_owned();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { is_https, place: Place::Tcp { host, port, authority }, path })
    }
}

/// Whether `text` begins with `scheme`, in any case.
fn starts_with(text: &str, scheme: &str) -> bool {
    text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

fn host_and_port(
    authority: &str,
    default_port: u16,
) -> std::result::Result<(String, u16), &'static str> {
    const PORT: &str = "expected a port from 1 to 65535 behind the host";
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').unwrap_or_default();
            if host.parse::<std::net::Ipv6Addr>().is_err() {
                return Err("expected an IPv6 address in brackets");
            }
            (host, if after.is_empty() { after } else { after.strip_prefix(':').ok_or(PORT)? })
        }
        None => {
            let (host, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
            if host.contains(':') {
                return Err("an IPv6 address needs brackets, as in http://[::1]:8080/");
            }
            if !host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(&b))
            {
                return Err("character that no host has");
            }
            (host, port)
        }
    };
    if host.is_empty() {
        return Err("missing host");
    }
    let number = match port {
        "" => default_port,
        _ if port.bytes().all(|byte| byte.is_ascii_digit()) => port.parse().unwrap_or(0),
        _ => 0,
    };
    if number == 0 { Err(PORT) } else { Ok((host.to_ascii_lowercase(), number)) }
}

fn resolve(host: &str, port: u16) -> io::Result<SocketAddr> {
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    choose(&addresses).ok_or_else(|| io::Error::other("the host has no address"))
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
            if let Some(error) = case["error"].as_str() {
                let said = Target::parse(url).unwrap_err().to_string();
                assert!(said.contains(error), "{said}");
                assert!(!said.contains("secret"), "{said}");
                continue;
            }
            let Parts { is_https, place, path } = Parts::of(url).unwrap();
            assert_eq!(is_https, case["https"].as_bool().unwrap_or(false), "{url}");
            assert_eq!(Some(path.as_str()), case["target"].as_str(), "{url}");
            match place {
                Place::Socket(socket) => assert_eq!(socket.to_str(), case["socket"].as_str()),
                Place::Tcp { host, port, .. } => {
                    assert_eq!(Some(host.as_str()), case["host"].as_str(), "{url}");
                    assert_eq!(Some(u64::from(port)), case["port"].as_u64(), "{url}");
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
