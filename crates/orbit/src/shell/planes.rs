//! Detection of orbital planes among satellites of unknown design, and of the neighbours within and
//! between planes.
//!
//! Two satellites belong to one plane if the normals of their orbits are within 1 deg and their
//! mean semi-major axes within 3 km of each other. Such pairs form chains. Planes of today's
//! constellations are at least 4 deg apart, and satellites are kept within about 0.1 deg of their
//! plane. A plane has at least three satellites. Satellites in transfer between orbits, and spares
//! at other heights, belong to no plane and have no neighbours. Planes belong to one family if
//! their inclinations are within 0.1 deg, which separates Starlink's shells of 53.05 and 53.22 deg,
//! and if their heights are within 60 km (OneWeb's planes are 4 km apart). The planes of a family
//! are ordered by their ascending nodes.
//!
//! Within a plane, neighbours are adjacent in argument of latitude. In adjacent planes, neighbours
//! are the satellites with the nearest arguments of latitude at the start of the run; each has at
//! most one neighbour in each adjacent plane. The first and the last plane are also adjacent. If
//! they move in opposite directions and the gap between them is wider than the other gaps, there is
//! a seam between them. No satellites stay close to each other across a seam; there, neighbours are
//! satellites that pass each other at the start.

use super::{NeighbourKind, Neighbours};
use crate::vector::{cross, dot, length, Vector};
use bentpipe_core::math;
use std::f64::consts::{PI, TAU};

/// The position and motion of a satellite at the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct Orbit {
    /// Position at the start of the run, in metres.
    pub position: Vector,
    /// Velocity at the start of the run, in m/s.
    pub velocity: Vector,
    /// Mean semi-major axis in metres.
    pub semi_major: f64,
}

/// Maximum angle between normals of satellites in one plane, in radians.
const MAX_NORMAL_ANGLE: f64 = PI / 180.0;
/// Maximum difference of semi-major axes within a plane, in metres.
const MAX_AXIS_DIFFERENCE: f64 = 3e3;
/// Maximum difference of inclination in radians, and of semi-major axis in metres, between planes
/// of one family.
const FAMILY_LIMITS: (f64, f64) = (PI / 1800.0, 60e3);
/// Minimum number of satellites in a plane.
const MIN_SATELLITES: usize = 3;

/// A plane, with its satellites in order of their arguments of latitude.
struct Plane {
    normal: Vector,
    node: f64,
    semi_major: f64,
    /// Argument of latitude and index of each satellite.
    satellites: Vec<(f64, u32)>,
}

/// Computes the grid of neighbours.
pub fn neighbours(orbits: &[Orbit]) -> Vec<Neighbours> {
    let planes = detect_planes(orbits);
    let mut all = Vec::new();
    for plane in &planes {
        for (index, (_, satellite)) in plane.satellites.iter().enumerate() {
            let (_, next) = plane.satellites[(index + 1) % plane.satellites.len()];
            all.push(Neighbours { indices: (*satellite, next), kind: NeighbourKind::InPlane });
        }
    }
    for family in families(planes) {
        let gaps: Vec<f64> = (0..family.len())
            .map(|index| (family[(index + 1) % family.len()].node - family[index].node).rem_euclid(TAU))
            .collect();
        // The circle of planes is cut at its widest gap. Across this gap, the last plane is
        // adjacent to the first one, or there is a seam.
        let widest = (0..gaps.len()).max_by(|a, b| gaps[*a].total_cmp(&gaps[*b])).unwrap_or(0);
        let mut others: Vec<f64> =
            (0..gaps.len()).filter(|index| *index != widest).map(|index| gaps[index]).collect();
        others.sort_by(f64::total_cmp);
        for step in 0..family.len() {
            let index = (widest + 1 + step) % family.len();
            let (a, b) = (&family[index], &family[(index + 1) % family.len()]);
            let last = step + 1 == family.len();
            if last && family.len() < 3 {
                continue;
            }
            let wide = others.get(others.len() / 2).is_some_and(|usual| gaps[index] > 1.5 * usual);
            let seam = last && wide && dot(&a.normal, &b.normal) < 0.0;
            let kind = if seam { NeighbourKind::AcrossSeam } else { NeighbourKind::BetweenPlanes };
            all.extend(pairs_between(a, b, seam).into_iter().map(|indices| Neighbours { indices, kind }));
        }
    }
    all
}

