//! Several schemes at once: CRA with RBDC, VBDC or AVBDC, and FCA. Each has its own maximum, as in
//! the logon of EN 301 790 (`CRA_level`, `RBDC_max`, `VBDC_max`).
//!
//! One message carries the rate request and the volume request. The rate comes from the estimator
//! and is limited to its maximum. Without traffic classes, the volume is the part of the whole
//! queue that neither request has covered in the last L superframes (eq. 14 with the sums of both
//! kinds). With classes, each request counts the queues of its own classes. The controller serves a
//! terminal's rate before its volume, and limits the volume of each superframe to its maximum.
//!
//! With AVBDC the volume is absolute: without classes, it is the waiting data minus the data that
//! the rate in force will carry in one superframe.
//!
//! ```toml
//! [network.sat.return.dama]
//! cra = "64 kbit/s"
//! scheme = { kind = "mix", rbdc = { max = "256 kbit/s" }, vbdc = { max = "512 kbit/s" }, fca = true }
//! ```

use super::{
    avbdc, rbdc, vbdc, Account, CapacityRequest, Link, OfferedLoad, Requester, Scheme, SchemeContext,
    SlotDemand,
};
use bentpipe_core::{Problems, RateOrZero, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Several schemes at once, each with its own maximum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Rate requests (RBDC). Their `max` must be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rbdc: Option<rbdc::Config>,
    /// Volume requests (VBDC). Their `max` must be given. Cannot be combined with `avbdc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vbdc: Option<vbdc::Config>,
    /// Absolute volume requests (AVBDC). Their `max` must be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avbdc: Option<avbdc::Config>,
    /// True if the terminals also take spare slots (FCA); false by default.
    pub fca: bool,
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"rbdc = { max = "512 kbit/s" }, vbdc = { max = "1024 kbit/s" }, fca = true"#;
}

impl Scheme for Config {
    fn requester(&self, context: &SchemeContext) -> Box<dyn Requester> {
        Box::new(MixRequester {
            rate: self.rbdc.as_ref().map(|rbdc| rbdc::Rate::new(rbdc, context)),
            volume: self.vbdc.as_ref().map(|_| vbdc::Volume::new(context.response)),
            absolute: self.avbdc.as_ref().map(|_| avbdc::Absolute::default()),
        })
    }

    fn account(&self, context: &SchemeContext) -> Box<dyn Account> {
        Box::new(MixAccount {
            rate: self.rbdc.as_ref().map(rbdc::RateAccount::new),
            volume: self.vbdc.as_ref().map(|vbdc| vbdc::Pending::new(vbdc, context)),
            absolute: self.avbdc.as_ref().map(|avbdc| avbdc::Pending::new(context.link.maximum(avbdc.max))),
            spare: self.fca,
            demand: SlotDemand::default(),
        })
    }

    fn max_slots(&self, link: &Link) -> u32 {
        let Config { rbdc, vbdc, avbdc, fca } = self;
        let parts: [Option<&dyn Scheme>; 3] = [
            rbdc.as_ref().map(|part| part as &dyn Scheme),
            vbdc.as_ref().map(|part| part as &dyn Scheme),
            avbdc.as_ref().map(|part| part as &dyn Scheme),
        ];
        let sum_of_parts =
            parts.into_iter().flatten().fold(0u32, |sum, part| sum.saturating_add(part.max_slots(link)));
        if *fca {
            u32::MAX
        } else {
            sum_of_parts
        }
    }

