//! Handling of the end of each frame: it determines which stations could read the frame, and which
//! frame is sent next.

use super::{subframe, Attempt, Cell, Kind, Link, OnAir, UpperLayer};
use crate::wifi::adaptation::Outcome;
use crate::wifi::air::Transmission;
use crate::wifi::{ACK, BLOCK_ACK, CTS, RTS};
use bentpipe_link::channel::Frame;

impl<L> Cell<L> {
    /// Ends a frame. Its receiver answers, or the exchange is over.
    pub(super) fn end(&mut self, one: OnAir, upper: &mut impl UpperLayer<Payload = L>) {
        let OnAir { transmission, kind, index, .. } = one;
        let now = transmission.end;
        let mut attempt = self.attempts[index].expect("a frame on the air belongs to an exchange");
        let from = index / self.rules.access.len();
        let to = self.queues[index].flow(attempt.flow).to;
        let link = Link { from, to };
        let phy = &self.rules.phy;
        let (sifs, slot, delay) = (phy.sifs, phy.slot, self.rules.delay);
        let answer = if attempt.count > 1 { BLOCK_ACK } else { ACK };
        let acknowledging = phy.control(attempt.rate, answer);
        let answering = sifs + acknowledging + delay;
        let control = phy.control_mode(attempt.rate);
        let timeout = now + phy.timeout();
        match kind {
            Kind::Rts => {
                let garbled = self.air.is_overlapped(to, &transmission);
                let corrupted =
                    !garbled && upper.corrupts(now, link, Frame { bytes: RTS, mode: control }, true);
                let answers = !garbled && !corrupted && self.air.may_answer(to, now);
                let clear = phy.control(attempt.rate, CTS);
                let reserved = match answers {
                    true => now + sifs + clear + delay + sifs + attempt.airtime + delay + answering,
                    // Stations that hear no data after the RTS cancel its reservation (10.3.2.4).
                    false => now + sifs + clear + delay + sifs + slot * 2,
                };
                self.air.end(&transmission, Some(to), reserved, corrupted.then_some(to));
                if answers {
                    self.send(now + sifs, clear, to, Kind::Cts, index);
                } else {
                    self.counters[from].rts_failures += 1;
                    self.fail(now, index, attempt, Outcome::Blocked, timeout, upper);
                }
            }
            Kind::Cts => {
                let garbled = self.air.is_overlapped(from, &transmission);
                let corrupted =
                    !garbled && upper.corrupts(now, link.back(), Frame { bytes: CTS, mode: control }, true);
                let reserved = now + sifs + attempt.airtime + delay + answering;
                self.air.end(&transmission, Some(from), reserved, corrupted.then_some(from));
                if garbled || corrupted {
                    self.counters[from].rts_failures += 1;
                    self.fail(now, index, attempt, Outcome::Blocked, now, upper);
                } else {
                    self.send(now + sifs, attempt.airtime, from, Kind::Data, index);
                }
            }
            Kind::Protect => {
                self.air.end(&transmission, None, now + sifs + attempt.airtime + delay + answering, None);
                self.send(now + sifs, attempt.airtime, from, Kind::Data, index);
            }
            Kind::Data if to == self.stations => {
                self.air.end(&transmission, None, now, None);
                self.end_group(&transmission, index, attempt, upper);
            }
            Kind::Data => {
                let garbled = self.air.is_overlapped(to, &transmission);
                let arrived = if garbled {
                    0
                } else {
                    self.update_statistics(&transmission, index, attempt, link, upper)
                };
                let corrupted = !garbled && arrived == 0;
                self.air.end(&transmission, Some(to), now + answering, corrupted.then_some(to));
                self.counters[from].transmissions += 1;
                self.counters[from].frames += u64::from(attempt.count);
                if garbled {
                    self.counters[from].collisions += 1;
                    attempt.collided = true;
                    self.attempts[index] = Some(attempt);
                } else {
                    self.counters[from].corrupted += u64::from(attempt.count - arrived);
                }
                if arrived > 0 {
                    self.send(now + sifs, acknowledging, to, Kind::Ack, index);
                } else if corrupted && upper.sends_naks(from) {
                    self.send(now + sifs, acknowledging, to, Kind::Nak, index);
                } else {
                    self.fail(now, index, attempt, lost(attempt), timeout, upper);
                }
            }
            Kind::Ack | Kind::Nak => {
                let garbled = self.air.is_overlapped(from, &transmission);
                let bytes = if kind == Kind::Nak { ACK } else { answer };
                let corrupted =
                    !garbled && upper.corrupts(now, link.back(), Frame { bytes, mode: control }, true);
                self.air.end(&transmission, Some(from), now, corrupted.then_some(from));
                let heard = !garbled && !corrupted;
                if heard && kind == Kind::Ack {
                    self.succeed(now, index, attempt, upper);
                } else if heard {
                    self.fail(now, index, attempt, Outcome::Corrupted { sent: attempt.count }, now, upper);
                } else {
                    self.counters[from].acknowledgments_lost += u64::from(kind == Kind::Ack);
                    self.fail(now, index, attempt, lost(attempt), now, upper);
                }
            }
        }
    }

