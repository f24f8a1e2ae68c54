//! A constellation's topology and routes, compared with a search of all satellites at many times.

use bentpipe_core::{Span, Time};
use bentpipe_networks::constellation::forwarding::Forwarding;
use bentpipe_networks::constellation::graph::UNREACHED;
use bentpipe_networks::constellation::routes::{Exit, Hop, Metric, Routes};
use bentpipe_networks::constellation::topology::{seconds, Change, Topology};
use bentpipe_networks::constellation::view::View;
use bentpipe_networks::constellation::Config;
use bentpipe_orbit::visibility;
use proptest::prelude::*;
use serde_json::json;

fn config(choice: &str, antennas: u64, isl: serde_json::Value) -> Config {
    // `kinds!` reads `{ kind: { ... } }` from JSON.
    let config = json!({
        "epoch": "2022-09-14T00:00:07Z",
        "shell": [{"walker-star": {
            "altitude": "780 km", "inclination": "86.4 deg", "planes": 6, "satellites": 11, "phasing": 3,
            "raan_spread": "189.6 deg",
        }}],
        "isl": isl,
        "gsl": {"up": "2 Mbit/s", "down": "2 Mbit/s", "mask": "8.2 deg", "choice": {choice: {}}, "antennas": antennas},
        "sites": {
            "equator": {"latitude": "0 deg", "longitude": "-78.5 deg", "altitude": "2850 m"},
            "london": {"latitude": "51.53 deg", "longitude": "0 deg"},
            "fiji": {"latitude": "-16.5 deg", "longitude": "180 deg"},
            "pole": {"latitude": "90 deg", "longitude": "0 deg"},
        },
    });
    serde_json::from_value(config).unwrap()
}

fn grid() -> serde_json::Value {
    json!({"grid": {"rate": "25 Mbit/s", "max_latitude": "60 deg", "max_range": "4500 km", "cross_seam": true}})
}

fn topology(config: &Config) -> Topology {
    config.topology()
}

