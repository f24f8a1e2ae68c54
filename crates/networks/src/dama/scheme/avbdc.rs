//! Absolute volume (AVBDC): a request states everything that waits and replaces the pending volume.
//!
//! `req[n] = Q(n)`, in every superframe in which something waits, and once zero. A request measures
//! the queue at the start of superframe n, before the slots of superframe n and later have carried
//! anything. The controller therefore subtracts what it has assigned, or will have assigned by
//! then, in superframes n and later: `pending = max(req[n] - sum of grants for superframes >= n,
//! 0)`. Nothing is counted twice, however many requests are in flight, and every request makes up
//! for a lost one. (EN 301 790, section 6.6.1.2.4: AVBDC is to be used when the terminal senses
//! that a VBDC request might be lost. The standard leaves the controller's arithmetic to the
//! implementer.)
//!
//! Requests include data that the constant slots (CRA) carry in the meantime. The next request
//! corrects this, so at most the constant slots of L superframes are assigned in vain.
//!
//! ```toml
//! dama = { scheme = "avbdc", cra = "64 kbit/s" }
//! ```

use super::{Account, CapacityRequest, Link, OfferedLoad, Requester, Scheme, SchemeContext, SlotDemand};
use bentpipe_core::{Problems, RateOrZero, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Absolute volume requests (AVBDC): each states all the data that wait and replaces the pending
/// volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Avbdc")]
pub struct Config {
    /// Maximum rate that a superframe serves; must be a whole number of slots. If unset, the whole
    /// return link.
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

/// The terminal's half of AVBDC.
#[derive(Default)]
pub(super) struct Absolute {
    sent: u32,
}

impl Absolute {
    /// The request when `queue` slots' worth of data is waiting.
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

/// The controller's half of AVBDC.
pub(super) struct Pending {
    max: u32,
    slots: u64,
    /// Grants by superframe, as far back as a request may still refer to.
    granted: VecDeque<(u64, u32)>,
    /// The superframe in which the last request was made. An older request that arrives later is
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
        // At the start of superframe 2 ten still wait, and two more: of the twelve, ten are
        // granted.
        account.request(9, 2, absolute(12));
        assert_eq!(account.demand(9).volume, 2);
        account.grant(9, 2);
        // In superframe 8 the six of superframe 7 are gone: 12 - 6 wait, all of it granted.
        account.request(15, 8, absolute(6));
        assert_eq!(account.demand(15).volume, 0);
        // A request that was overtaken says nothing.
        account.request(15, 5, absolute(12));
        assert_eq!(account.demand(15).volume, 0);
        // Superframes 8 and 9 were granted but their plans were lost: it still waits in superframe
        // 10, and is granted again.
        account.request(17, 10, absolute(6));
        assert_eq!(account.demand(17).volume, 6);
    }

    #[test]
    fn the_whole_queue_is_requested_until_it_is_empty() {
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
        /// Requests and plans are lost, and later no more are. From the first request on that was
        /// made when the last lost plan is over, the controller takes to wait what waits, to the
        /// slot; and nothing is left in the end.
        #[test]
        fn after_losses_the_pending_volume_is_the_true_backlog(
            loss in 0.01..0.5f64,
            seed in 0u64..1_000_000,
            arrivals in prop::collection::vec(0u64..20, 1..150),
            (up, down) in (1u64..9, 1u64..9),
            most in 4u32..30,
        ) {
            let mut stream = Streams::new(seed, 0).stream("losses");
            let (mut requester, mut account) = (Absolute::default(), Pending::new(most));
            let (mut queue, mut said, mut plans) = (0u64, VecDeque::new(), VecDeque::new());
            let calm = arrivals.len() as u64;
            let end = calm + 20 * calm + 100;
            let mut mended = 0;
            for superframe in 0..end {
                let lost = |stream: &mut bentpipe_core::Stream| superframe < calm && stream.chance(loss);
                if let Some(slots) = requester.request_slots(queue).filter(|_| !lost(&mut stream)) {
                    said.push_back((superframe, slots));
                }
                // The controller plans superframe + down by what was said up ago.
                let mut heard = None;
                while let Some((made, slots)) = said.front().copied().filter(|(made, _)| made + up <= superframe) {
                    said.pop_front();
                    account.replace(made, slots);
                    heard = Some(made);
                }
                if heard.is_some_and(|made| made >= calm + down) {
                    let coming: u64 = plans.iter().sum();
                    prop_assert_eq!(account.slots, queue.saturating_sub(coming));
                    mended += 1;
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
            // What waited for long enough was asked for again.
            prop_assert!(mended > 0 || arrivals.iter().sum::<u64>() <= u64::from(most) * (calm + up + down));
        }
    }
}
