//! What a DVB-RCS network cannot be, with the arithmetic that says so.

use super::config::{Config, Group, Propagation, Terminals, MAX_FRAME, MAX_SLOT_BYTES, MAX_TERMINALS};
use super::timing::Timing;
use crate::orbit::geo::{Satellite, Site};
use bentpipe_core::{Problems, RateOrZero, Span};

impl Config {
    /// Adds what is wrong.
    pub fn check(&self, problems: &mut Problems) {
        problems.within("forward", |problems| {
            problems.within("queue", |problems| self.forward.queue.check(problems));
        });
        let before = problems.count();
        problems.within("return", |problems| self.check_return(problems));
        self.check_terminals(problems);
        self.check_positions(problems);
        if problems.count() == before {
            let dama = |problems: &mut Problems| self.check_response(problems);
            problems.within("return", |problems| problems.within("dama", dama));
        }
    }

    fn check_return(&self, problems: &mut Problems) {
        let link = &self.return_link;
        problems.within("queue", |problems| link.queue.check(problems));
        problems.within("dama", |problems| {
            problems.within("scheme", |problems| link.dama.scheme.check(problems));
        });
        if self.frame().is_some() {
            return;
        }
        if link.frame > MAX_FRAME || link.frame == Span::ZERO {
            problems.add("frame", format!("{} is no frame; allowed: above 0 s to {MAX_FRAME}", link.frame));
            return;
        }
        let (rate, slots) = (link.rate.bits_per_second() as f64, link.slots_per_frame.value());
        let bytes = rate * link.frame.as_secs_f64() / 8.0 / slots as f64;
        let whole = (bytes.round() as u64).clamp(1, u64::from(MAX_SLOT_BYTES));
        let length = u128::from(whole * slots) * 8_000_000_000;
        let exact = length % u128::from(link.rate.bits_per_second()) == 0;
        let fix = match exact {
            true => format!(
                "; with frame = \"{}\" it would be {whole}",
                Span::from_nanos((length / u128::from(link.rate.bits_per_second())) as u64)
            ),
            false => String::new(),
        };
        problems.add(
            "frame",
            format!(
                "{} x {} / (8 x {slots} slots) = {bytes:.3} bytes per slot; allowed: a whole number from 1 to \
                 {MAX_SLOT_BYTES}{fix}",
                link.rate, link.frame
            ),
        );
    }

