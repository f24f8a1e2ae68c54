//! Rate-based dynamic capacity (RBDC): a request names a rate and replaces the one before.
//!
//! `req[n] = (1 - gamma) req[n-1] + gamma Q` (eq. 13 of Luglio, Roseti, Zampognaro 2009), Q in slots: the
//! queue that could be emptied in one superframe by that many slots. The recursion runs on real numbers; the
//! message carries the value rounded to the nearest slot, half up. (Rounding up, the request would never come
//! back to zero, since 0.6 req stays positive; fed back, a rounded request of one slot would stay at one.)
//!
//! A terminal sends its request in every superframe until it has asked for zero. The assignment holds until
//! the next request takes effect, and no longer than the time-out, which is there for requests that get lost
//! (EN 301 790: RBDC_timeout).
//!
//! While it runs, another gamma weighs from the next request on, another time-out holds from the next request that
//! takes effect.
//!
//! ```toml
//! dama = { scheme = { kind = "rbdc", gamma = 0.4 }, cra = "64 kbit/s" }
//! ```

use super::{Account, Category, Requester};
use bentpipe_core::{Count, Fraction, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rate requests by the study's recursion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Weight of the present queue in the request; greater than zero.
    #[schemars(extend("changeable" = true))]
    pub gamma: Fraction,
    /// Superframes for which an assignment holds without a new request.
    #[schemars(extend("changeable" = true))]
    pub timeout: Count<1, 1_000_000>,
}

impl Default for Config {
    fn default() -> Config {
        // The study's weight; the standard's default time-out.
        Config { gamma: Fraction::thousandths(400), timeout: Count::new(2) }
    }
}

impl Category for Config {
    fn requester(&self, _response: u64) -> Box<dyn Requester> {
        Box::new(Rate::new(self))
    }

    fn account(&self) -> Box<dyn Account> {
        Box::new(Valid::new(self))
    }

    fn check(&self, problems: &mut Problems) {
        if self.gamma.value() == 0.0 {
            problems.add(
                "gamma",
                "0 gives the queue no weight, so that nothing is ever requested; allowed: above 0 to 1",
            );
        }
    }
}

pub(super) struct Rate {
    gamma: f64,
    /// req[n-1], before rounding.
    request: f64,
    /// n-1.
    superframe: u64,
    sent: u32,
}

impl Rate {
    pub(super) fn new(config: &Config) -> Rate {
        Rate { gamma: config.gamma.value(), request: 0.0, superframe: 0, sent: 0 }
    }
}

impl Requester for Rate {
    fn request(&mut self, superframe: u64, queue: u64) -> Option<u32> {
        // The superframes slept through had Q = 0. A remainder this small no longer matters to any request.
        for _ in self.superframe + 1..superframe {
            self.request *= 1.0 - self.gamma;
            if self.request < 1e-9 {
                break;
            }
        }
        self.superframe = superframe;
        self.request = (1.0 - self.gamma) * self.request + self.gamma * queue as f64;
        let slots = (self.request + 0.5) as u32;
        let released = slots == 0 && self.sent == 0;
        self.sent = slots;
        (!released).then_some(slots)
    }

    fn change(&mut self, config: &super::Config) {
        if let super::Config::Rbdc(config) = config {
            self.gamma = config.gamma.value();
        }
    }

    fn rests(&self) -> bool {
        self.sent == 0
    }
}

pub(super) struct Valid {
    timeout: u64,
    slots: u32,
    until: u64,
}

impl Valid {
    pub(super) fn new(config: &Config) -> Valid {
        Valid { timeout: config.timeout.value(), slots: 0, until: 0 }
    }
}

impl Account for Valid {
    fn request(&mut self, superframe: u64, slots: u32) {
        self.slots = slots;
        self.until = superframe + self.timeout;
    }

    fn demand(&mut self, superframe: u64) -> u32 {
        if superframe >= self.until {
            self.slots = 0;
        }
        self.slots
    }

    fn change(&mut self, config: &super::Config) {
        if let super::Config::Rbdc(config) = config {
            self.timeout = config.timeout.value();
        }
    }

    fn grant(&mut self, _slots: u32) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equation_13_by_hand() {
        let mut rate = Rate::new(&Config::default());
        // 0.4 x 10 = 4; 2.4 + 4 = 6.4; 3.84 + 4 = 7.84; 4.704; 2.8224; 1.69344; 1.016064; 0.6096384;
        // 0.36578304.
        let queue = [10, 10, 10, 0, 0, 0, 0, 0, 0, 0];
        let requests: Vec<_> = (5..).zip(queue).map(|(n, queue)| rate.request(n, queue)).collect();
        let expected = [4, 6, 8, 5, 3, 2, 1, 1, 0].map(Some);
        assert_eq!(requests[..9], expected);
        assert_eq!(requests[9], None, "the release is sent once");
        assert!(rate.rests());
    }

    #[test]
    fn superframes_slept_through_count() {
        let (mut awake, mut asleep) = (Rate::new(&Config::default()), Rate::new(&Config::default()));
        for rate in [&mut awake, &mut asleep] {
            assert_eq!(rate.request(1, 1), None);
        }
        for n in 2..5 {
            assert_eq!(awake.request(n, 0), None);
        }
        assert_eq!(awake.request(5, 3), Some(1));
        assert_eq!(asleep.request(5, 3), Some(1));
        assert_eq!(awake.request, asleep.request);
        // 0.4 x 0.6^4 + 1.2.
        assert!((awake.request - 1.25184).abs() < 1e-12);
    }

    #[test]
    fn an_assignment_is_replaced_and_runs_out() {
        let mut account = Valid::new(&Config { timeout: Count::new(3), ..Config::default() });
        account.request(10, 5);
        assert_eq!(account.demand(10), 5);
        account.request(11, 2);
        assert_eq!([11, 12, 13, 14, 15].map(|n| account.demand(n)), [2, 2, 2, 0, 0]);
    }

    #[test]
    fn no_weight_is_refused() {
        let mut problems = Problems::default();
        Config { gamma: Fraction::thousandths(0), ..Config::default() }.check(&mut problems);
        assert_eq!(problems.into_vec().len(), 1);
    }
}
