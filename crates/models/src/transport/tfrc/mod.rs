//! TCP-Friendly Rate Control (RFC 5348) over UDP: datagrams at the rate that a TCP would have on average, but smoothly.
//!
//! [`endpoint`] is the stage. The [`sender`] follows the throughput [`equation`] at the loss event rate that
//! the [`receiver`] reports once per round-trip time, from its history of [`losses`]. Before the first loss
//! the rate doubles each round trip, up to twice the rate that the receiver reports. Data that an application
//! hands over faster than that waits at the sender, and its delay counts from then.
//!
//! Options: TFRC-SP (RFC 4828) and Quick-Start (RFC 4782, as in RFC 5634 for CCID 3): the first packet
//! requests a rate from the path, the first report tells what was granted, and the sender uses it until a
//! report of packets sent at that rate has arrived.
//!
//! Deviations: the header has 12 bytes (sequence number, timestamp, round-trip time) and that of a report 16;
//! losses of feedback reports are not counted; no ECN; sequence numbers do not wrap.

pub mod config;
pub mod endpoint;
pub mod equation;
pub mod header;
pub mod losses;
pub mod receiver;
pub mod sender;

pub use config::Config;
pub use endpoint::Endpoint;
