//! Orbits for Python: constellations at chosen times, looks and passes of element sets.

use crate::error;
use bentpipe_core::{Angle, Distance, Problems, Span, Time};
use bentpipe_engine::scenario::{NetworkKind, Scenario};
use bentpipe_networks::constellation::view::View;
use bentpipe_networks::constellation::Config;
use bentpipe_orbit::elements::ElementSets;
use bentpipe_orbit::epoch::Epoch;
use bentpipe_orbit::observer::{EarthRotation, Observer};
use bentpipe_orbit::satellite::Satellite;
use bentpipe_orbit::shell::{elements, Shell};
use bentpipe_orbit::site::Site;
use bentpipe_orbit::visibility::windows;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{json, Value};

/// Returns a constellation of a scenario at the seconds `times`, which must not decrease: JSON with
/// its satellites, links, sites, flows, and a frame for each time.
#[pyfunction]
pub fn constellation(
    py: Python<'_>,
    scenario: PyRef<'_, crate::scenario::Scenario>,
    network: &str,
    times: Vec<f64>,
) -> PyResult<String> {
    let scenario = &scenario.loaded.value;
    let config = named(scenario, network)?;
    let number = |name: &String| config.sites.keys().position(|site| site == name);
    let flows: Vec<_> = scenario
        .flow
        .iter()
        .filter_map(|flow| Some((flow.name.as_str(), (number(&flow.from)?, number(&flow.to)?))))
        .collect();
    let pairs: Vec<(usize, usize)> = flows.iter().map(|(_, pair)| *pair).collect();
    Ok(py.detach(|| {
        let mut view = View::new(config);
        let at = |t: &f64| Time::ZERO + Span::from_secs_f64(*t);
        let frames: Vec<_> = times.iter().map(|t| view.frame(at(t), &pairs)).collect();
        json!({
            "epoch": config.epoch,
            "satellites": view.satellites(),
            "links": view.links(),
            "sites": config.sites.iter().map(|(name, site)| json!({
                "name": name,
                "latitude": site.latitude.degrees(),
                "longitude": site.longitude.degrees(),
                "mask": config.mask(site).to_degrees(),
                "position": site.site().position(),
            })).collect::<Vec<Value>>(),
            "flows": flows.iter().map(|(name, (from, to))| json!({"name": name, "from": from, "to": to}))
                .collect::<Vec<Value>>(),
            "frames": frames,
        })
        .to_string()
    }))
}

/// Returns the constellation `network` of a scenario.
fn named<'a>(scenario: &'a Scenario, network: &str) -> PyResult<&'a Config> {
    match scenario.network.get(network) {
        Some(NetworkKind::Constellation(config)) => Ok(config),
        _ => Err(PyValueError::new_err(format!("network {network:?} is no constellation"))),
    }
}

/// Returns the forwarding state of a scenario's constellation at the seconds `times`, which must
/// not decrease, as text.
#[pyfunction]
pub fn forwarding(
    scenario: PyRef<'_, crate::scenario::Scenario>,
    network: &str,
    times: Vec<f64>,
) -> PyResult<String> {
    let config = named(&scenario.loaded.value, network)?;
    let mut view = View::new(config);
    let state = |t: &f64| view.forwarding(Time::ZERO + Span::from_secs_f64(*t));
    Ok(times.iter().map(state).collect())
}

/// Returns the satellites of a text of element sets, and observers at sites of latitude, longitude
/// (deg) and height (m), for a start in UTC.
fn parts(
    py: Python<'_>,
    element_sets: &str,
    sites: &[(f64, f64, f64)],
    start: &str,
    ut1_minus_utc: f64,
) -> PyResult<(Vec<Satellite>, Vec<Observer>)> {
    let wrong = |message: String| error::input(py, &message);
    let start: Epoch = start.parse().map_err(wrong)?;
    let sets = ElementSets::parse(element_sets).map_err(|fault| wrong(fault.to_string()))?;
    let rotation = EarthRotation::new(start, ut1_minus_utc);
    let shell = elements::Config { elements: sets };
    let mut problems = Problems::default();
    shell.check(start, &mut problems);
    let observers = sites.iter().map(|(latitude, longitude, altitude)| {
        let site = Site {
            latitude: Angle::from_degrees(*latitude),
            longitude: Angle::from_degrees(*longitude),
            altitude: Distance::from_metres(*altitude),
        };
        site.check(&mut problems);
        Observer::new(&site, rotation)
    });
    let observers = observers.collect();
    if let Some(problem) = problems.into_vec().into_iter().next() {
        return Err(wrong(problem.message));
    }
    Ok((shell.satellites(start, rotation), observers))
}

