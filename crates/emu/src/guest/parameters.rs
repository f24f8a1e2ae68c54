//! Parameters of a guest's congestion controls, which belong to the guest's kernel, and limits of
//! that kernel. The parameters are on the kernel's command line, because the kernel derives other
//! values from them once, at its start.

use crate::flows::traffic::flows;
use crate::flows::variants::parameters::of_flow;
use crate::wifi::refused;
use bentpipe_engine::scenario::Scenario;
use std::collections::BTreeMap;

/// The reason for which a guest's kernel cannot run a scenario.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// Two flows need different parameters of one congestion control.
    #[error(
        "flows \"{first}\" and \"{second}\" want different parameters of congestion control {name}, of which a guest's kernel has \
         one set for all; allowed: the same parameters, or endpoints = \"model\" for one of them"
    )]
    Different {
        /// Name of the first of the two flows.
        first: String,
        /// Name of the second of the two flows.
        second: String,
        /// Name of their congestion control.
        name: String,
    },
    /// The kernel's Wi-Fi cannot run a network of the scenario.
    #[error(transparent)]
    Wifi(#[from] refused::Refused),
}

/// Returns the words of a kernel's command line for the flows of `scenario`.
///
/// # Errors
/// Returns an error if the kernel cannot run the scenario.
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
