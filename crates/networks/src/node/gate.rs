//! The boundary between the network and a real host. Input port 0 is the network's side, input port
//! 1 the host's; packets from the host leave by output port 0.

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
    /// Creates gate `number` of the network.
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
