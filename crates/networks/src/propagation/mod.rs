//! The delay source of a star network: propagation delays between its gateway, its satellite and
//! its terminals.
//!
//! | source | key | delays |
//! | --- | --- | --- |
//! | fixed | `propagation = "250 ms"` | the same for all terminals, for the whole run |
//! | GEO by location | `propagation.satellite` | slant ranges to a satellite above one longitude ([`bentpipe_orbit::geo`]) |
//! | orbit | `propagation.orbit` | slant ranges to moving satellites with handovers ([`orbit`]) |
//!
//! The medium access control of a network ([`crate::dama`]) does not depend on the source. It uses
//! the [`Legs`] of each terminal, which are either constant or the maxima of a run, for planning. A
//! [`Track`] has the legs at a given time.

pub mod orbit;

pub use orbit::{Orbit, SharedEphemeris, Track};

use bentpipe_core::text_or_table;
use bentpipe_core::{Angle, Problems, Span};
use bentpipe_orbit::geo::{Satellite, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Propagation between the gateway and the terminals.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Propagation {
    /// The same one-way delay for all terminals.
    Delay(Span),
    /// Computed from the positions of the satellite, the gateway and the terminals.
    Positions(Positions),
}

/// Positions of the satellites and the stations, from which propagation delays are computed. Either
/// `satellite` or `orbit` is required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Positions {
    /// Longitude of a satellite in geostationary orbit, east positive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub satellite: Option<Angle>,
    /// Moving satellites that serve the network one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orbit: Option<Orbit>,
    /// Position of the gateway on the ground.
    pub gateway: Site,
    /// Position of the terminals without their own `site`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminals: Option<Site>,
}

/// The two legs of a path between a terminal and the gateway, in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Legs {
    /// Delay between terminal and satellite (with a fixed delay, between terminal and gateway).
    pub terminal: Span,
    /// Delay between satellite and gateway.
    pub gateway: Span,
}

impl Default for Propagation {
    fn default() -> Propagation {
        Propagation::Delay(Span::from_millis(250))
    }
}

text_or_table!(
    Propagation,
    "a delay such as \"250 ms\", or a table with gateway, and satellite or orbit",
    |text| text
        .parse()
        .map(Propagation::Delay)
        .map_err(|error: bentpipe_core::QuantityError| error.to_string()),
    Propagation::Positions
);

impl Propagation {
    /// Returns the legs of a terminal at this position; with an orbit, their maxima. Returns `None`
    /// if the position is required and unknown.
    pub fn legs(&self, site: Option<&Site>) -> Option<Legs> {
        let positions = match self {
            Propagation::Delay(delay) => return Some(Legs { terminal: *delay, gateway: Span::ZERO }),
            Propagation::Positions(positions) => positions,
        };
        let site = positions.site(site)?;
        let ends = [&site, &positions.gateway];
        let [terminal, gateway] = match (&positions.orbit, positions.satellite) {
            (Some(orbit), _) => ends.map(|end| orbit.longest(end)),
            (None, Some(longitude)) => ends.map(|end| Satellite { longitude }.delay(end)),
            (None, None) => return None,
        };
        Some(Legs { terminal, gateway })
    }

    /// Returns the orbit, if delays change during a run.
    pub fn orbit(&self) -> Option<(&Positions, &Orbit)> {
        match self {
            Propagation::Positions(positions) => positions.orbit.as_ref().map(|orbit| (positions, orbit)),
            Propagation::Delay(_) => None,
        }
    }

    /// Adds the problems of the propagation to `problems`. `sites` are the terminals' own
    /// positions.
    pub fn check(&self, sites: &[Option<Site>], problems: &mut Problems) {
        let Propagation::Positions(positions) = self else {
            for index in sites.iter().enumerate().filter(|(_, site)| site.is_some()).map(|(index, _)| index) {
                let path = ["terminals".to_owned(), index.to_string()];
                let message = "has no effect, as propagation is a fixed delay; give propagation by positions to use sites";
                problems.within(&path[0], |problems| {
                    problems.within(&path[1], |problems| problems.add("site", message));
                });
            }
            return;
        };
        let before = problems.count();
        problems.within("propagation", |problems| match (&positions.orbit, positions.satellite) {
            (Some(_), Some(_)) => {
                problems.add("satellite", "cannot be combined with orbit; allowed: one of the two");
            }
            (None, None) => problems.add("", "has no satellite; allowed: satellite or orbit"),
            (Some(orbit), None) => problems.within("orbit", |problems| orbit.check(problems)),
            (None, Some(_)) => {}
        });
        if problems.count() > before {
            return;
        }
        let see = |site: &Site, problems: &mut Problems| {
            site.check(problems);
            if let Some(longitude) = positions.satellite {
                let elevation = Satellite { longitude }.elevation(site).degrees();
                if elevation < 0.0 {
                    let message =
                        format!("the satellite at {longitude} is {:.1} deg below the horizon", -elevation);
                    problems.add("", message);
                }
            }
        };
        problems.within("propagation", |problems| {
            problems.within("gateway", |problems| see(&positions.gateway, problems));
            if let Some(site) = &positions.terminals {
                problems.within("terminals", |problems| see(site, problems));
            }
        });
        for (index, site) in sites.iter().enumerate() {
            problems.within("terminals", |problems| {
                problems.within(index.to_string(), |problems| match (site, &positions.terminals) {
                    (Some(site), _) => problems.within("site", |problems| see(site, problems)),
                    (None, None) => {
                        problems.add(
                            "",
                            "has no position; give it a site, or give propagation.terminals for all",
                        );
                    }
                    _ => {}
                });
            });
        }
    }
}

impl Positions {
    /// Returns the position of a terminal: its own, or the common one.
    pub fn site(&self, own: Option<&Site>) -> Option<Site> {
        own.or(self.terminals.as_ref()).copied()
    }
}
