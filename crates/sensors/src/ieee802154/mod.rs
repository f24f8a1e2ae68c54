//! IEEE 802.15.4 at 2450 MHz without beacons: nodes that share a channel by unslotted CSMA-CA.
//!
//! A frame waits for a random number of unit backoff periods below 2^BE. A clear channel assessment
//! follows. If the channel is idle, the transceiver turns around and transmits; otherwise BE grows
//! and the node tries again, until `backoffs` further attempts have failed (section 7.5.1.4). The
//! receiver acknowledges an intact frame after a turnaround; without an acknowledgment the frame is
//! retransmitted up to `retries` times, each with a contention of its own (7.5.6.4). A receiver
//! recognises repeated frames by their sequence numbers.
//!
//! Source: IEEE 802.15.4-2006, clauses 6.5 (physical layer) and 7.5 (procedures). Timing:
//! [`timing`].
//!
//! Deviations: two frames that overlap at a node are both lost there (no capture); propagation
//! takes no time; queues have no limit except `Rules::queue`; sequence numbers do not wrap; frames
//! are not secured; every node has a short address.

mod medium;
pub mod timing;

pub use medium::{Channel, Counters, Failure, Medium, Outcome, Rules};

#[cfg(test)]
mod tests;
