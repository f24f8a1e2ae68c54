//! The times at which a satellite is above the elevation mask of a site.
//!
//! Let v be the upper limit of the satellite's speed relative to the Earth. At a distance d, the
//! direction to the satellite turns by at most -ln(1 - v t / d) within a time t: the distance
//! decreases at most at the rate v, and the direction turns at most at v divided by the distance.
//! If the elevation differs from the mask by an angle D, the satellite therefore stays on its side
//! of the mask for at least t = (d / v) (1 - exp(-D)).

use super::crossing::{next_crossing, Bound, SignChange};
use super::observer::Observer;
use super::satellite::Satellite;
use bentpipe_core::math;

/// A period of visibility, in seconds since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Time at which the satellite rises above the mask, or start of the search.
    pub rise: f64,
    /// Time at which the satellite sets, or end of the search.
    pub set: f64,
}

/// Returns the elevation above `mask`, in radians, and the time for which the satellite stays on
/// its side of the mask.
#[inline]
pub fn elevation_margin(observer: &Observer, satellite: &Satellite, mask: f64, t: f64) -> Bound {
    let (elevation, range) = observer.elevation(satellite, t);
    let value = elevation - mask;
    if value.is_nan() {
        // A satellite without a position is not visible. It may have a position again later.
        return Bound { value: -1.0, holds_for: 60.0 };
    }
    Bound { value, holds_for: range / satellite.speed * -math::exp_m1(-value.abs()) }
}

/// Returns the time until which the satellite stays on its side of the mask, searched from `from`
/// to about `to`.
pub fn next_change(observer: &Observer, satellite: &Satellite, mask: f64, from: f64, to: f64) -> SignChange {
    next_change_where(satellite, from, to, |t| elevation_margin(observer, satellite, mask, t))
}

/// Like [`next_change`], for any condition `margin` on the position of the satellite.
pub fn next_change_where(
    satellite: &Satellite,
    from: f64,
    to: f64,
    margin: impl FnMut(f64) -> Bound,
) -> SignChange {
    if satellite.speed == 0.0 {
        return SignChange::NotBefore(f64::INFINITY);
    }
    next_crossing(from, to, margin)
}

/// Returns the first time from `from` to about `to` at which `other` rises to `margin` above
/// `satellite`, or falls below this.
pub fn overtaking(
    observer: &Observer,
    satellite: &Satellite,
    other: &Satellite,
    margin: f64,
    from: f64,
    to: f64,
) -> SignChange {
    let speed = satellite.speed.max(other.speed);
    if speed == 0.0 {
        return SignChange::NotBefore(f64::INFINITY);
    }
    next_crossing(from, to, |t| {
        let (elevation, near) = observer.elevation(satellite, t);
        let (other_elevation, far) = observer.elevation(other, t);
        let value = other_elevation - elevation - margin;
        // The directions to both satellites turn.
        Bound { value, holds_for: near.min(far) / speed * -math::exp_m1(-0.5 * value.abs()) }
    })
}

/// Returns all windows of visibility from `from` to `to`.
pub fn windows(observer: &Observer, satellite: &Satellite, mask: f64, from: f64, to: f64) -> Vec<Window> {
    let mut found = Vec::new();
    let mut seen = (elevation_margin(observer, satellite, mask, from).value >= 0.0).then_some(from);
    let mut at = from;
    while at < to {
        match next_change(observer, satellite, mask, at, to) {
            SignChange::At(moment) if moment < to => {
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
