//! Validates the configuration of a DVB-RCS network.

use super::config::{Carrier, Config, MAX_FRAME, MAX_SLOTS, MAX_SLOT_BYTES, MAX_TERMINALS};
use super::plan::Plan;
use super::terminals::{Group, Terminals};
use super::traffic;
use bentpipe_core::{Problems, RateOrZero, Span};
use bentpipe_link::acm::signal::Columns;
use bentpipe_link::acm::{self, Modcod};
use bentpipe_link::check_symbol_rate;
use bentpipe_orbit::site::Site;

impl Config {
    /// Adds the problems of this configuration to `problems`.
    pub fn check(&self, problems: &mut Problems) {
        problems.within("forward", |problems| {
            problems.within("queue", |problems| self.forward.queue.check(problems));
            problems.within("framing", |problems| self.forward.framing.check(None, problems));
            check_symbol_rate(self.forward.rate, self.forward.acm.is_some(), problems);
            problems.within("acm", |problems| self.check_forward_acm(problems));
        });
        let before = problems.count();
        problems.within("return", |problems| self.check_return(problems));
        self.check_terminals(problems);
        self.check_positions(problems);
        if problems.count() == before {
            self.check_handovers(problems);
        }
        if problems.count() == before {
            let dama = |problems: &mut Problems| self.check_response(problems);
            problems.within("return", |problems| problems.within("dama", dama));
        }
    }

    fn check_return(&self, problems: &mut Problems) {
        let link = &self.return_link;
        problems.within("queue", |problems| link.queue.check(problems));
        problems.within("dama", |problems| {
            problems.within("scheme", |problems| link.dama.scheme.check(&self.link(), problems));
        });
        problems.within("dama", |problems| {
            problems.within("requests", |problems| link.dama.requests.check(problems));
        });
        problems.within("classes", |problems| traffic::check(&link.classes, problems));
        let wrong = problems.count();
        if let Some(acm) = &link.acm {
            problems.within("acm", |problems| self.check_return_acm(acm, problems));
        }
        if problems.count() > wrong {
            return;
        }
        let mut slots: Vec<u32> = match &link.acm {
            // Any MODCOD may be used during the run.
            Some(acm) => acm.list().into_iter().map(Modcod::bytes).collect(),
            None => self.frame().map(|frame| frame.slot_bytes).into_iter().collect(),
        };
        slots.sort_unstable();
        for bytes in slots {
            let wrong = problems.count();
            problems.within("framing", |problems| link.framing.check(Some(bytes), problems));
            if problems.count() > wrong {
                break;
            }
        }
        if let (Some(frame), Some(bytes)) = (link.frame, link.slot_bytes) {
            let message = format!(
                "{} B per slot already determine the length of a frame, as does frame = \"{frame}\"; allowed: one of the two",
                bytes.value()
            );
            problems.add("slot_bytes", message);
        }
        problems.within("carriers", |problems| {
            for (index, carrier) in link.carriers.iter().enumerate() {
                problems.within(index.to_string(), |problems| self.check_carrier(carrier, problems));
            }
        });
        if self.frame().is_some() {
            return;
        }
        let length = self.frame_length();
        if length > MAX_FRAME || length == Span::ZERO {
            problems.add("frame", format!("{length} is out of range; allowed: above 0 s to {MAX_FRAME}"));
            return;
        }
        let (rate, slots) = (link.rate.bits_per_second() as f64, link.slots_per_frame.value());
        let bytes = rate * length.as_secs_f64() / 8.0 / slots as f64;
        let whole = (bytes.round() as u64).clamp(1, u64::from(MAX_SLOT_BYTES));
        let nanos = u128::from(whole * slots) * 8_000_000_000;
        let exact = nanos % u128::from(link.rate.bits_per_second()) == 0;
        let fix = match exact {
            true => format!(
                "; with frame = \"{}\" it would be {whole}",
                Span::from_nanos((nanos / u128::from(link.rate.bits_per_second())) as u64)
            ),
            false => format!("; slot_bytes = {whole} makes the frame as long as that requires"),
        };
        problems.add(
            "frame",
            format!(
                "{} x {length} / (8 x {slots} slots) = {bytes:.3} bytes per slot; allowed: a whole number from 1 to \
                 {MAX_SLOT_BYTES}{fix}",
                link.rate
            ),
        );
    }

    fn check_return_acm(&self, acm: &acm::Config, problems: &mut Problems) {
        match acm.burst {
            Some(536 | 1616) => {}
            Some(burst) => problems.add("burst", format!("{burst} symbols; allowed: 536 or 1616")),
            None => problems.add("", "needs the symbols of a burst; allowed: burst = 536 or burst = 1616"),
        }
        self.check_acm(acm, problems);
    }

    fn check_forward_acm(&self, problems: &mut Problems) {
        let Some(acm) = &self.forward.acm else { return };
        acm.check_without_bursts(problems);
        self.check_acm(acm, problems);
    }

