//! Relative rate marking (ATM Forum Traffic Management 4.1, section 5.10.6): the port sets NI or CI
//! in forward RM cells that arrive while many cells of ABR wait.
//!
//! ```toml
//! [[network.wan.legs]]
//! rate = "2048 kbit/s"
//! marking = { kind = "relative-rate", no_increase = 50, decrease = 200 }
//! ```

use super::{Arrival, Bits, Marker, Marking};
use bentpipe_core::{Count, Problems, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sets NI and CI in forward RM cells while many cells wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AtmRelativeRate")]
pub struct Config {
    /// Number of waiting ABR cells from which on NI = 1 is set, so that sources do not raise their
    /// rates. If unset, `decrease` is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_increase: Option<Count<0, 100_000_000>>,
    /// Number of waiting ABR cells from which on CI = 1 is set, so that sources lower their rates.
    pub decrease: Count<0, 100_000_000>,
}

impl Sample for Config {
    const SAMPLE: &'static str = "no_increase = 50, decrease = 200";
}

impl Marking for Config {
    fn build(&self, _connections: usize) -> Box<dyn Marker> {
        Box::new(RelativeRate {
            no_increase: self.no_increase.map_or(u64::MAX, Count::value),
            decrease: self.decrease.value(),
        })
    }

    fn check(&self, problems: &mut Problems) {
        if self.no_increase.is_some_and(|cells| cells.value() > self.decrease.value()) {
            let text = format!(
                "is above the threshold of CI, so that it has no effect; allowed: at most {}",
                self.decrease.value()
            );
            problems.add("no_increase", text);
        }
    }
}

struct RelativeRate {
    no_increase: u64,
    decrease: u64,
}

impl Marker for RelativeRate {
    fn arrive(&mut self, arrival: Arrival, bits: Bits<'_>) {
        let Some(cell) = bits.rm.filter(|cell| !cell.backward) else { return };
        let waiting = arrival.waiting as u64;
        cell.no_increase |= waiting >= self.no_increase;
        cell.congestion |= waiting >= self.decrease;
    }
}