    /// Determines which frames of a transmission arrive and delivers them. Returns the number of
    /// frames that have arrived.
    fn update_statistics(
        &mut self,
        transmission: &Transmission,
        index: usize,
        attempt: Attempt,
        link: Link,
        upper: &mut impl UpperLayer<Payload = L>,
    ) -> u32 {
        let flow = self.queues[index].flow(attempt.flow);
        let mode = self.rules.phy.mode(attempt.rate);
        let (mut arrived, mut duplicates, mut passed) = (0, 0, 0);
        for sent in flow.window.iter_mut().filter(|sent| !sent.settled).take(attempt.count as usize) {
            // The last bit arrives at the end of the transmission. Earlier frames of an aggregate
            // end before.
            let at = match attempt.count {
                1 => transmission.end,
                _ => {
                    passed += subframe(sent.bytes);
                    let until =
                        transmission.begin + self.rules.phy.until(attempt.rate, passed) + self.rules.delay;
                    until.min(transmission.end)
                }
            };
            sent.arrived = !upper.corrupts(at, link, Frame { bytes: sent.bytes, mode }, false);
            arrived += u32::from(sent.arrived);
            duplicates += u64::from(sent.arrived && sent.received);
            sent.received |= sent.arrived;
        }
        self.counters[link.to].duplicates += duplicates;
        flow.release(|payload| upper.deliver(transmission.end, link, payload));
        arrived
    }

    /// Ends a frame to all stations. Every station that hears the frame receives it, and none
    /// answers.
    fn end_group(
        &mut self,
        transmission: &Transmission,
        index: usize,
        attempt: Attempt,
        upper: &mut impl UpperLayer<Payload = L>,
    ) {
        let from = transmission.from;
        let mut hearing = Vec::new();
        self.air.listeners(from, |air, station| {
            if station != from && !air.is_overlapped(station, transmission) {
                hearing.push(station);
            }
        });
        let mode = self.rules.phy.mode(attempt.rate);
        let flow = self.queues[index].flow(attempt.flow);
        let sent = flow.unsettled().next().expect("the frame on the air is in the window");
        for to in hearing {
            let link = Link { from, to };
            if !upper.corrupts(transmission.end, link, Frame { bytes: sent.bytes, mode }, false) {
                if let Some(payload) = &sent.payload {
                    upper.deliver_copy(transmission.end, link, payload);
                }
            }
        }
        (sent.received, sent.arrived) = (true, true);
        sent.payload = None;
        self.counters[from].transmissions += 1;
        self.counters[from].frames += 1;
        self.succeed(transmission.end, index, attempt, upper);
    }
}

/// Returns the outcome, as far as the sender knows, of a transmission without acknowledgment. After
/// a CTS, the channel was the reason.
fn lost(attempt: Attempt) -> Outcome {
    match attempt.rts {
        true => Outcome::Corrupted { sent: attempt.count },
        false => Outcome::Unanswered { sent: attempt.count },
    }
}
