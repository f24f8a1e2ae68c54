//! EFCI marking (ATM Forum Traffic Management 4.1, section 5.10.6): while at least `threshold`
//! cells of ABR wait, the port sets the explicit forward congestion indication of arriving data
//! cells. The destination then returns the next RM cell with CI = 1.
//!
//! ```toml
//! legs = [{ rate = "2048 kbit/s", marking = { kind = "efci", threshold = 100 } }]
//! ```

use super::{Arrival, Bits, Marker, Marking};
use crate::atm::contract::Category;
use bentpipe_core::{Count, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sets the congestion indication (EFCI) of data cells while many cells wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AtmEfci")]
pub struct Config {
    /// Number of waiting ABR cells from which on arriving data cells are marked.
    pub threshold: Count<0, 100_000_000>,
}

impl Sample for Config {
    const SAMPLE: &'static str = "threshold = 100";
}

impl Marking for Config {
    fn build(&self, _connections: usize) -> Box<dyn Marker> {
        Box::new(Efci { threshold: self.threshold.value() })
    }
}

struct Efci {
    threshold: u64,
}

impl Marker for Efci {
    fn arrive(&mut self, arrival: Arrival, bits: Bits<'_>) {
        if arrival.category == Category::Abr && bits.rm.is_none() && arrival.waiting as u64 >= self.threshold
        {
            *bits.efci = true;
        }
    }
}
