//! The contract of all parts that a packet passes, and the actions that a stage can take in one
//! call.

use crate::packet::Leg;
use crate::{Body, Packet};
use bentpipe_core::{FlowId, Probe, Recorder, Report, Span, Time, Whole};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// An input or output of a stage, numbered from 0 by the stage itself, inputs and outputs
/// separately.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Port(pub u16);

/// A part that packets pass: queue, MAC, link, channel, router, endpoint.
///
/// A stage never reads a clock. It gets the time as an argument, responds through the [`Outbox`],
/// and returns its next wake from [`Stage::next_wake`], which the event loop calls after every
/// other call. Each stage has at most one pending wake.
pub trait Stage: Send {
    /// Handles a packet that arrives at `port`. The packet must end in exactly one of these states:
    /// kept, sent, dropped, consumed.
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox);

    /// Handles the wake announced by [`Stage::next_wake`].
    fn wake(&mut self, now: Time, out: &mut Outbox);

    /// Handles a wake, as [`wake`](Self::wake) does. May then handle the stage's own following
    /// wakes before `until()`, as long as the stage has sent nothing, because no other stage is
    /// called before then. Processes at most `max` wakes, so that the driver regains control at
    /// bounded intervals. Returns the number of wakes.
    fn wake_until(&mut self, now: Time, _until: &dyn Fn() -> Time, _max: u64, out: &mut Outbox) -> u64 {
        self.wake(now, out);
        1
    }

    /// Returns the time of the next wake, if any. It is never earlier than the time of the last
    /// call.
    fn next_wake(&self) -> Option<Time>;

    /// Shortens delays from `now` on: releases packets `by` earlier than in the model, because the
    /// real path adds this delay. Returns the part of `by` that the model's delays can absorb. The
    /// rest is excess delay.
    fn hasten(&mut self, _now: Time, _by: Span) -> Span {
        Span::ZERO
    }

    /// Returns a lower bound of the time that a packet spends in the stage, for packets that enter
    /// before the stage's next wake. Zero, the default, is always valid.
    fn least_delay(&self) -> Span {
        Span::ZERO
    }

    /// Continues with another configuration from `now`. Only keys marked as changeable differ. A
    /// model that marks a key applies its change here, to waiting packets as well as to future
    /// ones. This call sends nothing; the stage sends due packets at its next wake, which may be
    /// now.
    fn change(&mut self, _now: Time, _change: Change<'_>, _out: &mut Outbox) {
        panic!("only keys marked as changeable change, and this stage's configuration marks none");
    }

    /// Returns the number and size of the packets inside the stage.
    fn held(&self) -> Held {
        Held::default()
    }

    /// Writes the rows of traces that are still open. Called once at the end of the run, before
    /// [`Stage::report`].
    fn finish(&mut self, _now: Time, _out: &mut Outbox) {}

    /// Writes the stage's reports at the end of a run.
    fn report(&self, _now: Time, _report: &mut Report) {}
}

/// Two configurations of one kind: the previous one and the new one.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    before: &'a dyn Any,
    after: &'a dyn Any,
}

impl<'a> Change<'a> {
    /// Creates a change from `before` to `after`.
    pub fn new<Config: Any>(before: &'a Config, after: &'a Config) -> Change<'a> {
        Change { before, after }
    }

    /// Creates a change from `before` to `after`, for a caller that does not know the type of the
    /// configurations.
    pub fn of_any(before: &'a dyn Any, after: &'a dyn Any) -> Change<'a> {
        Change { before, after }
    }

    /// Returns the previous and the new configuration, for the stage that was built from the
    /// previous one.
    pub fn of<Config: Any>(&self) -> (&'a Config, &'a Config) {
        let both = self.before.downcast_ref().zip(self.after.downcast_ref());
        both.expect("a stage is given a change of its own configuration")
    }
}

/// Number and size of packets, such as those inside a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// Number of packets.
    pub packets: u64,
    /// Total size at the network layer, in bytes.
    pub bytes: u64,
}

impl std::iter::Sum for Held {
    fn sum<I: Iterator<Item = Held>>(parts: I) -> Held {
        parts.fold(Held::default(), |sum, part| Held {
            packets: sum.packets + part.packets,
            bytes: sum.bytes + part.bytes,
        })
    }
}

/// The reason for a drop. Each reason is a constant next to the model that uses it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DropReason(&'static str);

impl DropReason {
    /// Creates a reason with the words shown in results.
    pub const fn new(words: &'static str) -> DropReason {
        DropReason(words)
    }

