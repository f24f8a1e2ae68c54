//! Headers of real packets: IPv4 (RFC 791), IPv6 with its extension headers (RFC 8200), TCP (RFC
//! 9293), UDP (RFC 768), ICMP (RFC 792, RFC 4443) and Ethernet, read and written by the crate
//! `etherparse`. All other crates use this one, so that a packet means the same to each of them.
//!
//! | packet | how it is read |
//! | --- | --- |
//! | shorter than its header or its length field says, or with a header length below the minimum | not a packet: routers discard it (RFC 1812, section 5.2.2; RFC 8200, section 3) |
//! | longer than its length field says | the rest is link-layer padding and belongs to no layer |
//! | fragment, the first included | protocol, but no ports and no payload, so that all fragments of a datagram are treated in the same way |
//! | IPv6 fragment header with offset 0 and no more fragments | a whole packet (RFC 6946) |
//! | IPv6 extension headers | passed over; with one that is cut off or out of order, the protocol is that header's number |
//! | TCP or UDP header that is cut off or gives a wrong length | ports, if they are there, but no payload |
//!
//! **Deviation.** The last address in a routing header is ignored: checksums of packets still under
//! way to it (RFC 8200, section 8.1) do not verify here.

pub mod checksum;
mod headers;
pub mod write;

pub use headers::{ethernet_payload, read, read_quoted, set_traffic_class, Echo, Headers};

/// Protocol number of ICMP.
pub const ICMP: u8 = etherparse::ip_number::ICMP.0;
/// Protocol number of TCP.
pub const TCP: u8 = etherparse::ip_number::TCP.0;
/// Protocol number of UDP.
pub const UDP: u8 = etherparse::ip_number::UDP.0;
/// Protocol number of ICMPv6.
pub const ICMPV6: u8 = etherparse::ip_number::IPV6_ICMP.0;
