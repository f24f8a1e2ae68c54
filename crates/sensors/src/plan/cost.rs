//! The expected cost of a plan: messages, bytes, and the energy of the motes.
//!
//! A tuple that travels over h hops is h frames, each with an acknowledgment. Contention,
//! retransmissions and losses are not included. A condition is expected to hold for half of the
//! measures, and one that names a mote for one mote of all.
//!
//! Powers are those of the transceiver CC2420 at 3 V (Chipcon, CC2420 data sheet, 2004): 17.4 mA
//! when it transmits with 0 dBm, 18.8 mA when it receives. Idle listening, sampling and computing
//! are not counted: they are the same wherever operators are placed, unless motes switch their
//! receivers off.

use super::{Network, Plan};
use crate::ieee802154::timing::{airtime, frame, ACKNOWLEDGMENT, ASSESSMENT, TURNAROUND};
use crate::query::expression::Operator;
use crate::query::Expression;
use bentpipe_core::Span;
use serde::Serialize;

/// Power consumption of a transceiver, in watts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Power while it transmits.
    pub transmitting: f64,
    /// Power while it receives.
    pub receiving: f64,
}

impl Default for Power {
    fn default() -> Power {
        Power { transmitting: 3.0 * 17.4e-3, receiving: 3.0 * 18.8e-3 }
    }
}

impl Power {
    /// Returns the energy in joules of these times.
    pub fn energy(&self, transmitting: Span, receiving: Span) -> f64 {
        self.transmitting * transmitting.as_secs_f64() + self.receiving * receiving.as_secs_f64()
    }
}

/// The expected cost of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Frames with data a second.
    pub messages_per_s: f64,
    /// Bytes of those frames a second, from the header to the check sequence.
    pub bytes_per_s: f64,
    /// Mean power of all motes' transceivers in watts, the sink excepted.
    pub power_w: f64,
}

/// Returns the expected cost of a plan.
pub fn cost(plan: &Plan, network: &Network, power: &Power) -> Cost {
    let mut total = Cost::default();
    for (place, to) in plan.channels() {
        let operator = &plan.operators[place];
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

/// Returns the share of measures for which a condition is expected to hold.
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