/// Returns the elevation above the mask of every satellite from site `site`.
fn above(topology: &Topology, site: usize, t: f64) -> Vec<f64> {
    let ground = &topology.sites[site];
    let look = |satellite| visibility::elevation_margin(&ground.observer, satellite, ground.mask, t).value;
    topology.satellites.iter().map(look).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    /// After its events the topology agrees with a complete search, at any time.
    #[test]
    fn the_search_finds_every_event(gaps in prop::collection::vec(0.001..40.0f64, 150), antennas in 1u64..3) {
        let config = config("highest-elevation", antennas, grid());
        let mut topology = topology(&config);
        let mut t = 0.0;
        for gap in gaps {
            t += gap;
            let now = Time::from_nanos((t * 1e9) as u64);
            while topology.advance(now).is_some() {}
            let t = seconds(now);
            for site in 0..topology.sites.len() {
                let above = above(&topology, site, t);
                let ground = &topology.sites[site];
                let mut seen: Vec<u32> = (0..above.len() as u32).filter(|index| above[*index as usize] >= 0.0).collect();
                let mut visible: Vec<u32> = ground.visible.iter().map(|visible| visible.satellite).collect();
                visible.sort_unstable();
                prop_assert_eq!(&visible, &seen, "site {} at {} s", site, t);
                // The k-th highest is at most the margin above the lowest serving satellite.
                seen.sort_by(|a, b| above[*b as usize].total_cmp(&above[*a as usize]));
                seen.truncate(antennas as usize);
                let serving: Vec<u32> = ground.serving.iter().flatten().copied().collect();
                prop_assert_eq!(serving.len(), seen.len());
                let margin = 0.1_f64.to_radians() + 1e-9;
                let least = seen.last().map_or(0.0, |index| above[*index as usize]) - margin;
                prop_assert!(
                    serving.iter().all(|index| above[*index as usize] >= least),
                    "site {} at {} s: {:?} serve", site, t, serving
                );
            }
            for (index, isl) in topology.isls.iter().enumerate() {
                let ends = (&topology.satellites[isl.ends.0 as usize], &topology.satellites[isl.ends.1 as usize]);
                let margin = config.isl.margin(&isl.neighbours, ends, t).value;
                prop_assert_eq!(isl.up, margin >= 0.0, "link {} at {} s: {}", index, t, margin);
            }
        }
    }

    /// From every satellite with a path, each hop leads over an active link to a nearer satellite,
    /// and the path's delay is the sum of the distances. No path over a neighbour is shorter.
    #[test]
    fn trees_are_shortest_paths_without_loops(at in 0.0..6000.0f64, hops in any::<bool>()) {
        let config = config("least-handovers", 1, grid());
        let mut topology = topology(&config);
        let now = Time::from_nanos((at * 1e9) as u64);
        while topology.advance(now).is_some() {}
        let metric = if hops { Metric::Hops } else { Metric::Delay };
        let exits = vec![vec![Exit { site: 2, delay_beyond: Span::ZERO }]];
        let mut routes = Routes::new(&topology, metric, Some(Span::from_secs(1)), exits);
        let costs = routes.tree(0, now, &topology).paths.costs.clone();
        for (satellite, cost) in costs.iter().enumerate() {
            for isl in topology.isls.iter().filter(|isl| isl.up) {
                let (a, b) = (isl.ends.0 as usize, isl.ends.1 as usize);
                if satellite == a || satellite == b {
                    let other = costs[a + b - satellite];
                    // A path has at most one hop more than a neighbour's path.
                    prop_assert!(!hops || *cost == UNREACHED || metric.hops_of(*cost) <= metric.hops_of(other) + 1);
                }
            }
            match routes.hop(0, satellite as u32, now, &topology) {
                Hop::None => prop_assert_eq!(*cost, UNREACHED),
                Hop::Down { site, .. } => {
                    prop_assert_eq!(topology.sites[site as usize].serving[0], Some(satellite as u32));
                }
                Hop::Isl { arc, to } => {
                    let isl = &topology.isls[arc as usize / 2];
                    prop_assert!(isl.up);
                    let (from, over) = if arc % 2 == 0 { isl.ends } else { (isl.ends.1, isl.ends.0) };
                    prop_assert_eq!((satellite as u32, to), (from, over));
                    prop_assert!(costs[to as usize] < *cost);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Simultaneous paths share no satellite, use active links down to the site, and come in the
    /// order of their lengths, none faster than light along the chord. The first is the shortest
    /// path.
    #[test]
    fn simultaneous_paths_share_no_satellite(at in 0.0..6000.0f64, most in 1usize..5) {
        let config = config("highest-elevation", 3, grid());
        let mut topology = topology(&config);
        let now = Time::from_nanos((at * 1e9) as u64);
        while topology.advance(now).is_some() {}
        let (from, to) = (0, 2);
        let exits = vec![vec![Exit { site: to, delay_beyond: Span::ZERO }]];
        let mut routes = Routes::new(&topology, Metric::Delay, Some(Span::from_secs(1)), exits);
        let paths = routes.disjoint_paths(0, from, most, now, &topology);
        let most_there = [from, to].map(|site| topology.sites[site as usize].serving.iter().flatten().count());
        prop_assert!(paths.len() <= most.min(most_there[0]).min(most_there[1]));
        // The second is London: 9230 km from Quito, by a chord of 8440 km.
        let chord = 8.4e6 / 299_792_458.0;
        let mut used = std::collections::BTreeSet::new();
        for (index, path) in paths.iter().enumerate() {
            prop_assert!(index == 0 || paths[index - 1].cost <= path.cost);
            prop_assert!(path.delay.as_secs_f64() > chord, "{:?}", path.delay);
            prop_assert_eq!(topology.sites[from as usize].serving[path.first.0 as usize], Some(path.first.1));
            let (mut satellite, mut steps) = (path.first.1, 0);
            loop {
                prop_assert!(used.insert(satellite), "satellite {} is on two paths", satellite);
                steps += 1;
                match path.hops[&satellite] {
                    Hop::Isl { arc, to } => {
                        let isl = &topology.isls[arc as usize / 2];
                        prop_assert!(isl.up);
                        prop_assert_eq!(isl.ends.0 + isl.ends.1, satellite + to);
                        satellite = to;
                    }
                    Hop::Down { site, antenna } => {
                        prop_assert_eq!(topology.sites[site as usize].serving[antenna as usize], Some(satellite));
                        prop_assert_eq!(site, to);
                        break;
                    }
                    Hop::None => prop_assert!(false, "a path that ends"),
                }
            }
            prop_assert_eq!(steps, path.hops.len());
        }
        let costs = routes.tree(0, now, &topology).paths.costs.clone();
        let serving = &topology.sites[from as usize].serving;
        prop_assert_eq!(paths.is_empty(), serving.iter().flatten().all(|one| costs[*one as usize] == UNREACHED));
    }
}

#[test]
fn least_handovers_takes_no_more_than_any_other_choice() {
    let count = |choice: &str| {
        let mut topology = topology(&config(choice, 1, json!({"none": {}})));
        let (mut handovers, mut dark) = (0, 0);
        while let Some((_, changes)) = topology.advance(Time::from_nanos(7_200_000_000_000)) {
            for change in changes {
                if let Change::Handover { from, to, .. } = change {
                    handovers += u32::from(from.is_some() && to.is_some());
                    dark += u32::from(to.is_none());
                }
            }
        }
        (handovers, dark)
    };
    let (least, _) = count("least-handovers");
    for choice in ["highest-elevation", "longest-visibility"] {
        assert!(least <= count(choice).0, "{choice}");
    }
    assert!(least > 10, "{least}");
}

#[test]
fn a_schedule_changes_only_at_its_boundaries() {
    let mut topology = topology(&config("schedule", 1, json!({"none": {}})));
    let mut chosen = 0;
    while let Some((at, changes)) = topology.advance(Time::from_nanos(3_600_000_000_000)) {
        for change in changes {
            if let Change::Handover { to: Some(_), .. } = change {
                // The run starts at 7 s of a minute; slots begin at 12, 27, 42 and 57 s.
                assert_eq!((at.as_nanos() + 7_000_000_000 - 12_000_000_000) % 15_000_000_000, 0, "{at:?}");
                chosen += 1;
            }
        }
    }
    assert!(chosen > 10, "{chosen}");
}

#[test]
fn forwarding_state_reads_back_unchanged_and_loops_are_no_paths() {
    let mut config = config("highest-elevation", 1, grid());
    let at = |seconds| Time::ZERO + Span::from_secs(seconds);
    let mut view = View::new(&config);
    let states: Vec<String> = [0, 60, 600].into_iter().map(|seconds| view.forwarding(at(seconds))).collect();
    assert!(states[0] != states[2] && states[0].lines().count() > 200);
    config.routing.forwarding = Some(Forwarding::parse(&states.concat()).unwrap());
    let mut same = View::new(&config);
    for (seconds, state) in [0, 60, 600].into_iter().zip(&states) {
        assert_eq!(same.forwarding(at(seconds)), *state);
    }
    config.routing.forwarding =
        Some(Forwarding::parse("at 0 s\nlondon P1S1 P1S2\nlondon P1S2 P1S1\nlondon P1S3 P1S2\n").unwrap());
    assert_eq!(View::new(&config).forwarding(at(1)), "at 1 s\n");
    let refused = |text: &str| Forwarding::parse(text).unwrap_err();
    assert!(refused("london P1S1 down").starts_with("line 1 "));
    assert!(refused("at 5 s\nat 5 s").starts_with("line 2 "));
    assert!(refused("at 5 s\na b c d").starts_with("line 2 "));
}
