//! Packets that wait in disciplines that decide at departure ([`Buffered`]).

use super::*;

impl Terminal {
    /// Returns true if slots are filled one by one when they start, instead of at the arrival of
    /// packets.
    pub(super) fn fills_slot_by_slot(parts: &Parts) -> bool {
        parts.classes || parts.traffic.iter().any(|traffic| traffic.buffered.is_some())
    }

    fn buffered(&self) -> impl Iterator<Item = &Buffered> {
        self.parts.traffic.iter().filter_map(|traffic| traffic.buffered.as_deref())
    }

    fn buffered_mut(&mut self) -> impl Iterator<Item = &mut Buffered> {
        self.parts.traffic.iter_mut().filter_map(|traffic| traffic.buffered.as_deref_mut())
    }

    /// Returns true if data wait for slots.
    #[inline]
    pub(super) fn has_data(&self) -> bool {
        self.unsent > 0 || self.slot_by_slot && self.buffered().any(|queue| queue.held().packets > 0)
    }

    /// Returns the bytes of all classes that wait for slots.
    #[inline]
    pub(super) fn queue_bytes(&mut self) -> u64 {
        match self.slot_by_slot {
            true => self.parts.traffic.iter_mut().map(Traffic::queue_bytes).sum(),
            false => self.unsent,
        }
    }

    /// Returns all packets, including those in buffers, which `held` does not count.
    pub(super) fn all_held(&self) -> Held {
        self.buffered().map(Buffered::held).chain([self.held]).sum()
    }

    /// Handles an arrival at a class whose discipline decides at departure.
    #[cold]
    pub(super) fn keep(&mut self, now: Time, class: usize, packet: Packet, out: &mut Outbox) {
        let Parts { traffic, stream, .. } = &mut self.parts;
        let mut effects = Effects::new(stream, out);
        let Traffic { buffered, arrived, .. } = &mut traffic[class];
        let queue = buffered.as_mut().expect("the class has a buffer");
        *arrived += queue.enqueue(now, packet, self.closed_from, &mut effects);
        self.counters.queue_drops += effects.drops;
        self.active |= self.constant.is_some();
        self.fill_slots(now, out);
    }

    /// Gives the disciplines the packets that waited for this superframe.
    pub(super) fn open_buffers(&mut self, out: &mut Outbox) {
        let Parts { traffic, stream, .. } = &mut self.parts;
        let mut effects = Effects::new(stream, out);
        for queue in traffic.iter_mut().filter_map(|traffic| traffic.buffered.as_mut()) {
            queue.open(&mut effects);
        }
        self.counters.queue_drops += effects.drops;
    }

    /// Tells the disciplines the rate of the slots of this superframe. Without slots, they keep the
    /// previous rate.
    pub(super) fn learn_granted_rate(&mut self) {
        let bits = u128::from(self.slots.capacity()) * 8_000_000_000;
        let rate = bits / u128::from(self.parts.frame.superframe().as_nanos());
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        if rate > 0 && rate != self.granted_bit_s {
            self.granted_bit_s = rate;
            self.buffered_mut().for_each(|queue| queue.set_rate(Rate::from_bits_per_second(rate)));
        }
    }

    /// Takes the next packet of a class from its discipline, if a packet is ready, and frames it.
    /// Returns true if there is such a packet, which then waits for room in slots.
    pub(super) fn begin_next(&mut self, now: Time, class: usize, out: &mut Outbox) -> bool {
        let Parts { traffic, stream, .. } = &mut self.parts;
        let mut effects = Effects::new(stream, out);
        let next = traffic[class].buffered.as_mut().and_then(|queue| queue.next(now, &mut effects));
        self.counters.queue_drops += effects.drops;
        let Some((packet, arrival)) = next else { return false };
        self.held.add(&packet);
        self.unsent += traffic[class].wait_for_slots(now, arrival, packet, Time::MAX);
        true
    }

    /// Returns the start of the first slot at which a discipline may have a packet ready.
    pub(super) fn next_ready_slot(&self, now: Time) -> Option<Time> {
        let ready = self.buffered().filter_map(|queue| queue.ready_at(now)).min()?;
        self.slots.next(ready.max(now)).map(|(begin, _)| begin)
    }

    /// Replaces the discipline of a class. Packets in a buffer arrive again at the new discipline.
    pub(super) fn set_queue(&mut self, now: Time, class: usize, queue: Queue, out: &mut Outbox) {
        let bytes = self.parts.frame.slot_bytes;
        let framer = self.parts.framing.build(Some(bytes));
        let waiting = self.parts.traffic[class].set_queue(queue, framer);
        self.slot_by_slot = Terminal::fills_slot_by_slot(&self.parts);
        self.granted_bit_s = 0;
        for packet in waiting {
            self.receive(now, FROM_HOST, packet, out);
        }
        if now < self.slots.end() {
            self.next_fill = None;
            self.send(now, out);
        }
    }
}
