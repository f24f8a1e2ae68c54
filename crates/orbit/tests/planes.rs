//! Planes and neighbours found in element sets.

use bentpipe_core::{Angle, Distance};
use bentpipe_orbit::elements::ElementSets;
use bentpipe_orbit::epoch::Epoch;
use bentpipe_orbit::observer::EarthRotation;
use bentpipe_orbit::satellite::Satellite;
use bentpipe_orbit::shell::planes::{self, Orbit};
use bentpipe_orbit::shell::walker::Walker;
use bentpipe_orbit::shell::{elements, NeighbourKind, Neighbours, Shell};

/// Returns the element sets of a Walker pattern, as an orbit mean-elements message in JSON.
fn element_sets_of(
    planes: u32,
    satellites: u32,
    phasing: f64,
    inclination: f64,
    spread: f64,
) -> elements::Config {
    let mut sets = Vec::new();
    for plane in 0..planes {
        for index in 0..satellites {
            let (plane_, planes_) = (f64::from(plane), f64::from(planes));
            let anomaly = 360.0 / f64::from(satellites) * (f64::from(index) + plane_ * phasing / planes_);
            sets.push(serde_json::json!({
                "OBJECT_NAME": format!("P{}S{}", plane + 1, index + 1),
                "NORAD_CAT_ID": sets.len() + 1,
                "EPOCH": "2022-09-14T00:00:00",
                "MEAN_MOTION": 14.6, "ECCENTRICITY": 0.0001, "INCLINATION": inclination,
                "RA_OF_ASC_NODE": (spread * plane_ / planes_).rem_euclid(360.0),
                "ARG_OF_PERICENTER": 0.0, "MEAN_ANOMALY": anomaly.rem_euclid(360.0), "BSTAR": 0.0,
            }));
        }
    }
    let text = serde_json::Value::Array(sets).to_string();
    elements::Config { elements: ElementSets::parse(&text).unwrap() }
}

/// Planes and neighbours detected in elements that are three days old equal those of the pattern
/// that generated the elements.
#[test]
fn detected_neighbours_match_the_design() {
    let start: Epoch = "2022-09-17T07:00:00Z".parse().unwrap();
    let rotation = EarthRotation::new(start, 0.0);
    for (planes, satellites, phasing, inclination, spread, closed) in
        [(6, 11, 2.0, 86.4, 189.6, false), (72, 22, 17.0, 53.0, 360.0, true), (6, 4, 1.0, 55.0, 360.0, true)]
    {
        let design = Walker {
            altitude: Distance::from_metres(700e3),
            inclination: Angle::from_degrees(inclination),
            planes,
            satellites,
            phasing,
            spread: Angle::from_degrees(spread),
            closed,
        };
        let config = element_sets_of(planes, satellites, phasing, inclination, spread);
        let found = config.neighbours(&config.satellites(start, rotation));
        let pairs = |all: &[Neighbours], kind| {
            let of_kind = all.iter().filter(|pair| pair.kind == kind);
            let ordered =
                of_kind.map(|pair| (pair.indices.0.min(pair.indices.1), pair.indices.0.max(pair.indices.1)));
            ordered.collect::<std::collections::BTreeSet<_>>()
        };
        let designed = design.neighbours();
        for kind in [NeighbourKind::InPlane, NeighbourKind::BetweenPlanes] {
            assert_eq!(pairs(&found, kind), pairs(&designed, kind), "{planes} planes");
        }
        let seam = pairs(&found, NeighbourKind::AcrossSeam).len();
        assert!(if closed { seam == 0 } else { seam > 6 }, "{seam} across the seam of {planes} planes");
    }
}

/// Satellites outside a plane, at another height or isolated, have no neighbours.
#[test]
fn satellites_in_transfer_have_no_neighbours() {
    let start: Epoch = "2022-09-14T00:00:00Z".parse().unwrap();
    let config = element_sets_of(3, 8, 0.0, 70.0, 360.0);
    let orbits = |raised: u32| -> Vec<Orbit> {
        let of = config.satellites(start, EarthRotation::new(start, 0.0));
        let orbit = |(index, satellite): (u32, &Satellite)| Orbit {
            position: satellite.position(0.0),
            velocity: satellite.velocity(0.0),
            semi_major: 7.0e6 + if index == raised { 20e3 } else { 0.0 },
        };
        (0..).zip(&of).map(orbit).collect()
    };
    let found = planes::neighbours(&orbits(9));
    assert!(found.iter().all(|pair| pair.indices.0 != 9 && pair.indices.1 != 9));
    // The plane of the raised satellite is a ring without it, and the adjacent planes have no
    // neighbour for it.
    assert_eq!(found.iter().filter(|pair| pair.kind == NeighbourKind::InPlane).count(), 8 + 7 + 8);
    assert_eq!(found.iter().filter(|pair| pair.kind == NeighbourKind::BetweenPlanes).count(), 7 + 7 + 8);
}
