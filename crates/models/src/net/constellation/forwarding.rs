//! Forwarding state as text: which way packets take from every satellite, line by line, so that two states can be compared with
//! `diff`, and a state from elsewhere can be run.
//!
//! ```text
//! at 12.5 s
//! boston P1S1 P1S2
//! boston P1S2 down
//! ```
//!
//! From 12.5 s on, packets for what lies behind site `boston` go from satellite P1S1 to P1S2, and from there down. A satellite without a
//! line has no way. Lines that are empty or begin with `#` say nothing. In a run a hop holds while its link is up, and `down` while
//! the satellite serves the site.

use bentpipe_core::Time;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Forwarding states, each from its moment on.
#[derive(Clone, Debug, PartialEq)]
pub struct Forwarding {
    text: String,
    /// In order of time.
    pub states: Arc<Vec<(Time, State)>>,
}

/// Next satellite, or none for down, by site and satellite.
pub type State = BTreeMap<(String, String), Option<String>>;

/// The word for the way to the site.
const DOWN: &str = "down";

/// One state as text.
pub fn text_of(at: Time, state: &State) -> String {
    let mut text = format!("at {} s\n", at.as_secs_f64());
    for ((site, satellite), next) in state {
        let next = next.as_deref().unwrap_or(DOWN);
        writeln!(text, "{} {} {}", word(site), word(satellite), word(next)).expect("a text takes all");
    }
    text
}

/// A name as one word, as it stands in the text.
pub fn word(name: &str) -> String {
    name.replace(' ', "_")
}

impl Forwarding {
    /// Reads a text.
    ///
    /// # Errors
    /// What is wrong, with its line.
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
                        _ => return wrong(&format!("\"{seconds}\" is not a time; allowed: 0 to 1e9 seconds")),
                    };
                    let at = Time::ZERO + bentpipe_core::Span::from_secs_f64(seconds);
                    if states.last().is_some_and(|(before, _)| *before >= at) {
                        return wrong("not after the moment before it");
                    }
                    states.push((at, State::new()));
                }
                [site, satellite, next] => {
                    let Some((_, state)) = states.last_mut() else {
                        return wrong("a way before the first moment, \"at SECONDS s\"");
                    };
                    let next = (next != DOWN).then(|| next.to_owned());
                    if state.insert((site.to_owned(), satellite.to_owned()), next).is_some() {
                        return wrong(&format!("a second way from {satellite} to {site}"));
                    }
                }
                _ => return wrong("allowed: \"at SECONDS s\" or \"SITE SATELLITE NEXT\""),
            }
        }
        if states.is_empty() {
            return Err("no forwarding state; allowed: at least one moment, \"at SECONDS s\"".to_owned());
        }
        Ok(Forwarding { text: text.to_owned(), states: Arc::new(states) })
    }

    /// Adds to `problems` the names that are none of these sites and satellites.
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

    /// The state that holds at `now`, by its place in the list; none before the first.
    pub fn at(&self, now: Time) -> Option<usize> {
        self.states.partition_point(|(at, _)| *at <= now).checked_sub(1)
    }
}

bentpipe_core::document!(Forwarding, "forwarding state", "forwarding state");
