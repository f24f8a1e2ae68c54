//! Rate-based dynamic capacity (RBDC): a request states a rate and replaces the previous one.
//!
//! The rate comes from an [estimator](super::super::estimator). The default is the study's `req[n]
//! = (1 - gamma) req[n-1] + gamma Q` (eq. 13 of Luglio, Roseti, Zampognaro 2009). The message
//! carries the rate rounded to the nearest slot, half up. If it were rounded up, the request would
//! never return to zero, since 0.6 req stays positive. If the rounded value were fed back, a
//! request of one slot would stay at one.
//!
//! A terminal sends a request in every superframe until it has requested zero. An assignment holds
//! until the next request takes effect. The time-out limits this period and guards against lost
//! requests (EN 301 790: RBDC_timeout).
//!
//! During a run, a change of gamma applies from the next request on, and a change of the time-out
//! from the next request that takes effect.
//!
//! ```toml
//! dama = { scheme = { kind = "rbdc", gamma = 0.4 }, cra = "64 kbit/s" }
//! ```

use super::{
    Account, CapacityRequest, Link, Load, OfferedLoad, Requester, Scheme, SchemeContext, SlotDemand,
};
use crate::dama::estimator::{self, Estimator};
use bentpipe_core::{Count, Fraction, Problems, RateOrZero, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rate requests (RBDC): each states the rate that the terminal needs and replaces the previous
/// one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Rbdc")]
pub struct Config {
    /// Weight of the newest measurement in the request (gamma of eq. 13 of Luglio, Roseti,
    /// Zampognaro 2009), 0.4 by default; must be greater than 0. With the default estimator it is
    /// the weight of the present queue.
    #[schemars(extend("changeable" = true))]
    pub gamma: Fraction,
    /// Number of superframes for which an assignment holds without a new request (RBDC_timeout), 2
    /// by default.
    #[schemars(extend("changeable" = true))]
    pub timeout: Count<1, 1_000_000>,
    /// Estimator of the rate that the terminal needs; computed from its queue by default.
    #[serde(skip_serializing_if = "is_default")]
    pub estimator: estimator::Config,
    /// Maximum rate that a terminal requests (RBDC_max); must be a whole number of slots. If unset,
    /// it is the rate of the whole return link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<RateOrZero>,
}

fn is_default(estimator: &estimator::Config) -> bool {
    *estimator == estimator::Config::default()
}

impl Default for Config {
    fn default() -> Config {
        // The weight is the study's, and the time-out is the standard's default.
        Config {
            gamma: estimator::default_gamma(),
            timeout: Count::new(2),
            estimator: estimator::Config::default(),
            max: None,
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "gamma = 0.6, timeout = 8";
}

impl Scheme for Config {
    fn requester(&self, context: &SchemeContext) -> Box<dyn Requester> {
        Box::new(Rate::new(self, context))
    }

    fn account(&self, _context: &SchemeContext) -> Box<dyn Account> {
        Box::new(RateAccount::new(self))
    }

    fn max_slots(&self, link: &Link) -> u32 {
        link.maximum(self.max)
    }

    fn notes(&self) -> Vec<String> {
        let Config { gamma, timeout, estimator, max: _ } = self;
        let usual = Config::default();
        let keys = [("gamma", *gamma != usual.gamma), ("timeout", *timeout != usual.timeout)];
        let keys = keys.into_iter().chain([("estimator", *estimator != usual.estimator)]);
        keys.filter(|(_, unusual)| *unusual).map(|(key, _)| format!("rbdc has a {key} of its own")).collect()
    }

    fn check(&self, link: &Link, problems: &mut Problems) {
        link.check_maximum(self.max, problems);
        if self.gamma.value() == 0.0 {
            problems.add(
                "gamma",
                "must be greater than 0, as nothing would ever be requested; allowed: above 0 to 1",
            );
        }
    }
}

pub(super) struct Rate {
    config: estimator::Config,
    context: SchemeContext,
    estimator: Box<dyn Estimator>,
    gamma: f64,
    max: u32,
    /// The superframe of the last request.
    superframe: u64,
    sent: u32,
}

impl Rate {
    pub(super) fn new(config: &Config, context: &SchemeContext) -> Rate {
        Rate {
            config: config.estimator.clone(),
            context: *context,
            estimator: config.estimator.build(context.response, context.unit),
            gamma: config.gamma.value(),
            max: context.link.maximum(config.max),
            superframe: 0,
            sent: 0,
        }
    }

    /// Estimates the rate that the terminal needs, in slots.
    pub(super) fn measure(&mut self, superframe: u64, load: &Load) -> u32 {
        let slept = superframe.saturating_sub(self.superframe + 1);
        self.superframe = superframe;
        ((self.estimator.estimate(slept, load, self.gamma) + 0.5) as u32).min(self.max)
    }

    pub(super) fn request_slots(&mut self, superframe: u64, load: &Load) -> Option<u32> {
        let slots = self.measure(superframe, load);
        let released = slots == 0 && self.sent == 0;
        self.sent = slots;
        (!released).then_some(slots)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.sent == 0
    }

    pub(super) fn set(&mut self, config: &Config) {
        self.gamma = config.gamma.value();
    }

    pub(super) fn resize(&mut self, unit: u64) {
        self.context.unit = unit;
        self.estimator.resize(unit);
    }
}

impl Requester for Rate {
    fn request(&mut self, superframe: u64, offered: &OfferedLoad) -> CapacityRequest {
        CapacityRequest { rate: self.request_slots(superframe, &offered.all), ..CapacityRequest::NOTHING }
    }

    fn observe(&mut self, superframe: u64, offered: &OfferedLoad) {
        self.measure(superframe, &offered.all);
    }

    fn change(&mut self, config: &super::Config) {
        if let super::Config::Rbdc(config) = config {
            self.set(config);
        }
    }

    fn resize(&mut self, unit: u64) {
        Rate::resize(self, unit);
    }

    fn is_idle(&self) -> bool {
        Rate::is_idle(self)
    }

    fn reset(&mut self) {
        self.estimator = self.config.build(self.context.response, self.context.unit);
        self.sent = 0;
    }
}

pub(super) struct RateAccount {
    timeout: u64,
    slots: u32,
    until: u64,
}

impl RateAccount {
    pub(super) fn new(config: &Config) -> RateAccount {
        RateAccount { timeout: config.timeout.value(), slots: 0, until: 0 }
    }

    pub(super) fn slots(&mut self, superframe: u64) -> u32 {
        if superframe >= self.until {
            self.slots = 0;
        }
        self.slots
    }

    pub(super) fn set(&mut self, config: &Config) {
        self.timeout = config.timeout.value();
    }
}

impl Account for RateAccount {
    fn request(&mut self, superframe: u64, _made: u64, capacity: CapacityRequest) {
        if let Some(slots) = capacity.rate {
            self.slots = slots;
            self.until = superframe + self.timeout;
        }
    }

    fn demand(&mut self, superframe: u64) -> SlotDemand {
        SlotDemand { rate: self.slots(superframe), volume: 0 }
    }

    fn change(&mut self, config: &super::Config) {
        if let super::Config::Rbdc(config) = config {
            self.set(config);
        }
    }

    fn grant(&mut self, _superframe: u64, _slots: u32) {}

    fn reset(&mut self) {
        self.slots = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(config: &Config) -> Rate {
        let link = Link { rate: "2048 kbit/s".parse().unwrap(), slots: 32, longest: 32 };
        Rate::new(config, &SchemeContext { link, response: 11, unit: 752 })
    }

    fn requested(rate: &mut Rate, superframe: u64, queue: u64) -> Option<u32> {
        rate.request_slots(superframe, &Load { queue, arrived: 0 })
    }

    #[test]
    fn requests_follow_equation_13() {
        let mut rate = rate(&Config::default());
        // 0.4 x 10 = 4; 2.4 + 4 = 6.4; 3.84 + 4 = 7.84; 4.704; 2.8224; 1.69344; 1.016064;
        // 0.6096384; 0.36578304.
        let queue = [10, 10, 10, 0, 0, 0, 0, 0, 0, 0];
        let requests: Vec<_> = (5..).zip(queue).map(|(n, queue)| requested(&mut rate, n, queue)).collect();
        let expected = [4, 6, 8, 5, 3, 2, 1, 1, 0].map(Some);
        assert_eq!(requests[..9], expected);
        assert_eq!(requests[9], None, "the release is sent once");
        assert!(rate.is_idle());
    }

    #[test]
    fn idle_superframes_decay_the_estimate() {
        let (mut awake, mut asleep) = (rate(&Config::default()), rate(&Config::default()));
        for rate in [&mut awake, &mut asleep] {
            assert_eq!(requested(rate, 1, 1), None);
        }
        for n in 2..5 {
            assert_eq!(requested(&mut awake, n, 0), None);
        }
        // 0.4 x 0.6^4 + 1.2 = 1.25184.
        assert_eq!(requested(&mut awake, 5, 3), Some(1));
        assert_eq!(requested(&mut asleep, 5, 3), Some(1));
        assert_eq!(requested(&mut asleep, 6, 100), requested(&mut awake, 6, 100));
    }

    #[test]
    fn requests_are_limited_to_the_maximum() {
        let config = Config { max: Some("256 kbit/s".parse().unwrap()), ..Config::default() };
        assert_eq!(requested(&mut rate(&config), 1, 100), Some(4));
    }

    #[test]
    fn rate_assignment_is_replaced_and_expires() {
        let mut account = RateAccount::new(&Config { timeout: Count::new(3), ..Config::default() });
        let capacity = |slots| CapacityRequest { rate: Some(slots), ..CapacityRequest::NOTHING };
        account.request(10, 4, capacity(5));
        assert_eq!(account.slots(10), 5);
        account.request(11, 5, capacity(2));
        assert_eq!([11, 12, 13, 14, 15].map(|n| account.slots(n)), [2, 2, 2, 0, 0]);
    }

    #[test]
    fn gamma_of_zero_is_rejected() {
        let mut problems = Problems::default();
        let link = Link { rate: "2048 kbit/s".parse().unwrap(), slots: 32, longest: 32 };
        Config { gamma: Fraction::thousandths(0), ..Config::default() }.check(&link, &mut problems);
        assert_eq!(problems.into_vec().len(), 1);
    }
}
