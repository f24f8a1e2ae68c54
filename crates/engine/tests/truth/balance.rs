//! Checks the balance of every flow's packets: each packet that was sent in a direction was
//! delivered or lost in that direction, or is still in the network at the end.

use bentpipe_core::{FlowId, Report};
use bentpipe_engine::facts::facts;
use bentpipe_engine::scenario::Scenario;
use bentpipe_engine::splits;
use bentpipe_networks::node::proxy::{self, Mechanism};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{Held, Totals};
use bentpipe_transport::names;

/// Checks each direction of each flow over all its legs. `held` are the packets that are still in
/// the network.
pub fn flows(scenario: &Scenario, report: &Report, totals: &Totals, held: Held) -> Result<(), String> {
    // Conference services send packets in the name of flows, and copies of one packet to several
    // flows. Their flows do not balance.
    if !scenario.service.is_empty() {
        return Ok(());
    }
    let splits = splits(scenario);
    let known = facts(scenario);
    for (flow, number) in scenario.flow.iter().zip(0..) {
        let directions = [(flow.name.clone(), Leg::THERE), (names::reverse(&flow.name), Leg::BACK)];
        for (back, (name, first)) in directions.into_iter().enumerate() {
            let at = |proxy: &usize| proxy::at(&name, &scenario.proxy[*proxy].name);
            let legs = splits[number as usize][back].iter().map(at).chain([name.clone()]);
            let legs: Vec<String> = legs.collect();
            let sum = |table: &str, column: &str| -> f64 {
                legs.iter().filter_map(|leg| report.value(table, leg, column)).sum()
            };
            let (sent, delivered) =
                (sum("flow_source", "sent_packets"), sum("flow_destination", "delivered_packets"));
            // A snooping proxy retransmits packets of the flow's source.
            let is_snoop = |proxy: &&proxy::Config| matches!(proxy.mechanism, Mechanism::Snoop(_));
            let snoops =
                scenario.proxy.iter().filter(is_snoop).map(|proxy| proxy::at(&flow.name, &proxy.name));
            let repeated: f64 = snoops
                .flat_map(|at| ["repaired", "repaired_late"].map(|column| report.value("snoop", &at, column)))
                .flatten()
                .sum();
            let lost = totals.lost.iter().filter(|(loss, _)| {
                loss.flow == FlowId(number) && loss.data && loss.leg.is_back() == first.is_back()
            });
            let lost: f64 = lost.map(|(_, held)| held.packets as f64).sum();
            let rest = sent + repeated - delivered - lost;
            if rest < 0.0 || (repeated == 0.0 && rest > held.packets as f64) {
                return Err(format!(
                    "{name}: {sent} packets sent, {delivered} delivered, {lost} lost, {} held",
                    held.packets
                ));
            }
            let hops = [&known.flows[number as usize].there, &known.flows[number as usize].back][back];
            let shortest: f64 = hops.iter().flatten().map(|hop| hop.medium.delay_s.least).sum();
            if let (1, Some(mean)) = (legs.len(), report.value("flow_destination", &name, "delay_mean")) {
                // The facts refer to the largest packets. Over Wi-Fi, where nothing but the
                // transmission takes time, a small packet takes 0.79 of their time.
                let is_wifi = |name: &String| {
                    scenario.network.get(name).is_some_and(|network| network.kind() == "wifi")
                };
                let over_wifi = hops.iter().flatten().any(|hop| is_wifi(&hop.network));
                if mean < if over_wifi { 0.75 } else { 0.9 } * shortest {
                    return Err(format!("{name}: a delay of {mean} s over {shortest} s"));
                }
            }
        }
    }
    Ok(())
}
