//! Sharing of hops between flows: max-min fair over their demands.
//!
//! Unresponsive flows take their demand first, limited by the slowest of their hops. The rates of
//! the others are raised together; a flow stops at its demand or when a hop on its path is full (D.
//! Bertsekas and R. Gallager, "Data Networks", 2nd edition, section 6.5.2). A hop is full when the
//! times that its flows' packets take on it add up to one. The demand of pages, files and mails is
//! their mean rate, in the direction in which they are sent. Acknowledgments and other answers of
//! other flows are not counted.

use super::{Flow, Hop};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// The load of a flow in one direction.
#[derive(Debug)]
struct Load {
    /// Number of the flow, in the order of the scenario.
    flow: usize,
    /// True for the flow's own packets, false for answers to them.
    own: bool,
    /// True for pages, files or mails.
    pages: bool,
    responsive: bool,
    /// The rate that the load would have without other loads.
    alone: f64,
    share: f64,
}

/// Computes the share of each flow. Returns the flows by the media that they share. The packets of
/// a multicast group, which `groups` has by flow, take a medium once, however many receivers they
/// have beyond the medium.
pub(super) fn share(flows: &mut [Flow], groups: &[Option<&str>]) -> BTreeMap<String, Vec<String>> {
    let mut loads: Vec<Load> = Vec::new();
    // The shared media, with their loads and the rate that each load has there alone.
    let mut media: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
    // The media that carry a group already.
    let mut copied = BTreeSet::new();
    for (index, flow) in flows.iter().enumerate() {
        for (own, hops) in [(true, &flow.there), (false, &flow.back)] {
            let demand = if own { flow.demand_bit_s.or(flow.mean_bit_s) } else { flow.answers_mean_bit_s };
            let Some(hops) = hops.as_ref().filter(|_| own || demand.is_some()) else { continue };
            for (name, rate) in hops.iter().flat_map(|hop| &hop.medium.shared) {
                let group = groups.get(index).copied().flatten().filter(|_| own);
                if group.is_some_and(|group| !copied.insert((group, name.clone()))) {
                    continue;
                }
                media.entry(name.clone()).or_default().push((loads.len(), *rate));
            }
            let (responsive, alone) = (flow.responsive, alone(hops, demand));
            let pages = !own || flow.mean_bit_s.is_some();
            loads.push(Load { flow: index, own, pages, responsive, alone, share: 0.0 });
        }
    }
    for yielding in [false, true] {
        raise(&mut loads, yielding, &media);
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
    let pages: BTreeMap<&str, Pages> =
        media.iter().map(|(name, users)| (name.as_str(), Pages::of(users, &loads))).collect();
    for (index, flow) in flows.iter_mut().enumerate() {
        for hop in flow.there.iter_mut().flatten() {
            let names = || hop.medium.shared.iter().map(|(name, _)| name.as_str());
            hop.flows = names().map(|name| users[name].len()).max().unwrap_or(1);
            hop.pages_bit_s = names().map(|name| pages[name].of_others(index)).fold(0.0, f64::max);
        }
    }
    let named = |users: Vec<usize>| users.into_iter().map(|user| flows[user].name.clone()).collect();
    users.into_iter().map(|(name, users)| (name.to_owned(), named(users))).collect()
}

/// Returns the rate of a load on its hops without the others.
fn alone(hops: &[Hop], demand: Option<f64>) -> f64 {
    let rates = hops.iter().map(|hop| hop.medium.rate_bit_s.mean);
    rates.chain(demand).fold(f64::INFINITY, f64::min)
}

/// The mean rates of pages, files and mails on a medium, in bit/s.
#[derive(Default)]
struct Pages {
    all: f64,
    by_flow: BTreeMap<usize, f64>,
}

impl Pages {
    fn of(users: &[(usize, f64)], loads: &[Load]) -> Pages {
        let mut pages = Pages::default();
        for load in users.iter().map(|(user, _)| &loads[*user]).filter(|load| load.pages) {
            pages.all += load.alone;
            *pages.by_flow.entry(load.flow).or_default() += load.alone;
        }
        pages
    }

    /// Returns the rate without that of one flow.
    fn of_others(&self, flow: usize) -> f64 {
        let own = self.by_flow.get(&flow);
        match (own, self.by_flow.len()) {
            (Some(_), 1) => 0.0,
            _ => (self.all - own.unwrap_or(&0.0)).max(0.0),
        }
    }
}

/// A medium while the rates of its loads are raised.
struct Filling {
    users: Vec<(usize, f64)>,
    /// Fraction of its time taken by loads that no longer rise.
    taken: f64,
    /// Fraction of its time that rising loads take per bit/s.
    growth: f64,
    /// Number of rising loads.
    rising: usize,
    /// Number of changes so far. A level in the queue is valid only if nothing has changed since.
    version: usize,
}

impl Filling {
    /// Returns the level of the rising loads at which the medium is full; infinite if none rises.
    fn level(&self) -> f64 {
        if self.rising == 0 {
            return f64::INFINITY;
        }
        ((1.0 - self.taken) / self.growth).max(0.0)
    }
}

/// The reason for which loads stop rising: a load has reached its demand, or a medium is full.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    Load(usize),
    /// The medium's index and version.
    Medium(usize, usize),
}

/// Returns a non-negative level of rates as an integer of the same order.
fn ordered(level: f64) -> u64 {
    level.max(0.0).to_bits()
}

