//! How flows share the hops of their paths: max-min fair over their demands.
//!
//! Flows that do not yield take their demand first, and no more than the least of their hops. The others are raised together; a flow
//! stops when it has its demand or when something on its path is full (D. Bertsekas and R. Gallager, "Data Networks", 2nd edition,
//! section 6.5.2). A hop is full when the times that its flows' packets take on it add up to one. Acknowledgments of other
//! flows are left out.

use super::Flow;
use std::collections::BTreeMap;

/// Gives each flow its share. Returns the flows by the media that they share.
pub(super) fn share(flows: &mut [Flow]) -> BTreeMap<String, Vec<String>> {
    // What is shared, with the flows over it and the rate that each has there alone.
    let mut media: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
    for (index, flow) in flows.iter().enumerate() {
        for (name, rate) in flow.there.iter().flatten().flat_map(|hop| &hop.medium.shared) {
            media.entry(name.clone()).or_default().push((index, *rate));
        }
    }
    let media: Vec<(String, Vec<(usize, f64)>)> = media.into_iter().collect();
    let alone: Vec<f64> = flows.iter().map(alone).collect();
    let mut shares = vec![0.0; flows.len()];
    for yielding in [false, true] {
        let rises = |flow: &Flow| flow.responsive == yielding && flow.there.is_some();
        let mut rising: Vec<bool> = flows.iter().map(rises).collect();
        while rising.contains(&true) {
            raise(&mut rising, &mut shares, &alone, &media);
        }
    }
    for (index, flow) in flows.iter_mut().enumerate() {
        flow.share_bit_s = flow.there.is_some().then_some(shares[index]);
    }
    let users: BTreeMap<&str, usize> =
        media.iter().map(|(name, users)| (name.as_str(), users.len())).collect();
    for hop in flows.iter_mut().flat_map(|flow| flow.there.iter_mut().flatten()) {
        hop.flows = hop.medium.shared.iter().map(|(name, _)| users[name.as_str()]).max().unwrap_or(1);
    }
    let named =
        |users: Vec<(usize, f64)>| users.into_iter().map(|(user, _)| flows[user].name.clone()).collect();
    media.into_iter().map(|(name, users)| (name, named(users))).collect()
}

/// What a flow would have without the others.
fn alone(flow: &Flow) -> f64 {
    let hops = flow.there.iter().flatten().map(|hop| hop.medium.rate_bit_s.mean);
    hops.chain(flow.demand_bit_s).fold(f64::INFINITY, f64::min)
}

/// Raises the flows that are `rising` together until the first of them stops.
fn raise(rising: &mut [bool], shares: &mut [f64], alone: &[f64], media: &[(String, Vec<(usize, f64)>)]) {
    // How much further a medium lets its rising flows go; nothing if it has none.
    let room = |users: &[(usize, f64)], rising: &[bool], shares: &[f64]| {
        let used: f64 = users.iter().map(|(user, rate)| shares[*user] / rate).sum();
        let growth: f64 = users.iter().filter(|(user, _)| rising[*user]).map(|(_, rate)| 1.0 / rate).sum();
        (growth > 0.0).then(|| ((1.0 - used) / growth).max(0.0))
    };
    let own = (0..rising.len()).filter(|index| rising[*index]).map(|index| alone[index] - shares[index]);
    let shared = media.iter().filter_map(|(_, users)| room(users, rising, shares));
    let step = own.chain(shared).fold(f64::INFINITY, f64::min).max(0.0);
    (0..rising.len()).filter(|index| rising[*index]).for_each(|index| shares[index] += step);
    let before = rising.to_vec();
    for (_, users) in media {
        if room(users, &before, shares).is_some_and(|room| room <= 1e-9 * users[0].1) {
            users.iter().for_each(|(user, _)| rising[*user] = false);
        }
    }
    for (index, rises) in rising.iter_mut().enumerate() {
        *rises &= shares[index] < alone[index] * (1.0 - 1e-9);
    }
}
