//! Tests networks of bundle nodes: deliveries calculated by hand, conservation of bundles over
//! random plans, and LTP with losses.

use bentpipe_core::{Span, Time};
use bentpipe_dtn::contacts::number::BitRate;
use bentpipe_dtn::contacts::{read, Contact, Node, Plan};
use bentpipe_dtn::ltp;
use bentpipe_dtn::network::routing::contact_graph::ContactGraph;
use bentpipe_dtn::network::routing::epidemic::Epidemic;
use bentpipe_dtn::network::routing::prophet::Prophet;
use bentpipe_dtn::network::routing::spray_and_wait::SprayAndWait;
use bentpipe_dtn::network::routing::table::Static;
use bentpipe_dtn::network::routing::{Keys, Method, Routing};
use bentpipe_dtn::network::{Bundle, Config, Convergence, Discard, Network, Outcome, Reason};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

fn config(routing: impl Routing + 'static, convergence: Convergence) -> Config {
    Config { convergence, routing: Arc::new(routing), storage: u64::MAX, discard: Discard::Newest }
}

fn with_ltp() -> Convergence {
    Convergence::Ltp { config: ltp::Config::default(), margin: Span::from_secs(1) }
}

fn bundle(from: u32, to: u32, payload: u64) -> Bundle {
    Bundle { from: Node(from), to: Node(to), payload, lifetime: Span::from_secs(1_000_000), priority: 1 }
}

/// Runs a network until it has no more events. Returns the time and the outcome of each bundle.
fn finish(network: &mut Network) -> Vec<(Time, Outcome)> {
    let mut found = Vec::new();
    for _ in 0..5_000_000 {
        let Some(wake) = network.next_wake() else { return found };
        network.advance(wake);
        found.extend(std::iter::from_fn(|| network.next_outcome()).map(|outcome| (wake, outcome)));
    }
    panic!("the network has more than 5 million wakes");
}

const RELAY: &str =
    "src,dst,start,end,rate_bps,owlt_s\nlander,orbiter,100,200,8000,1\norbiter,earth,1000,2000,80000,600\n";

#[test]
fn a_bundle_is_stored_until_the_next_contact() {
    let plan = read::plan(RELAY).unwrap();
    let mut network = Network::new(
        plan.clone(),
        plan.clone(),
        config(ContactGraph, Convergence::Udp),
        Box::new(|_, _| false),
    );
    let [lander, earth] = ["lander", "earth"].map(|name| plan.node(name).unwrap());
    let number = network.insert(at(50), bundle(lander.0, earth.0, 1000));
    // The datagram has 1000 bytes of payload, 55 bytes of the bundle's blocks and 28 bytes of
    // headers. It is sent at 10 kB/s from 1000 s.
    let size = 1000 + 28 + 55;
    let [(time, outcome)] = finish(&mut network)[..] else { panic!("the bundle has one outcome") };
    assert_eq!(outcome, Outcome::Delivered { bundle: number, to: earth, hops: 2 });
    assert_eq!(time, at(1600) + Span::from_micros(size * 100));
    assert_eq!(network.counters().sent_bytes, 2 * size);
    assert_eq!(network.stored(), 0);
}

#[test]
fn bundles_are_cut_off_by_unannounced_outages_and_avoid_announced_ones() {
    let real = "src,dst,start,end,rate_bps,owlt_s\n1,2,0,10,8000,1\n1,2,20,40,8000,1\n";
    let all = "src,dst,start,end,rate_bps,owlt_s\n1,2,0,40,8000,1\n";
    let [real, all] = [real, all].map(|text| read::plan(text).unwrap());
    let run = |known: &Plan| {
        let udp = config(ContactGraph, Convergence::Udp);
        let mut network = Network::new(real.clone(), known.clone(), udp, Box::new(|_, _| false));
        // The transmission of each bundle takes slightly more than four seconds.
        for _ in 0..4 {
            network.insert(at(0), bundle(0, 1, 4000));
        }
        let outcomes = finish(&mut network);
        assert_eq!(network.stored(), 0);
        outcomes
            .into_iter()
            .map(|(_, outcome)| matches!(outcome, Outcome::Delivered { .. }))
            .collect::<Vec<_>>()
    };
    // The third bundle is being transmitted when the unannounced outage starts at 10 s.
    assert_eq!(run(&all), [true, false, true, true]);
    assert_eq!(run(&real), [true; 4]);
}

