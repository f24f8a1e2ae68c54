//! Parameters of a guest's congestion controls, which are its kernel's own, and what its kernel cannot do. Parameters stand on its
//! command line, as the kernel computes other values from them only once, when it starts.

use crate::traffic::flows;
use crate::variants::parameters::of_flow;
use crate::wifi::radio::LARGEST;
use bentpipe_engine::scenario::Scenario;
use bentpipe_models::mac::wifi::adaptation;
use bentpipe_models::mac::wifi::config::{Stack, Standard};
use bentpipe_models::network::NetworkKind;
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
    /// The kernel's Wi-Fi carries real packets only.
    #[error(
        "flow \"{flow}\" has model endpoints, whose packets the kernel's Wi-Fi of network \"{network}\" cannot carry; allowed: \
         flows with the kernel's endpoints, or stack = \"model\""
    )]
    Model {
        /// Name of the flow.
        flow: String,
        /// Name of the network.
        network: String,
    },
    /// The kernel's radios do not report what became of an aggregate's frames.
    #[error(
        "network \"{network}\" is of 802.11n, whose aggregates the kernel's radios do not report to its rate control; allowed: 802.11a, b \
         or g, or stack = \"model\""
    )]
    Aggregates {
        /// Name of the network.
        network: String,
    },
    /// The kernel's Wi-Fi has a rate control of its own.
    #[error(
        "network \"{network}\" has the rate adaptation \"{adaptation}\", which the kernel's Wi-Fi does not know; allowed: \"minstrel\" \
         or \"fixed\" for all stations, or stack = \"model\""
    )]
    Adaptation {
        /// Name of the network.
        network: String,
        /// Name of the adaptation.
        adaptation: &'static str,
    },
    /// A packet does not fit into a frame of the kernel's Wi-Fi.
    #[error(
        "flow \"{flow}\" sends packets of up to {bytes} bytes, which the kernel's Wi-Fi of network \"{network}\" cannot carry; \
         allowed: up to {LARGEST}, or stack = \"model\""
    )]
    Large {
        /// Name of the flow.
        flow: String,
        /// Name of the network.
        network: String,
        /// Bytes of its largest packet.
        bytes: u64,
    },
}

/// Checks what the kernel's Wi-Fi is asked for.
fn check_radios(scenario: &Scenario) -> Result<(), Refused> {
    for (name, kind) in &scenario.network {
        let NetworkKind::Wifi(config) = kind else { continue };
        if config.stack != Stack::Linux {
            continue;
        }
        if let Some(flow) = scenario.flow.iter().find(|flow| flow.is_modelled()) {
            return Err(Refused::Model { flow: flow.name.clone(), network: name.clone() });
        }
        for flow in &scenario.flow {
            let largest = flow.transport.largest_packet().map_or(0, |(bytes, _)| bytes);
            if largest > u64::from(LARGEST) {
                return Err(Refused::Large {
                    flow: flow.name.clone(),
                    network: name.clone(),
                    bytes: largest,
                });
            }
        }
        if config.standard == Standard::N {
            return Err(Refused::Aggregates { network: name.clone() });
        }
        let known = |adaptation: &adaptation::Config| {
            matches!(adaptation, adaptation::Config::Minstrel(_) | adaptation::Config::Fixed(_))
        };
        let members = config.members();
        let other = members.iter().map(|member| member.adaptation);
        if let Some(other) = other.into_iter().find(|one| !known(one) || *one != &config.adaptation) {
            return Err(Refused::Adaptation { network: name.clone(), adaptation: other.kind() });
        }
    }
    Ok(())
}

/// What the command line of a kernel says for the flows of `scenario`.
///
/// # Errors
/// The kernel cannot run it.
pub fn of(scenario: &Scenario) -> Result<Vec<String>, Refused> {
    check_radios(scenario)?;
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