/// Raises either the responsive or the unresponsive loads together from 0. Each load stops at its
/// demand, or when a medium on its path is full. All rising loads have the same level, so a queue
/// of levels gives the next event.
fn raise(loads: &mut [Load], yielding: bool, media: &BTreeMap<String, Vec<(usize, f64)>>) {
    let mut rising: Vec<bool> =
        loads.iter().map(|load| load.responsive == yielding && load.alone > 0.0).collect();
    let mut queue = BinaryHeap::new();
    let mut places: Vec<Vec<(usize, f64)>> = vec![Vec::new(); loads.len()];
    let mut filling: Vec<Filling> = Vec::new();
    for users in media.values() {
        let mut medium = Filling { users: users.clone(), taken: 0.0, growth: 0.0, rising: 0, version: 0 };
        for &(user, rate) in users.iter().filter(|(_, rate)| *rate > 0.0) {
            match rising[user] {
                true => (medium.growth, medium.rising) = (medium.growth + 1.0 / rate, medium.rising + 1),
                false => medium.taken += loads[user].share / rate,
            }
            places[user].push((filling.len(), rate));
        }
        queue.push(Reverse((ordered(medium.level()), Stop::Medium(filling.len(), 0))));
        filling.push(medium);
    }
    let own = loads.iter().enumerate().filter(|(index, _)| rising[*index]);
    queue.extend(own.map(|(index, load)| Reverse((ordered(load.alone), Stop::Load(index)))));
    while let Some(Reverse((level, stop))) = queue.pop() {
        let level = f64::from_bits(level);
        let stopped = match stop {
            Stop::Load(index) if rising[index] => vec![index],
            Stop::Load(_) => continue,
            Stop::Medium(index, version) if version != filling[index].version => continue,
            Stop::Medium(index, _) => {
                let users = filling[index].users.iter().map(|(user, _)| *user);
                users.filter(|user| rising[*user]).collect()
            }
        };
        let mut changed = BTreeSet::new();
        for index in stopped {
            // A load that uses a medium twice is listed twice.
            if !std::mem::take(&mut rising[index]) {
                continue;
            }
            loads[index].share = level.min(loads[index].alone);
            for &(place, rate) in &places[index] {
                filling[place].taken += loads[index].share / rate;
                filling[place].growth -= 1.0 / rate;
                filling[place].rising -= 1;
                changed.insert(place);
            }
        }
        for place in changed {
            let medium = &mut filling[place];
            medium.version += 1;
            // Levels only rise: a lower one is a rounding error.
            queue.push(Reverse((ordered(medium.level().max(level)), Stop::Medium(place, medium.version))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Media = BTreeMap<String, Vec<(usize, f64)>>;

    /// Generates loads, responsive or not, with their rates alone, on media with a rate for each of
    /// their users.
    fn networks() -> impl Strategy<Value = (Vec<Load>, Media)> {
        let load = (any::<bool>(), 1e3..1e7f64);
        let user = (any::<prop::sample::Index>(), 1e3..1e7f64);
        let media = prop::collection::vec(prop::collection::vec(user, 1..12), 1..6);
        (prop::collection::vec(load, 1..16), media).prop_map(|(loads, media)| {
            let mut loads: Vec<Load> = loads
                .into_iter()
                .map(|(responsive, alone)| Load {
                    flow: 0,
                    own: true,
                    pages: false,
                    responsive,
                    alone,
                    share: 0.0,
                })
                .collect();
            let mut all = Media::new();
            for (number, users) in media.into_iter().enumerate() {
                // A load is on a medium once.
                let users: BTreeMap<usize, f64> =
                    users.into_iter().map(|(user, rate)| (user.index(loads.len()), rate)).collect();
                // Alone, a load has at most the rate of each of its media.
                for (user, rate) in &users {
                    loads[*user].alone = loads[*user].alone.min(*rate);
                }
                all.insert(number.to_string(), users.into_iter().collect());
            }
            (loads, all)
        })
    }

    proptest! {
        /// The definition of max-min fairness: no medium is overfull, and every load has its rate
        /// alone or uses a full medium on which no other load of its class has more (Bertsekas and
        /// Gallager, section 6.5.2). The unresponsive class is served as if the other one did not
        /// exist.
        #[test]
        fn every_load_has_its_demand_or_a_full_medium_where_none_has_more((mut loads, media) in networks()) {
            for yielding in [false, true] {
                raise(&mut loads, yielding, &media);
                let used = |users: &[(usize, f64)]| -> f64 {
                    users.iter().map(|(user, rate)| loads[*user].share / rate).sum()
                };
                for users in media.values() {
                    prop_assert!(used(users) <= 1.0 + 1e-9);
                }
                for (index, load) in loads.iter().enumerate().filter(|(_, load)| load.responsive == yielding) {
                    let limits = |users: &&Vec<(usize, f64)>| {
                        let most = users.iter().map(|(user, _)| &loads[*user]);
                        let most = most.filter(|other| other.responsive == yielding);
                        used(users) >= 1.0 - 1e-9 && most.fold(0.0, |most, other| other.share.max(most)) <= load.share * (1.0 + 1e-9)
                    };
                    let mut on = media.values().filter(|users| users.iter().any(|(user, _)| *user == index));
                    prop_assert!(
                        load.share >= load.alone * (1.0 - 1e-9) || on.any(|users| limits(&users)),
                        "load {index} has {} of {}", load.share, load.alone
                    );
                }
            }
        }
    }
}
