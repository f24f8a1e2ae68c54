//! A transmitter after a first-in, first-out queue, as in links. It computes the end of each
//! packet's transmission at its arrival. If the discipline decides at departure, a packet stays in
//! the queue until the previous one has been sent, and never shares a framing unit with it.

use super::framing::{Added, Framer, Unit};
use super::pace::Pace;
use super::REPORT;
use crate::queue::buffer::{Buffer, Effects, Fifo};
use crate::queue::unlimited::Unlimited;
use crate::queue::{Admission, Backlog, Limits, Queue, Verdict};
use bentpipe_core::{Fraction, Probe, Rate, Report, Span, Stream, Time};
use bentpipe_stage::packet::quick_start::{self, Grants};
use bentpipe_stage::{DropReason, Held, Outbox, Packet};
use std::collections::VecDeque;

/// A queue and a transmitter, whose counters are reported in [`REPORT`]. Fields that every packet
/// needs come first and share cache lines: of the thousands of transmitters in a constellation, few
/// are in a near cache.
#[repr(C)]
pub struct Transmitter {
    /// Time at which all admitted packets will have been sent.
    free_at: Time,
    backlog: Backlog,
    /// The limits of the backlog, if they and the size of a packet decide alone; otherwise 0.
    limits: Limits,
    pace: Pace,
    sent: Held,
    busy: Span,
    /// Time at which the first packet of the buffer can leave, and the time up to which waiting has
    /// been counted.
    ready: Option<Time>,
    /// Start of transmission, size and bytes to send of each waiting packet.
    waiting: VecDeque<(Time, u32, u32)>,
    wait: Span,
    queue_max: u64,
    counted: Time,
    admission: Box<dyn Admission>,
    /// Waiting packets of a discipline that decides at departure; `waiting` is then empty.
    buffer: Option<Box<dyn Buffer>>,
    /// The framing, and its result for the last admitted packet.
    framer: Option<Box<dyn Framer>>,
    added: Added,
    /// True if the last unit was taken back, so nothing can be added to it.
    cut: bool,
    /// Random stream of the link to which the transmitter belongs.
    pub stream: Stream,
    /// Probe of the trace [`super::TRACE`], if it is recorded.
    probe: Option<Probe>,
    /// Time before which nothing is transmitted, because the link is closed.
    closed_until: Time,
    /// End of the idle frame during which the last packet arrived.
    idle_until: Time,
    queue_drops: u64,
    /// State of Quick-Start grants, if they are supported.
    grants: Option<Grants>,
}

/// Returns an admission without limit, for a transmitter after a buffer.
fn unlimited() -> Box<dyn Admission> {
    Box::new(Unlimited)
}

/// The packets that an idle transmitter has sent without being called.
pub struct SentWhileIdle {
    /// Number and bytes of these packets.
    sent: Held,
    /// Total transmission time of these packets.
    busy: Span,
    /// Time at which the last of them will have been sent.
    pub free_at: Time,
}

impl SentWhileIdle {
    /// Creates a record without further packets.
    pub fn nothing(transmitter: &Transmitter) -> SentWhileIdle {
        SentWhileIdle { sent: Held::default(), busy: Span::ZERO, free_at: transmitter.free_at }
    }

    /// Counts packets of `size` bytes that were sent at this rate.
    pub fn add(&mut self, size: u32, count: u64, rate: Rate) {
        self.sent.packets += count;
        self.sent.bytes += count * u64::from(size);
        self.busy += rate.span_of(u64::from(size)) * count;
    }
}

impl Transmitter {
    /// Creates an idle transmitter with an empty queue.
    pub fn new(
        rate: Rate,
        queue: Queue,
        framer: Option<Box<dyn Framer>>,
        stream: Stream,
        probe: Option<Probe>,
    ) -> Transmitter {
        let mut transmitter = Transmitter {
            pace: Pace::new(rate),
            limits: Limits::default(),
            admission: unlimited(),
            buffer: None,
            ready: None,
            counted: Time::ZERO,
            framer,
            added: Added::default(),
            cut: false,
            stream,
            probe,
            free_at: Time::ZERO,
            closed_until: Time::ZERO,
            idle_until: Time::ZERO,
            waiting: VecDeque::new(),
            backlog: Backlog::default(),
            sent: Held::default(),
            busy: Span::ZERO,
            queue_drops: 0,
            queue_max: 0,
            wait: Span::ZERO,
            grants: None,
        };
        let _nothing_yet = transmitter.set_queue(queue);
        transmitter
    }