#[test]
fn a_full_node_applies_its_discard_policy() {
    let plan = read::plan("src,dst,start,end,rate_bps,owlt_s\n1,2,1000,2000,8000,1\n").unwrap();
    let run = |discard| {
        let config = Config { storage: 2500, discard, ..config(ContactGraph, Convergence::Udp) };
        let mut network = Network::new(plan.clone(), plan.clone(), config, Box::new(|_, _| false));
        for priority in [1, 0, 2] {
            network.insert(at(0), Bundle { priority, ..bundle(0, 1, 1000) });
        }
        let dropped = finish(&mut network).into_iter().find_map(|(_, outcome)| match outcome {
            Outcome::Dropped { bundle, reason: Reason::StorageFull, .. } => Some(bundle),
            _ => None,
        });
        assert_eq!(network.counters().delivered, 2);
        dropped
    };
    assert_eq!(
        [Discard::Newest, Discard::Oldest, Discard::LowestPriority].map(run),
        [Some(2), Some(0), Some(1)]
    );
}

#[test]
fn ltp_delivers_all_bundles_over_several_contacts_despite_losing_a_third_of_segments() {
    let text = "src,dst,start,end,rate_bps,owlt_s\n1,2,0,60,64000,10\n2,1,0,60,64000,10\n1,2,100,160,64000,10\n2,1,100,160,64000,10\n\
                1,2,200,900,64000,10\n2,1,200,900,64000,10\n";
    let plan = read::plan(text).unwrap();
    let run = |convergence| {
        let mut random = 7_u64;
        let third = move |_, _| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33).is_multiple_of(3)
        };
        let mut network =
            Network::new(plan.clone(), plan.clone(), config(ContactGraph, convergence), Box::new(third));
        for _ in 0..20 {
            network.insert(at(0), bundle(0, 1, 5000));
        }
        let outcomes = finish(&mut network);
        assert_eq!(network.stored(), 0, "{:?}", network.counters());
        outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Delivered { .. })).count()
    };
    assert_eq!(run(with_ltp()), 20);
    assert!((7..=19).contains(&run(Convergence::Udp)));
}

/// Node 0 meets nodes 1 and 3, which later meet the destination, node 2.
#[test]
fn copies_reach_the_destination_without_a_plan() {
    let plan = read::plan("src,dst,start,end,rate_bps,owlt_s\n0,1,10,20,80000,0\n0,3,12,20,80000,0\n1,2,30,40,80000,0\n3,2,35,45,80000,0\n").unwrap();
    let run = |routing: &dyn Fn() -> Arc<dyn Routing>| {
        let config = Config { routing: routing(), ..config(ContactGraph, Convergence::Udp) };
        let mut network = Network::new(plan.clone(), plan.clone(), config, Box::new(|_, _| false));
        network.insert(at(0), Bundle { lifetime: Span::from_secs(100), ..bundle(0, 2, 1000) });
        let outcomes = finish(&mut network);
        (outcomes.len(), network.counters().delivered, network.counters().transmissions, network.stored())
    };
    // Copies go from node 0 to nodes 1 and 3, and from both to node 2. One of the last two is
    // superfluous.
    assert_eq!(run(&|| Arc::new(Epidemic)), (1, 1, 4, 0));
    assert_eq!(run(&|| Arc::new(SprayAndWait { copies: 4 })), (1, 1, 4, 0));
    // Of two copies, one stays at node 0.
    assert_eq!(run(&|| Arc::new(SprayAndWait { copies: 2 })), (1, 1, 2, 0));
    // Nodes 1 and 3 have not met node 2 when node 0 meets them, so node 0 keeps the bundle until it
    // expires.
    assert_eq!(run(&|| Arc::new(Prophet::default())), (1, 0, 0, 0));
    let table = BTreeMap::from([((0, 2), 3), ((3, 2), 2)]);
    assert_eq!(run(&|| Arc::new(Static(table.clone()))), (1, 1, 2, 0));
}

