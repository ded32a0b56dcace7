//! What the kernel knows about a TCP connection: option TCP_INFO.

use std::os::fd::RawFd;

use crate::packets::Packets;

/// The state of a socket without a connection (enum in linux/tcp.h).
const TCP_CLOSE: u8 = 7;

/// Offsets in struct tcp_info (linux/tcp.h), which only grows. libc has no struct with all of them.
const STATE_AT: usize = 0;
const TOTAL_RETRANS_AT: usize = 100;
const SEGS_OUT_AT: usize = 136;
const SEGS_IN_AT: usize = 140;
const DATA_SEGS_IN_AT: usize = 152;
const DSACK_DUPS_AT: usize = 216;
const RCV_OOOPACK_AT: usize = 224;
const BYTES: usize = RCV_OOOPACK_AT + size_of::<u32>();

pub(crate) struct TcpInfo {
    bytes: [u8; BYTES],
    /// How many the kernel has filled; an older one has fewer.
    length: usize,
}

impl TcpInfo {
    /// `None` if this is no TCP socket, or the kernel has no counters.
    pub(crate) fn read(fd: RawFd) -> Option<Self> {
        let mut bytes = [0; BYTES];
        let mut length = BYTES as libc::socklen_t;
        // SAFETY: the pointer and length are those of `bytes`.
        let result = unsafe {
            let pointer = bytes.as_mut_ptr().cast();
            libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, pointer, &mut length)
        };
        let info = Self { bytes, length: length as usize };
        (result == 0 && info.counter(TOTAL_RETRANS_AT).is_some()).then_some(info)
    }

    /// True if this side is closed, so that no reset would be sent.
    pub(crate) fn is_closed(&self) -> bool {
        self.bytes[STATE_AT] == TCP_CLOSE
    }

    /// The counts since the connection began. Disconnecting resets them (Linux 5.6), so a recycled
    /// socket counts from 0.
    pub(crate) fn packets(&self) -> Packets {
        Packets {
            retransmits: self.counter(TOTAL_RETRANS_AT).unwrap_or(0).into(),
            spurious: self.counter(DSACK_DUPS_AT).map(u64::from),
            out_of_order: self.counter(RCV_OOOPACK_AT).map(u64::from),
            packets_in: self.counter(SEGS_IN_AT).map(u64::from),
            data_packets_in: self.counter(DATA_SEGS_IN_AT).map(u64::from),
            packets_out: self.counter(SEGS_OUT_AT).map(u64::from),
        }
    }

    fn counter(&self, at: usize) -> Option<u32> {
        let bytes = self.bytes[..self.length.min(BYTES)].get(at..at + size_of::<u32>())?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    }

    #[cfg(test)]
    pub(crate) fn with_counts(retransmits: u32, out_of_order: Option<u32>) -> Self {
        let mut bytes = [0; BYTES];
        bytes[TOTAL_RETRANS_AT..][..4].copy_from_slice(&retransmits.to_ne_bytes());
        bytes[RCV_OOOPACK_AT..][..4].copy_from_slice(&out_of_order.unwrap_or(0).to_ne_bytes());
        Self { bytes, length: if out_of_order.is_some() { BYTES } else { RCV_OOOPACK_AT } }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;
    use crate::sockets;

    /// Both ends of a connection.
    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nodelay(true).unwrap();
        client.set_nodelay(true).unwrap();
        (client, server)
    }

    /// Sends one byte that the receiver's kernel drops, so that it is sent again.
    fn send_and_lose(mut sender: &TcpStream, receiver: &TcpStream) {
        let mut drop_all = libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0 };
        let program = libc::sock_fprog { len: 1, filter: &raw mut drop_all };
        // SAFETY: the program lives until the kernel has copied it.
        let result = unsafe {
            libc::setsockopt(
                receiver.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const program).cast(),
                size_of_val(&program) as libc::socklen_t,
            )
        };
        assert_eq!(result, 0);
        sender.write_all(b"a").unwrap();
        let fd = receiver.as_raw_fd();
        sockets::set_option(fd, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0).unwrap();
    }

    fn packets(stream: &TcpStream) -> Packets {
        TcpInfo::read(stream.as_raw_fd()).unwrap().packets()
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no socket options")]
    fn counts_what_was_sent_again_and_what_came_early() {
        let (client, mut server) = connection();
        assert_eq!(packets(&client).retransmits, 0);
        send_and_lose(&client, &server);
        client.try_clone().unwrap().write_all(b"b").unwrap();
        server.read_exact(&mut [0; 2]).unwrap();
        assert!(packets(&client).retransmits >= 1, "{:?}", packets(&client));
        assert_eq!(packets(&client).spurious.unwrap_or(0), 0, "the server did not have it");
        let early = packets(&server).out_of_order;
        assert!(early.is_none_or(|count| count == 1), "{early:?}");
        assert_eq!(packets(&server).retransmits, 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no socket options")]
    fn counts_what_came_and_what_was_sent() {
        let (mut client, mut server) = connection();
        let begun = packets(&client);
        for _ in 0..3 {
            client.write_all(b"a").unwrap();
            server.read_exact(&mut [0]).unwrap();
            server.write_all(b"b").unwrap();
            client.read_exact(&mut [0]).unwrap();
        }
        let growth =
            |of: fn(&Packets) -> Option<u64>| of(&packets(&client)).unwrap() - of(&begun).unwrap();
        assert_eq!(growth(|counts| counts.data_packets_in), 3);
        assert!(growth(|counts| counts.packets_in) >= 3);
        assert!(growth(|counts| counts.packets_out) >= 3);
    }

    /// The server's kernel delays its acknowledgment while a request of two segments waits to be
    /// read, so the client's probes for a lost tail before it comes.
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no socket options")]
    fn a_probe_for_what_a_slow_reader_has_got_is_spurious() {
        let body = vec![b'x'; 65_800];
        let mut probed = Packets::default();
        for _ in 0..50 {
            let (mut client, mut server) = connection();
            client.write_all(&body).unwrap();
            std::thread::sleep(Duration::from_millis(60));
            server.read_exact(&mut body.clone()).unwrap();
            probed = packets(&client);
            if probed.retransmits > 0 {
                break;
            }
        }
        assert!(probed.spurious.is_none_or(|count| count == probed.retransmits), "{probed:?}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no socket options")]
    fn unix_socket_has_no_reading() {
        let (stream, _peer) = UnixStream::pair().unwrap();
        assert!(TcpInfo::read(stream.as_raw_fd()).is_none());
    }

    #[test]
    fn shorter_struct_of_an_older_kernel_has_no_later_counter() {
        assert_eq!(TcpInfo::with_counts(2, None).packets().out_of_order, None);
        assert_eq!(TcpInfo::with_counts(2, Some(3)).packets().out_of_order, Some(3));
        let short = TcpInfo { length: TOTAL_RETRANS_AT, ..TcpInfo::with_counts(2, None) };
        assert_eq!(short.counter(TOTAL_RETRANS_AT), None);
    }
}
