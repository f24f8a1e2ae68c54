//! Handling of the outcome of an exchange: frames are acknowledged, retransmitted or given up, and
//! the category contends again.

use super::{Attempt, Cell, Link, Rules, Settled, UpperLayer};
use crate::wifi::adaptation::Outcome;
use crate::wifi::ACK;
use bentpipe_core::{Span, Time};

impl<L> Cell<L> {
    /// Called when an acknowledgment has arrived.
    pub(super) fn succeed(
        &mut self,
        now: Time,
        index: usize,
        attempt: Attempt,
        upper: &mut impl UpperLayer<Payload = L>,
    ) {
        let categories = self.rules.access.len();
        let flow = self.queues[index].flow(attempt.flow);
        let link = Link { from: index / categories, to: flow.to };
        let count = attempt.count as usize;
        let sent = flow.window.iter().filter(|sent| !sent.settled).take(count);
        let acknowledged = sent.filter(|sent| sent.arrived).count() as u32;
        upper.record_outcome(
            now,
            link,
            &attempt,
            Outcome::Acknowledged { sent: attempt.count, acknowledged },
        );
        for sent in flow.window.iter_mut().filter(|sent| !sent.settled).take(count) {
            sent.settled = sent.arrived;
            sent.failures += u32::from(!sent.arrived);
            if sent.arrived {
                let end = Settled { acknowledged: true, failures: sent.failures };
                upper.settle(now, link, index % categories, sent.order, end);
            }
        }
        self.give_up(now, index, attempt, link, upper);
        self.settle(now, index, attempt, upper);
    }

    /// Handles a transmission that has failed completely. The station waits for an answer until
    /// `resume`.
    pub(super) fn fail(
        &mut self,
        now: Time,
        index: usize,
        attempt: Attempt,
        outcome: Outcome,
        resume: Time,
        upper: &mut impl UpperLayer<Payload = L>,
    ) {
        let from = index / self.rules.access.len();
        let flow = self.queues[index].flow(attempt.flow);
        let link = Link { from, to: flow.to };
        for sent in flow.window.iter_mut().filter(|sent| !sent.settled).take(attempt.count as usize) {
            sent.failures += 1;
        }
        upper.record_outcome(now, link, &attempt, outcome);
        let ended = self.give_up(now, index, attempt, link, upper);
        self.attempts[index] = None;
        let ready = self.has_frame(now, index, upper);
        self.air.back_off(index, ended, resume, ready);
    }

    /// Handles an internal collision with a category of higher priority of the same station.
    pub(super) fn collide_internally(
        &mut self,
        now: Time,
        index: usize,
        upper: &mut impl UpperLayer<Payload = L>,
    ) {
        if !self.ensure_frame(now, index, upper) {
            return self.air.withdraw(index);
        }
        let number = self.queues[index].first().expect("a category that transmits has a frame");
        let flow = self.queues[index].flow(number);
        if flow.unsettled().next().is_none() {
            flow.advance();
        }
        let link = Link { from: index / self.rules.access.len(), to: flow.to };
        flow.unsettled().take(1).for_each(|sent| sent.failures += 1);
        let attempt = Attempt {
            rate: 0,
            attempt: 0,
            count: 1,
            collided: false,
            flow: number,
            bytes: 0,
            rts: false,
            airtime: Span::ZERO,
            txop_ends: now,
        };
        let ended = self.give_up(now, index, attempt, link, upper);
        let ready = self.has_frame(now, index, upper);
        // The slots of the back-off count from the end of the other category's frame, which begins
        // now.
        self.air.back_off(index, ended, now + self.rules.phy.sifs, ready);
    }

    /// Gives up the frames that have reached the limit of failures. Returns true if the first frame
    /// was given up.
    fn give_up(
        &mut self,
        now: Time,
        index: usize,
        attempt: Attempt,
        link: Link,
        upper: &mut impl UpperLayer<Payload = L>,
    ) -> bool {
        let Rules { rts_threshold, short_limit, long_limit, .. } = self.rules;
        let categories = self.rules.access.len();
        let flow = self.queues[index].flow(attempt.flow);
        let mut first = false;
        let sent = flow.window.iter_mut().filter(|sent| !sent.settled).take(attempt.count as usize);
        for (place, sent) in sent.enumerate() {
            let limit = if sent.bytes > rts_threshold { long_limit } else { short_limit };
            if sent.failures >= sent.limit.unwrap_or(limit) {
                sent.settled = true;
                let end = Settled { acknowledged: false, failures: sent.failures };
                upper.settle(now, link, index % categories, sent.order, end);
                first |= place == 0;
                if !sent.received {
                    self.counters[link.from].given_up += 1;
                    if let Some(payload) = sent.payload.take() {
                        upper.give_up(now, link, payload);
                    }
                }
            }
        }
        // Delivers the frames that the receiver has kept while it waited for a frame that was given
        // up.
        flow.release(|payload| upper.deliver(now, link, payload));
        flow.remove_settled();
        first
    }

    /// Continues the transmission opportunity after a success, or contends again.
    fn settle(
        &mut self,
        now: Time,
        index: usize,
        attempt: Attempt,
        upper: &mut impl UpperLayer<Payload = L>,
    ) {
        self.attempts[index] = None;
        let ready = self.has_frame(now, index, upper);
        let begin = now + self.rules.phy.sifs;
        let continues = ready && attempt.txop_ends > begin && self.ensure_frame(now, index, upper);
        if continues && self.fits(index, attempt, begin) {
            return self.start(begin, index, attempt.txop_ends, upper);
        }
        self.air.back_off(index, true, Time::ZERO, ready);
    }

    /// Returns true if another exchange of the same length ends within the transmission
    /// opportunity.
    fn fits(&mut self, index: usize, attempt: Attempt, begin: Time) -> bool {
        let queue = &mut self.queues[index];
        let Some(first) = queue.first() else { return false };
        let flow = queue.flow(first);
        let waiting = flow.waiting.front().map(|frame| frame.bytes);
        let bytes = flow.unsettled().next().map(|sent| sent.bytes).or(waiting).unwrap_or(0);
        let phy = &self.rules.phy;
        let exchange =
            phy.data(attempt.rate, bytes) + phy.sifs + phy.control(attempt.rate, ACK) + self.rules.delay * 2;
        !attempt.rts && !phy.protection && begin + exchange <= attempt.txop_ends
    }
}
