//! Requests of a terminal: their times, contents and transmission.

use super::*;
use crate::signalling;

impl Terminal {
    /// Returns true if the terminal has, or may have, capacity to request.
    #[inline]
    pub(super) fn has_request(&self) -> bool {
        (self.has_data() || !self.parts.requester.is_idle()) && self.is_logged_on() && !self.is_cut_off()
    }

    /// Makes a request if the terminal has an opportunity.
    pub(super) fn make_request(&mut self, now: Time, out: &mut Outbox) {
        self.request_at = None;
        self.active = true;
        let superframe = self.slots.superframe();
        let has_slots = self.slots.count() > 0;
        let channel =
            self.parts.opportunities.next_opportunity(superframe, has_slots, &mut self.parts.stream);
        let offered = self.offered_load();
        let Some(channel) = channel else { return self.parts.requester.observe(superframe, &offered) };
        if let RequestChannel::Shared(shared) = channel {
            if self.queue_bytes() <= u64::from(self.parts.shared.1)
                && self.plans.is_empty()
                && self.send_data(now, shared, out)
            {
                // Data bursts are not answered.
                self.parts.opportunities.answered();
                return;
            }
        }
        let capacity = self.parts.requester.request(superframe, &offered);
        if capacity.is_nothing() {
            return;
        }
        let (leaves, shared) = match channel {
            RequestChannel::Dedicated => (now, None),
            RequestChannel::Piggybacked => {
                (self.slots.next(now).map_or(self.slots.end(), |(_, end)| end), None)
            }
            RequestChannel::Shared(shared) => (self.shared_end(&shared), Some(shared)),
        };
        self.request(leaves, capacity, shared, now, out);
    }

    /// Returns the time, without propagation, at which the receiver can decode a burst in
    /// mini-slots: the end of a single mini-slot, or else the end of the superframe that contains
    /// the replicas.
    fn shared_end(&self, shared: &Contention) -> Time {
        match shared.slots() {
            [slot] => {
                let length = self.parts.frame.superframe();
                self.slots.start() + length * (u64::from(*slot) + 1) / u64::from(self.parts.shared.0)
            }
            _ => self.slots.end(),
        }
    }

    /// Returns the waiting data in the form that requests need.
    fn offered_load(&mut self) -> OfferedLoad {
        let frame = self.parts.frame;
        if !self.parts.classes {
            let arrived = self.parts.traffic[0].arrived;
            return OfferedLoad {
                all: Load { queue: frame.units(self.queue_bytes()), arrived },
                by_class: None,
            };
        }
        let traffic = &mut self.parts.traffic;
        let mut load = |asks: &dyn Fn(Asks) -> bool| {
            let (mut bytes, mut arrived) = (0, 0);
            for own in traffic.iter_mut().filter(|traffic| asks(traffic.asks)) {
                bytes += own.queue_bytes();
                arrived += own.arrived;
            }
            Load { queue: frame.units(bytes), arrived }
        };
        let by_class = (load(&|asks| asks == Asks::Rate), load(&|asks| asks == Asks::Volume));
        OfferedLoad { all: load(&|asks| asks != Asks::Nothing), by_class: Some(by_class) }
    }

    /// Sends all waiting data in shared mini-slots, unless some of the data already have slots or
    /// must wait for the next superframe.
    fn send_data(&mut self, now: Time, shared: Contention, out: &mut Outbox) -> bool {
        let begun = |traffic: &Traffic| traffic.waiting.front().is_some_and(|first| first.begun);
        let closed =
            |traffic: &Traffic| traffic.waiting.back().is_some_and(|last| last.arrival >= self.closed_from);
        if !self.has_data() || self.parts.traffic.iter().any(|traffic| begun(traffic) || closed(traffic)) {
            return false;
        }
        for class in 0..self.parts.traffic.len() {
            while self.begin_next(now, class, out) {}
        }
        let (mut packets, end) = (Vec::new(), self.shared_end(&shared));
        for traffic in &mut self.parts.traffic {
            for QueuedPacket { arrival, packet, .. } in traffic.waiting.drain(..) {
                self.held.packets -= 1;
                self.held.bytes -= u64::from(packet.size);
                self.counters.delay.add(end.since(arrival));
                packets.push(out.consume(packet));
            }
            traffic.clear();
        }
        self.unsent = 0;
        if packets.is_empty() {
            return false;
        }
        let size = packets.iter().map(|packet| packet.size).sum();
        let body = DataBurst { terminal: self.parts.terminal, shared, packets };
        self.send_message(end, size, Arc::new(body), out);
        self.counters.shared_bursts += 1;
        true
    }

    fn request(
        &mut self,
        leaves: Time,
        capacity: CapacityRequest,
        shared: Option<Contention>,
        now: Time,
        out: &mut Outbox,
    ) {
        let (terminal, superframe) = (self.parts.terminal, self.slots.superframe());
        self.row.1 = capacity.slots();
        self.counters.requests += 1;
        self.counters.requested += capacity.slots();
        if self.parts.waits.is_some() {
            self.requests.add(now, superframe, leaves + self.slots.timing().one_way);
        }
        if self.post(PostedRequest {
            terminal,
            superframe,
            capacity,
            arrival: leaves + self.slots.timing().one_way,
        }) {
            self.messages += 1;
            out.pass(message::REQUEST_BYTES);
        } else {
            let request = Arc::new(Request { terminal, superframe, capacity, shared });
            self.send_message(leaves, message::REQUEST_BYTES, request, out);
        }
    }

    /// Posts a request if the result is the same as that of a message. Returns true if it did.
    fn post(&mut self, request: PostedRequest) -> bool {
        let Parts { board, errors, request_errors, acm, .. } = &mut self.parts;
        let heard =
            acm.as_mut().is_none_or(|(_, adaptation)| adaptation.receives_signalling(request.arrival));
        let unharmed = errors.is_none() && request_errors.is_none() && heard;
        unharmed && board.as_ref().is_some_and(|board| board.open().request(request))
    }

    /// Sends a message to the network control centre.
    pub(super) fn send_message(&mut self, leaves: Time, size: u32, body: Arc<dyn Payload>, out: &mut Outbox) {
        let packet = signalling::packet(leaves, self.parts.addresses, self.messages, size, body);
        self.messages += 1;
        out.create_held(&packet);
        if !self.served {
            return out.drop(packet, NO_SATELLITE);
        }
        self.held.add(&packet);
        let arrival = leaves + self.slots.timing().one_way;
        let (packet, added) = (Whole::new(packet), Added::default());
        self.launch(Flight { packet, arrival, wait_row: None, added, class: 0, waveform: None });
    }
}
