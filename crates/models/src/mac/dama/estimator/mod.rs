//! Estimators: the rate that a terminal asks for, from what waits and what arrives. One file each.

pub mod arrival;
pub mod predictive;
pub mod queue;

use super::category::Load;
use bentpipe_core::{kinds, Fraction};

kinds! {
    /// How a terminal estimates the rate that it needs.
    pub enum Config: Estimation {
        "queue" => Queue(queue::Config),
        "arrival" => Arrival(arrival::Config),
        "predictive" => Predictive(predictive::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::Queue(queue::Config {})
    }
}

/// What an estimator's `Config` can do.
pub trait Estimation {
    /// The estimator of a terminal whose requests take effect `response` superframes later, in a network in which one
    /// slot is `unit` bytes per superframe.
    fn build(&self, response: u64, unit: u64) -> Box<dyn Estimator>;
}

/// Estimates the rate of one terminal.
pub trait Estimator: Send {
    /// The rate in slots that it needs, from its load at the start of a superframe; `gamma` is the weight of the newest
    /// measurement. `slept` superframes before this one had an empty queue.
    fn estimate(&mut self, slept: u64, load: &Load, gamma: f64) -> f64;
}

/// The weight that the study gives to the present queue.
pub fn default_gamma() -> Fraction {
    Fraction::thousandths(400)
}

/// What `value` has decayed to after `times` further measurements of zero.
fn decayed(mut value: f64, times: u64, gamma: f64) -> f64 {
    for _ in 0..times {
        value *= 1.0 - gamma;
        // A remainder this small no longer matters to any request.
        if value.abs() < 1e-9 {
            break;
        }
    }
    value
}

/// What is asked for at the least, so that the last of a queue does not wait for ever for half a slot.
fn least(load: &Load) -> f64 {
    load.queue.min(1) as f64
}

/// Slots' worth of the bytes that arrived since the last measurement.
#[derive(Default)]
struct Arrivals {
    before: u64,
}

impl Arrivals {
    fn measure(&mut self, load: &Load, unit: u64) -> f64 {
        let bytes = load.arrived - std::mem::replace(&mut self.before, load.arrived);
        bytes as f64 / unit as f64
    }
}