    /// Sets the fraction of the rate that may be granted to Quick-Start requests.
    pub fn grant(&mut self, share: Option<Fraction>) {
        self.grants = share.map(|share| Grants::new(share.value()));
        self.find_limits();
    }

    /// Determines if the size of a packet decides alone.
    fn find_limits(&mut self) {
        let alone =
            self.framer.is_none() && self.buffer.is_none() && self.probe.is_none() && self.grants.is_none();
        self.limits = self.admission.limits().filter(|_| alone).unwrap_or_default();
    }

    /// Offers a packet of `size` bytes without a new Quick-Start request. Returns the time at which
    /// it will have been sent; `None` if the decision needs the packet itself, by
    /// [`offer`](Self::offer).
    #[inline]
    pub fn offer_size(&mut self, now: Time, size: u32) -> Option<Time> {
        self.forget_started(now);
        self.limits.admit(self.backlog, size).then(|| self.schedule(now, size, size))
    }

    /// Returns true if an idle transmitter sends a packet of `size` bytes because of its size
    /// alone.
    #[inline]
    pub fn admits_when_idle(&self, size: u32) -> bool {
        self.limits.admit(Backlog::default(), size)
    }

    /// Counts the packets sent since the last offered packet, each by an idle transmitter.
    pub fn catch_up(&mut self, SentWhileIdle { sent, busy, free_at }: SentWhileIdle) {
        self.forget_started(free_at);
        self.sent.packets += sent.packets;
        self.sent.bytes += sent.bytes;
        self.busy += busy;
        // A discipline that decides by size alone does not use the start of the idle time.
        (self.free_at, self.backlog.empty_since) = (free_at, free_at);
    }

    /// Queues an admitted packet of `size` bytes, for which `bytes` are sent.
    #[inline(always)]
    fn schedule(&mut self, now: Time, size: u32, bytes: u32) -> Time {
        let start = now.max(self.free_at);
        if start > now {
            self.waiting.push_back((start, size, bytes));
            self.backlog.packets += 1;
            self.backlog.bytes += u64::from(size);
            self.queue_max = self.queue_max.max(self.backlog.packets);
            self.wait += start.since(now);
        } else {
            self.backlog.empty_since = now;
        }
        self.free_at = start + self.count(size, bytes);
        self.free_at
    }

    /// Offers an arriving packet. Returns the time at which it will have been sent, or the reason
    /// for its drop.
    #[inline(always)]
    pub fn offer(&mut self, now: Time, packet: &mut Packet, out: &mut Outbox) -> Result<Time, DropReason> {
        self.forget_started(now);
        self.idle(now);
        quick_start::pass(&mut self.grants, now, self.pace.rate(), packet);
        let answer = match self.admission.admit(now, packet, self.backlog, &mut self.stream) {
            Verdict::Drop(reason) => {
                self.queue_drops += 1;
                Err(reason)
            }
            Verdict::Admit => {
                let bytes = self.frame(now, packet);
                Ok(self.schedule(now, packet.size, bytes))
            }
        };
        if let Some(probe) = self.probe {
            let Backlog { packets, bytes, .. } = self.backlog;
            out.record(probe, now, &[packets as f64, bytes as f64, self.queue_drops as f64]);
        }
        answer
    }

