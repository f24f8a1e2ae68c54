//! The end of each frame on the air: who could read it, and what is sent next.

use super::{subframe, Attempt, Cell, Kind, Link, OnAir, Upper};
use crate::wifi::adaptation::Outcome;
use crate::wifi::air::Sound;
use crate::wifi::{ACK, BLOCK_ACK, CTS, RTS};
use bentpipe_link::channel::Frame;

impl<L> Cell<L> {
    /// Ends a frame: its receiver answers, or the exchange is over.
    pub(super) fn end(&mut self, one: OnAir, upper: &mut impl Upper<Load = L>) {
        let OnAir { sound, kind, index, .. } = one;
        let now = sound.end;
        let mut attempt = self.attempts[index].expect("the exchange goes on");
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
                let garbled = self.air.garbled(to, &sound);
                let spoiled =
                    !garbled && upper.corrupts(now, link, Frame { bytes: RTS, mode: control }, true);
                let answers = !garbled && !spoiled && self.air.may_answer(to, now);
                let clear = phy.control(attempt.rate, CTS);
                let reserved = match answers {
                    true => now + sifs + clear + delay + sifs + attempt.airtime + delay + answering,
                    // Stations that hear no data after the RTS forget it (10.3.2.4).
                    false => now + sifs + clear + delay + sifs + slot * 2,
                };
                self.air.end(&sound, Some(to), reserved, spoiled.then_some(to));
                if answers {
                    self.send(now + sifs, clear, to, Kind::Cts, index);
                } else {
                    self.counters[from].rts_failures += 1;
                    self.fail(now, index, attempt, Outcome::Blocked, timeout, upper);
                }
            }
            Kind::Cts => {
                let garbled = self.air.garbled(from, &sound);
                let spoiled =
                    !garbled && upper.corrupts(now, link.back(), Frame { bytes: CTS, mode: control }, true);
                let reserved = now + sifs + attempt.airtime + delay + answering;
                self.air.end(&sound, Some(from), reserved, spoiled.then_some(from));
                if garbled || spoiled {
                    self.counters[from].rts_failures += 1;
                    self.fail(now, index, attempt, Outcome::Blocked, now, upper);
                } else {
                    self.send(now + sifs, attempt.airtime, from, Kind::Data, index);
                }
            }
            Kind::Protect => {
                self.air.end(&sound, None, now + sifs + attempt.airtime + delay + answering, None);
                self.send(now + sifs, attempt.airtime, from, Kind::Data, index);
            }
            Kind::Data if to == self.stations => {
                self.air.end(&sound, None, now, None);
                self.end_group(&sound, index, attempt, upper);
            }
            Kind::Data => {
                let garbled = self.air.garbled(to, &sound);
                let arrived = if garbled { 0 } else { self.judge(&sound, index, attempt, link, upper) };
                let spoiled = !garbled && arrived == 0;
                self.air.end(&sound, Some(to), now + answering, spoiled.then_some(to));
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
                } else if spoiled && upper.naks(from) {
                    self.send(now + sifs, acknowledging, to, Kind::Nak, index);
                } else {
                    self.fail(now, index, attempt, lost(attempt), timeout, upper);
                }
            }
            Kind::Ack | Kind::Nak => {
                let garbled = self.air.garbled(from, &sound);
                let bytes = if kind == Kind::Nak { ACK } else { answer };
                let spoiled =
                    !garbled && upper.corrupts(now, link.back(), Frame { bytes, mode: control }, true);
                self.air.end(&sound, Some(from), now, spoiled.then_some(from));
                let heard = !garbled && !spoiled;
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

    /// Decides which frames of a transmission arrive, and passes them on; returns their number.
    fn judge(
        &mut self,
        sound: &Sound,
        index: usize,
        attempt: Attempt,
        link: Link,
        upper: &mut impl Upper<Load = L>,
    ) -> u32 {
        let flow = self.queues[index].flow(attempt.flow);
        let mode = self.rules.phy.mode(attempt.rate);
        let (mut arrived, mut duplicates, mut passed) = (0, 0, 0);
        for sent in flow.window.iter_mut().filter(|sent| !sent.settled).take(attempt.count as usize) {
            // The last bit of the whole ends with the frame; earlier ones of an aggregate in
            // between.
            let at = match attempt.count {
                1 => sound.end,
                _ => {
                    passed += subframe(sent.bytes);
                    let until = sound.begin + self.rules.phy.until(attempt.rate, passed) + self.rules.delay;
                    until.min(sound.end)
                }
            };
            sent.good = !upper.corrupts(at, link, Frame { bytes: sent.bytes, mode }, false);
            arrived += u32::from(sent.good);
            duplicates += u64::from(sent.good && sent.received);
            sent.received |= sent.good;
        }
        self.counters[link.to].duplicates += duplicates;
        flow.release(|load| upper.deliver(sound.end, link, load));
        arrived
    }

    /// Ends a frame to all stations: those that hear it take it, and nobody answers.
    fn end_group(&mut self, sound: &Sound, index: usize, attempt: Attempt, upper: &mut impl Upper<Load = L>) {
        let from = sound.from;
        let mut hearing = Vec::new();
        self.air.listeners(from, |air, station| {
            if station != from && !air.garbled(station, sound) {
                hearing.push(station);
            }
        });
        let mode = self.rules.phy.mode(attempt.rate);
        let flow = self.queues[index].flow(attempt.flow);
        let sent = flow.unsettled().next().expect("it was sent");
        for to in hearing {
            let link = Link { from, to };
            if !upper.corrupts(sound.end, link, Frame { bytes: sent.bytes, mode }, false) {
                if let Some(load) = &sent.load {
                    upper.deliver_copy(sound.end, link, load);
                }
            }
        }
        (sent.received, sent.good) = (true, true);
        sent.load = None;
        self.counters[from].transmissions += 1;
        self.counters[from].frames += 1;
        self.succeed(sound.end, index, attempt, upper);
    }
}

/// Returns the outcome that a sender knows when no acknowledgment has come: after a CTS the channel
/// was the reason.
fn lost(attempt: Attempt) -> Outcome {
    match attempt.rts {
        true => Outcome::Corrupted { sent: attempt.count },
        false => Outcome::Silent { sent: attempt.count },
    }
}
