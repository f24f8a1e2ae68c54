//! A host on another machine, whose packets are sent in VXLAN (RFC 7348) over UDP. The kernel of
//! every distribution supports VXLAN, so the other machine needs only `ip` and no part of bentpipe.
//! See [`Config::join`].
//!
//! The engine terminates the tunnel on its own socket, so this machine has no interface, route or
//! namespace for it. The VXLAN segment has the number of the UDP port, and each port belongs to one
//! host. Ethernet addresses are derived from the node's number, and the host's interface does not
//! query them (`arp off`).
//!
//! **Probes.** Ten times per second, an echo request (ICMP, RFC 792) is sent to the host's inner
//! address, from an address of the network that no node has. The host's kernel answers, and the
//! answer ends in this module. Neither packet enters the model. The model's delays are shortened by
//! an estimate from the round trips: [`crate::path`].
//!
//! **Sizes.** The tunnel adds 50 bytes to a packet over IPv4, and 70 over IPv6. Outer packets may
//! be fragmented, so the hosts keep the network's MTU. With an MTU of 1450 (1430 over IPv6, 1370
//! within WireGuard) there is no fragmentation.
//!
//! **Limits.** Nothing is encrypted or authenticated. Packets from any other address than the
//! host's are dropped; there is no further protection. Between machines without a common private
//! network, use the addresses of a WireGuard or IPsec tunnel.
//!
//! **Offloads.** A veth pair between the machines passes on the work that packets have left to an
//! interface. The host's interface is therefore configured to send single packets instead of TCP
//! super-packets (`gso_max_segs 1`), and this module computes missing checksums.

use super::unfinished::finish;
use super::Port;
use crate::clock::monotonic;
use crate::error::{Doing, Error};
use crate::path::Path;
use crate::sys::socket::{allow_fragments, drops};
use bentpipe_core::address::Plan;
use bentpipe_core::{NodeId, Span};
use bentpipe_wire::{ethernet_payload, read, write, Echo, Headers};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::socket::{sendmsg, setsockopt, sockopt, MsgFlags, SockaddrStorage};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

/// UDP port of the first host: the port of VXLAN (RFC 7348, section 8).
pub const PORT: u16 = 4789;
/// Interval between two probes of a tunnel, in nanoseconds.
const INTERVAL: u64 = 100_000_000;
/// Time after which a probe counts as lost, in nanoseconds.
const PATIENCE: u64 = 3_000_000_000;
/// Size of the buffer of packets that wait for the engine, in bytes.
const ROOM: usize = 64 << 20;
/// Number of packets that are read and discarded before other ports get their turn.
const TURN: usize = 64;
/// Bytes of the VXLAN header.
const VXLAN: usize = 8;
/// Bytes of the VXLAN and Ethernet headers.
const HEADER: usize = VXLAN + 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// The configuration of a tunnel to a host on another machine.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address of the other machine, and UDP port at both machines.
    pub machine: SocketAddr,
    /// Node of the network that this host represents.
    pub node: NodeId,
    /// IPv4 address of the host within the tunnel.
    pub ipv4: Ipv4Addr,
    /// IPv6 address of the host within the tunnel.
    pub ipv6: Ipv6Addr,
    /// Source address of the probes, which no node has.
    pub prober: Ipv4Addr,
    /// Maximum size of a packet on the host's interface, in bytes.
    pub mtu: u32,
}

impl Config {
    /// Returns the Ethernet addresses (locally administered) of the host's end and of the engine's
    /// end.
    fn ethernet(&self) -> [[u8; 6]; 2] {
        let [high, low] = self.node.0.to_be_bytes();
        [0, 1].map(|end| [0x02, b'b', b'p', end, high, low])
    }

    /// Returns the commands that create the interface `name` on the other machine, from which this
    /// machine is reachable at `here`.
    pub fn join(&self, name: &str, here: IpAddr) -> Vec<String> {
        let [a, b, c, d, e, f] = self.ethernet()[0];
        let (port, mtu) = (self.machine.port(), self.mtu);
        let (ipv4, ipv6) = (self.ipv4, self.ipv6);
        vec![
            format!(
                "ip link add {name} address {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x} mtu {mtu} \
                 gso_max_segs 1 type vxlan id {port} remote {here} dstport {port} ttl 64"
            ),
            format!("ip link set {name} arp off"),
            format!("ip address add {ipv4}/{} dev {name}", Plan::IPV4_PREFIX),
            format!("ip address add {ipv6}/{} dev {name}", Plan::IPV6_PREFIX),
            format!("ip link set {name} up"),
        ]
    }
}

/// The engine's end of a tunnel.
pub struct Tunnel {
    socket: UdpSocket,
    timer: TimerFd,
    /// Readable if the socket or the timer is readable.
    both: Epoll,
    machine: SocketAddr,
    to: SockaddrStorage,
    /// The first bytes of every packet to the host, except for the type of its content.
    header: [u8; HEADER],
    /// Source address of the probes.
    prober: Ipv4Addr,
    /// Address of the host, the destination of the probes.
    host: Ipv4Addr,
    /// Number and sending time of the unanswered probes.
    pending: VecDeque<(u16, u64)>,
    number: u16,
    next_probe: u64,
    path: Path,
}

