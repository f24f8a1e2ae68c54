//! Adaptive coding and modulation of a terminal: its waveform, and the resulting capacity.

use super::Terminal;
use bentpipe_core::Time;
use bentpipe_link::acm::Modcod;

impl Terminal {
    /// Sets the waveform of the superframe that starts, and whether a satellite serves in it.
    pub(super) fn adapt(&mut self, now: Time) {
        let served = self.slots.are_served();
        let waveform = match &mut self.parts.acm {
            Some((_, adaptation)) => adaptation.at(now),
            None if served == self.served => return,
            None => None,
        };
        let first = now == Time::ZERO;
        let same = waveform.map(|one| one.id) == self.waveform.map(|one| one.id) && served == self.served;
        if !first && same {
            return;
        }
        let (slots, capacity) =
            (self.total_slots(self.slots.superframe()), self.total_capacity_before(self.slots.superframe()));
        self.previous_totals = (slots, capacity);
        (self.waveform, self.served) = (waveform, served);
        let bytes = match (served, &self.parts.acm) {
            (false, _) => 0,
            (true, None) => self.parts.frame.slot_bytes,
            (true, Some(_)) => waveform.map_or(0, Modcod::bytes),
        };
        self.slots.set_slot_bytes(bytes);
        // During an outage, waiting data are counted in slots of the last waveform.
        let Some(bytes) = waveform.map(Modcod::bytes).filter(|bytes| *bytes != self.parts.frame.slot_bytes)
        else {
            return;
        };
        self.parts.frame.slot_bytes = bytes;
        self.parts.requester.resize(self.parts.frame.unit());
        for traffic in &mut self.parts.traffic {
            let framer = || self.parts.framing.build(Some(bytes));
            traffic.reframe(now, framer());
            traffic.buffered.iter_mut().for_each(|queue| queue.reframe(framer()));
        }
        self.unsent = self.parts.traffic.iter().map(|traffic| traffic.unsent).sum();
    }

    /// Returns true if no satellite serves, or if the signal is known to be too weak for every
    /// waveform.
    #[inline]
    pub(super) fn is_cut_off(&self) -> bool {
        !self.served || (self.waveform.is_none() && self.parts.acm.is_some())
    }

    /// Returns true if the gateway can decode an arrival that was sent with this waveform, or with
    /// the most robust one if `waveform` is `None`.
    pub(super) fn is_received(&mut self, now: Time, waveform: Option<&'static Modcod>) -> bool {
        let Some((_, adaptation)) = &mut self.parts.acm else { return true };
        let heard = match waveform {
            Some(waveform) => adaptation.signal(now) >= waveform.threshold_db,
            None => adaptation.receives_signalling(now),
        };
        if !heard {
            adaptation.lose();
        }
        heard
    }

    /// Returns the capacity of the superframes before this one and of the slots assigned in this
    /// one.
    pub(super) fn total_capacity_before(&self, superframe: u64) -> u64 {
        let (slots, bytes) = self.previous_totals;
        let unit = if self.is_cut_off() { 0 } else { self.parts.frame.unit() };
        bytes + (self.total_slots(superframe) - slots) * unit
    }

    /// Returns the capacity of all superframes that have started.
    pub(super) fn total_capacity(&self, now: Time) -> u64 {
        self.total_capacity_before(self.slots.timeline().superframe(&self.parts.frame, now) + 1)
    }
}
