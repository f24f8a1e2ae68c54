//! IEEE 802.15.4 at 2450 MHz without beacons: nodes that share a channel by unslotted CSMA-CA.
//!
//! Before a transmission, a node waits for a random number of unit backoff periods below 2^BE,
//! where BE is the backoff exponent. It then performs a clear channel assessment. If the channel is
//! idle, the transceiver switches to transmission and transmits the frame. Otherwise BE increases
//! by 1 and the node tries again, up to `backoffs` times (section 7.5.1.4). The receiver
//! acknowledges an intact frame after a turnaround. A frame without an acknowledgment is
//! retransmitted up to `retries` times, each time after a new contention (section 7.5.6.4). A
//! receiver recognises duplicate frames by their sequence numbers.
//!
//! **Source.** IEEE 802.15.4-2006, clauses 6.5 (physical layer) and 7.5 (procedures). [`timing`]
//! contains the durations.
//!
//! **Deviations.** If two frames overlap at a node, the node receives neither (no capture).
//! Propagation takes no time. `Rules::queue` limits the queue of a node. Sequence numbers have 32
//! bits. Frames have no security. All nodes have short addresses.

mod medium;
pub mod timing;

pub use medium::{Channel, Counters, Failure, Medium, Outcome, Rules};

#[cfg(test)]
mod tests;
