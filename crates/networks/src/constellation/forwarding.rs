//! Forwarding state as text, with the next hop from each satellite on its own line. Two states can
//! be compared with `diff`, and a state computed by other software can be used in a run.
//!
//! ```text
//! at 12.5 s
//! boston P1S1 P1S2
//! boston P1S2 down
//! ```
//!
//! From 12.5 s on, packets for nodes that are reached through site `boston` go from satellite P1S1
//! to P1S2, and from P1S2 down. A satellite without a line has no path. Empty lines and lines that
//! start with `#` are ignored. In a run, a hop is valid while its link is up, and `down` is valid
//! while the satellite serves the site.

use bentpipe_core::Time;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Forwarding states, each valid from a given time on.
#[derive(Clone, Debug, PartialEq)]
pub struct Forwarding {
    text: String,
    /// The states in order of time.
    pub states: Arc<Vec<(Time, State)>>,
}

/// The next hop for each pair of site and satellite: a satellite, or `None` for down.
pub type State = BTreeMap<(String, String), Option<String>>;

/// The word for the hop down to the site.
const DOWN: &str = "down";

/// Writes one state as text.
pub fn text_of(at: Time, state: &State) -> String {
    let mut text = format!("at {} s\n", at.as_secs_f64());
    for ((site, satellite), next) in state {
        let next = next.as_deref().unwrap_or(DOWN);
        writeln!(text, "{} {} {}", word(site), word(satellite), word(next))
            .expect("writing to a string cannot fail");
    }
    text
}

/// Returns a name as a single word, as written in the text.
pub fn word(name: &str) -> String {
    name.replace(' ', "_")
}

impl Forwarding {
    /// Parses the text of a forwarding state.
    ///
    /// # Errors
    /// Describes the problem and its line.
    pub fn parse(text: &str) -> Result<Forwarding, String> {
        let mut states: Vec<(Time, State)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let wrong = |what: &str| Err(format!("line {} of the forwarding state: {what}", index + 1));
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                [first, ..] if first.starts_with('#') => {}
                ["at", seconds, "s"] => {
                    let seconds: f64 = match seconds.parse() {
                        Ok(seconds) if (0.0..1e9).contains(&seconds) => seconds,
                        _ => {
                            return wrong(&format!("\"{seconds}\" is not a time; allowed: 0 to 1e9 seconds"))
                        }
                    };
                    let at = Time::ZERO + bentpipe_core::Span::from_secs_f64(seconds);
                    if states.last().is_some_and(|(before, _)| *before >= at) {
                        return wrong("not later than the time before it");
                    }
                    states.push((at, State::new()));
                }
                [site, satellite, next] => {
                    let Some((_, state)) = states.last_mut() else {
                        return wrong("a hop before the first time, \"at SECONDS s\"");
                    };
                    let next = (next != DOWN).then(|| next.to_owned());
                    if state.insert((site.to_owned(), satellite.to_owned()), next).is_some() {
                        return wrong(&format!("a second hop from {satellite} to {site}"));
                    }
                }
                _ => return wrong("allowed: \"at SECONDS s\" or \"SITE SATELLITE NEXT\""),
            }
        }
        if states.is_empty() {
            return Err("no forwarding state; allowed: at least one time, \"at SECONDS s\"".to_owned());
        }
        Ok(Forwarding { text: text.to_owned(), states: Arc::new(states) })
    }

    /// Adds the names to `problems` that are neither sites nor satellites of the network.
    pub fn check(&self, sites: &[&str], satellites: &[&str], problems: &mut bentpipe_core::Problems) {
        let words =
            |names: &[&str]| names.iter().map(|name| word(name)).collect::<std::collections::BTreeSet<_>>();
        let (sites, satellites) = (words(sites), words(satellites));
        for ((site, satellite), next) in self.states.iter().flat_map(|(_, state)| state) {
            let unknown = if !sites.contains(site) {
                format!("\"{site}\" is not a site")
            } else if let Some(name) = [Some(satellite), next.as_ref()]
                .into_iter()
                .flatten()
                .find(|name| !satellites.contains(*name))
            {
                format!("\"{name}\" is not a satellite")
            } else {
                continue;
            };
            return problems.add("forwarding", format!("{unknown}; allowed: names of the network"));
        }
    }

    /// Returns the index of the state that is valid at `now`, or `None` before the first.
    pub fn at(&self, now: Time) -> Option<usize> {
        self.states.partition_point(|(at, _)| *at <= now).checked_sub(1)
    }
}

bentpipe_core::document!(Forwarding, "forwarding state", "forwarding state");