    fn check(&self, link: &Link, problems: &mut Problems) {
        if self.rbdc.is_none() && self.vbdc.is_none() && self.avbdc.is_none() && !self.fca {
            problems.add("", "names no scheme; allowed: rbdc, vbdc or avbdc, fca, or scheme = \"cra\"");
        }
        if self.vbdc.is_some() && self.avbdc.is_some() {
            problems.add("avbdc", "cannot be combined with vbdc; allowed: one of the two (avbdc = \"unset\" removes what a preset sets)");
        }
        let mut part = |key: &str, max: Option<Option<RateOrZero>>, check: &dyn Fn(&mut Problems)| {
            problems.within(key, |problems| {
                if max == Some(None) {
                    let message = format!(
                        "must be given in a mix, where schemes share {} slots of {:.3} kbit/s; allowed: a rate of \
                         1 to {0} slots, up to {} kbit/s",
                        link.longest,
                        link.slot_rate(),
                        link.rate_of(link.longest as f64)
                    );
                    problems.add("max", message);
                }
                check(problems);
            });
        };
        if let Some(rbdc) = &self.rbdc {
            part("rbdc", Some(rbdc.max), &|problems| rbdc.check(link, problems));
        }
        if let Some(vbdc) = &self.vbdc {
            part("vbdc", Some(vbdc.max), &|problems| vbdc.check(link, problems));
        }
        if let Some(avbdc) = &self.avbdc {
            part("avbdc", Some(avbdc.max), &|problems| avbdc.check(link, problems));
        }
    }
}

struct MixRequester {
    rate: Option<rbdc::Rate>,
    volume: Option<vbdc::Volume>,
    absolute: Option<avbdc::Absolute>,
}

impl Requester for MixRequester {
    fn request(&mut self, superframe: u64, offered: &OfferedLoad) -> CapacityRequest {
        let (by_rate, by_volume) = offered.by_class.unwrap_or((offered.all, offered.all));
        let rate = self.rate.as_mut().and_then(|rate| rate.request_slots(superframe, &by_rate));
        // Without classes, the same bytes must not be requested twice.
        let by_other = if offered.by_class.is_some() { 0 } else { rate.unwrap_or(0) };
        let volume = self.volume.as_mut();
        let volume = volume.and_then(|volume| volume.request_slots(superframe, by_volume.queue, by_other));
        let left = by_volume.queue.saturating_sub(u64::from(by_other));
        let absolute = self.absolute.as_mut().and_then(|absolute| absolute.request_slots(left));
        CapacityRequest { rate, volume, absolute }
    }

    fn observe(&mut self, superframe: u64, offered: &OfferedLoad) {
        let load = offered.by_class.map_or(offered.all, |(by_rate, _)| by_rate);
        self.rate.iter_mut().for_each(|rate| _ = rate.measure(superframe, &load));
    }

    fn resize(&mut self, unit: u64) {
        self.rate.iter_mut().for_each(|rate| rate.resize(unit));
    }

    fn is_idle(&self) -> bool {
        self.rate.as_ref().is_none_or(rbdc::Rate::is_idle)
            && self.absolute.as_ref().is_none_or(avbdc::Absolute::is_idle)
    }

    fn change(&mut self, config: &super::Config) {
        let super::Config::Mix(config) = config else { return };
        if let (Some(rate), Some(rbdc)) = (&mut self.rate, &config.rbdc) {
            rate.set(rbdc);
        }
    }

    fn reset(&mut self) {
        self.rate.iter_mut().for_each(Requester::reset);
        self.volume.iter_mut().for_each(Requester::reset);
        self.absolute.iter_mut().for_each(Requester::reset);
    }
}

struct MixAccount {
    rate: Option<rbdc::RateAccount>,
    volume: Option<vbdc::Pending>,
    absolute: Option<avbdc::Pending>,
    spare: bool,
    demand: SlotDemand,
}

impl Account for MixAccount {
    fn request(&mut self, superframe: u64, made: u64, capacity: CapacityRequest) {
        self.rate.iter_mut().for_each(|rate| rate.request(superframe, made, capacity));
        self.volume.iter_mut().for_each(|volume| volume.request(superframe, made, capacity));
        self.absolute.iter_mut().for_each(|absolute| absolute.request(superframe, made, capacity));
    }

    fn demand(&mut self, superframe: u64) -> SlotDemand {
        let rate = self.rate.as_mut().map_or(0, |rate| rate.slots(superframe));
        let volume = self.volume.as_mut().map_or(0, |volume| volume.volume(superframe));
        let absolute = self.absolute.as_ref().map_or(0, avbdc::Pending::volume);
        self.demand = SlotDemand { rate, volume: volume + absolute };
        self.demand
    }