impl Tunnel {
    /// Opens the engine's end in this thread's namespace, at its address `here`.
    ///
    /// # Errors
    /// Returns an error if the port is in use, or if there is no such address.
    pub fn new(config: &Config, here: IpAddr) -> Result<Tunnel, Error> {
        let port = config.machine.port();
        let socket = UdpSocket::bind((here, port)).doing(format!("opening UDP port {port} for a tunnel"))?;
        let set_up = || -> io::Result<(TimerFd, Epoll)> {
            socket.set_nonblocking(true)?;
            setsockopt(&socket, sockopt::RcvBufForce, &ROOM)
                .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &ROOM))?;
            setsockopt(&socket, sockopt::SndBufForce, &ROOM)
                .or_else(|_| setsockopt(&socket, sockopt::SndBuf, &ROOM))?;
            allow_fragments(socket.as_fd(), config.machine.is_ipv6())?;
            let timer =
                TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
            let both = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
            both.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
            both.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, 1))?;
            Ok((timer, both))
        };
        let (timer, both) = set_up().doing("setting up a tunnel")?;
        let [host, engine] = config.ethernet();
        let mut header = [0; HEADER];
        // The flag I, and the number of the segment in bytes 4 to 6 (RFC 7348, section 5).
        header[0] = 0x08;
        header[5..7].copy_from_slice(&port.to_be_bytes());
        header[8..14].copy_from_slice(&host);
        header[14..20].copy_from_slice(&engine);
        let mut tunnel = Tunnel {
            socket,
            timer,
            both,
            machine: config.machine,
            to: config.machine.into(),
            header,
            prober: config.prober,
            host: config.ipv4,
            pending: VecDeque::new(),
            number: 0,
            next_probe: 0,
            path: Path::default(),
        };
        tunnel.probe(monotonic()).doing("sending through a tunnel")?;
        Ok(tunnel)
    }

    /// Returns the address of this machine on the path to another machine.
    ///
    /// # Errors
    /// Returns an error if there is no path to the machine.
    pub fn here(machine: SocketAddr) -> Result<IpAddr, Error> {
        let ask = || -> io::Result<IpAddr> {
            let any: SocketAddr = match machine {
                SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
                SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
            };
            let socket = UdpSocket::bind(any)?;
            socket.connect(machine)?;
            Ok(socket.local_addr()?.ip())
        };
        ask().doing(format!("looking for the path to {}", machine.ip()))
    }

    /// Sends a packet of an Ethernet type. Returns true if the socket had room for it.
    fn send(&self, kind: [u8; 2], packet: &[u8]) -> bool {
        let mut header = self.header;
        header[20..].copy_from_slice(&kind);
        let parts = [IoSlice::new(&header), IoSlice::new(packet)];
        sendmsg(self.socket.as_raw_fd(), &parts, &[], MsgFlags::MSG_DONTWAIT, Some(&self.to)).is_ok()
    }

    /// Sends a probe, discards probes that are too old, and sets the timer for the next probe.
    fn probe(&mut self, now: u64) -> io::Result<()> {
        while self.pending.front().is_some_and(|(_, sent)| now > sent + PATIENCE) {
            self.pending.pop_front();
            self.path.unanswered();
        }
        self.number = self.number.wrapping_add(1);
        let request = write::echo_request(self.prober, self.host, self.machine.port(), self.number);
        self.pending.push_back((self.number, monotonic()));
        self.send(IPV4, &request);
        self.next_probe = now + INTERVAL;
        let at = TimeSpec::from_duration(Duration::from_nanos(self.next_probe));
        Ok(self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?)
    }

    /// Handles a packet from the host as the answer to a probe. Returns true if it is an answer.
    fn is_answer(&mut self, headers: &Headers, packet: &[u8]) -> bool {
        let Some(Echo { reply: true, identifier, number }) = headers.echo(packet) else { return false };
        let ours = identifier == self.machine.port()
            && headers.source == self.host
            && headers.destination == self.prober;
        if ours {
            if let Some(index) = self.pending.iter().position(|(pending, _)| *pending == number) {
                let (_, sent) = self.pending.remove(index).expect("it was found there");
                if self.path.rtt().count() == 0 {
                    // Earlier probes were sent before the other machine had joined.
                    self.pending.drain(..index);
                }
                self.path.answered(Span::from_nanos(monotonic().saturating_sub(sent)));
            }
        }
        ours
    }
}

