//! Facts about the hops of a star network.

use super::config::{Config, Dama, Planning, Return};
use super::frame::Frame;
use super::scheme::Link;
use super::terminals::Member;
use super::timing::{Schedule, Timing};
use crate::propagation::{Legs, SharedEphemeris};
use bentpipe_core::{Rate, Span};
use bentpipe_link::acm::{self, Modcod};
use bentpipe_link::channel;
use bentpipe_link::queue::{self, classes};
use bentpipe_stage::facts::{self, moments, Access, Course, Crossing, Hop, Traffic};
use std::collections::BTreeMap;

impl Config {
    /// Returns the hops of paths through network `name`, each between the gateway and a terminal.
    ///
    /// # Panics If [`Config::check`] has found a problem, or if an end of a crossing is outside the
    /// network.
    pub(super) fn path_hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop> {
        let members = self.members();
        let frame = self.frame().expect("the configuration has been checked");
        let (schedule, lead, response) = self.response(&frame, &members);
        let star = Star {
            name,
            config: self,
            frame,
            link: self.link(),
            slots: self.carriers().into_iter().flatten().sum(),
            constant: members.iter().map(|member| member.constant).sum(),
            response,
            schedule,
            lead,
            ephemeris: self.ephemeris(&members),
            plan: self.plan_transmission(&frame, members.len()),
        };
        let by_name: BTreeMap<&str, &Member> =
            members.iter().map(|member| (member.name.as_str(), member)).collect();
        let member = |node: &str| *by_name.get(node).expect("an end other than the gateway is a terminal");
        let hop = |crossing: &Crossing<'_>| match crossing.from == self.gateway {
            true => star.forward(member(crossing.to), crossing.traffic),
            false => star.back(member(crossing.from), crossing.traffic),
        };
        crossings.iter().map(hop).collect()
    }
}

impl Config {
    /// Returns the queues of the network: the location, the rate and the discipline of each.
    pub(super) fn described_queues(&self) -> Vec<(String, Rate, queue::Config)> {
        let (forward, back) = (&self.forward, &self.return_link);
        let mut queues = vec![("forward".to_owned(), *forward.rate, forward.queue.clone())];
        if back.classes.is_empty() {
            queues.push(("TERMINAL".to_owned(), back.rate, back.queue.clone()));
        }
        queues.extend(back.classes.iter().map(|class| {
            let queue = class.queue.as_ref().unwrap_or(&back.queue).clone();
            (format!("TERMINAL, class {}", class.name), back.rate, queue)
        }));
        queues
    }
}

struct Star<'a> {
    name: &'a str,
    config: &'a Config,
    frame: Frame,
    link: Link,
    /// Slots of all carriers in a frame.
    slots: u32,
    /// Constant slots of all terminals in a frame.
    constant: u32,
    /// Response time L in superframes, at the longest delays.
    response: u64,
    /// Times of requests and plans within a superframe.
    schedule: Schedule,
    /// Number of superframes that plans are made ahead.
    lead: u64,
    /// The satellites, if they move.
    ephemeris: Option<SharedEphemeris>,
    /// Transmission time of a plan.
    plan: Span,
}

/// Effect of moving satellites on a hop.
struct Coverage {
    delay_s: Course,
    access: Option<Access>,
    /// Fraction of the run in which a satellite serves the terminal.
    served: f64,
    /// Minimum and maximum response time L during the run, in superframes.
    response: Option<(u64, u64)>,
}

impl Coverage {
    /// Returns the distribution of a hop's rate over a run, from its distribution while a satellite
    /// serves.
    fn rate(&self, served: Course) -> Course {
        match self.served < 1.0 {
            false => served,
            true => Course { mean: served.mean * self.served, least: 0.0, ..served },
        }
    }
}

