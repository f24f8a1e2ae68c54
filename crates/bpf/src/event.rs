//! Parses the records that the tracing program (programs/log.c) writes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Size of `struct record` in programs/log.c, in bytes.
pub(crate) const RECORD: usize = 160;

/// Address family of IPv4 in Linux (AF_INET).
const AF_INET: u16 = 2;

/// The event of a connection that a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A segment arrived while data was unacknowledged. The segment has not been processed yet.
    Ack,
    /// A segment was retransmitted. The counters include it.
    Retransmit,
    /// `icsk_ca_state` is about to change to this value: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4
    /// Loss. Every time-out is reported as 4, even if the state was already 4. Window and threshold
    /// already have the values of the new state.
    State(u8),
    /// The state of the connection is about to change to this value (the kernel's numbers: 1
    /// ESTABLISHED, 2 SYN-SENT, 4 FIN-WAIT-1, 5 FIN-WAIT-2, 7 CLOSED, 8 CLOSE-WAIT, 9 LAST-ACK, 11
    /// CLOSING, ...).
    Phase(u8),
}

/// Snapshot of a connection at an event. Names and units are those of Linux's `struct tcp_sock` and
/// `inet_connection_sock`, unless the name contains a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time of the event by CLOCK_MONOTONIC, in nanoseconds.
    pub time: u64,
    /// The event of a connection that a record is about.
    pub kind: Kind,
    /// Number of the socket, as getsockopt(SO_COOKIE) returns it; never reused while the machine is
    /// up.
    pub socket: u64,
    /// Inode number of the socket's network namespace.
    pub namespace: u32,
    /// Tag assigned to the namespace.
    pub tag: u32,
    /// Address and port of the local end. The port is 0 before the socket is bound and after it is
    /// closed.
    pub local: SocketAddr,
    /// Address and port of the remote end.
    pub remote: SocketAddr,
    /// State of the connection, numbered as in [`Kind::Phase`].
    pub phase: u8,
    /// State of the congestion control: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
    pub ca_state: u8,
    /// Congestion window in segments.
    pub snd_cwnd: u32,
    /// Slow-start threshold in segments; 0x7fffffff if there is none.
    pub snd_ssthresh: u32,
    /// Smoothed round-trip time in eighths of a microsecond; 0 before the first sample.
    pub srtt_us: u32,
    /// Mean deviation of the round-trip time in quarters of a microsecond.
    pub mdev_us: u32,
    /// Difference between the time-out and the smoothed round-trip time in microseconds: at least
    /// the minimum time-out.
    pub rttvar_us: u32,
    /// Round-trip time of the most recently sent segment that has been delivered, in microseconds
    /// (`rack.rtt_us`). It may belong to a retransmitted segment, so it is not always a sample of
    /// `srtt_us`.
    pub rtt_us: u32,
    /// Retransmission time-out in microseconds, back-off included; a multiple of the kernel's tick.
    pub rto_us: u64,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Segments considered in the network (Linux's tcp_packets_in_flight).
    pub in_flight: u32,
    /// First unacknowledged sequence number.
    pub snd_una: u32,
    /// Next sequence number to be sent.
    pub snd_nxt: u32,
    /// Sequence number of the application's next byte; after the FIN, the number that follows the
    /// FIN.
    pub write_seq: u32,
    /// Number of acknowledged sequence numbers: payload, FIN and, at the end that opened the
    /// connection, SYN.
    pub bytes_acked: u64,
    /// Payload sent in bytes, including retransmissions.
    pub bytes_sent: u64,
    /// Payload retransmitted so far, in bytes.
    pub bytes_retrans: u64,
    /// Number of segments delivered, by cumulative or selective acknowledgment.
    pub delivered: u32,
    /// Number of segments marked as lost so far.
    pub lost: u32,
    /// Number of retransmitted segments, SYN included.
    pub total_retrans: u32,
    /// Number of time-outs, including those of the SYN, modulo 2^16; absent before Linux 6.7.
    pub total_rto: Option<u32>,
}

impl Event {
    /// Parses a record. `tick` is the kernel's tick in nanoseconds.
    pub(crate) fn read(record: &[u8], tick: u64) -> Event {
        let mut fields = Fields(record);
        let time = fields.u64();
        let socket = fields.u64();
        let bytes_acked = fields.u64();
        let bytes_sent = fields.u64();
        let bytes_retrans = fields.u64();
        let namespace = fields.u32();
        let tag = fields.u32();
        let snd_una = fields.u32();
        let snd_nxt = fields.u32();
        let write_seq = fields.u32();
        let snd_cwnd = fields.u32();
        let snd_ssthresh = fields.u32();
        let srtt_us = fields.u32();
        let mdev_us = fields.u32();
        let rttvar_us = fields.u32();
        let rtt_us = fields.u32();
        let rto = fields.u32();
        let packets_out = fields.u32();
        let in_flight = fields.u32();
        let delivered = fields.u32();
        let lost = fields.u32();
        let total_retrans = fields.u32();
        let total_rto = fields.u32();
        let family = fields.u16();
        let local_port = fields.u16();
        let remote_port = u16::from_be_bytes(fields.take());
        let [kind, ca_state, phase, next] = fields.take();
        let _unused: [u8; 6] = fields.take();
        let local = address(family, fields.take());
        let remote = address(family, fields.take());
        Event {
            time,
            kind: match kind {
                0 => Kind::Ack,
                1 => Kind::Retransmit,
                2 => Kind::State(next),
                _ => Kind::Phase(next),
            },
            socket,
            namespace,
            tag,
            local: SocketAddr::new(local, local_port),
            remote: SocketAddr::new(remote, remote_port),
            phase,
            ca_state,
            snd_cwnd,
            snd_ssthresh,
            srtt_us,
            mdev_us,
            rttvar_us,
            rtt_us,
            rto_us: u64::from(rto) * tick / 1000,
            packets_out,
            in_flight,
            snd_una,
            snd_nxt,
            write_seq,
            bytes_acked,
            bytes_sent,
            bytes_retrans,
            delivered,
            lost,
            total_retrans,
            total_rto: (total_rto != u32::MAX).then_some(total_rto),
        }
    }
}

/// The remaining bytes of a record.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("a record has RECORD bytes");
        self.0 = rest;
        *field
    }

    fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }
}

fn address(family: u16, bytes: [u8; 16]) -> IpAddr {
    if family == AF_INET {
        let [a, b, c, d, ..] = bytes;
        Ipv4Addr::new(a, b, c, d).into()
    } else {
        // An IPv4 connection of an IPv6 socket has a mapped address.
        Ipv6Addr::from(bytes).to_canonical()
    }
}
