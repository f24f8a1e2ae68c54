//! Queries of the state of a TCP connection by sock_diag(7). The answer equals that of
//! getsockopt(TCP_INFO). But question and answer are messages on a socket, so a ring can exchange
//! them in the call that writes a packet.

use super::info::Info;
use crate::host::netlink::{attribute, message, Attributes, HEADER};
use crate::observer::QUESTION;
use nix::sys::socket::{socket, AddressFamily, SockFlag, SockProtocol, SockType};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;

/// Size of `struct inet_diag_msg`, with which an answer begins, in bytes; attributes follow.
const MESSAGE: usize = 72;
/// The type of questions and answers (<linux/sock_diag.h>).
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// State of a listening socket (<net/tcp_states.h>).
const LISTEN: u8 = 10;
/// Attribute that contains a `struct tcp_info` (<linux/inet_diag.h>).
const INET_DIAG_INFO: u16 = 2;

/// Opens the socket for queries about connections of this thread's namespace.
///
/// # Errors
/// Returns an error if the kernel has no netlink, or if there are no more file descriptors.
pub fn open() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkSockDiag)?)
}

/// Returns the question about the connection from `local` to `remote`.
pub fn question(local: SocketAddrV4, remote: SocketAddrV4) -> [u8; QUESTION] {
    // inet_diag_req_v2: family, protocol, requested attributes, padding, states, and an
    // inet_diag_sockid of ports, addresses of 16 bytes, interface, and a cookie, where all ones
    // match any.
    let mut header = [0; QUESTION - HEADER];
    let mut put = |at: usize, value: &[u8]| header[at..at + value.len()].copy_from_slice(value);
    put(0, &[libc::AF_INET as u8, libc::IPPROTO_TCP as u8, 1 << (INET_DIAG_INFO - 1), 0]);
    put(4, &u32::MAX.to_ne_bytes());
    put(8, &local.port().to_be_bytes());
    put(10, &remote.port().to_be_bytes());
    put(12, &local.ip().octets());
    put(28, &remote.ip().octets());
    put(48, &[0xff; 8]);
    let message = message(SOCK_DIAG_BY_FAMILY, libc::NLM_F_REQUEST as u16, 0, &header, &Attributes::new());
    message.try_into().expect("it has this length")
}

/// Returns the state in an answer; `None` if there is no such connection, or if the answer is about
/// the listening socket.
pub fn answered(answer: &[u8]) -> Option<Info> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    if kind != SOCK_DIAG_BY_FAMILY || *answer.get(HEADER + 1)? == LISTEN {
        return None;
    }
    attribute(answer.get(HEADER + MESSAGE..)?, INET_DIAG_INFO).map(Info::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{recv, send, setsockopt, sockopt, MsgFlags};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::os::fd::{AsFd, AsRawFd};

    fn v4(address: SocketAddr) -> SocketAddrV4 {
        let SocketAddr::V4(address) = address else { panic!("{address} is of IPv4") };
        address
    }

    #[test]
    fn the_answer_equals_tcp_info() {
        let asking = match open() {
            Ok(asking) => asking,
            Err(error) => return bentpipe_testing::skipped(format!("this kernel has no sock_diag: {error}")),
        };
        let ask = |local, remote| {
            send(asking.as_raw_fd(), &question(local, remote), MsgFlags::empty()).unwrap();
            let mut answer = [0; 2048];
            let length = recv(asking.as_raw_fd(), &mut answer, MsgFlags::empty()).unwrap();
            answered(&answer[..length])
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let (local, remote) = (v4(stream.local_addr().unwrap()), v4(stream.peer_addr().unwrap()));
        let Some(told) = ask(local, remote) else {
            return bentpipe_testing::skipped("this kernel tells nothing of TCP by sock_diag");
        };
        let own = Info::of(stream.as_fd()).unwrap();
        assert_eq!((told.state(), told.cwnd(), told.srtt()), (own.state(), own.cwnd(), own.srtt()));
        assert_eq!(told.row(true).map(f64::to_bits), own.row(true).map(f64::to_bits));
        // The other end is a separate connection, and no connection has another port.
        assert!(ask(remote, local).is_some());
        assert!(ask(local, SocketAddrV4::new(*remote.ip(), 1)).is_none());
        // After a reset, both ends are gone and only the listening socket remains.
        setsockopt(&stream, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 }).unwrap();
        drop(stream);
        assert!(ask(local, remote).is_none() && ask(remote, local).is_none());
        drop(accepted);
    }
}