impl Star<'_> {
    /// Returns the coverage of one terminal by the satellites during a run.
    fn coverage(&self, member: &Member, run: Span) -> Coverage {
        let one_way = Course::constant(member.timing.one_way.as_secs_f64());
        let (Some(ephemeris), Some(site)) = (&self.ephemeris, self.config.site(member)) else {
            return Coverage { delay_s: one_way, access: None, served: 1.0, response: None };
        };
        let (track, facts) = (ephemeris.track(&site), ephemeris.facts(run));
        let legs: Vec<Legs> =
            moments(run).filter(|at| ephemeris.satellite(*at).is_some()).map(|at| track.legs(at)).collect();
        let delays = legs.iter().map(|legs| ((legs.terminal + legs.gateway).as_secs_f64(), 1.0));
        let responses = || legs.iter().map(|legs| self.response_with(legs.gateway, member.timing.up));
        let outage = facts.outage_s();
        Coverage {
            delay_s: Course::of(delays).unwrap_or(one_way),
            access: Some(Access::Orbit(facts)),
            served: 1.0 - outage / run.as_secs_f64().max(f64::MIN_POSITIVE),
            response: responses().min().zip(responses().max()),
        }
    }

    /// Returns L while the satellite has this delay to the gateway, as derived in
    /// [`super::timing`]. `longest` is the R of that derivation.
    fn response_with(&self, gateway: Span, longest: Span) -> u64 {
        let dama = &self.config.return_link.dama;
        let timing = Timing { up: longest, one_way: longest + gateway, offset: Span::ZERO };
        let emergent = self.schedule.response(&self.frame, dama.processing, self.lead, [timing].iter());
        dama.response.map_or(emergent, |imposed| imposed.value().max(emergent))
    }

    fn forward(&self, member: &Member, traffic: Traffic) -> Hop {
        let coverage = self.coverage(member, traffic.run);
        let super::config::Forward { rate, queue, framing, error, acm } = &self.config.forward;
        let frames = acm.as_ref().filter(|_| framing.has_frames());
        let clear = frames.map(|acm| acm.in_clear_sky(member.esn0_db.0).unwrap_or(acm.most_robust()));
        let framed = framing.framed(clear.map(Modcod::frame_bytes), traffic.bytes);
        // Burst time plans take a fraction of the rate.
        let left = 1.0 - self.plan.as_secs_f64() / self.frame.superframe().as_secs_f64();
        let part = format!("{}.forward", self.name);
        let packets = rate.bytes_in(traffic.run) / u64::from(traffic.bytes.max(1));
        let mut notes = error.notes();
        notes.extend(logon_note(member));
        let symbols = rate.bits_per_second() as f64 * left.max(0.0);
        let of = |modcod: &Modcod| {
            symbols * modcod.efficiency * acm::frames::efficiency(framing, modcod, traffic.bytes)
        };
        let (course, acm) = match acm {
            None => (Course::constant(symbols), None),
            Some(acm) => self.adapted(acm, (member, member.esn0_db.0), traffic, &mut notes, of),
        };
        let within = if frames.is_some() { 1.0 } else { framed.efficiency };
        let rate_bit_s = course.mean;
        let course = coverage.rate(course);
        Hop {
            part: part.clone(),
            rate_bit_s: course,
            delay_s: coverage.delay_s,
            loss: framed.loss(error, traffic.bytes, packets),
            queue: queue.facts(**rate, traffic.dscp),
            access: acm.map(Access::Acm).into_iter().chain(coverage.access.clone()).collect(),
            shared: vec![(part, rate_bit_s)],
            notes,
        }
        .within(within)
    }

    fn back(&self, member: &Member, traffic: Traffic) -> Hop {
        let coverage = self.coverage(member, traffic.run);
        let Return {
            rate: carrier,
            slots_per_frame: _,
            frame: _,
            slot_bytes: _,
            carriers: _,
            frames_per_superframe: _,
            acm,
            framing,
            classes,
            queue,
            error,
            dama,
        } = &self.config.return_link;
        let framed = framing.framed(Some(member.slot_bytes), traffic.bytes);
        let rate = |slots: u32| {
            8.0 * f64::from(slots) * f64::from(member.slot_bytes) / self.frame.length.as_secs_f64()
        };
        let (slots, all) = self.slots(member);
        let mut notes = error.notes();
        notes.extend(self.notes(dama, member));
        if let Some((least, greatest)) = coverage.response.filter(|(least, greatest)| least < greatest) {
            notes.push(format!("L is {least} to {greatest} superframes in the course of the run"));
        }
        let mut queue = queue;
        if !classes.is_empty() {
            let class = &classes[usize::from(classes::by_dscp(classes)[usize::from(traffic.dscp.value())])];
            queue = class.queue.as_ref().unwrap_or(queue);
            notes.push(format!("its class \"{}\" has slots of its own", class.name));
        }
        let of = |modcod: &Modcod| rate(slots) * f64::from(modcod.bytes()) / f64::from(member.slot_bytes);
        let (course, acm) = match acm {
            None => (Course::constant(rate(slots)), None),
            Some(acm) => self.adapted(acm, (member, member.esn0_db.1), traffic, &mut notes, of),
        };
        let packets =
            (rate(slots) * traffic.run.as_secs_f64() / 8.0) as u64 / u64::from(traffic.bytes.max(1));
        Hop {
            part: format!("{}.{}", self.name, member.name),
            rate_bit_s: coverage.rate(course),
            delay_s: coverage.delay_s,
            loss: framed.loss(error, traffic.bytes, packets),
            queue: queue.facts(*carrier, traffic.dscp),
            access: [Access::Dama(facts::Dama {
                scheme: member.scheme.kind(),
                superframe_s: self.frame.superframe().as_secs_f64(),
                response_superframes: self.response,
                planning: match dama.planning {
                    Planning::Boundary => "boundary",
                    Planning::JustInTime => "just-in-time",
                },
                access_wait_s: dama.mean_access_wait(self.frame.superframe()).as_secs_f64(),
                constant_bit_s: rate(member.constant) * framed.efficiency,
            })]
            .into_iter()
            .chain(acm.map(Access::Acm))
            .chain(coverage.access.clone())
            .collect(),
            shared: vec![(format!("{}.return", self.name), rate(all))],
            notes,
        }
        .within(framed.efficiency)
    }

    /// Returns the distribution of a terminal's rate over a run with ACM, and the terminal's
    /// MODCODs. `rate` returns the rate with a given MODCOD.
    fn adapted(
        &self,
        acm: &acm::Config,
        (member, own): (&Member, Option<acm::Decibel>),
        traffic: Traffic,
        notes: &mut Vec<String>,
        rate: impl Fn(&Modcod) -> f64,
    ) -> (Course, Option<facts::Acm>) {
        let names: Vec<&str> = member.names.iter().map(String::as_str).collect();
        let played = acm.course(own, &names, &self.config.gateway, traffic.run, rate);
        notes.extend(played.notes);
        (played.rate, played.acm)
    }

    /// Returns the maximum number of slots that a terminal can have in a frame, and the number of
    /// slots that all terminals share.
    fn slots(&self, member: &Member) -> (u32, u32) {
        let others = self.constant - member.constant;
        let by_request = member.scheme.max_slots(&self.link).min(member.max);
        let longest = u32::try_from(self.link.longest).unwrap_or(u32::MAX);
        let max_slots = member.constant.saturating_add(by_request).min(longest);
        (max_slots.min(self.slots.saturating_sub(others)).max(member.constant), self.slots)
    }

    fn notes(&self, dama: &Dama, member: &Member) -> Vec<String> {
        let Dama {
            scheme: _,
            cra: _,
            allocator: _,
            processing: _,
            planning: _,
            access: _,
            requests,
            request_error,
            plan_error,
            response: _,
        } = dama;
        let mut notes = member.scheme.notes();
        if requests.kind() != "dedicated" || *requests != Default::default() {
            notes.push(format!("requests have to wait for their turn (requests = {})", requests.kind()));
        }
        for (key, error) in [("request_error", request_error), ("plan_error", plan_error)] {
            if *error != channel::Config::default() {
                notes.push(format!("signalling is lost ({key})"));
            }
        }
        notes.extend(logon_note(member));
        notes
    }
}

/// Returns a note on a terminal that logs on or off during the run.
fn logon_note(member: &Member) -> Option<String> {
    let changes = member.logon.is_some() || member.logoff.is_some();
    changes.then(|| format!("{} logs on or off (logon, logoff, period)", member.name))
}
