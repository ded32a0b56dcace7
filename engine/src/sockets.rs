//! Non-blocking stream sockets; a thin layer over `libc`. Errors are error numbers.

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use crate::error::{Error, Result};
use crate::target::Address;

/// The cheapest one, which every kernel has. A request fits the first window, so pacing (BBR) would
/// only cost CPU time.
const CONGESTION_CONTROL: &CStr = c"reno";

/// A socket address in the kernel's format.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Endpoint {
    pub(crate) fn new(address: &Address) -> Result<Self> {
        match address {
            Address::Tcp(address) => Ok(Self::of_tcp(*address)),
            Address::Unix(path) => Self::of_unix(path.as_os_str().as_bytes()),
        }
    }

    /// A local address; the kernel chooses the port.
    pub(crate) fn of_source(source: IpAddr) -> Self {
        Self::of_tcp(SocketAddr::new(source, 0))
    }

    pub(crate) fn of_tcp(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => Self::of(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => Self::of(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }

    fn of_unix(path: &[u8]) -> Result<Self> {
        let mut address = libc::sockaddr_un {
            sun_family: libc::AF_UNIX as libc::sa_family_t,
            sun_path: [0; 108],
        };
        if path.len() >= address.sun_path.len() {
            let most = address.sun_path.len() - 1;
            return Err(Error::usage(format!("a unix socket path has at most {most} bytes")));
        }
        for (to, from) in address.sun_path.iter_mut().zip(path) {
            *to = *from as libc::c_char;
        }
        Ok(Self::of(address))
    }

    fn of<T>(address: T) -> Self {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        // SAFETY: all-zero bytes are a sockaddr_storage.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        // SAFETY: T, a sockaddr, is no longer than a sockaddr_storage, which is aligned for any.
        unsafe { std::ptr::from_mut(&mut storage).cast::<T>().write(address) };
        Self { storage, length: size_of::<T>() as libc::socklen_t }
    }

    pub(crate) fn is_tcp(&self) -> bool {
        self.storage.ss_family != libc::AF_UNIX as libc::sa_family_t
    }

    pub(crate) fn as_ptr(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        (std::ptr::from_ref(&self.storage).cast(), self.length)
    }
}

/// A new socket for connections to `to`.
pub(crate) fn open(to: &Endpoint, from: Option<&Endpoint>, no_delay: bool) -> Result<OwnedFd, i32> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed, and the new descriptor has no other owner.
    let socket = unsafe {
        OwnedFd::from_raw_fd(check(libc::socket(i32::from(to.storage.ss_family), kind, 0))?)
    };
    let fd = socket.as_raw_fd();
    if to.is_tcp() {
        let name: *const libc::c_char = CONGESTION_CONTROL.as_ptr();
        let length = CONGESTION_CONTROL.count_bytes() as libc::socklen_t;
        // SAFETY: `name` points to `length` valid bytes. A kernel without it keeps its own.
        unsafe {
            libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.cast(), length)
        };
        if no_delay {
            set_option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        }
    }
    if let Some(from) = from {
        set_option(fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
        let (address, length) = from.as_ptr();
        // SAFETY: `address` points to `length` valid bytes.
        check(unsafe { libc::bind(fd, address, length) })?;
    }
    Ok(socket)
}

/// Starts a connect; true if it is complete. If the client `speaks_first`, its request carries the last acknowledgement of
/// the handshake.
pub(crate) fn connect(fd: RawFd, to: &Endpoint, speaks_first: bool) -> Result<bool, i32> {
    if to.is_tcp() && speaks_first {
        set_option(fd, libc::IPPROTO_TCP, libc::TCP_QUICKACK, 0)?;
    }
    let (address, length) = to.as_ptr();
    // SAFETY: `address` points to `length` valid bytes.
    match check(unsafe { libc::connect(fd, address, length) }) {
        Err(libc::EINPROGRESS) => Ok(false),
        other => other.map(|_| true),
    }
}

/// Ends a TCP connection with a FIN, as close() does, but keeps its socket.
pub(crate) fn end_sending(fd: RawFd) {
    // SAFETY: no pointers are passed. It fails where the connection is broken, which is as well.
    unsafe { libc::shutdown(fd, libc::SHUT_WR) };
}

/// Frees the socket of a closed connection for another one.
pub(crate) fn disconnect(fd: RawFd) -> bool {
    let unspecified: libc::sa_family_t = libc::AF_UNSPEC as libc::sa_family_t;
    let family_bytes = size_of_val(&unspecified) as libc::socklen_t;
    // SAFETY: the pointer is to a family alone, which is all that is read of an address of none.
    unsafe { libc::connect(fd, std::ptr::from_ref(&unspecified).cast(), family_bytes) == 0 }
}

pub(crate) fn set_option(fd: RawFd, level: i32, option: i32, value: i32) -> Result<(), i32> {
    let pointer = std::ptr::from_ref(&value).cast();
    let length = size_of::<i32>() as libc::socklen_t;
    // SAFETY: `pointer` points to `length` valid bytes.
    check(unsafe { libc::setsockopt(fd, level, option, pointer, length) }).map(drop)
}

/// The pending error of a socket, which is how a connect ended; 0 for success.
pub(crate) fn take_error(fd: RawFd) -> i32 {
    let mut value = 0i32;
    let mut length = size_of::<i32>() as libc::socklen_t;
    let pointer = std::ptr::from_mut(&mut value).cast();
    // SAFETY: `pointer` and `length` describe `value`.
    match check(unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, pointer, &mut length)
    }) {
        Ok(_) => value,
        Err(errno) => errno,
    }
}

/// Writes what the socket accepts now; returns the number of bytes.
#[inline]
pub(crate) fn send(fd: RawFd, bytes: &[u8]) -> Result<usize, i32> {
    // SAFETY: the pointer and length are those of `bytes`.
    let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    not_now(sent, 0)
}

/// Reads the available bytes: `None` if there are none yet, 0 at the end of the stream.
#[inline]
pub(crate) fn receive(fd: RawFd, buffer: &mut [u8]) -> Result<Option<usize>, i32> {
    // SAFETY: the pointer and length are those of `buffer`.
    let got = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    not_now(got, usize::MAX).map(|got| (got != usize::MAX).then_some(got))
}

#[inline]
fn not_now(result: isize, none: usize) -> Result<usize, i32> {
    if result >= 0 {
        return Ok(result as usize);
    }
    match errno() {
        libc::EAGAIN | libc::EINTR => Ok(none),
        errno => Err(errno),
    }
}

/// True if the peer has sent its last byte, read or not, or the connection is broken.
pub(crate) fn is_hung_up(fd: RawFd) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLRDHUP, revents: 0 };
    // SAFETY: `poll` is one valid pollfd.
    unsafe { libc::poll(&mut poll, 1, 0) > 0 }
}

/// Ends a connection and the operations on it.
pub(crate) fn shut_down(fd: RawFd) {
    // SAFETY: no pointers are passed. It fails where the peer was first, which is as well.
    unsafe { libc::shutdown(fd, libc::SHUT_RDWR) };
}

pub(crate) fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Turns -1 into the error number.
pub(crate) fn check(result: i32) -> Result<i32, i32> {
    if result < 0 { Err(errno()) } else { Ok(result) }
}
