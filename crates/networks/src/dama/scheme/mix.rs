//! Several schemes at once: CRA with RBDC, VBDC or AVBDC, and FCA, each with its maximum, as in the
//! logon of EN 301 790 (`CRA_level`, `RBDC_max`, `VBDC_max`).
//!
//! One message carries both requests. The rate comes from the estimator and is limited to its
//! maximum. The volume covers what waits beyond that: without traffic classes, the part of the
//! whole queue that neither request has asked for in the last L superframes (eq. 14 with both
//! sums); with classes, each request counts the queues of its own classes. The controller serves a
//! terminal's rate before its volume, and serves at most the maximum of the volume in a superframe.
//!
//! With AVBDC the volume is absolute: without classes, what waits less what the rate in force will
//! carry in one superframe.
//!
//! ```toml
//! [network.sat.return.dama]
//! cra = "64 kbit/s"
//! scheme = { kind = "mix", rbdc = { max = "256 kbit/s" }, vbdc = { max = "512 kbit/s" }, fca = true }
//! ```

use super::{avbdc, rbdc, vbdc, Account, Ask, Link, Need, Requester, Scheme, Terms, Wanted};
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
    /// True to assign spare slots (FCA) to terminals, too; false by default.
    pub fca: bool,
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"rbdc = { max = "512 kbit/s" }, vbdc = { max = "1024 kbit/s" }, fca = true"#;
}

impl Scheme for Config {
    fn requester(&self, terms: &Terms) -> Box<dyn Requester> {
        Box::new(Asking {
            rate: self.rbdc.as_ref().map(|rbdc| rbdc::Rate::new(rbdc, terms)),
            volume: self.vbdc.as_ref().map(|_| vbdc::Volume::new(terms.response)),
            absolute: self.avbdc.as_ref().map(|_| avbdc::Absolute::default()),
        })
    }

    fn account(&self, terms: &Terms) -> Box<dyn Account> {
        Box::new(Accounts {
            rate: self.rbdc.as_ref().map(rbdc::Valid::new),
            volume: self.vbdc.as_ref().map(|vbdc| vbdc::Pending::new(vbdc, terms)),
            absolute: self.avbdc.as_ref().map(|avbdc| avbdc::Pending::new(terms.link.maximum(avbdc.max))),
            spare: self.fca,
            wanted: Wanted::default(),
        })
    }