    fn check_acm(&self, acm: &acm::Config, problems: &mut Problems) {
        let names = self.columns();
        let receivers: Vec<&str> = names.iter().map(String::as_str).collect();
        acm.check(Columns { receivers: &receivers, feeder: &self.gateway, others: false }, problems);
    }

    fn check_carrier(&self, carrier: &Carrier, problems: &mut Problems) {
        let link = self.link();
        let rate = RateOrZero::from_bits_per_second(carrier.rate.bits_per_second());
        if !link.whole_slots(rate).is_some_and(|slots| (1..=MAX_SLOTS).contains(&slots)) {
            let slots = carrier.rate.bits_per_second() as f64 / 1e3 / link.slot_rate();
            let message = format!(
                "{} is {slots:.3} slots of {:.3} kbit/s; allowed: a whole number from 1 to {MAX_SLOTS}, such as {} kbit/s",
                carrier.rate,
                link.slot_rate(),
                link.rate_of(slots.ceil().clamp(1.0, f64::from(MAX_SLOTS)))
            );
            problems.add("rate", message);
        }
    }

    fn check_terminals(&self, problems: &mut Problems) {
        if self.terminals.is_empty() {
            problems.add("terminals", "names no terminal; allowed: at least one");
        }
        let (dama, link) = (&self.return_link.dama, self.link());
        let before = problems.count();
        for (index, entry) in self.terminals.iter().enumerate() {
            let group = entry.group();
            problems.within("terminals", |problems| {
                problems.within(index.to_string(), |problems| {
                    if let Terminals::Group(group) = entry {
                        group.check(problems);
                    }
                    if let Some(scheme) = entry.own_scheme() {
                        problems.within("scheme", |problems| scheme.check(&link, problems));
                    }
                    let (forward, back) = (&self.forward.acm, &self.return_link.acm);
                    for (key, own, acm, place) in [
                        ("esn0_db", group.esn0_db, back, "return"),
                        ("forward_esn0_db", group.forward_esn0_db, forward, "forward"),
                    ] {
                        if let (Some(own), None) = (own, acm) {
                            let message =
                                format!("{} dB has no effect; allowed: with acm in {place}", own.value());
                            problems.add(key, message);
                        }
                    }
                    for (key, rate) in [("cra", group.cra), ("min", group.min), ("max", group.max)] {
                        if let Some(rate) = rate.filter(|rate| link.whole_slots(*rate).is_none()) {
                            problems.add(key, link.not_whole(rate));
                        }
                    }
                });
            });
        }
        if let Some(cra) = dama.cra.filter(|cra| link.whole_slots(*cra).is_none()) {
            problems.within("return", |problems| {
                problems.within("dama", |problems| problems.add("cra", link.not_whole(cra)));
            });
        }
        if let (true, Some(carriers)) = (problems.count() == before, self.carriers()) {
            self.check_capacity(&carriers, problems);
        }
        let mut names = self.terminal_names();
        if names.len() > MAX_TERMINALS {
            problems.add("terminals", format!("{} terminals; allowed: at most {MAX_TERMINALS}", names.len()));
        }
        names.push(self.gateway.clone());
        names.sort_unstable();
        for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
            let what = if pair[0] == self.gateway { "is also the gateway's" } else { "occurs twice" };
            problems.add("terminals", format!("the name \"{}\" {what}", pair[0]));
        }
    }

    /// Checks that the guarantees of all terminals can be met at the same time.
    fn check_capacity(&self, carriers: &[u32], problems: &mut Problems) {
        let mut plan = Plan::new(carriers);
        let (mut constant, mut guaranteed, mut fits) = (0u64, 0u64, true);
        for entry in &self.terminals {
            let slots =
                self.slots_of(entry.group().cra).expect("the terminals' constant rates have been checked");
            for _ in entry.names() {
                fits &= plan.add_constant(slots).is_some();
                constant += u64::from(slots);
                guaranteed +=
                    entry.group().min.map_or(0, |min| u64::from(self.link().whole_slots(min).unwrap_or(0)));
            }
        }
        let available = match carriers {
            [slots] => format!("a frame has {slots}"),
            _ => {
                format!("the frames of the {} carriers have {}", carriers.len(), carriers.iter().sum::<u32>())
            }
        };
        let count = self.terminal_names().len();
        if !fits {
            let row = if carriers.len() > 1 { ", each terminal's in a row on one carrier" } else { "" };
            let message = format!(
                "the constant rates (CRA) of the {count} terminals take {constant} slots{row}, but {available}"
            );
            problems.add("terminals", message);
        } else if guaranteed > u64::from(plan.free()) {
            let message = format!(
                "the minimum rates (min) of the {count} terminals take {guaranteed} slots besides {constant} constant ones \
                 (CRA), but {available}"
            );
            problems.add("terminals", message);
        }
    }

    fn check_positions(&self, problems: &mut Problems) {
        let sites: Vec<Option<Site>> = self.terminals.iter().map(|entry| entry.group().site).collect();
        self.propagation.check(&sites, problems);
    }

    /// Adds warnings about the moving satellites of a run of length `duration`.
    pub(super) fn remark_orbit(&self, duration: Span, remarks: &mut Problems) {
        let (Some((_, orbit)), Some(ephemeris)) = (self.propagation.orbit(), self.ephemeris(&self.members()))
        else {
            return;
        };
        remarks.within("propagation", |remarks| {
            remarks.within("orbit", |remarks| {
                let outage = ephemeris.facts(duration).outage_s();
                if outage >= duration.as_secs_f64() {
                    let message = format!(
                        "no satellite is above {} for the gateway and all terminals at once in the whole run",
                        orbit.mask
                    );
                    remarks.add("", message);
                }
                for (index, shell) in orbit.shell.iter().enumerate() {
                    for remark in shell.remarks(orbit.epoch, duration) {
                        remarks.within("shell", |remarks| {
                            remarks.within(index.to_string(), |remarks| remarks.add("", remark));
                        });
                    }
                }
            });
        });
    }

    /// Checks that superframes stay in order when a handover moves their starts.
    fn check_handovers(&self, problems: &mut Problems) {
        let (Some((positions, orbit)), Some(frame)) = (self.propagation.orbit(), self.frame()) else {
            return;
        };
        let sites = self.terminals.iter().filter_map(|entry| positions.site(entry.group().site.as_ref()));
        let shift = sites.map(|site| orbit.longest(&site).saturating_sub(orbit.shortest(&site))).max();
        let shift = shift.unwrap_or(Span::ZERO);
        if frame.superframe() <= shift {
            let message = format!(
                "a handover may move the start of a terminal's superframe by {shift}, and a superframe lasts {}; allowed: \
                 longer superframes (return.frame, return.frames_per_superframe), or a higher mask",
                frame.superframe()
            );
            problems.within("propagation", |problems| problems.add("orbit", message));
        }
    }

    /// Checks that this configuration can replace `start` during a run. The control centre still
    /// plans as many superframes ahead as with `start`, and a plan must arrive before its
    /// superframe starts.
    pub fn check_change(&self, start: &Config, problems: &mut Problems) {
        let frame = self.frame().expect("the configuration has been checked");
        let members = self.members();
        let timings = || members.iter().map(|member| &member.timing);
        let schedule = start.schedule(&frame, &members);
        let lead = schedule.lead(&frame, start.plan_transmission(&frame, members.len()), timings());
        let transmission = self.plan_transmission(&frame, members.len());
        if schedule.lead(&frame, transmission, timings()) > lead {
            let message = format!(
                "a burst time plan would take {transmission} and arrive after the start of its superframe; \
                 allowed: rates at which it takes less than {}",
                schedule.longest_plan(&frame, lead, timings()),
            );
            problems.within("forward", |problems| problems.add("rate", message));
        }
    }

    fn check_response(&self, problems: &mut Problems) {
        let (frame, dama) = (self.frame().expect("the return link has been checked"), &self.return_link.dama);
        let Some(response) = dama.response else { return };
        let members = self.members();
        let transmission = self.plan_transmission(&frame, members.len());
        let schedule = self.schedule(&frame, &members);
        let lead = schedule.lead(&frame, transmission, members.iter().map(|member| &member.timing));
        let min_response =
            schedule.response(&frame, dama.processing, lead, members.iter().map(|member| &member.timing));
        if response.value() < min_response {
            let farthest = members.iter().map(|member| member.timing.one_way).max().unwrap_or(Span::ZERO);
            problems.add(
                "response",
                format!(
                    "{} superframes of {}, but a request takes {farthest} + {} of processing to the superframe \
                     boundary at which it is used ({} superframes), and the plan {transmission} + {farthest} to the \
                     boundary from which it holds ({lead} superframes); allowed: {min_response} or more",
                    response.value(),
                    frame.superframe(),
                    dama.processing,
                    min_response - lead,
                ),
            );
        }
    }
}

impl Group {
    fn check(&self, problems: &mut Problems) {
        if self.name.is_none() {
            problems.add("", "needs a name, with a count for several terminals");
        }
        let logon = self.logon.unwrap_or(Span::ZERO);
        match (self.logoff, self.period) {
            (Some(logoff), _) if logoff <= logon => {
                let message =
                    format!("{logoff} is not after the logon at {logon}; allowed: more than {logon}");
                problems.add("logoff", message);
            }
            (Some(logoff), Some(period)) if logoff >= logon + period => {
                let message = format!(
                    "repeated after {period}, the terminal would log on at {} and still be logged on until {logoff}; \
                     allowed: more than {}",
                    logon + period,
                    logoff.saturating_sub(logon)
                );
                problems.add("period", message);
            }
            (None, Some(period)) => {
                problems.add(
                    "period",
                    format!("has no effect without a logoff to repeat after {period}; set logoff as well"),
                );
            }
            _ => {}
        }
    }
}