    /// Takes back a packet that was admitted earlier and withdrawn since. Returns the time at which
    /// it will have been sent, and the framing's result.
    pub fn offer_again(&mut self, now: Time, packet: &mut Packet) -> (Time, Option<Added>) {
        self.idle(now);
        let start = now.max(self.free_at);
        let bytes = self.frame(now, packet);
        self.waiting.push_back((start, packet.size, bytes));
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.size);
        self.wait += start.since(now);
        self.free_at = start + self.count(packet.size, bytes);
        (self.free_at, self.framer.as_ref().map(|_| self.added))
    }

    /// Waits for the end of an idle frame in transmission: an arriving packet begins after it.
    /// Without packets, idle frames follow each other.
    #[inline]
    fn idle(&mut self, now: Time) {
        let Some(framer) = self.framer.as_ref().filter(|framer| framer.idles() && self.free_at < now) else {
            return;
        };
        let frame = self.rate().span_of(u64::from(framer.unit())).as_nanos().max(1);
        let frames = now.since(self.free_at).as_nanos().div_ceil(frame);
        self.free_at += Span::from_nanos(frames * frame);
        self.idle_until = self.free_at;
    }

    /// Returns the end of the present time without transmission, if it is in the future.
    fn silent_until(&self) -> Time {
        self.closed_until.max(self.idle_until)
    }

    /// Returns the rate of transmission.
    pub fn rate(&self) -> Rate {
        self.pace.rate()
    }

    /// Returns true if a packet is in transmission: its first bit has left and its last bit has
    /// not.
    pub fn is_sending(&self, now: Time) -> bool {
        let next = self.waiting.iter().find(|(start, ..)| *start >= now);
        next.map_or(self.free_at, |(start, ..)| *start) > now && self.silent_until() <= now
    }

    /// Takes back `packets`, all that are not sent at `now`, and sends nothing until `opens`.
    pub fn close(&mut self, now: Time, packets: &[Packet], opens: Time) {
        self.withdraw(now, packets, opens);
        self.closed_until = opens;
    }

    /// Starts no transmission from the buffer until `opens`.
    pub fn pause(&mut self, opens: Time) {
        self.free_at = self.free_at.max(opens);
        self.closed_until = opens;
    }

    /// Sends a packet past the queue and returns the time at which it will have been sent. Later
    /// packets are delayed by its transmission time.
    pub fn send_at_once(&mut self, now: Time, packet: &Packet) -> Time {
        let bytes = self.frame(now, packet);
        let sending = self.count(packet.size, bytes);
        self.free_at = now.max(self.free_at) + sending;
        now + sending
    }

    /// Sets another discipline for future arrivals. Returns the packets that waited in a buffer, to
    /// be put into the new one.
    #[must_use]
    pub fn set_queue(&mut self, queue: Queue) -> Vec<Packet> {
        let waiting = self.drain();
        match queue {
            Queue::Arrival(admission) => (self.admission, self.buffer) = (admission, None),
            Queue::Departure(buffer) => (self.admission, self.buffer) = (unlimited(), Some(buffer)),
        }
        self.find_limits();
        waiting
    }

    /// Puts a discipline that decides at arrival into a buffer, so that a packet's transmission
    /// time is determined when it is sent.
    pub fn hold(&mut self) {
        if self.buffer.is_none() {
            let admission = std::mem::replace(&mut self.admission, unlimited());
            self.buffer = Some(Box::new(Fifo::new(admission)));
            self.find_limits();
        }
    }

    /// Returns true if the discipline decides at departure; packets then pass through
    /// [`accept`](Self::accept) and [`begin`](Self::begin).
    #[inline]
    pub fn is_buffered(&self) -> bool {
        self.buffer.is_some()
    }

    /// Handles an arrival at a buffer. Returns the packet whose transmission starts now, if any,
    /// and the end of its transmission.
    pub fn accept(&mut self, now: Time, packet: Packet, out: &mut Outbox) -> Option<(Packet, Time)> {
        self.keep(now, packet, out);
        let begun = self.begin(now, out);
        self.observe(now, out);
        begun
    }

    /// Handles an arrival at a buffer without starting a transmission.
    pub fn keep(&mut self, now: Time, mut packet: Packet, out: &mut Outbox) {
        self.idle(now);
        quick_start::pass(&mut self.grants, now, self.pace.rate(), &mut packet);
        self.count_waiting(now);
        let buffer = self.buffer.as_mut().expect("it has a buffer");
        let mut effects = Effects::new(&mut self.stream, out);
        buffer.enqueue(now, packet, &mut effects);
        self.queue_drops += effects.drops;
        self.ready = buffer.head(Time::ZERO).map(|head| head.at);
    }

    /// Records the state of the buffer after an arrival.
    pub fn observe(&mut self, now: Time, out: &mut Outbox) {
        let held = self.buffered();
        self.queue_max = self.queue_max.max(held.packets);
        if let Some(probe) = self.probe {
            out.record(probe, now, &[held.packets as f64, held.bytes as f64, self.queue_drops as f64]);
        }
    }

    /// Returns the start of transmission of the buffer's next packet, if any.
    #[inline]
    pub fn next_begin(&self) -> Option<Time> {
        self.ready.map(|ready| ready.max(self.free_at))
    }

    /// Starts transmitting the buffer's next packet if it is due. Returns the packet and the end of
    /// its transmission.
    #[inline]
    pub fn begin(&mut self, now: Time, out: &mut Outbox) -> Option<(Packet, Time)> {
        if self.next_begin()? > now {
            return None;
        }
        self.take_next(now, out)
    }

    fn take_next(&mut self, now: Time, out: &mut Outbox) -> Option<(Packet, Time)> {
        let packet = self.dequeue(now, out)?;
        Some(self.transmit(now, packet))
    }

    fn dequeue(&mut self, now: Time, out: &mut Outbox) -> Option<Packet> {
        self.count_waiting(now);
        let buffer = self.buffer.as_mut().expect("something is ready in it");
        let mut effects = Effects::new(&mut self.stream, out);
        let packet = buffer.dequeue(now, &mut effects);
        self.queue_drops += effects.drops;
        self.ready = buffer.head(Time::ZERO).map(|head| head.at);
        packet.map(|(packet, _)| packet)
    }

    fn transmit(&mut self, now: Time, packet: Packet) -> (Packet, Time) {
        let bytes = self.frame(now, &packet);
        self.free_at = now + self.count(packet.size, bytes);
        (packet, self.free_at)
    }

    /// Starts transmitting like [`begin`](Self::begin), at the rate that `rate` returns for the
    /// packet. A packet without a rate is dropped with `reason`. The discipline also learns the
    /// rate.
    pub fn begin_at(
        &mut self,
        now: Time,
        out: &mut Outbox,
        reason: DropReason,
        rate: &mut dyn FnMut(&Packet, &mut Outbox) -> Option<Rate>,
    ) -> Option<(Packet, Time)> {
        while self.next_begin()? <= now {
            let Some(packet) = self.dequeue(now, out) else { continue };
            let Some(rate) = rate(&packet, out) else {
                out.drop(packet, reason);
                continue;
            };
            self.pace(rate);
            return Some(self.transmit(now, packet));
        }
        None
    }

    /// Returns true if everything admitted so far has been sent.
    #[inline]
    pub fn is_free(&self, now: Time) -> bool {
        self.free_at <= now
    }

    /// Returns the time at which all admitted packets will have been sent.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Takes the buffer's next packet without transmitting it, if one is ready.
    pub fn pull(&mut self, now: Time, out: &mut Outbox) -> Option<Packet> {
        while self.ready? <= now {
            let packet = self.dequeue(now, out);
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    /// Starts transmitting a frame of `bytes` in which packets of these sizes end. Returns the end
    /// of its transmission.
    pub fn send_frame(&mut self, now: Time, bytes: u32, sizes: impl Iterator<Item = u32>) -> Time {
        let time = self.rate().span_of(u64::from(bytes));
        self.busy += time;
        self.free_at = now + time;
        for size in sizes {
            self.sent.packets += 1;
            self.sent.bytes += u64::from(size);
        }
        self.free_at
    }

    /// Sends at another rate from the next packet on. The packet in transmission keeps its rate.
    pub fn pace(&mut self, rate: Rate) {
        if self.rate() != rate {
            self.pace_signalling(rate);
            self.admission.set_rate(rate);
            self.buffer.iter_mut().for_each(|buffer| buffer.set_rate(rate));
        }
    }

    /// Sends signalling at another rate from the next packet on. Signalling bypasses the
    /// discipline, whose rate is unchanged.
    pub fn pace_signalling(&mut self, rate: Rate) {
        self.pace = Pace::new(rate);
    }

    /// Returns the number and the bytes of the packets that wait in the buffer.
    pub fn buffered(&self) -> Held {
        self.buffer.as_ref().map_or(Held::default(), |buffer| buffer.held())
    }

    /// Removes and returns the packets in the buffer.
    pub fn drain(&mut self) -> Vec<Packet> {
        self.ready = None;
        self.buffer.as_mut().map_or(Vec::new(), |buffer| buffer.drain())
    }

    /// Adds the time that packets have waited in the buffer up to now.
    fn count_waiting(&mut self, now: Time) {
        let waited = u128::from(now.since(self.counted).as_nanos()) * u128::from(self.buffered().packets);
        self.wait += Span::from_nanos(u64::try_from(waited).unwrap_or(u64::MAX));
        self.counted = now;
    }

    /// Continues at `rate` from `now`, as derived in [`super`]. Returns the new end of transmission
    /// of each unsent packet in order: the one in transmission, if any, and the waiting ones.
    ///
    /// A packet sent [past the queue](Self::send_at_once) during the transmission of another counts
    /// as part of it.
    pub fn set_rate(&mut self, now: Time, rate: Rate) -> Vec<Time> {
        self.forget_started(now);
        let before = std::mem::replace(&mut self.pace, Pace::new(rate)).rate();
        self.admission.set_rate(rate);
        self.buffer.iter_mut().for_each(|buffer| buffer.set_rate(rate));
        if self.free_at <= now {
            return Vec::new();
        }
        let stretched = |span: Span| {
            let bits = u128::from(span.as_nanos()) * u128::from(before.bits_per_second());
            Span::from_nanos(u64::try_from(bits / u128::from(rate.bits_per_second())).unwrap_or(u64::MAX))
        };
        // Positions of the old and the new schedule. While the link is closed, or in an idle frame,
        // no packet is in transmission.
        let closed = self.silent_until() > now;
        let mut old = match closed {
            true => self.silent_until(),
            false => self.waiting.front().map_or(self.free_at, |(start, ..)| *start),
        };
        let mut new = if closed { old } else { now + stretched(old.since(now)) };
        let mut ends = if closed { Vec::new() } else { vec![new] };
        for (start, _, size) in &mut self.waiting {
            let begins = new + stretched(start.since(old));
            old = *start + before.span_of(u64::from(*size));
            new = begins + rate.span_of(u64::from(*size));
            self.wait = (self.wait + begins.since(now)).saturating_sub(start.since(now));
            *start = begins;
            ends.push(new);
        }
        new += stretched(self.free_at.since(old));
        self.busy = (self.busy + new.since(now)).saturating_sub(self.free_at.since(now));
        self.free_at = new;
        ends
    }

    /// Takes back `packets`, all whose transmission starts, or ends, after `since`, the time at
    /// which everything before them will have been sent. Sends nothing until `free`.
    pub fn withdraw(&mut self, since: Time, packets: &[Packet], free: Time) {
        self.forget_started(since);
        for (start, ..) in self.waiting.drain(..) {
            self.wait = self.wait.saturating_sub(start.since(since));
        }
        self.backlog = Backlog { empty_since: since, ..Backlog::default() };
        for packet in packets {
            self.sent.packets -= 1;
            self.sent.bytes -= u64::from(packet.size);
        }
        self.busy = self.busy.saturating_sub(self.free_at.since(since.max(self.idle_until)));
        (self.free_at, self.idle_until, self.cut) = (free, Time::ZERO, true);
    }

    /// Returns the number of admitted packets that have not been sent.
    pub fn unsent(&self, now: Time) -> usize {
        let waiting = self.waiting.iter().rev().take_while(|(start, ..)| *start > now).count();
        waiting + usize::from(self.free_at > now && self.silent_until() <= now)
    }

    /// Returns the framing's unit, or the unit without framing.
    pub fn unit(&self) -> Unit {
        self.framer.as_deref().map_or(Unit::default(), Unit::of)
    }

    /// Returns the framing, if any, with its result for the last admitted packet.
    pub fn framed(&self) -> Option<(&dyn Framer, Added)> {
        self.framer.as_deref().map(|framer| (framer, self.added))
    }

    /// Returns the number of bytes to send for a packet.
    #[inline]
    fn frame(&mut self, now: Time, packet: &Packet) -> u32 {
        let Some(framer) = &mut self.framer else { return packet.size };
        let unit = framer.unit();
        // The last unit starts its own transmission time before the end.
        let ahead =
            self.free_at > now && self.free_at.since(now) >= self.pace.rate().span_of(u64::from(unit));
        let open = !std::mem::take(&mut self.cut) && ahead;
        self.added = framer.add(packet.size, open);
        self.added.units * unit
    }

    #[inline]
    fn count(&mut self, size: u32, bytes: u32) -> Span {
        let time = self.pace.span_of(bytes);
        self.busy += time;
        self.sent.packets += 1;
        self.sent.bytes += u64::from(size);
        time
    }

    #[inline]
    fn forget_started(&mut self, now: Time) {
        if self.backlog.packets == 0 {
            return;
        }
        while let Some(&(start, size, _)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(size);
            self.backlog.empty_since = start;
        }
    }

    /// Writes the row of link `name`. Its `pending` packets are admitted but not yet transmitted;
    /// they are excluded from the counts and from the transmission time.
    pub fn report(&self, name: &str, now: Time, pending: Held, error_drops: u64, report: &mut Report) {
        self.report_with(SentWhileIdle::nothing(self), name, now, pending, error_drops, report);
    }

    /// Writes the row as `report` does, with the packets of `meanwhile` added.
    pub fn report_with(
        &self,
        meanwhile: SentWhileIdle,
        name: &str,
        now: Time,
        pending: Held,
        error_drops: u64,
        report: &mut Report,
    ) {
        let unsent = meanwhile.free_at.since(now.max(self.silent_until()));
        let busy = (self.busy + meanwhile.busy).saturating_sub(unsent);
        let packets = self.sent.packets + meanwhile.sent.packets;
        let values = [
            (packets - pending.packets) as f64,
            (self.sent.bytes + meanwhile.sent.bytes - pending.bytes) as f64,
            busy.as_secs_f64() / now.as_secs_f64(),
            self.queue_drops as f64,
            error_drops as f64,
            self.queue_max as f64,
            if packets == 0 { f64::NAN } else { self.wait.as_secs_f64() / packets as f64 },
        ];
        report.row(&REPORT, name, &values);
    }
}
