//! The terminals of a network, each with its settings and the values derived from them.

use super::config::Config;
use super::terminals::{Member, Terminals};
use super::timing::Timing;
use crate::propagation::{Propagation, SharedEphemeris};
use bentpipe_core::{RateOrZero, Span};
use bentpipe_link::acm::Decibel;
use bentpipe_orbit::site::Site;

impl Config {
    /// Returns the node names of all terminals, in the order in which they are listed.
    pub fn terminal_names(&self) -> Vec<String> {
        self.terminals.iter().flat_map(Terminals::names).collect()
    }

    /// Returns the terminals, each with its delays.
    ///
    /// # Panics
    /// If the configuration has not passed [`Config::check`].
    pub fn members(&self) -> Vec<Member> {
        let mut members = Vec::new();
        for entry in &self.terminals {
            let group = entry.group();
            let constant = self.slots_of(group.cra).expect("check has passed");
            let scheme = group.scheme.as_deref().unwrap_or(&self.return_link.dama.scheme);
            let legs = self.propagation.legs(group.site.as_ref()).expect("check has passed");
            let slots = |rate: Option<RateOrZero>| {
                rate.map(|rate| self.link().whole_slots(rate).expect("check has passed"))
            };
            let (min, max) = (slots(group.min).unwrap_or(0), slots(group.max).unwrap_or(u32::MAX));
            let weight = group.weight.map_or(1, |weight| weight.value() as u32);
            let (logon, logoff, period) = (group.logon, group.logoff, group.period);
            let slot_bytes = self.slot_bytes_of(group.esn0_db).expect("check has passed");
            let esn0_db = (group.forward_esn0_db, group.esn0_db);
            for name in entry.names() {
                let timing =
                    Timing { up: legs.terminal, one_way: legs.terminal + legs.gateway, offset: Span::ZERO };
                members.push(Member {
                    names: [name.clone()].into_iter().chain(entry.group_name()).collect(),
                    name,
                    esn0_db,
                    scheme: scheme.clone(),
                    has_own_scheme: group.scheme.is_some(),
                    constant,
                    logon,
                    logoff,
                    period,
                    min,
                    max,
                    weight,
                    slot_bytes,
                    timing,
                    site: group.site,
                });
            }
        }
        if self.propagation.orbit().is_some() {
            // Plans assume the maximum delay, so every terminal is treated as being the farthest.
            let farthest = members.iter().map(|member| member.timing.up).max().unwrap_or(Span::ZERO);
            for Member { timing, .. } in &mut members {
                *timing = Timing {
                    up: farthest,
                    one_way: farthest + (timing.one_way - timing.up),
                    offset: Span::ZERO,
                };
            }
        }
        Timing::align(members.iter_mut().map(|member| &mut member.timing));
        members
    }

    /// Returns the position of a terminal, if propagation is computed from positions.
    pub(super) fn site(&self, member: &Member) -> Option<Site> {
        match &self.propagation {
            Propagation::Delay(_) => None,
            Propagation::Positions(positions) => positions.site(member.site.as_ref()),
        }
    }

    /// Returns the satellites that serve these terminals, if they move.
    pub(super) fn ephemeris(&self, members: &[Member]) -> Option<SharedEphemeris> {
        let (positions, orbit) = self.propagation.orbit()?;
        let sites: Vec<Site> = members.iter().filter_map(|member| self.site(member)).collect();
        Some(SharedEphemeris::new(positions, orbit, &sites))
    }

    /// Returns the number of bytes that each slot of a terminal with this Es/N0 carries in clear
    /// sky. If the signal is too weak for any waveform, the most robust one counts.
    pub fn slot_bytes_of(&self, esn0_db: Option<Decibel>) -> Option<u32> {
        let Some(acm) = &self.return_link.acm else { return self.frame().map(|frame| frame.slot_bytes) };
        Some(acm.in_clear_sky(esn0_db).unwrap_or_else(|| acm.most_robust()).bytes())
    }

    /// Returns the names that the columns of a fade file may have for terminals.
    pub(super) fn columns(&self) -> Vec<String> {
        let groups = self.terminals.iter().filter_map(Terminals::group_name);
        self.terminal_names().into_iter().chain(groups).collect()
    }
}