/// Returns the looks of each site at each satellite at each of the seconds `times`: site by site,
/// satellite by satellite, time by time elevation and azimuth (deg), range (m) and range rate
/// (m/s).
#[pyfunction]
#[allow(clippy::type_complexity, reason = "it is a list of lists of lists of rows")]
pub fn looks(
    py: Python<'_>,
    element_sets: &str,
    sites: Vec<(f64, f64, f64)>,
    start: &str,
    times: Vec<f64>,
    ut1_minus_utc: f64,
) -> PyResult<Vec<Vec<Vec<(f64, f64, f64, f64)>>>> {
    let (satellites, observers) = parts(py, element_sets, &sites, start, ut1_minus_utc)?;
    let row = |observer: &Observer, satellite: &Satellite, t: f64| {
        let look = observer.look_angles(satellite, t);
        (look.elevation.to_degrees(), look.azimuth.to_degrees(), look.range, look.range_rate)
    };
    let of_site = |observer: &Observer| {
        let of_satellite = |satellite| times.iter().map(|t| row(observer, satellite, *t)).collect();
        satellites.iter().map(of_satellite).collect()
    };
    Ok(observers.iter().map(of_site).collect())
}

/// Returns the windows in which each site sees each satellite above `mask` (deg) in the `seconds`
/// from `start` on: site by site, satellite by satellite rise and set in seconds.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "it is a list of lists of lists of windows")]
pub fn passes(
    py: Python<'_>,
    element_sets: &str,
    sites: Vec<(f64, f64, f64)>,
    start: &str,
    seconds: f64,
    mask: f64,
    ut1_minus_utc: f64,
) -> PyResult<Vec<Vec<Vec<(f64, f64)>>>> {
    let (satellites, observers) = parts(py, element_sets, &sites, start, ut1_minus_utc)?;
    let of_pair = |observer, satellite| {
        let found = windows(observer, satellite, f64::to_radians(mask), 0.0, seconds);
        found.into_iter().map(|window| (window.rise, window.set)).collect()
    };
    let of_site = |observer| satellites.iter().map(|satellite| of_pair(observer, satellite)).collect();
    Ok(observers.iter().map(of_site).collect())
}

/// Returns the satellites that the first site and all other sites see above `mask` (deg). The
/// moment is the middle one of each list of `times` (s from the start). For each list, returns the
/// satellites' names, and for each site and time elevation and azimuth (deg) and range (m).
#[pyfunction]
#[allow(clippy::type_complexity, reason = "it is a list of lists of rows")]
pub fn in_sight(
    py: Python<'_>,
    element_sets: &str,
    sites: Vec<(f64, f64, f64)>,
    start: &str,
    times: Vec<Vec<f64>>,
    mask: f64,
) -> PyResult<Vec<Vec<(String, Vec<Vec<(f64, f64, f64)>>)>>> {
    let (satellites, observers) = parts(py, element_sets, &sites, start, 0.0)?;
    let mask = mask.to_radians();
    let row = |observer: &Observer, satellite: &Satellite, t: f64| {
        let look = observer.look_angles(satellite, t);
        (look.elevation.to_degrees(), look.azimuth.to_degrees(), look.range)
    };
    let of_list = |times: &Vec<f64>| {
        let Some(&middle) = times.get(times.len() / 2) else { return Vec::new() };
        let seen = |satellite: &&Satellite| {
            observers.iter().all(|observer| observer.elevation(satellite, middle).0 >= mask)
        };
        let rows = |satellite: &Satellite| {
            let of_site = |observer| times.iter().map(|t| row(observer, satellite, *t)).collect();
            (satellite.name.clone(), observers.iter().map(of_site).collect())
        };
        satellites.iter().filter(seen).map(rows).collect()
    };
    Ok(times.iter().map(of_list).collect())
}