    fn grant(&mut self, superframe: u64, slots: u32) {
        let volume = slots.saturating_sub(self.demand.rate);
        self.volume.iter_mut().for_each(|pending| pending.serve(volume));
        self.absolute.iter_mut().for_each(|pending| pending.serve(superframe, volume));
    }

    fn takes_spare(&self) -> bool {
        self.spare
    }

    fn change(&mut self, config: &super::Config) {
        let super::Config::Mix(config) = config else { return };
        if let (Some(rate), Some(rbdc)) = (&mut self.rate, &config.rbdc) {
            rate.set(rbdc);
        }
    }

    fn reset(&mut self) {
        self.rate.iter_mut().for_each(Account::reset);
        self.volume.iter_mut().for_each(Account::reset);
        self.absolute.iter_mut().for_each(Account::reset);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Load;
    use super::*;

    fn scheme_context() -> SchemeContext {
        let link = Link { rate: "2048 kbit/s".parse().unwrap(), slots: 32, longest: 32 };
        SchemeContext { link, response: 3, unit: 752 }
    }

    fn config(text: &str) -> Config {
        serde_json::from_str(text).unwrap()
    }

    const ALL: &str =
        r#"{"rbdc": {"gamma": 1.0, "max": "256 kbit/s"}, "vbdc": {"max": "128 kbit/s"}, "fca": true}"#;

    #[test]
    fn volume_covers_the_remainder_of_the_rate_and_both_respect_their_maximum() {
        let mut requester = config(ALL).requester(&scheme_context());
        let offered = |queue| OfferedLoad { all: Load { queue, arrived: 0 }, by_class: None };
        // Ten slots' worth wait: a rate of four slots, its maximum, and a volume of the other six.
        assert_eq!(
            requester.request(1, &offered(10)),
            CapacityRequest { rate: Some(4), volume: Some(6), absolute: None }
        );
        // These ten have been requested. Twelve wait now: a rate of four more slots covers the
        // other two.
        assert_eq!(
            requester.request(2, &offered(12)),
            CapacityRequest { rate: Some(4), volume: None, absolute: None }
        );

        let mut account = config(ALL).account(&scheme_context());
        account.request(5, 1, CapacityRequest { rate: Some(4), volume: Some(6), absolute: None });
        assert_eq!(
            account.demand(5),
            SlotDemand { rate: 4, volume: 2 },
            "two slots of volume in a superframe"
        );
        account.grant(5, 5);
        assert_eq!(account.demand(6), SlotDemand { rate: 4, volume: 2 });
        account.grant(6, 6);
        // The rate's time-out of two superframes has passed. 6 - 1 - 2 = 3 slots of volume are
        // pending.
        assert_eq!(account.demand(7), SlotDemand { rate: 0, volume: 2 });
        account.grant(7, 2);
        assert_eq!(account.demand(8), SlotDemand { rate: 0, volume: 1 });
        assert!(account.takes_spare());
    }

    #[test]
    fn each_class_requests_its_own_slots() {
        let mut requester = config(ALL).requester(&scheme_context());
        let load = |queue| Load { queue, arrived: 0 };
        let offered = OfferedLoad { all: load(13), by_class: Some((load(3), load(10))) };
        assert_eq!(
            requester.request(1, &offered),
            CapacityRequest { rate: Some(3), volume: Some(10), absolute: None }
        );
    }

    #[test]
    fn scheme_without_a_maximum_is_rejected() {
        for (text, key) in [
            (r#"{"rbdc": {}}"#, "rbdc.max"),
            (r#"{"vbdc": {}}"#, "vbdc.max"),
            (r#"{"avbdc": {"max": "100 kbit/s"}}"#, "avbdc.max"),
            (r#"{"vbdc": {"max": "64 kbit/s"}, "avbdc": {"max": "64 kbit/s"}}"#, "avbdc"),
            (r#"{"rbdc": {"max": "4096 kbit/s"}}"#, "rbdc.max"),
            ("{}", ""),
        ] {
            let mut problems = Problems::default();
            config(text).check(&scheme_context().link, &mut problems);
            let found = problems.into_vec();
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].path.join("."), key, "{text}");
        }
    }
}
