//! TCP-Friendly Rate Control (RFC 5348) over UDP: datagrams at the rate that a TCP would have on average, but smoothly.
//!
//! [`endpoint`] is the stage. The [`sender`] keeps to the throughput [`equation`] at the loss event rate that the
//! [`receiver`] reports once a round-trip time, from its history of [`losses`]. Before the first loss the rate doubles
//! each round trip, up to twice what the receiver says that it receives. What an application hands over faster than that waits
//! at the sender, and its delay counts from there.
//!
//! Options: TFRC-SP (RFC 4828), Quick-Start (RFC 4782, as RFC 5634 has it for CCID 3): the first packet asks the
//! path for a rate, the first report tells what it grants, and the sender goes on with that until a report of packets sent at
//! that rate has come.
//!
//! Deviations: the header is 12 bytes (sequence number, timestamp, round-trip time) and that of a report 16; feedback reports have no
//! losses of their own counted; no ECN; sequence numbers do not wrap.

pub mod config;
pub mod endpoint;
pub mod equation;
pub mod header;
pub mod losses;
pub mod receiver;
pub mod sender;

pub use config::Config;
pub use endpoint::Endpoint;
