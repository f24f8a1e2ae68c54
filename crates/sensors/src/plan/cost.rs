//! The expected cost of a plan: messages, bytes, and the power consumption of the motes.
//!
//! A tuple that crosses h hops takes h frames, each with an acknowledgment. Contention,
//! retransmissions and losses are not included. A condition is expected to hold for half of the
//! measures. A comparison with a mote is expected to hold for one mote.
//!
//! The power consumption is that of the transceiver CC2420 at 3 V (Chipcon, CC2420 data sheet,
//! 2004): 17.4 mA when it transmits with 0 dBm, and 18.8 mA when it receives. Idle listening,
//! sampling and computing are not included, because they do not depend on the placement of
//! operators unless motes switch off their receivers.

use super::{Network, Plan};
use crate::ieee802154::timing::{airtime, frame, ACKNOWLEDGMENT, ASSESSMENT, TURNAROUND};
use crate::query::expression::Operator;
use crate::query::Expression;
use bentpipe_core::Span;
use serde::Serialize;

/// Power consumption of a transceiver, in watts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Power while transmitting; 52.2 mW by default.
    pub transmitting: f64,
    /// Power while receiving; 56.4 mW by default.
    pub receiving: f64,
}

impl Default for Power {
    fn default() -> Power {
        Power { transmitting: 3.0 * 17.4e-3, receiving: 3.0 * 18.8e-3 }
    }
}

impl Power {
    /// Returns the energy in joules for these times of transmitting and receiving.
    pub fn energy(&self, transmitting: Span, receiving: Span) -> f64 {
        self.transmitting * transmitting.as_secs_f64() + self.receiving * receiving.as_secs_f64()
    }
}

/// The expected cost of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Data frames per second.
    pub messages_per_s: f64,
    /// Bytes of data frames per second, including headers and check sequences.
    pub bytes_per_s: f64,
    /// Mean power of all transceivers together except the sink's, in watts.
    pub power_w: f64,
}

/// Returns the expected cost of a plan.
pub fn cost(plan: &Plan, network: &Network, power: &Power) -> Cost {
    let mut total = Cost::default();
    for (id, to) in plan.channels() {
        let operator = &plan.operators[id];
        for hop in network.path(operator.node, to).windows(2) {
            let bytes = frame(operator.bytes);
            total.messages_per_s += operator.rate;
            total.bytes_per_s += operator.rate * f64::from(bytes);
            let acknowledged = TURNAROUND + airtime(ACKNOWLEDGMENT);
            let mut energy = 0.0;
            if hop[0] != network.sink() {
                energy += power.energy(airtime(bytes), ASSESSMENT + acknowledged);
            }
            if hop[1] != network.sink() {
                energy += power.energy(airtime(ACKNOWLEDGMENT), airtime(bytes));
            }
            total.power_w += operator.rate * energy;
        }
    }
    total
}

/// Returns the expected fraction of measures for which a condition holds.
pub fn selectivity(condition: &Expression, network: &Network) -> f64 {
    match condition {
        Expression::Binary(Operator::Equal, left, right)
            if matches!((&**left, &**right), (Expression::Mote(_), _) | (_, Expression::Mote(_))) =>
        {
            1.0 / network.motes.len() as f64
        }
        Expression::Binary(Operator::And, left, right) => {
            selectivity(left, network) * selectivity(right, network)
        }
        Expression::Binary(Operator::Or, left, right) => {
            1.0 - (1.0 - selectivity(left, network)) * (1.0 - selectivity(right, network))
        }
        Expression::Not(inner) => 1.0 - selectivity(inner, network),
        _ => 0.5,
    }
}
