//! Volume-based dynamic capacity (VBDC): a request states a volume, which is added to the pending
//! volume.
//!
//! `req[n] = max(Q(n) - sum of req[k] for k = n-L .. n-1, 0)` (eq. 14 of Luglio, Roseti, Zampognaro
//! 2009; the upper limit of the sum as corrected on the study's page): the waiting data that have
//! not been requested in the last L superframes. A request of superframe n is served from
//! superframe n+L on. Its data still wait at the start of that superframe, so the sum covers
//! exactly the requests that have not been served yet.
//!
//! The unit is the slot of an assignment (752 bytes in the study's structure), so a request may
//! exceed the waiting data by up to one slot.
//!
//! Limit: a volume that the controller cannot serve at once stays pending, as in the study. The
//! terminal's sum no longer includes a request after L superframes, so the terminal requests the
//! same data again. While the return link is overloaded, the pending volume therefore exceeds the
//! waiting data, and slots are assigned unnecessarily for some time afterwards. A terminal that
//! offers 2400 kbit/s for 100 s with a queue of 1000 packets is assigned almost three times the
//! slots that it needs. The standard's solution is absolute volumes (AVBDC).
//!
//! ```toml
//! dama = { scheme = "vbdc", cra = "64 kbit/s" }
//! ```

use super::{Account, CapacityRequest, Link, OfferedLoad, Requester, Scheme, SchemeContext, SlotDemand};
use bentpipe_core::{Count, Problems, RateOrZero, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Volume requests (VBDC): each states the data that have not been requested yet, which are added
/// to the pending volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Vbdc")]
pub struct Config {
    /// Maximum rate assigned in a superframe (VBDC_max); must be a whole number of slots. If unset,
    /// it is the rate of the whole return link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<RateOrZero>,
    /// Number of superframes after the last request after which the controller discards the
    /// unserved volume. If unset, the volume is never discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Count<1, 1_000_000>>,
}

impl Sample for Config {
    const SAMPLE: &'static str = "timeout = 16";
}

impl Scheme for Config {
    fn requester(&self, context: &SchemeContext) -> Box<dyn Requester> {
        Box::new(Volume::new(context.response))
    }

    fn account(&self, context: &SchemeContext) -> Box<dyn Account> {
        Box::new(Pending::new(self, context))
    }

    fn max_slots(&self, link: &Link) -> u32 {
        link.maximum(self.max)
    }

    fn notes(&self) -> Vec<String> {
        self.timeout.map(|_| "vbdc has a timeout".to_owned()).into_iter().collect()
    }

    fn check(&self, link: &Link, problems: &mut Problems) {
        link.check_maximum(self.max, problems);
    }
}

pub(super) struct Volume {
    response: u64,
    /// Requests of the last L superframes, each with its superframe.
    requested: VecDeque<(u64, u32)>,
    sum: u64,
}

impl Volume {
    pub(super) fn new(response: u64) -> Volume {
        Volume { response, requested: VecDeque::new(), sum: 0 }
    }

    /// Returns the request: the waiting data that have not been requested in the last L
    /// superframes, either by volume or by rate. `by_rate` is the number of slots requested by rate
    /// in this superframe.
    pub(super) fn request_slots(&mut self, superframe: u64, queue: u64, by_rate: u32) -> Option<u32> {
        while let Some(&(requested, slots)) = self.requested.front() {
            if requested + self.response >= superframe {
                break;
            }
            self.requested.pop_front();
            self.sum -= u64::from(slots);
        }
        let known = self.sum + u64::from(by_rate);
        let slots = u32::try_from(queue.saturating_sub(known)).unwrap_or(u32::MAX);
        let noted = slots.saturating_add(by_rate);
        if noted > 0 {
            self.requested.push_back((superframe, noted));
            self.sum += u64::from(noted);
        }
        (slots > 0).then_some(slots)
    }
}

impl Requester for Volume {
    fn request(&mut self, superframe: u64, offered: &OfferedLoad) -> CapacityRequest {
        CapacityRequest {
            volume: self.request_slots(superframe, offered.all.queue, 0),
            ..CapacityRequest::NOTHING
        }
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        *self = Volume::new(self.response);
    }
}

/// The volume that has been requested and not yet assigned.
pub(super) struct Pending {
    slots: u64,
    max: u32,
    timeout: Option<u64>,
    until: u64,
}

impl Pending {
    pub(super) fn new(config: &Config, context: &SchemeContext) -> Pending {
        let timeout = config.timeout.map(|timeout| timeout.value());
        Pending { slots: 0, max: context.link.maximum(config.max), timeout, until: 0 }
    }

    pub(super) fn add(&mut self, superframe: u64, slots: u32) {
        self.slots += u64::from(slots);
        self.until = superframe + self.timeout.unwrap_or(0);
    }

    pub(super) fn volume(&mut self, superframe: u64) -> u32 {
        if self.timeout.is_some() && superframe >= self.until {
            self.slots = 0;
        }
        u32::try_from(self.slots).unwrap_or(u32::MAX).min(self.max)
    }

    pub(super) fn serve(&mut self, slots: u32) {
        self.slots -= u64::from(slots);
    }
}

impl Account for Pending {
    fn request(&mut self, superframe: u64, _made: u64, capacity: CapacityRequest) {
        if let Some(slots) = capacity.volume {
            self.add(superframe, slots);
        }
    }

    fn demand(&mut self, superframe: u64) -> SlotDemand {
        SlotDemand { rate: 0, volume: self.volume(superframe) }
    }

    fn grant(&mut self, _superframe: u64, slots: u32) {
        self.serve(slots);
    }

    fn reset(&mut self) {
        self.slots = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(timeout: Option<u64>) -> Pending {
        Pending { slots: 0, max: 20, timeout, until: 0 }
    }

    #[test]
    fn requests_follow_equation_14() {
        let mut volume = Volume::new(3);
        let queue = [5, 5, 7, 9, 9, 4, 2, 0];
        let requests: Vec<_> =
            (0..).zip(queue).map(|(n, queue)| volume.request_slots(n, queue, 0).unwrap_or(0)).collect();
        // n=3: 9 - (5+0+2) = 2. n=4: 9 - (0+2+2) = 5, because the 5 of n=0 no longer counts. n=5: 4
        // - (2+2+5) < 0. n=6: 2 - (2+5+0) < 0.
        assert_eq!(requests, [5, 0, 2, 2, 5, 0, 0, 0]);
    }

    #[test]
    fn slots_requested_by_rate_are_not_requested_by_volume() {
        let mut volume = Volume::new(2);
        // Queue minus requests: 10 - 4; 10 - (10 + 4) < 0; 20 - (10 + 4 + 1) = 5; and 20 - (4 + 6 +
        // 0) = 10, because the first request no longer counts.
        let requested = [(10, 4), (10, 4), (20, 1), (20, 0)];
        let requested: Vec<_> =
            (0..).zip(requested).map(|(n, (queue, rate))| volume.request_slots(n, queue, rate)).collect();
        assert_eq!(requested, [Some(6), None, Some(5), Some(10)]);
    }

    #[test]
    fn unserved_volume_stays_pending() {
        let mut account = pending(None);
        account.add(1, 10);
        account.add(2, 5);
        assert_eq!(account.volume(2), 15);
        account.serve(11);
        assert_eq!(account.volume(3), 4);
        account.serve(4);
        assert_eq!(account.volume(4), 0);
        account.add(5, 50);
        assert_eq!(account.volume(5), 20, "no more than the maximum in a superframe");
    }

    #[test]
    fn volume_expires_unless_it_is_requested_again() {
        let mut account = pending(Some(3));
        account.add(10, 7);
        assert_eq!([10, 12, 13].map(|n| account.volume(n)), [7, 7, 0]);
        account.add(14, 2);
        assert_eq!(account.volume(16), 2);
    }
}