/// Returns a strategy for the routings that scenarios can name and a static table.
fn routings() -> impl Strategy<Value = Arc<dyn Routing>> {
    let table = (0..5_u32).flat_map(|from| (0..5_u32).map(move |to| ((from, to), (from + 1) % 5))).collect();
    let table: Arc<dyn Routing> = Arc::new(Static(table));
    prop_oneof![
        4 => (prop::sample::select(Method::ALL), 1..6_u32).prop_map(|(method, copies)| method.routing(&Keys { copies })),
        1 => Just(table),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn every_bundle_is_delivered_dropped_or_stored(
        rows in prop::collection::vec((0..5_u32, 0..5_u32, 0..300_u64, 1..100_u64, 1..9_u64, 0..20_u64), 1..30),
        bundles in prop::collection::vec((0..5_u32, 0..5_u32, 0..200_u64, 1..3000_u64, 1..300_u64, 0..3_usize), 1..40),
        outages in prop::collection::vec(any::<bool>(), 30),
        routing in routings(), ltp in any::<bool>(), storage in 2000..20_000_u64, discard in 0..3_usize, percent in 0..60_u64,
    ) {
        let mut contacts: Vec<Contact> = Vec::new();
        for (from, to, start, length, rate, delay) in rows {
            let contact = Contact {
                id: contacts.len() as u64, from: Node(from), to: Node(to), start: at(start), end: at(start + length),
                rate: BitRate::from_millibits(rate * 1_000_000).unwrap(), delay: Span::from_secs(delay),
            };
            let overlaps = contacts.iter().any(|other| (other.from, other.to) == (contact.from, contact.to) && other.start < contact.end && contact.start < other.end);
            if from != to && !overlaps {
                contacts.push(contact);
            }
        }
        let names: Vec<String> = (0..5).map(|node| node.to_string()).collect();
        let known = Plan::of(names.clone(), contacts.clone());
        // Some contacts end early without announcement.
        for (contact, outage) in contacts.iter_mut().zip(outages) {
            if outage {
                contact.end = contact.start + Span::from_nanos(contact.end.since(contact.start).as_nanos() / 2);
            }
        }
        let real = Plan::of(names, contacts);
        let convergence = if ltp { with_ltp() } else { Convergence::Udp };
        let discard = [Discard::Newest, Discard::Oldest, Discard::LowestPriority][discard];
        let mut random = 99_u64;
        let errors = move |_, _| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % 100 < percent
        };
        let config = Config { convergence, routing, storage, discard };
        let mut network = Network::new(real, known, config, Box::new(errors));
        let mut bundles: Vec<_> = bundles.into_iter().filter(|(from, to, ..)| from != to).collect();
        bundles.sort_by_key(|(_, _, time, ..)| *time);
        let mut ended: BTreeMap<u64, Outcome> = BTreeMap::new();
        let mut collect = |network: &mut Network| {
            while let Some(outcome) = network.next_outcome() {
                let (Outcome::Delivered { bundle, .. } | Outcome::Dropped { bundle, .. }) = outcome;
                assert!(ended.insert(bundle, outcome).is_none(), "bundle {bundle} ended twice");
            }
            let counters = network.counters();
            assert_eq!(counters.created, counters.delivered + counters.expired + counters.dropped + network.stored());
            assert_eq!(counters.created - network.stored(), ended.len() as u64);
        };
        for (from, to, time, payload, lifetime, priority) in bundles {
            network.insert(at(time), Bundle { from: Node(from), to: Node(to), payload, lifetime: Span::from_secs(lifetime), priority });
            collect(&mut network);
        }
        for step in 0..200_000 {
            let Some(wake) = network.next_wake() else { break };
            prop_assert!(step < 199_999, "the network has more than 200 000 wakes");
            network.advance(wake);
            collect(&mut network);
        }
        prop_assert_eq!(network.stored(), 0, "all lifetimes are over");
    }
}