/// Returns the planes, in order of their first satellites.
fn detect_planes(orbits: &[Orbit]) -> Vec<Plane> {
    let normals: Vec<Vector> =
        orbits.iter().map(|orbit| unit(&cross(&orbit.position, &orbit.velocity))).collect();
    let near = math::cos(MAX_NORMAL_ANGLE);
    let mut left: Vec<u32> = (0..orbits.len() as u32)
        .filter(|index| normals[*index as usize].iter().all(|x| x.is_finite()))
        .collect();
    let mut planes = Vec::new();
    while let Some(first) = left.first().copied() {
        left.remove(0);
        let mut members = vec![first];
        let mut examined = 0;
        while examined < members.len() {
            let of = members[examined] as usize;
            examined += 1;
            left.retain(|candidate| {
                let other = *candidate as usize;
                let joins = (orbits[of].semi_major - orbits[other].semi_major).abs() <= MAX_AXIS_DIFFERENCE
                    && dot(&normals[of], &normals[other]) >= near;
                if joins {
                    members.push(*candidate);
                }
                !joins
            });
        }
        if members.len() >= MIN_SATELLITES {
            planes.push(plane(orbits, &normals, &members));
        }
    }
    planes
}

fn plane(orbits: &[Orbit], normals: &[Vector], members: &[u32]) -> Plane {
    let sum = members.iter().fold([0.0; 3], |sum, index| {
        let normal = normals[*index as usize];
        std::array::from_fn(|i| sum[i] + normal[i])
    });
    let normal = unit(&sum);
    // For an equatorial orbit any direction is valid.
    let towards = match math::hypot(normal[0], normal[1]) > 1e-6 {
        true => unit(&[-normal[1], normal[0], 0.0]),
        false => [1.0, 0.0, 0.0],
    };
    let ahead = cross(&normal, &towards);
    let argument = |index: &u32| {
        let position = &orbits[*index as usize].position;
        math::atan2(dot(position, &ahead), dot(position, &towards)).rem_euclid(TAU)
    };
    let mut satellites: Vec<(f64, u32)> = members.iter().map(|index| (argument(index), *index)).collect();
    satellites.sort_by(|a, b| a.0.total_cmp(&b.0));
    let semi_major = members.iter().map(|index| orbits[*index as usize].semi_major).sum::<f64>();
    Plane {
        normal,
        node: math::atan2(towards[1], towards[0]).rem_euclid(TAU),
        semi_major: semi_major / members.len() as f64,
        satellites,
    }
}

/// Groups the planes into families, each in order of the nodes.
fn families(planes: Vec<Plane>) -> Vec<Vec<Plane>> {
    let inclination = |plane: &Plane| math::acos(plane.normal[2].clamp(-1.0, 1.0));
    let mut families: Vec<Vec<Plane>> = Vec::new();
    for plane in planes {
        let of = families.iter_mut().find(|family| {
            (inclination(&family[0]) - inclination(&plane)).abs() <= FAMILY_LIMITS.0
                && (family[0].semi_major - plane.semi_major).abs() <= FAMILY_LIMITS.1
        });
        match of {
            Some(family) => family.push(plane),
            None => families.push(vec![plane]),
        }
    }
    for family in &mut families {
        family.sort_by(|a, b| a.node.total_cmp(&b.node));
    }
    families
}

/// Returns the pairs of satellites of two adjacent planes, the nearest first. Each satellite is in
/// at most one pair.
fn pairs_between(a: &Plane, b: &Plane, seam: bool) -> Vec<(u32, u32)> {
    let apart = |one: f64, other: f64| {
        // On the two sides of a seam, one satellite ascends where the other descends.
        let mirrored = if seam { PI - other } else { other };
        let difference = (one - mirrored).rem_euclid(TAU);
        difference.min(TAU - difference)
    };
    let mut pairs: Vec<(f64, u32, u32)> = a
        .satellites
        .iter()
        .flat_map(|(one, from)| b.satellites.iter().map(move |(other, to)| (apart(*one, *other), *from, *to)))
        .collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    // A satellite that is farther away along the orbit than the next satellite is not adjacent.
    let farthest = TAU / a.satellites.len().min(b.satellites.len()) as f64;
    let mut paired = std::collections::BTreeSet::new();
    pairs
        .into_iter()
        .filter(|(apart, from, to)| {
            let free = *apart <= farthest && !paired.contains(from) && !paired.contains(to);
            if free {
                paired.extend([*from, *to]);
            }
            free
        })
        .map(|(_, from, to)| (from, to))
        .collect()
}

fn unit(vector: &Vector) -> Vector {
    let length = length(vector);
    vector.map(|component| component / length)
}
