//! Volume-based dynamic capacity (VBDC): a request names a volume and adds to those before.
//!
//! `req[n] = max(Q(n) - sum of req[k] for k = n-L .. n-1, 0)` (eq. 14 of Luglio, Roseti, Zampognaro 2009; the
//! upper limit of the sum as corrected on the study's page): what waits and has not been asked for in the
//! last L superframes. A request of superframe n is served from superframe n+L on, at whose start its data
//! still wait; so the sum covers exactly the requests that have not been served yet.
//!
//! The unit is the slot of an assignment (752 bytes in the study's structure), so a request may ask for up to
//! one slot's worth more than waits.
//!
//! Limit: when the controller cannot serve a volume at once it keeps it, as the study says, but the terminal,
//! whose sum forgets it after L superframes, asks for the same data again. While the return link is
//! overloaded the volume at the controller therefore grows beyond what waits, and slots are assigned for
//! nothing for some time after: a terminal that offers 2400 kbit/s for 100 s with a queue of 1000 packets is
//! assigned almost three times what it sends. The standard's answer is absolute volumes (AVBDC).
//!
//! ```toml
//! dama = { scheme = "vbdc", cra = "64 kbit/s" }
//! ```

use super::{Account, Category, Requester};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Volume requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Category for Config {
    fn requester(&self, response: u64) -> Box<dyn Requester> {
        Box::new(Volume::new(response))
    }

    fn account(&self) -> Box<dyn Account> {
        Box::new(Pending::default())
    }
}

pub(super) struct Volume {
    response: u64,
    /// Requests by superframe, of the last L superframes.
    asked: VecDeque<(u64, u32)>,
    sum: u64,
}

impl Volume {
    pub(super) fn new(response: u64) -> Volume {
        Volume { response, asked: VecDeque::new(), sum: 0 }
    }
}

impl Requester for Volume {
    fn request(&mut self, superframe: u64, queue: u64) -> Option<u32> {
        while let Some(&(asked, slots)) = self.asked.front() {
            if asked + self.response >= superframe {
                break;
            }
            self.asked.pop_front();
            self.sum -= u64::from(slots);
        }
        let slots = u32::try_from(queue.saturating_sub(self.sum)).unwrap_or(u32::MAX);
        if slots == 0 {
            return None;
        }
        self.asked.push_back((superframe, slots));
        self.sum += u64::from(slots);
        Some(slots)
    }

    fn rests(&self) -> bool {
        true
    }
}

/// Volume that was asked for and not yet assigned.
#[derive(Default)]
pub(super) struct Pending(u64);

impl Account for Pending {
    fn request(&mut self, _superframe: u64, slots: u32) {
        self.0 += u64::from(slots);
    }

    fn demand(&mut self, _superframe: u64) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }

    fn grant(&mut self, slots: u32) {
        self.0 -= u64::from(slots);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equation_14_by_hand() {
        let mut volume = Volume::new(3);
        let queue = [5, 5, 7, 9, 9, 4, 2, 0];
        let requests: Vec<_> =
            (0..).zip(queue).map(|(n, queue)| volume.request(n, queue).unwrap_or(0)).collect();
        // n=3: 9 - (5+0+2) = 2; n=4: 9 - (0+2+2) = 5, the 5 of n=0 forgotten; n=5: 4 - (2+2+5) < 0;
        // n=6: 2 - (2+5+0) < 0.
        assert_eq!(requests, [5, 0, 2, 2, 5, 0, 0, 0]);
    }

    #[test]
    fn what_is_not_served_stays() {
        let mut account = Pending::default();
        account.request(1, 10);
        account.request(2, 5);
        assert_eq!(account.demand(2), 15);
        account.grant(11);
        assert_eq!(account.demand(3), 4);
        account.grant(4);
        assert_eq!(account.demand(4), 0);
    }
}