    /// Returns the words shown in results.
    pub const fn words(self) -> &'static str {
        self.0
    }
}

impl fmt::Debug for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The packets and bytes that a network has created, consumed and dropped so far. At any time,
/// created = consumed + dropped + held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets created by endpoints.
    pub created: Held,
    /// Packets that have reached their destination.
    pub consumed: Held,
    /// Dropped packets, by stage index and reason.
    pub dropped: BTreeMap<(u32, DropReason), Held>,
    /// Dropped packets of the scenario's flows, in more detail.
    pub lost: BTreeMap<Loss, Held>,
}

/// The properties by which lost packets are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loss {
    /// The flow to which the lost packets belong.
    pub flow: FlowId,
    /// The leg of the flow on which they were lost.
    pub leg: Leg,
    /// True if the lost packets had payload; pure acknowledgments and reports have none.
    pub data: bool,
    /// Code point (DSCP) of the lost packets at the time of the loss.
    pub dscp: u8,
    /// Index of the stage that dropped the packets.
    pub stage: u32,
    /// The reason for the drop.
    pub reason: DropReason,
}

impl Held {
    /// Counts one more packet.
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
    }
}

/// Collects the actions of a stage in one call. Owned by the event loop and reused for every call.
#[derive(Default)]
pub struct Outbox {
    /// Packets that were sent and have not been delivered.
    sent: VecDeque<Whole<Packet>>,
    /// Stage and output port of each packet in `sent`, kept separately so that a packet moves in
    /// one piece.
    exits: VecDeque<(u32, Port)>,
    stage: u32,
    totals: Totals,
    recorder: Recorder,
    capture: Option<Box<dyn Capture>>,
    outside: VecDeque<Leaving>,
    spare: Vec<Box<[u8]>>,
}

/// A packet that has left the network through a gate, on its way to a real host.
#[derive(Debug)]
pub struct Leaving {
    /// Number of the gate.
    pub gate: u32,
    /// Time at which the network released the packet and the host should receive it.
    pub due: Time,
    /// The packet as it left the network.
    pub packet: Packet,
}

/// A packet on its way out of a stage.
#[derive(Debug)]
pub struct Sent {
    /// The stage that sent it.
    pub stage: u32,
    /// Output port of that stage.
    pub port: Port,
    /// The packet as it left the stage.
    pub packet: Packet,
}

/// A receiver of packets, as a capture tool sees them at an interface.
pub trait Capture: Send {
    /// Records a packet that passes `interface` at `now`.
    fn packet(&mut self, interface: u32, now: Time, packet: &Packet);
}

impl Outbox {
    /// Creates an empty outbox whose probes write to `recorder`.
    pub fn new(recorder: Recorder) -> Outbox {
        Outbox { recorder, ..Outbox::default() }
    }

    /// Sends a packet through output `port`.
    #[inline(always)]
    pub fn send(&mut self, port: Port, packet: Packet) {
        self.exits.push_back((self.stage, port));
        self.sent.push_back(Whole::new(packet));
    }

    /// Sends a packet through output `port`. `take` moves it directly from its previous place into
    /// the outbox.
    #[inline]
    pub fn send_with(&mut self, port: Port, take: impl FnOnce() -> Whole<Packet>) {
        self.exits.push_back((self.stage, port));
        self.sent.extend(std::iter::once_with(take));
    }

    /// Sends a packet that this stage has just created.
    #[inline]
    pub fn create(&mut self, port: Port, packet: Packet) {
        self.totals.created.add(&packet);
        self.send(port, packet);
    }

    /// Sends a new packet of `size` bytes, as [`create`](Self::create) does. `make` builds it in
    /// place, which saves a move. Room is reserved first, so nothing can fail after the packet
    /// exists.
    #[inline]
    pub fn create_with(&mut self, port: Port, size: u32, make: impl FnOnce() -> Packet) {
        self.totals.created.packets += 1;
        self.totals.created.bytes += u64::from(size);
        self.exits.push_back((self.stage, port));
        self.sent.extend(std::iter::once_with(|| Whole::new(make())));
    }

    /// Shows the last sent packet to the capture, as [`capture`](Self::capture) does.
    #[inline]
    pub fn capture_sent(&mut self, interface: u32, now: Time) {
        if let (Some(capture), Some(packet)) = (&mut self.capture, self.sent.back_mut()) {
            capture.packet(interface, now, packet.get_mut());
        }
    }

    /// Counts a packet that this stage has created and keeps, to [`send`](Self::send) it later.
    #[inline]
    pub fn create_held(&mut self, packet: &Packet) {
        self.totals.created.add(packet);
    }

