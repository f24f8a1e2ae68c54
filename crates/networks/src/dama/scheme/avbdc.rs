//! Absolute volume (AVBDC): a request states all the waiting data and replaces the pending volume.
//!
//! `req[n] = Q(n)`, in every superframe in which data wait, and once zero. A request measures the
//! queue at the start of superframe n, before any data are sent in superframe n or later. The
//! controller therefore subtracts the slots that it has assigned in superframes n and later:
//! `pending = max(req[n] - sum of grants for superframes >= n, 0)`. No data are counted twice,
//! however many requests are in flight, and every request replaces any lost one. (EN 301 790,
//! section 6.6.1.2.4: AVBDC is to be used when the terminal senses that a VBDC request might be
//! lost. The standard leaves the controller's arithmetic to the implementer.)
//!
//! Requests include data that the constant slots (CRA) will carry before the assignment. The next
//! request corrects this, so at most the constant slots of L superframes are assigned in excess.
//!
//! ```toml
//! dama = { scheme = "avbdc", cra = "64 kbit/s" }
//! ```

use super::{Account, CapacityRequest, Link, OfferedLoad, Requester, Scheme, SchemeContext, SlotDemand};
use bentpipe_core::{Problems, RateOrZero, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Absolute volume requests (AVBDC): each states all the waiting data and replaces the pending
/// volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Avbdc")]
pub struct Config {
    /// Maximum rate assigned in a superframe; must be a whole number of slots. If unset, it is the
    /// rate of the whole return link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<RateOrZero>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"max = "512 kbit/s""#;
}

impl Scheme for Config {
    fn requester(&self, _context: &SchemeContext) -> Box<dyn Requester> {
        Box::new(Absolute::default())
    }

    fn account(&self, context: &SchemeContext) -> Box<dyn Account> {
        Box::new(Pending::new(context.link.maximum(self.max)))
    }

    fn max_slots(&self, link: &Link) -> u32 {
        link.maximum(self.max)
    }

    fn check(&self, link: &Link, problems: &mut Problems) {
        link.check_maximum(self.max, problems);
    }
}

/// The terminal's part of AVBDC.
#[derive(Default)]
pub(super) struct Absolute {
    sent: u32,
}

impl Absolute {
    /// Returns the request when `queue` slots' worth of data are waiting.
    pub(super) fn request_slots(&mut self, queue: u64) -> Option<u32> {
        let slots = u32::try_from(queue).unwrap_or(u32::MAX);
        let released = slots == 0 && self.sent == 0;
        self.sent = slots;
        (!released).then_some(slots)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.sent == 0
    }
}

impl Requester for Absolute {
    fn request(&mut self, _superframe: u64, offered: &OfferedLoad) -> CapacityRequest {
        CapacityRequest { absolute: self.request_slots(offered.all.queue), ..CapacityRequest::NOTHING }
    }

    fn is_idle(&self) -> bool {
        Absolute::is_idle(self)
    }

    fn reset(&mut self) {
        *self = Absolute::default();
    }
}

/// The controller's part of AVBDC.
pub(super) struct Pending {
    max: u32,
    slots: u64,
    /// Grants by superframe, as far back as a late request may refer to.
    granted: VecDeque<(u64, u32)>,
    /// The superframe in which the newest request was made. Older requests that arrive later are
    /// ignored.
    made: u64,
}

impl Pending {
    pub(super) fn new(max: u32) -> Pending {
        Pending { max, slots: 0, granted: VecDeque::new(), made: 0 }
    }

    pub(super) fn replace(&mut self, made: u64, slots: u32) {
        if made < self.made {
            return;
        }
        self.made = made;
        while self.granted.front().is_some_and(|(superframe, _)| *superframe < made) {
            self.granted.pop_front();
        }
        let granted: u64 = self.granted.iter().map(|(_, slots)| u64::from(*slots)).sum();
        self.slots = u64::from(slots).saturating_sub(granted);
    }

    pub(super) fn volume(&self) -> u32 {
        u32::try_from(self.slots).unwrap_or(u32::MAX).min(self.max)
    }

    pub(super) fn serve(&mut self, superframe: u64, slots: u32) {
        self.slots = self.slots.saturating_sub(u64::from(slots));
        if slots > 0 {
            self.granted.push_back((superframe, slots));
        }
    }
}

impl Account for Pending {
    fn request(&mut self, _superframe: u64, made: u64, capacity: CapacityRequest) {
        if let Some(slots) = capacity.absolute {
            self.replace(made, slots);
        }
    }

    fn demand(&mut self, _superframe: u64) -> SlotDemand {
        SlotDemand { rate: 0, volume: self.volume() }
    }

    fn grant(&mut self, superframe: u64, slots: u32) {
        self.serve(superframe, slots);
    }

    fn reset(&mut self) {
        *self = Pending::new(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;
    use proptest::prelude::*;

    fn absolute(slots: u32) -> CapacityRequest {
        CapacityRequest { absolute: Some(slots), ..CapacityRequest::NOTHING }
    }

    #[test]
    fn slots_granted_since_the_measurement_are_deducted() {
        let mut account = Pending::new(u32::MAX);
        // Ten slots wait at the start of superframe 1; six and four are granted for superframes 7
        // and 8.
        account.request(7, 1, absolute(10));
        assert_eq!(account.demand(7).volume, 10);
        account.grant(7, 6);
        assert_eq!(account.demand(8).volume, 4);
        account.grant(8, 4);
        assert_eq!(account.demand(9).volume, 0);
        // At the start of superframe 2, these ten slots still wait, and two more. Ten of the twelve
        // have been granted.
        account.request(9, 2, absolute(12));
        assert_eq!(account.demand(9).volume, 2);
        account.grant(9, 2);
        // In superframe 8 the six slots of superframe 7 have been sent: the remaining 12 - 6 have
        // all been granted.
        account.request(15, 8, absolute(6));
        assert_eq!(account.demand(15).volume, 0);
        // A request that was overtaken is ignored.
        account.request(15, 5, absolute(12));
        assert_eq!(account.demand(15).volume, 0);
        // Superframes 8 and 9 were granted but their plans were lost: the data still wait in
        // superframe 10 and are granted again.
        account.request(17, 10, absolute(6));
        assert_eq!(account.demand(17).volume, 6);
    }

    #[test]
    fn requests_state_the_whole_queue_until_it_is_empty() {
        let mut requester = Absolute::default();
        let capacity = |requester: &mut Absolute, queue| {
            requester
                .request(0, &OfferedLoad { all: super::super::Load { queue, arrived: 0 }, by_class: None })
                .absolute
        };
        assert_eq!(
            [5, 7, 3, 0, 0].map(|queue| capacity(&mut requester, queue)),
            [Some(5), Some(7), Some(3), Some(0), None]
        );
        assert!(Requester::is_idle(&requester));
    }

    proptest! {
        /// Requests and plans are lost before superframe `calm`, and none afterwards. The pending
        /// volume equals the backlog, to the slot, from the first request on that was made after
        /// the last lost plan took effect. All data are sent in the end.
        #[test]
        fn after_losses_the_pending_volume_is_the_true_backlog(
            loss in 0.01..0.5f64,
            seed in 0u64..1_000_000,
            arrivals in prop::collection::vec(0u64..20, 1..150),
            (up, down) in (1u64..9, 1u64..9),
            max_slots in 4u32..30,
        ) {
            let mut stream = Streams::new(seed, 0).stream("losses");
            let (mut requester, mut account) = (Absolute::default(), Pending::new(max_slots));
            let (mut queue, mut in_transit, mut plans) = (0u64, VecDeque::new(), VecDeque::new());
            let calm = arrivals.len() as u64;
            let end = calm + 20 * calm + 100;
            let mut comparisons = 0;
            for superframe in 0..end {
                let lost = |stream: &mut bentpipe_core::Stream| superframe < calm && stream.chance(loss);
                if let Some(slots) = requester.request_slots(queue).filter(|_| !lost(&mut stream)) {
                    in_transit.push_back((superframe, slots));
                }
                // The controller plans superframe + down from the requests made up to superframe -
                // up.
                let mut heard = None;
                while let Some((made, slots)) = in_transit.front().copied().filter(|(made, _)| made + up <= superframe) {
                    in_transit.pop_front();
                    account.replace(made, slots);
                    heard = Some(made);
                }
                if heard.is_some_and(|made| made >= calm + down) {
                    let planned: u64 = plans.iter().sum();
                    prop_assert_eq!(account.slots, queue.saturating_sub(planned));
                    comparisons += 1;
                }
                let granted = account.volume();
                account.serve(superframe + down, granted);
                plans.push_back(if lost(&mut stream) { 0 } else { u64::from(granted) });
                if plans.len() as u64 > down {
                    queue -= queue.min(plans.pop_front().unwrap_or(0));
                }
                queue += arrivals.get(superframe as usize).copied().unwrap_or(0);
            }
            prop_assert_eq!((queue, account.slots, requester.is_idle()), (0, 0, true));
            // A comparison took place unless all the data were sent before.
            prop_assert!(comparisons > 0 || arrivals.iter().sum::<u64>() <= u64::from(max_slots) * (calm + up + down));
        }
    }
}
