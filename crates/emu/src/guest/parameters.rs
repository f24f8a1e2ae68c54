//! Parameters of a guest's congestion controls, which are its kernel's own, and what its kernel
//! cannot do. Parameters stand on its command line, as the kernel computes other values from them
//! only once, when it starts.

use crate::flows::traffic::flows;
use crate::flows::variants::parameters::of_flow;
use crate::wifi::refused;
use bentpipe_engine::scenario::Scenario;
use std::collections::BTreeMap;

/// A guest's kernel cannot run a scenario as it is.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// Two flows want different parameters of one congestion control.
    #[error(
        "flows \"{first}\" and \"{second}\" want different parameters of congestion control {name}, of which a guest's kernel has \
         one set for all; allowed: the same parameters, or endpoints = \"model\" for one of them"
    )]
    Different {
        /// Name of a flow.
        first: String,
        /// Name of another.
        second: String,
        /// Name of their congestion control.
        name: String,
    },
    /// The kernel's Wi-Fi cannot run a network.
    #[error(transparent)]
    Wifi(#[from] refused::Refused),
}

/// What the command line of a kernel says for the flows of `scenario`.
///
/// # Errors
/// The kernel cannot run it.
pub fn of(scenario: &Scenario) -> Result<Vec<String>, Refused> {
    refused::check(scenario)?;
    let mut wanted: BTreeMap<&str, (&str, Vec<String>)> = BTreeMap::new();
    for (_, flow) in flows(scenario) {
        let Some(config) = flow.transport.tcp() else { continue };
        let words = of_flow(config).0;
        let (first, others) = wanted.entry(&config.congestion).or_insert_with(|| (&flow.name, words.clone()));
        if *others != words {
            let (first, second) = ((*first).to_owned(), flow.name.clone());
            return Err(Refused::Different { first, second, name: config.congestion.clone() });
        }
    }
    Ok(wanted.into_values().flat_map(|(_, words)| words).collect())
}
