//! The times at which a site sees a satellite above its mask.
//!
//! With v the bound of the satellite's speed relative to the Earth, its direction turns by at most
//! -ln(1 - v t / d) within a time t from a distance d: the distance shrinks by at most v, and the
//! direction turns by v over the distance. The elevation therefore stays on its side of the mask,
//! from which it is an angle D away, for t = (d / v) (1 - exp(-D)).

use super::crossing::{next, Bound, Found};
use super::look::Observer;
use super::satellite::Satellite;

/// A period in which a satellite is visible, in seconds since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The satellite rises above the mask, or the search started.
    pub rise: f64,
    /// The satellite sets, or the search ended.
    pub set: f64,
}

/// How far the elevation is above `mask`, in radians, and how long it stays on that side.
#[inline]
pub fn above(observer: &Observer, satellite: &Satellite, mask: f64, t: f64) -> Bound {
    let (elevation, range) = observer.elevation(satellite, t);
    let value = elevation - mask;
    if value.is_nan() {
        // No position: not visible, but perhaps again in a while.
        return Bound { value: -1.0, safe: 60.0 };
    }
    Bound { value, safe: range / satellite.speed * -(-value.abs()).exp_m1() }
}

/// Returns the time until which the satellite stays on its side of the mask, searched from `from`
/// to about `to`.
pub fn change(observer: &Observer, satellite: &Satellite, mask: f64, from: f64, to: f64) -> Found {
    if satellite.speed == 0.0 {
        return Found::NotBefore(f64::INFINITY);
    }
    next(from, to, |t| above(observer, satellite, mask, t))
}

/// Returns the first time from `from` to about `to` at which `other` becomes, or ceases to be,
/// higher than `satellite` by `margin`.
pub fn overtaking(
    observer: &Observer,
    satellite: &Satellite,
    other: &Satellite,
    margin: f64,
    from: f64,
    to: f64,
) -> Found {
    let speed = satellite.speed.max(other.speed);
    if speed == 0.0 {
        return Found::NotBefore(f64::INFINITY);
    }
    next(from, to, |t| {
        let (here, near) = observer.elevation(satellite, t);
        let (there, far) = observer.elevation(other, t);
        let value = there - here - margin;
        // Both directions turn.
        Bound { value, safe: near.min(far) / speed * -(-0.5 * value.abs()).exp_m1() }
    })
}

/// Returns all windows from `from` to `to`.
pub fn windows(observer: &Observer, satellite: &Satellite, mask: f64, from: f64, to: f64) -> Vec<Window> {
    let mut found = Vec::new();
    let mut seen = (above(observer, satellite, mask, from).value >= 0.0).then_some(from);
    let mut at = from;
    while at < to {
        match change(observer, satellite, mask, at, to) {
            Found::At(moment) if moment < to => {
                match seen.take() {
                    Some(rise) => found.push(Window { rise, set: moment }),
                    None => seen = Some(moment),
                }
                at = moment;
            }
            _ => break,
        }
    }
    found.extend(seen.map(|rise| Window { rise, set: to }));
    found
}
