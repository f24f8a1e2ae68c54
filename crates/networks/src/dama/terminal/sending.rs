//! Placement of packets into slots, and the causes of their waits.

use super::*;
use crate::signalling;

impl Terminal {
    /// Places as many data as possible into slots now.
    pub(super) fn send(&mut self, now: Time, out: &mut Outbox) {
        if self.slot_by_slot {
            return self.fill_slots(now, out);
        }
        while self.send_first(now) {}
    }

    /// Places as much of the first packet as fits into slots of this superframe. Returns true if
    /// there is such a packet and it is complete.
    #[inline]
    pub(super) fn send_first(&mut self, now: Time) -> bool {
        let Some(first) = self.parts.traffic[0].first(self.closed_from) else { return false };
        let placed = match first.unsent_bytes {
            0 => self.parts.traffic[0].last.expect("the packet shares a unit that has its slot").shared(),
            left => match self.slots.place(now, left) {
                Some(placed) => placed,
                None => return false,
            },
        };
        self.commit(0, placed)
    }

    /// Fills the slots that start now, class by class, and sets the start of the next slot to fill.
    pub(super) fn fill_slots(&mut self, now: Time, out: &mut Outbox) {
        self.next_fill = None;
        loop {
            let may_send = |traffic: &Traffic| traffic.may_send(now, self.closed_from);
            let Some(class) = self.parts.traffic.iter().position(may_send) else {
                self.next_fill = self.next_ready_slot(now);
                return;
            };
            let traffic = &self.parts.traffic[class];
            let Some(first) = traffic.waiting.front() else {
                if traffic.has_room(now) || self.slot_begins(now) {
                    self.begin_next(now, class, out);
                    continue;
                }
                return;
            };
            let placed = match first.unsent_bytes {
                0 => traffic.last.expect("the packet shares a unit that has its slot").shared(),
                left => match self.slot_begins(now) {
                    true => self.slots.place_in_one(now, left).expect("a slot begins now"),
                    false => return,
                },
            };
            self.commit(class, placed);
        }
    }

    /// Returns true if a slot with room begins now. Otherwise sets the start of the next slot to
    /// fill.
    fn slot_begins(&mut self, now: Time) -> bool {
        let begin = self.slots.next(now).map(|(begin, _)| begin);
        self.next_fill = begin.filter(|begin| *begin > now);
        begin == Some(now)
    }

    /// Commits the placed bytes of a class's first packet. Returns true if the packet is complete.
    #[inline]
    pub(super) fn commit(&mut self, class: usize, placed: Placement) -> bool {
        self.unsent -= placed.bytes;
        self.row.2 += placed.bytes;
        self.counters.used += placed.bytes;
        self.active = true;
        let Some(QueuedPacket { arrival, added, packet, .. }) = self.parts.traffic[class].commit(placed)
        else {
            return false;
        };
        self.counters.delay.add(placed.end.since(arrival));
        let wait_row = self.parts.waits.map(|_| self.wait_row(class, arrival, placed.end, &packet));
        let arrival = placed.end + self.slots.timing().one_way;
        let (packet, waveform) = (Whole::new(packet), self.waveform);
        self.launch(Flight { packet, arrival, wait_row, added, class: class as u8, waveform });
        true
    }

    /// Returns the row that explains why a packet waited.
    #[cold]
    pub(super) fn wait_row(
        &mut self,
        class: usize,
        arrival: Time,
        end: Time,
        packet: &Packet,
    ) -> Box<waits::Row> {
        let oldest = self.parts.traffic.iter().filter_map(Traffic::oldest).min();
        self.requests.remove_before(oldest.unwrap_or(arrival).min(arrival));
        let moments = (arrival, self.slots.start(), end);
        let parts =
            self.requests.explain(moments, &self.parts.frame, self.slots.timeline(), &self.parts.controller);
        let parts = match self.parts.access {
            Access::Immediate => parts,
            Access::Superframe => parts.after_superframe(arrival, &self.parts.frame, self.slots.timeline()),
        };
        let (frame, run, slot) = self.slots.last_slot();
        let nanos = |span: Span| span.as_nanos() as f64;
        Box::new([
            if packet.flow == signalling::NO_FLOW { -1.0 } else { f64::from(packet.flow.0) },
            f64::from(packet.number),
            f64::from(packet.size),
            class as f64,
            arrival.as_nanos() as f64,
            parts.asked.map_or(-1.0, |asked| asked.as_nanos() as f64),
            self.slots.superframe() as f64,
            f64::from(run.carrier),
            f64::from(frame),
            f64::from(slot),
            nanos(parts.superframe),
            nanos(parts.earlier),
            nanos(parts.request),
            nanos(parts.lost),
            nanos(parts.propagation),
            nanos(parts.controller),
            nanos(parts.competition),
            nanos(parts.position),
        ])
    }
}
