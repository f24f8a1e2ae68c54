//! How flows share the hops of their paths: max-min fair over their demands.
//!
//! Flows that do not yield take their demand first, and no more than the least of their hops. The others are raised together; a flow
//! stops when it has its demand or when something on its path is full (D. Bertsekas and R. Gallager, "Data Networks", 2nd edition,
//! section 6.5.2). A hop is full when the times that its flows' packets take on it add up to one. Pages, files and mails demand their
//! mean rate, in the direction in which they are sent. Acknowledgments and other answers of other flows are left out.

use super::{Flow, Hop};
use std::collections::BTreeMap;

/// What a flow sends in one direction.
struct Load {
    /// Number of the flow, in the order of the scenario.
    flow: usize,
    /// Whether these are the flow's own packets; answers to them otherwise.
    own: bool,
    /// Whether these are pages, files or mails.
    pages: bool,
    responsive: bool,
    /// What it would have without the others.
    alone: f64,
    share: f64,
}

/// Gives each flow its share. Returns the flows by the media that they share.
pub(super) fn share(flows: &mut [Flow]) -> BTreeMap<String, Vec<String>> {
    let mut loads: Vec<Load> = Vec::new();
    // What is shared, with the loads on it and the rate that each has there alone.
    let mut media: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
    for (index, flow) in flows.iter().enumerate() {
        for (own, hops) in [(true, &flow.there), (false, &flow.back)] {
            let demand = if own { flow.demand_bit_s.or(flow.mean_bit_s) } else { flow.answers_mean_bit_s };
            let Some(hops) = hops.as_ref().filter(|_| own || demand.is_some()) else { continue };
            for (name, rate) in hops.iter().flat_map(|hop| &hop.medium.shared) {
                media.entry(name.clone()).or_default().push((loads.len(), *rate));
            }
            let (responsive, alone) = (flow.responsive, alone(hops, demand));
            let pages = !own || flow.mean_bit_s.is_some();
            loads.push(Load { flow: index, own, pages, responsive, alone, share: 0.0 });
        }
    }
    let media: Vec<(String, Vec<(usize, f64)>)> = media.into_iter().collect();
    for yielding in [false, true] {
        let mut rising: Vec<bool> = loads.iter().map(|load| load.responsive == yielding).collect();
        while rising.contains(&true) {
            raise(&mut rising, &mut loads, &media);
        }
    }
    for load in loads.iter().filter(|load| load.own) {
        flows[load.flow].share_bit_s = Some(load.share);
    }
    let users: BTreeMap<&str, Vec<usize>> = media
        .iter()
        .map(|(name, users)| {
            let mut users: Vec<usize> = users.iter().map(|(user, _)| loads[*user].flow).collect();
            users.dedup();
            (name.as_str(), users)
        })
        .collect();
    let pages: BTreeMap<&str, Vec<&Load>> = media
        .iter()
        .map(|(name, users)| (name.as_str(), users.iter().map(|(user, _)| &loads[*user])))
        .map(|(name, loads)| (name, loads.filter(|load| load.pages).collect()))
        .collect();
    for (index, flow) in flows.iter_mut().enumerate() {
        for hop in flow.there.iter_mut().flatten() {
            let names = || hop.medium.shared.iter().map(|(name, _)| name.as_str());
            let of_others =
                |name| pages[name].iter().filter(|load| load.flow != index).map(|load| load.alone).sum();
            hop.flows = names().map(|name| users[name].len()).max().unwrap_or(1);
            hop.pages_bit_s = names().map(of_others).fold(0.0, f64::max);
        }
    }
    let named = |users: Vec<usize>| users.into_iter().map(|user| flows[user].name.clone()).collect();
    users.into_iter().map(|(name, users)| (name.to_owned(), named(users))).collect()
}

/// What a load would have on its hops without the others.
fn alone(hops: &[Hop], demand: Option<f64>) -> f64 {
    let rates = hops.iter().map(|hop| hop.medium.rate_bit_s.mean);
    rates.chain(demand).fold(f64::INFINITY, f64::min)
}

/// Raises the loads that are `rising` together until the first of them stops.
fn raise(rising: &mut [bool], loads: &mut [Load], media: &[(String, Vec<(usize, f64)>)]) {
    // How much further a medium lets its rising loads go; nothing if it has none.
    let room = |users: &[(usize, f64)], rising: &[bool], loads: &[Load]| {
        let used: f64 = users.iter().map(|(user, rate)| loads[*user].share / rate).sum();
        let growth: f64 = users.iter().filter(|(user, _)| rising[*user]).map(|(_, rate)| 1.0 / rate).sum();
        (growth > 0.0).then(|| ((1.0 - used) / growth).max(0.0))
    };
    let own =
        loads.iter().zip(&*rising).filter(|(_, rises)| **rises).map(|(load, _)| load.alone - load.share);
    let shared = media.iter().filter_map(|(_, users)| room(users, rising, loads));
    let step = own.chain(shared).fold(f64::INFINITY, f64::min).max(0.0);
    loads.iter_mut().zip(&*rising).filter(|(_, rises)| **rises).for_each(|(load, _)| load.share += step);
    let before = rising.to_vec();
    for (_, users) in media {
        if room(users, &before, loads).is_some_and(|room| room <= 1e-9 * users[0].1) {
            users.iter().for_each(|(user, _)| rising[*user] = false);
        }
    }
    for (rises, load) in rising.iter_mut().zip(loads) {
        *rises &= load.share < load.alone * (1.0 - 1e-9);
    }
}
