//! Estimators: the rate that a terminal requests, computed from its queue and its arrivals. Each
//! estimator has its own file.

pub mod arrival;
pub mod predictive;
pub mod queue;

use bentpipe_core::{kinds, Fraction};

kinds! {
    /// The estimator by which a terminal determines the rate that it needs.
    #[schemars(rename = "Estimator")]
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

/// Data of one or more traffic classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// Waiting data in slots, rounded up (Q of the equations).
    pub queue: u64,
    /// Bytes that have arrived since the start of the run.
    pub arrived: u64,
}

/// The factory of an estimator, implemented by its `Config`.
pub trait Estimation {
    /// Builds the estimator of a terminal whose requests take effect `response` superframes later,
    /// in a network in which one slot is `unit` bytes per superframe.
    fn build(&self, response: u64, unit: u64) -> Box<dyn Estimator>;
}

/// Estimates the rate that one terminal needs.
pub trait Estimator: Send {
    /// Returns the rate in slots that the terminal needs, from its `load` at the start of a
    /// superframe. `gamma` is the weight of the newest measurement. The queue was empty in the
    /// `slept` superframes before this one.
    fn estimate(&mut self, slept: u64, load: &Load, gamma: f64) -> f64;

    /// Sets the number of bytes per superframe of one slot, the unit of later estimates.
    fn resize(&mut self, _unit: u64) {}
}

/// The study's weight of the present queue.
pub fn default_gamma() -> Fraction {
    Fraction::thousandths(400)
}

/// Returns the value to which `value` decays after `times` further measurements of zero.
fn decayed(mut value: f64, times: u64, gamma: f64) -> f64 {
    for _ in 0..times {
        value *= 1.0 - gamma;
        // A remainder this small no longer affects any request.
        if value.abs() < 1e-9 {
            break;
        }
    }
    value
}

/// Returns the minimum request: one slot while any data wait, so that the last half slot of a queue
/// does not wait forever.
fn min_request(load: &Load) -> f64 {
    load.queue.min(1) as f64
}

/// Measures the data that arrived since the last measurement, in slots.
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
