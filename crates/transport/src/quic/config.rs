//! The configuration of a flow over QUIC. Both ends use the same values.

use crate::sending::saved_path::Parameters;
use bentpipe_core::{Count, Sample, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Acknowledgments that a sender requests from its receiver (draft-ietf-quic-ack-frequency, section
/// 4). Without keys, the request is for the default of RFC 9000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AckFrequency {
    /// Number of packets with data that may wait for an acknowledgment: the next one causes it
    /// (Ack-Eliciting Threshold). Default 1, an acknowledgment for every second packet.
    pub threshold: Count<0, 1_000_000>,
    /// Maximum delay of an acknowledgment (Requested Max Ack Delay). Default 25 ms.
    pub max_ack_delay: Span,
    /// Distance from a missing packet to the largest number received at which an acknowledgment is
    /// sent at once (Reordering Threshold); 0 for never. Default 1.
    pub reordering_threshold: Count<0, 1_000_000>,
}

impl Default for AckFrequency {
    fn default() -> AckFrequency {
        AckFrequency {
            threshold: Count::new(1),
            max_ack_delay: Span::from_millis(25),
            reordering_threshold: Count::new(1),
        }
    }
}

/// QUIC (RFC 9000, RFC 9002): a connection with a stream for each connection of the application.
///
/// ```toml
/// transport = { kind = "quic", congestion = "cubic", resumption = true }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Quic")]
pub struct Config {
    /// Name of the congestion control: one of bentpipe's C files, or `{ file = "./mine.c" }` as for
    /// TCP. Default cubic.
    pub congestion: String,
    /// Parameters of the congestion control, by their names in its source.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, i64>,
    /// True if the client resumes an earlier session: its first data leaves with its first packet
    /// (0-RTT, RFC 9001, section 4.6.1), and the server sends no certificate. Default false: data
    /// leaves after one round trip.
    pub resumption: bool,
    /// Bytes of the server's certificate chain in the handshake. A chain that exceeds three times
    /// the client's first datagram costs a round trip (anti-amplification, RFC 9000, section 8.1).
    /// Default 2500.
    pub certificate: Count<0, 65_536>,
    /// Largest UDP payload of a packet after path MTU discovery, in bytes. Default 1452, which
    /// fills an Ethernet frame over IPv6.
    pub max_udp_payload_size: Count<1200, 65_507>,
    /// True for path MTU discovery (RFC 9000, section 14.3): packets have 1200 bytes until a probe
    /// of the largest size has been acknowledged. False: all packets have at most 1200 bytes.
    /// Default true.
    pub mtu_discovery: bool,
    /// Congestion window at the start, in packets (RFC 9002, section 7.2). Default 10.
    pub initial_window: Count<2, 1_000_000>,
    /// Window and round-trip time of an earlier connection over this path, from which the source
    /// and the destination resume (Careful Resume, RFC 9959), for a congestion control that sets no
    /// rate: `{ cwnd = 300, rtt = "600 ms" }`, or `"earlier"` for the values that an earlier
    /// connection of the run has observed. If unset, connections begin with slow start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub careful_resume: Option<Parameters>,
    /// True if the source has a new address after each planned handover to another link (RFC 9000,
    /// section 9). Both ends then validate the path, and reset congestion control, round-trip times
    /// and packet size. A flow without planned handovers on its path is refused. Default false: the
    /// source keeps its address.
    pub migration: bool,
    /// True if packets are paced (RFC 9002, section 7.7). Default true.
    pub pacing: bool,
    /// Rate of pacing as a percentage of the congestion window per round-trip time, for a
    /// congestion control that sets no rate. Default 125.
    pub pacing_gain: Count<100, 1000>,
    /// Number of packets with data after which a receiver sends an acknowledgment (RFC 9000,
    /// section 13.2.2). Default 2.
    pub ack_every: Count<1, 1000>,
    /// Maximum delay of an acknowledgment (`max_ack_delay`, RFC 9000, section 18.2). Default 25 ms.
    pub max_ack_delay: Span,
    /// Acknowledgments that a sender of data requests from its receiver after the handshake, in a
    /// frame ACK_FREQUENCY (draft-ietf-quic-ack-frequency). If unset, a receiver uses `ack_every`
    /// and `max_ack_delay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_frequency: Option<AckFrequency>,
    /// Number of packets above a missing one after which the packet is lost (`kPacketThreshold`,
    /// RFC 9002, section 6.1.1). Default 3.
    pub packet_threshold: Count<3, 1000>,
    /// True for ECN: packets are ECN-capable, and a reported mark reduces the window (RFC 9002,
    /// section 7.1). Default: false, and true for a scalable congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Largest frame of a datagram that both ends accept (`max_datagram_frame_size`, RFC 9221,
    /// section 3), for applications that send datagrams, such as cbr and voice: a lost datagram is
    /// not repeated. If unset, their data is sent on a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_datagram_frame_size: Option<Count<16, 65_535>>,
    /// Initial receive window of a stream (flow control, RFC 9000, section 4). Default 512 KiB.
    pub stream_window: Size,
    /// Receive window of a stream after autotuning. A window doubles if it is used within four
    /// round trips. Default 6 MiB.
    pub max_stream_window: Size,
    /// Initial receive window of the connection. Default 768 KiB.
    pub connection_window: Size,
    /// Receive window of the connection after autotuning. Default 15 MiB.
    pub max_connection_window: Size,
    /// Time without packets after which the connection ends without a message (RFC 9000, section
    /// 10.1). If unset, it does not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Span>,
}

impl Sample for Config {
    const SAMPLE: &'static str = "resumption = true";
}

impl Default for Config {
    fn default() -> Config {
        Config {
            congestion: "cubic".to_owned(),
            parameters: BTreeMap::new(),
            resumption: false,
            certificate: Count::new(2500),
            max_udp_payload_size: Count::new(1452),
            mtu_discovery: true,
            initial_window: Count::new(10),
            careful_resume: None,
            migration: false,
            pacing: true,
            pacing_gain: Count::new(125),
            ack_every: Count::new(2),
            max_ack_delay: Span::from_millis(25),
            ack_frequency: None,
            packet_threshold: Count::new(3),
            ecn: None,
            max_datagram_frame_size: None,
            stream_window: Size::from_bytes(512 << 10),
            max_stream_window: Size::from_bytes(6 << 20),
            connection_window: Size::from_bytes(768 << 10),
            max_connection_window: Size::from_bytes(15 << 20),
            idle_timeout: None,
        }
    }
}