    fn most(&self, link: &Link) -> u32 {
        let Config { rbdc, vbdc, avbdc, fca } = self;
        let parts: [Option<&dyn Scheme>; 3] = [
            rbdc.as_ref().map(|part| part as &dyn Scheme),
            vbdc.as_ref().map(|part| part as &dyn Scheme),
            avbdc.as_ref().map(|part| part as &dyn Scheme),
        ];
        let most = parts.into_iter().flatten().fold(0u32, |sum, part| sum.saturating_add(part.most(link)));
        if *fca {
            u32::MAX
        } else {
            most
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

struct Asking {
    rate: Option<rbdc::Rate>,
    volume: Option<vbdc::Volume>,
    absolute: Option<avbdc::Absolute>,
}

impl Requester for Asking {
    fn request(&mut self, superframe: u64, need: &Need) -> Ask {
        let (by_rate, by_volume) = need.by_class.unwrap_or((need.all, need.all));
        let rate = self.rate.as_mut().and_then(|rate| rate.ask(superframe, &by_rate));
        // Without classes, the same bytes must not be requested twice.
        let otherwise = if need.by_class.is_some() { 0 } else { rate.unwrap_or(0) };
        let volume = self.volume.as_mut();
        let volume = volume.and_then(|volume| volume.ask(superframe, by_volume.queue, otherwise));
        let left = by_volume.queue.saturating_sub(u64::from(otherwise));
        let absolute = self.absolute.as_mut().and_then(|absolute| absolute.ask(left));
        Ask { rate, volume, absolute }
    }

    fn observe(&mut self, superframe: u64, need: &Need) {
        let load = need.by_class.map_or(need.all, |(by_rate, _)| by_rate);
        self.rate.iter_mut().for_each(|rate| _ = rate.measure(superframe, &load));
    }

    fn resize(&mut self, unit: u64) {
        self.rate.iter_mut().for_each(|rate| rate.resize(unit));
    }

    fn rests(&self) -> bool {
        self.rate.as_ref().is_none_or(rbdc::Rate::rests)
            && self.absolute.as_ref().is_none_or(avbdc::Absolute::rests)
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

struct Accounts {
    rate: Option<rbdc::Valid>,
    volume: Option<vbdc::Pending>,
    absolute: Option<avbdc::Pending>,
    spare: bool,
    wanted: Wanted,
}

impl Account for Accounts {
    fn request(&mut self, superframe: u64, made: u64, ask: Ask) {
        self.rate.iter_mut().for_each(|rate| rate.request(superframe, made, ask));
        self.volume.iter_mut().for_each(|volume| volume.request(superframe, made, ask));
        self.absolute.iter_mut().for_each(|absolute| absolute.request(superframe, made, ask));
    }

    fn demand(&mut self, superframe: u64) -> Wanted {
        let rate = self.rate.as_mut().map_or(0, |rate| rate.slots(superframe));
        let volume = self.volume.as_mut().map_or(0, |volume| volume.volume(superframe));
        let absolute = self.absolute.as_ref().map_or(0, avbdc::Pending::volume);
        self.wanted = Wanted { rate, volume: volume + absolute };
        self.wanted
    }

    fn grant(&mut self, superframe: u64, slots: u32) {
        let volume = slots.saturating_sub(self.wanted.rate);
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

    fn terms() -> Terms {
        let link = Link { rate: "2048 kbit/s".parse().unwrap(), slots: 32, longest: 32 };
        Terms { link, response: 3, unit: 752 }
    }

    fn config(text: &str) -> Config {
        serde_json::from_str(text).unwrap()
    }

    const ALL: &str =
        r#"{"rbdc": {"gamma": 1.0, "max": "256 kbit/s"}, "vbdc": {"max": "128 kbit/s"}, "fca": true}"#;

    #[test]
    fn the_volume_is_what_the_rate_leaves_and_each_keeps_to_its_maximum() {
        let mut asking = config(ALL).requester(&terms());
        let need = |queue| Need { all: Load { queue, arrived: 0 }, by_class: None };
        // Ten wait: a rate of four slots at most, and a volume of the other six.
        assert_eq!(asking.request(1, &need(10)), Ask { rate: Some(4), volume: Some(6), absolute: None });
        // The ten are on their way; of twelve the rate asks for four more, which covers the other
        // two.
        assert_eq!(asking.request(2, &need(12)), Ask { rate: Some(4), volume: None, absolute: None });

        let mut accounts = config(ALL).account(&terms());
        accounts.request(5, 1, Ask { rate: Some(4), volume: Some(6), absolute: None });
        assert_eq!(accounts.demand(5), Wanted { rate: 4, volume: 2 }, "two slots of volume in a superframe");
        accounts.grant(5, 5);
        assert_eq!(accounts.demand(6), Wanted { rate: 4, volume: 2 });
        accounts.grant(6, 6);
        // The rate's time-out of two superframes has passed; 6 - 1 - 2 = 3 are pending.
        assert_eq!(accounts.demand(7), Wanted { rate: 0, volume: 2 });
        accounts.grant(7, 2);
        assert_eq!(accounts.demand(8), Wanted { rate: 0, volume: 1 });
        assert!(accounts.takes_spare());
    }

    #[test]
    fn classes_ask_each_for_their_own() {
        let mut asking = config(ALL).requester(&terms());
        let load = |queue| Load { queue, arrived: 0 };
        let need = Need { all: load(13), by_class: Some((load(3), load(10))) };
        assert_eq!(asking.request(1, &need), Ask { rate: Some(3), volume: Some(10), absolute: None });
    }

    #[test]
    fn a_scheme_without_a_limit_is_refused() {
        for (text, key) in [
            (r#"{"rbdc": {}}"#, "rbdc.max"),
            (r#"{"vbdc": {}}"#, "vbdc.max"),
            (r#"{"avbdc": {"max": "100 kbit/s"}}"#, "avbdc.max"),
            (r#"{"vbdc": {"max": "64 kbit/s"}, "avbdc": {"max": "64 kbit/s"}}"#, "avbdc"),
            (r#"{"rbdc": {"max": "4096 kbit/s"}}"#, "rbdc.max"),
            ("{}", ""),
        ] {
            let mut problems = Problems::default();
            config(text).check(&terms().link, &mut problems);
            let found = problems.into_vec();
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].path.join("."), key, "{text}");
        }
    }
}
