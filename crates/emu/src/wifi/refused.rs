//! Settings of scenarios that the kernel's Wi-Fi does not support.

use super::genetlink::Socket;
use super::radio::{hwsim, LARGEST};
use crate::clock::Timing;
use bentpipe_engine::scenario::Scenario;
use bentpipe_networks::wifi::adaptation;
use bentpipe_networks::wifi::config::{Band, Config, Length, Stack, Standard, Width};
use bentpipe_networks::NetworkKind;

/// Maximum number of spatial streams of a simulated radio.
const STREAMS: u64 = 2;

/// The reason for which the kernel's Wi-Fi cannot run a network of a scenario.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// The kernel's Wi-Fi carries real packets only.
    #[error(
        "flow \"{flow}\" has model endpoints, whose packets the kernel's Wi-Fi of network \"{network}\" cannot carry; allowed: \
         flows with the kernel's endpoints, or stack = \"model\""
    )]
    Model {
        /// Name of the flow in the scenario.
        flow: String,
        /// Name of the network in the scenario.
        network: String,
    },
    /// Drivers of real radios do not report the result of an aggregate's frames.
    #[error(
        "network \"{network}\" is of 802.11n, whose aggregates the simulated radios of this machine's kernel do not report to its rate \
         control; allowed: --clock kernel, 802.11a, b or g, or stack = \"model\""
    )]
    Aggregates {
        /// Name of the network in the scenario.
        network: String,
    },
    /// The radios of the guest's kernel support only parts of 802.11n.
    #[error(
        "network \"{network}\" has {what}, which the radios of the kernel's 802.11n do not have here; allowed: {allowed}, or stack = \
         \"model\""
    )]
    HighThroughput {
        /// Name of the network in the scenario.
        network: String,
        /// The setting of 802.11n that the radios lack.
        what: &'static str,
        /// Value of the key that the radios support instead.
        allowed: &'static str,
    },
    /// The kernel's Wi-Fi has its own rate control.
    #[error(
        "network \"{network}\" has the rate adaptation \"{adaptation}\", which the kernel's Wi-Fi does not know; allowed: \"minstrel-ht\" \
         or \"fixed\" for all stations, or stack = \"model\""
    )]
    Adaptation {
        /// Name of the network in the scenario.
        network: String,
        /// Name of the rate adaptation.
        adaptation: &'static str,
    },
    /// A packet does not fit into a frame of the kernel's Wi-Fi.
    #[error(
        "flow \"{flow}\" sends packets of up to {bytes} bytes, which the kernel's Wi-Fi of network \"{network}\" cannot carry; \
         allowed: up to {LARGEST}, or stack = \"model\""
    )]
    Large {
        /// Name of the flow in the scenario.
        flow: String,
        /// Name of the network in the scenario.
        network: String,
        /// Bytes of its largest packet.
        bytes: u64,
    },
    /// This machine's kernel has no simulated radios.
    #[error(
        "network \"{network}\" has stack = \"linux\", and this machine's kernel has no simulated radios (mac80211_hwsim); allowed: a \
         kernel with them (modprobe mac80211_hwsim), --clock kernel, or stack = \"model\""
    )]
    NoRadios {
        /// Name of the network in the scenario.
        network: String,
    },
}

/// Returns the networks of a scenario that use the kernel's Wi-Fi.
fn networks(scenario: &Scenario) -> impl Iterator<Item = (&String, &Config)> {
    scenario.network.iter().filter_map(|(name, kind)| match kind {
        NetworkKind::Wifi(config) if config.stack == Stack::Linux => Some((name, config)),
        _ => None,
    })
}

/// Checks that this kernel has radios, if the scenario needs any. A machine's own kernel, whose
/// `timing` is real, does not support aggregates.
///
/// # Errors
/// Returns an error if the kernel has no radios, or does not support needed aggregates.
pub fn check_kernel(scenario: &Scenario, timing: Timing) -> Result<(), Refused> {
    let Some((name, _)) = networks(scenario).next() else { return Ok(()) };
    if Socket::new().and_then(|mut socket| socket.family(hwsim::FAMILY)).is_err() {
        return Err(Refused::NoRadios { network: name.clone() });
    }
    match networks(scenario).find(|(_, config)| config.standard == Standard::N) {
        Some((name, _)) if timing == Timing::Real => Err(Refused::Aggregates { network: name.clone() }),
        _ => Ok(()),
    }
}

/// Returns a setting of 802.11n in the network that the guest's radios lack, and the value that
/// they support. With several widths, guard intervals or kinds of rates in use, the driver could
/// not distinguish them in the status of an aggregate.
fn lacks(config: &Config) -> Option<(&'static str, &'static str)> {
    if config.standard != Standard::N {
        return None;
    }
    let lacking = [
        (config.access_point.is_none(), ("no access point", "an access point")),
        (config.band != Band::High, ("the band of 2.4 GHz", "band = \"5 GHz\"")),
        (config.width != Width::Narrow, ("channels of 40 MHz", "width = \"20 MHz\"")),
        (config.guard != Length::Long, ("short guard intervals", "guard = \"long\"")),
        (config.streams.value() > STREAMS, ("more than two spatial streams", "streams = 1 or 2")),
    ];
    lacking.into_iter().find(|(lacks, _)| *lacks).map(|(_, names)| names)
}

/// Checks that the kernel's Wi-Fi supports the networks of a scenario that use it.
///
/// # Errors
/// Returns an error if the kernel's Wi-Fi does not support a network.
pub fn check(scenario: &Scenario) -> Result<(), Refused> {
    for (name, config) in networks(scenario) {
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
        if let Some((what, allowed)) = lacks(config) {
            return Err(Refused::HighThroughput { network: name.clone(), what, allowed });
        }
        let known = |adaptation: &adaptation::Config| {
            matches!(adaptation, adaptation::Config::MinstrelHt(_) | adaptation::Config::Fixed(_))
        };
        let members = config.members();
        let other = members.iter().map(|member| member.adaptation);
        if let Some(other) = other.into_iter().find(|one| !known(one) || *one != &config.adaptation) {
            return Err(Refused::Adaptation { network: name.clone(), adaptation: other.kind() });
        }
    }
    Ok(())
}
