//! Headers of real packets: IPv4 (RFC 791), IPv6 with its extension headers (RFC 8200), TCP (RFC
//! 9293), UDP (RFC 768), ICMP (RFC 792, RFC 4443) and Ethernet. The crate `etherparse` parses and
//! writes them. All other crates use this one, so that they interpret packets in the same way.
//!
//! | packet | interpretation |
//! | --- | --- |
//! | shorter than its header or its length field indicates, or with a header length below the minimum | not a packet: routers discard it (RFC 1812, section 5.2.2; RFC 8200, section 3) |
//! | longer than its length field indicates | the additional bytes are padding of the link layer |
//! | fragment, the first included | protocol, but no ports and no payload, so that all fragments of a datagram are treated in the same way |
//! | IPv6 fragment header with offset 0 and no more fragments | an unfragmented packet (RFC 6946) |
//! | IPv6 extension headers | skipped; the protocol of a packet with a truncated or misplaced extension header is the number of that header |
//! | TCP or UDP header that is truncated or has a wrong length | ports, if present, but no payload |
//!
//! **Deviation.** The last address in a routing header is ignored. The checksum of a packet that
//! has not yet reached this address (RFC 8200, section 8.1) is therefore considered invalid.

pub mod checksum;
mod headers;
mod tcp;
pub mod write;

pub use headers::{ethernet_payload, read, read_quoted, set_traffic_class, Echo, Headers};
pub use tcp::{set_acknowledgment, tcp, TcpSegment};

/// Protocol number of ICMP.
pub const ICMP: u8 = etherparse::ip_number::ICMP.0;
/// Protocol number of TCP.
pub const TCP: u8 = etherparse::ip_number::TCP.0;
/// Protocol number of UDP.
pub const UDP: u8 = etherparse::ip_number::UDP.0;
/// Protocol number of ICMPv6.
pub const ICMPV6: u8 = etherparse::ip_number::IPV6_ICMP.0;