    fn check_terminals(&self, problems: &mut Problems) {
        if self.terminals.is_empty() {
            problems.add("terminals", "there are none; a network needs at least one");
        }
        let link = &self.return_link;
        let slot = link.rate.bits_per_second() as f64 / link.slots_per_frame.value() as f64;
        let mut constant = 0u64;
        for (index, entry) in self.terminals.iter().enumerate() {
            let group = entry.group();
            problems.within("terminals", |problems| {
                problems.within(index.to_string(), |problems| {
                    if let Terminals::Group(group) = entry {
                        group.check(problems);
                    }
                    let slots = self.slots_of(group.cra);
                    constant += entry.names().len() as u64 * u64::from(slots.unwrap_or(0));
                    if let (None, Some(cra)) = (slots, group.cra) {
                        problems.add("cra", not_whole(cra, slot));
                    }
                });
            });
        }
        if let (None, Some(cra)) = (self.slots_of(None), link.dama.cra) {
            problems.within("return", |problems| {
                problems.within("dama", |problems| problems.add("cra", not_whole(cra, slot)));
            });
        }
        if constant > link.slots_per_frame.value() {
            let message = format!(
                "the constant rates (CRA) of the {} terminals take {constant} slots, but a frame has {}",
                self.terminal_names().len(),
                link.slots_per_frame.value()
            );
            problems.add("terminals", message);
        }
        let mut names = self.terminal_names();
        if names.len() > MAX_TERMINALS {
            problems.add("terminals", format!("{} terminals; allowed: at most {MAX_TERMINALS}", names.len()));
        }
        names.push(self.gateway.clone());
        names.sort_unstable();
        for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
            let what = if pair[0] == self.gateway { "is the gateway's, too" } else { "occurs twice" };
            problems.add("terminals", format!("the name \"{}\" {what}", pair[0]));
        }
    }

    fn check_positions(&self, problems: &mut Problems) {
        let Propagation::Positions(positions) = &self.propagation else {
            for (index, entry) in self.terminals.iter().enumerate() {
                if entry.group().site.is_some() {
                    let key = |problems: &mut Problems| {
                        problems
                            .add("site", "propagation is a fixed delay; give it by positions to use sites");
                    };
                    problems.within("terminals", |problems| problems.within(index.to_string(), key));
                }
            }
            return;
        };
        let satellite = Satellite { longitude: positions.satellite };
        let see = |site: &Site, problems: &mut Problems| {
            site.check(problems);
            let elevation = satellite.elevation(site).degrees();
            if elevation < 0.0 {
                let message = format!(
                    "the satellite at {} is {:.1} deg below the horizon",
                    positions.satellite, -elevation
                );
                problems.add("", message);
            }
        };
        problems.within("propagation", |problems| {
            problems.within("gateway", |problems| see(&positions.gateway, problems));
            if let Some(site) = &positions.terminals {
                problems.within("terminals", |problems| see(site, problems));
            }
        });
        for (index, entry) in self.terminals.iter().enumerate() {
            problems.within("terminals", |problems| {
                problems.within(index.to_string(), |problems| {
                    match (entry.group().site, &positions.terminals) {
                        (Some(site), _) => problems.within("site", |problems| see(&site, problems)),
                        (None, None) => {
                            problems.add("", "where is it? give it a site, or all propagation.terminals")
                        }
                        _ => {}
                    }
                });
            });
        }
    }

    /// Adds what this configuration must not be in a network that was made from `start`: the control centre plans as many
    /// superframes ahead as it did then, and a plan has to come before its superframe begins.
    pub fn check_change(&self, start: &Config, problems: &mut Problems) {
        let frame = self.frame().expect("it was checked");
        let members = self.members();
        let timings = || members.iter().map(|member| &member.timing);
        let lead = Timing::lead(&frame, start.plan_transmission(&frame, members.len()), timings());
        let transmission = self.plan_transmission(&frame, members.len());
        if Timing::lead(&frame, transmission, timings()) > lead {
            let message = format!(
                "a burst time plan would take {transmission} and come after the superframe that it is for has begun; \
                 allowed: rates at which it takes less than {}",
                Timing::longest_plan(&frame, lead, timings()),
            );
            problems.within("forward", |problems| problems.add("rate", message));
        }
    }

    fn check_response(&self, problems: &mut Problems) {
        let (frame, dama) = (self.frame().expect("it was checked"), &self.return_link.dama);
        let Some(response) = dama.response else { return };
        let members = self.members();
        let transmission = self.plan_transmission(&frame, members.len());
        let lead = Timing::lead(&frame, transmission, members.iter().map(|member| &member.timing));
        let least =
            Timing::response(&frame, dama.processing, lead, members.iter().map(|member| &member.timing));
        if response.value() < least {
            let farthest = members.iter().map(|member| member.timing.one_way).max().unwrap_or(Span::ZERO);
            problems.add(
                "response",
                format!(
                    "{} superframes of {}, but a request takes {farthest} + {} of processing to the superframe \
                     boundary at which it is used ({} superframes), and the plan {transmission} + {farthest} to the \
                     boundary from which it holds ({lead} superframes); allowed: {least} or more",
                    response.value(),
                    frame.superframe(),
                    dama.processing,
                    least - lead,
                ),
            );
        }
    }
}

impl Group {
    fn check(&self, problems: &mut Problems) {
        match (&self.name, &self.prefix, &self.count) {
            (Some(_), None, None) | (None, Some(_), Some(_)) => {}
            _ => problems.add("", "a terminal has a name; several have a prefix and a count"),
        }
    }
}

fn not_whole(cra: RateOrZero, slot: f64) -> String {
    let slots = cra.bits_per_second() as f64 / slot;
    format!(
        "{cra} is {slots:.3} slots of {:.3} kbit/s; allowed: a whole number of slots, such as {} kbit/s",
        slot / 1e3,
        slots.ceil() * slot / 1e3
    )
}
