//! Groups of sites: `count` sites under one key, spread over a circle.
//!
//! Member i of n is at the distance R sqrt((i - 1/2) / n) from the centre, at i golden angles
//! clockwise from north (H. Vogel, "A better way to construct the sunflower head", Mathematical
//! Biosciences 44, 1979). All members have about the same area around them, and no direction is
//! preferred. Distances are along great circles of a sphere with the Earth's equatorial radius.

use super::config::GroundSite;
use crate::Expanded;
use bentpipe_core::{math, numbered, Angle, Problems};
use bentpipe_orbit::earth::EQUATORIAL_RADIUS;
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// Maximum radius over which sites can be spread, in metres.
const MAX_SPREAD: f64 = 5_000_000.0;

/// Returns the sites with each group replaced by its members, or `None` if there is no group.
pub(super) fn expanded(
    sites: &BTreeMap<String, GroundSite>,
    problems: &mut Problems,
) -> Option<(BTreeMap<String, GroundSite>, Vec<Expanded>)> {
    if sites.values().all(|site| site.count.is_none() && site.spread.is_none()) {
        return None;
    }
    let (mut all, mut members) = (BTreeMap::new(), Vec::new());
    for (key, site) in sites {
        let spread = site.spread.map_or(0.0, |spread| spread.metres());
        let Some(count) = site.count else {
            if spread != 0.0 {
                problems
                    .within(key, |problems| problems.add("spread", "needs a count of the sites to spread"));
            }
            all.insert(key.clone(), site.clone());
            continue;
        };
        if let Some(spread) = site.spread.filter(|spread| !(0.0..=MAX_SPREAD).contains(&spread.metres())) {
            let message = format!("{spread} is out of range; allowed: 0 km to 5000 km");
            problems.within(key, |problems| problems.add("spread", message));
            continue;
        }
        for (index, name) in numbered(key, count.value()).enumerate() {
            if sites.contains_key(&name) {
                problems.add(
                    key,
                    format!("its member \"{name}\" is also the name of a site; allowed: each name once"),
                );
            }
            let member = at(site, index as f64, count.value() as f64, spread);
            members.push(Expanded { path: vec!["sites".to_owned(), name.clone()], group: key.clone() });
            all.insert(name, member);
        }
    }
    Some((all, members))
}

/// Returns member `index`, from 0, of `count`.
fn at(site: &GroundSite, index: f64, count: f64, spread: f64) -> GroundSite {
    let golden = PI * (3.0 - 5.0_f64.sqrt());
    let (azimuth, arc) = (index * golden, spread * ((index + 0.5) / count).sqrt() / EQUATORIAL_RADIUS);
    let ((sin, cos), (sin_arc, cos_arc)) = (math::sin_cos(site.latitude.radians()), math::sin_cos(arc));
    // The point at a given distance and azimuth from another: spherical laws of cosines and sines.
    let latitude = math::asin((sin * cos_arc + cos * sin_arc * math::cos(azimuth)).clamp(-1.0, 1.0));
    let east = math::atan2(math::sin(azimuth) * sin_arc * cos, cos_arc - sin * math::sin(latitude));
    let turned = site.longitude.degrees() + east.to_degrees();
    let longitude = (turned + 180.0).rem_euclid(360.0) - 180.0;
    let placed = match arc == 0.0 {
        true => (site.latitude, site.longitude),
        false => (rounded(latitude.to_degrees()), rounded(longitude)),
    };
    GroundSite { latitude: placed.0, longitude: placed.1, count: None, spread: None, ..site.clone() }
}

/// Returns an angle rounded to about a decimetre on the ground.
fn rounded(degrees: f64) -> Angle {
    Angle::from_degrees((degrees * 1e6).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Distance;

    fn sites(text: &str) -> BTreeMap<String, GroundSite> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn sites_are_spread_within_the_circle() {
        let group = r#"{"user": {"latitude": "50 deg", "longitude": "179 deg", "count": 40, "spread": "300 km"},
                        "gw": {"latitude": "40 deg", "longitude": "0 deg"}}"#;
        let mut problems = Problems::default();
        let (all, members) = expanded(&sites(group), &mut problems).unwrap();
        assert_eq!((all.len(), members.len(), problems.count()), (41, 40, 0));
        let centre = (50.0_f64.to_radians(), 179.0_f64.to_radians());
        let mut distances: Vec<f64> = (1..=40)
            .map(|number| {
                let site = &all[&format!("user{number}")];
                let (latitude, longitude) = (site.latitude.radians(), site.longitude.radians());
                assert!((-180.0..180.0).contains(&site.longitude.degrees()));
                // The haversine formula, which `at` does not use.
                let half = |angle: f64| math::sin(angle / 2.0).powi(2);
                let h = half(latitude - centre.0)
                    + math::cos(centre.0) * math::cos(latitude) * half(longitude - centre.1);
                2.0 * math::asin(h.sqrt()) * EQUATORIAL_RADIUS / 1000.0
            })
            .collect();
        distances.sort_by(f64::total_cmp);
        assert!(distances[39] <= 300.0 && distances[39] > 290.0, "{distances:?}");
        // Half of the sites are in half of the area.
        assert!((distances[19] - 300.0 * (19.5_f64 / 40.0).sqrt()).abs() < 0.1);
    }

    #[test]
    fn single_site_keeps_its_position_and_duplicate_name_is_rejected() {
        assert_eq!(
            expanded(
                &sites(r#"{"a": {"latitude": "1 deg", "longitude": "2 deg"}}"#),
                &mut Problems::default()
            ),
            None
        );
        let twice = r#"{"a": {"latitude": "1 deg", "longitude": "2 deg", "count": 2},
                        "a2": {"latitude": "1 deg", "longitude": "2 deg", "spread": "1 km"}}"#;
        let mut problems = Problems::default();
        let (all, _) = expanded(&sites(twice), &mut problems).unwrap();
        assert_eq!(all["a1"].spread.map(Distance::metres), None);
        let paths: Vec<_> = problems.into_vec().into_iter().map(|problem| problem.path.join(".")).collect();
        assert_eq!(paths, ["a", "a2.spread"]);
    }
}