impl Port for Tunnel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let now = monotonic();
        if now >= self.next_probe {
            self.probe(now)?;
        }
        for _ in 0..TURN {
            let (length, from) = match self.socket.recv_from(buffer) {
                Ok(received) => received,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => return Ok(None),
                    _ => return Err(error),
                },
            };
            let from_host = from.ip() == self.machine.ip()
                && length > HEADER
                && buffer[0] & 0x08 != 0
                && buffer[4..7] == self.header[4..7]
                && ethernet_payload(&buffer[VXLAN..length]).is_some();
            if from_host {
                buffer.copy_within(HEADER..length, 0);
                let Some(headers) = read(&buffer[..length - HEADER]) else {
                    // The engine counts the packet as a stray.
                    return Ok(Some(length - HEADER));
                };
                let packet = &mut buffer[..headers.end];
                if !self.is_answer(&headers, packet) {
                    finish(packet, &headers);
                    return Ok(Some(headers.end));
                }
            }
        }
        Ok(None)
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        let kind = if packet.first().is_some_and(|first| first >> 4 == 6) { IPV6 } else { IPV4 };
        Ok(self.send(kind, packet))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.both.0.as_fd()
    }

    fn lost(&self) -> u64 {
        drops(self.socket.as_fd()).map_or(0, u64::from)
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }
}

/// Parses an address with or without a port, such as `10.0.0.2`, `10.0.0.2:4790`, `fd00::2` or
/// `[fd00::2]:4790`. `port` is the default.
pub fn machine(text: &str, port: u16) -> Option<SocketAddr> {
    let plain = || text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, port));
    text.parse().ok().or_else(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_wire::checksum;

    fn config(machine: SocketAddr) -> Config {
        Config {
            machine,
            node: NodeId(258),
            ipv4: "198.18.1.3".parse().unwrap(),
            ipv6: "fd62:656e:7470::103".parse().unwrap(),
            prober: "198.18.15.254".parse().unwrap(),
            mtu: 1500,
        }
    }

    #[test]
    fn machines_have_addresses_with_and_without_ports() {
        for (text, expected) in [
            ("10.0.0.2", Some("10.0.0.2:7")),
            ("10.0.0.2:9", Some("10.0.0.2:9")),
            ("fd00::2", Some("[fd00::2]:7")),
            ("[fd00::2]:9", Some("[fd00::2]:9")),
            ("there", None),
        ] {
            assert_eq!(machine(text, 7), expected.map(|text| text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn the_commands_for_the_other_machine_match_the_tunnel() {
        let commands = config("10.0.0.2:4789".parse().unwrap()).join("sat0", "10.0.0.1".parse().unwrap());
        assert_eq!(
            commands[0],
            "ip link add sat0 address 02:62:70:00:01:02 mtu 1500 gso_max_segs 1 type vxlan id 4789 \
             remote 10.0.0.1 dstport 4789 ttl 64"
        );
        assert_eq!(commands[2], "ip address add 198.18.1.3/20 dev sat0");
    }

    #[test]
    fn packets_are_framed_probes_answered_and_strangers_ignored() {
        // The other machine is 127.0.0.2. Its port equals the port of the engine's end on
        // 127.0.0.1.
        let peer = UdpSocket::bind("127.0.0.2:0").unwrap();
        let mut tunnel = {
            let machine = peer.local_addr().unwrap();
            Tunnel::new(&config(machine), Tunnel::here(machine).unwrap()).unwrap()
        };
        let engine = SocketAddr::from(([127, 0, 0, 1], peer.local_addr().unwrap().port()));
        let (mut got, mut buffer) = ([0; 2000], vec![0; 65_536]);
        let length = peer.recv(&mut got).unwrap();
        assert_eq!((length, got[20], got[21]), (HEADER + 28, 8, 0));
        assert_eq!(got[8..14], [2, b'b', b'p', 0, 1, 2]);
        assert_eq!((checksum::of(&got[22..42]), checksum::of(&got[42..50])), (0, 0));
        // The answer, with exchanged source and destination of Ethernet and IP.
        let mut answer = got[..length].to_vec();
        answer[34..38].copy_from_slice(&got[38..42]);
        answer[38..42].copy_from_slice(&got[34..38]);
        answer[42] = 0;
        peer.send_to(&answer, engine).unwrap();
        UdpSocket::bind("127.0.0.3:0").unwrap().send_to(&answer, engine).unwrap();
        let mut packet = answer.clone();
        (packet[42], packet[20], packet[21]) = (3, IPV4[0], IPV4[1]);
        peer.send_to(&packet, engine).unwrap();
        let read = tunnel.read(&mut buffer).unwrap();
        assert_eq!((read, &buffer[..28]), (Some(28), &packet[HEADER..]));
        assert_eq!((tunnel.path.rtt().count(), tunnel.read(&mut buffer).unwrap()), (1, None));
        assert!(tunnel.write(&[0x60; 1500]).unwrap());
        let length = loop {
            let length = peer.recv(&mut got).unwrap();
            if length > HEADER + 28 {
                break length;
            }
        };
        assert_eq!((length, [got[20], got[21]]), (HEADER + 1500, IPV6));
    }
}
