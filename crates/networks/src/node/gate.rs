//! The boundary between the network and a real host. Input port 0 receives packets from the
//! network, and input port 1 packets from the host. Packets from the host leave through output port
//! 0.

use bentpipe_core::Time;
use bentpipe_stage::{Outbox, Packet, Port, Stage};

/// Input port for packets from the network.
pub const NETWORK: Port = Port(0);
/// Input port for packets from the host.
pub const HOST: Port = Port(1);

/// Returns the name of the gate's stage at a node.
pub fn name(node: &str) -> String {
    format!("{node}.host")
}

/// The gate to one real host.
pub struct Gate {
    number: u32,
}

impl Gate {
    /// Creates the gate with the number `number`.
    pub fn new(number: u32) -> Gate {
        Gate { number }
    }
}

impl Stage for Gate {
    #[inline]
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        match port {
            HOST => out.create(Port(0), packet),
            _ => out.leave(now, self.number, packet),
        }
    }

    fn wake(&mut self, _now: Time, _out: &mut Outbox) {}

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        None
    }
}