    /// Counts a packet as consumed at its destination and returns it.
    #[inline]
    pub fn consume(&mut self, packet: Packet) -> Packet {
        self.totals.consumed.add(&packet);
        packet
    }

    /// Counts a message of this stage that reaches its receiver without travelling as a packet.
    #[inline]
    pub fn pass(&mut self, bytes: u32) {
        for held in [&mut self.totals.created, &mut self.totals.consumed] {
            held.packets += 1;
            held.bytes += u64::from(bytes);
        }
    }

    /// Counts a packet as consumed at its destination, without moving it;
    /// [`consume`](Self::consume) moves it.
    #[inline]
    pub fn consumed(&mut self, packet: &Packet) {
        self.totals.consumed.add(packet);
    }

    /// Drops a packet for a named reason.
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.totals.dropped.entry((self.stage, reason)).or_default().add(&packet);
        if let (Some(data), true) = (packet.body.has_payload(), packet.flow.0 < FlowId::UNKNOWN) {
            let Packet { flow, leg, dscp, .. } = packet;
            let loss = Loss { flow, leg, data, dscp, stage: self.stage, reason };
            self.totals.lost.entry(loss).or_default().add(&packet);
        }
        if let Body::Frame(buffer) = packet.body {
            self.spare.push(buffer);
        }
    }

    /// Releases a packet to the real host behind gate number `gate`.
    #[inline]
    pub fn leave(&mut self, now: Time, gate: u32, packet: Packet) {
        self.totals.consumed.add(&packet);
        self.outside.push_back(Leaving { gate, due: now, packet });
    }

    /// Writes one row of a trace. Guard the call with the `Option<Probe>` that the stage was built
    /// with, so that a disabled trace costs one branch.
    #[inline]
    pub fn record(&mut self, probe: Probe, now: Time, values: &[f64]) {
        self.recorder.record(probe, now, values);
    }

    /// Shows a packet to the capture, if there is one. Guard the call with the interface that the
    /// stage was built with.
    #[inline]
    pub fn capture(&mut self, interface: u32, now: Time, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            capture.packet(interface, now, packet);
        }
    }

    /// Sets the receiver of captured packets and returns the previous one.
    pub fn set_capture(&mut self, capture: Option<Box<dyn Capture>>) -> Option<Box<dyn Capture>> {
        std::mem::replace(&mut self.capture, capture)
    }

    /// For the event loop: sets the stage that is about to be called.
    #[inline]
    pub fn begin(&mut self, stage: u32) {
        self.stage = stage;
    }

    /// Returns true if sent packets have not been delivered yet.
    #[inline]
    pub fn has_sent(&self) -> bool {
        !self.exits.is_empty()
    }

    /// For the event loop: returns stage and output port of the next packet, in the order of
    /// sending. The packet itself must then be [taken](Self::take_sent); it is separate so that it
    /// moves in one piece.
    #[inline]
    pub fn next_exit(&mut self) -> Option<(u32, Port)> {
        self.exits.pop_front()
    }

    /// For the event loop: returns the packet that belongs to [`next_exit`](Self::next_exit).
    /// Panics if there is none.
    #[inline]
    pub fn take_sent(&mut self) -> Packet {
        self.sent.pop_front().expect("a packet was sent").into_inner()
    }

    /// Returns the next sent packet, in the order of sending.
    pub fn next_sent(&mut self) -> Option<Sent> {
        let (stage, port) = self.next_exit()?;
        Some(Sent { stage, port, packet: self.take_sent() })
    }

    /// For the driver: returns the next packet for a real host.
    #[inline]
    pub fn next_leaving(&mut self) -> Option<Leaving> {
        self.outside.pop_front()
    }

    /// For the driver: returns true if packets for real hosts are waiting.
    #[inline]
    pub fn is_any_leaving(&self) -> bool {
        !self.outside.is_empty()
    }

    /// For the driver: returns the buffers of dropped frames, for reuse.
    #[inline]
    pub fn spare(&mut self) -> &mut Vec<Box<[u8]>> {
        &mut self.spare
    }

    /// Returns the number of sent packets that have not been delivered yet.
    pub fn sent_count(&self) -> usize {
        self.sent.len()
    }

    /// Returns the sent packets that have not been delivered yet, without the first `count`.
    pub fn sent_since(&mut self, count: usize) -> impl Iterator<Item = &mut Packet> {
        self.sent.iter_mut().skip(count).map(Whole::get_mut)
    }

    /// Returns the packets created, consumed and dropped so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the recorder, for example to flush it at the end.
    pub fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }
}
