//! The contract of everything that a packet passes through, and the actions that a stage can take
//! in one call.

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

/// One thing that a packet passes through: queue, MAC, link, channel, router, endpoint.
///
/// A stage never reads a clock. It gets the time as an argument, responds through the [`Outbox`],
/// and states when it next wants to be woken; the event loop calls [`Stage::next_wake`] after every
/// call. Each stage has one pending wake.
pub trait Stage: Send {
    /// Handles a packet that arrives at `port`. The packet must end in exactly one of: kept, sent,
    /// dropped, consumed.
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox);

    /// Called at the time announced by [`Stage::next_wake`].
    fn wake(&mut self, now: Time, out: &mut Outbox);

    /// [`wake`](Self::wake), after which the stage may continue with its own wakes that come before
    /// `until()`, as long as it has sent nothing: no other stage is called before then. It
    /// continues up to `most` wakes, so that whoever waits for it to return can look around.
    /// Returns the number of wakes.
    fn wake_until(&mut self, now: Time, _until: &dyn Fn() -> Time, _most: u64, out: &mut Outbox) -> u64 {
        self.wake(now, out);
        1
    }

    /// When to wake this stage next, if at all. Never earlier than the time of the last call.
    fn next_wake(&self) -> Option<Time>;

    /// From `now` on, hands on everything `by` earlier than in the model, since the path beyond
    /// takes that long in reality. Returns how much of it the model's delays can absorb: the rest
    /// is delay beyond that of the model.
    fn hasten(&mut self, _now: Time, _by: Span) -> Span {
        Span::ZERO
    }

    /// Returns a lower bound of the time that a packet spends in the stage, for packets that enter
    /// it before the stage's next wake. Zero, the default, is always right.
    fn least_delay(&self) -> Span {
        Span::ZERO
    }

    /// Continues with another configuration from `now`. Only keys marked as changeable differ: a
    /// model that marks a key acts on it here, for what waits as well as for what is to come. It
    /// sends nothing; what is due now it sends when it is woken, which may be now.
    fn change(&mut self, _now: Time, _change: Change<'_>, _out: &mut Outbox) {
        panic!("a stage changes what its configuration marks as changeable, and this one marks nothing");
    }

    /// Returns the packets inside the stage at this time.
    fn held(&self) -> Held {
        Held::default()
    }

    /// Called once at the end of the run, before [`Stage::report`]: writes the rows of traces that
    /// are still open.
    fn finish(&mut self, _now: Time, _out: &mut Outbox) {}

    /// Writes the stage's reports at the end of a run.
    fn report(&self, _now: Time, _report: &mut Report) {}
}

/// Two configurations of one kind: the previous one and the one that holds from now on.
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

    /// From `before` to `after`, of which the caller does not know what configurations they are.
    pub fn of_any(before: &'a dyn Any, after: &'a dyn Any) -> Change<'a> {
        Change { before, after }
    }

    /// Returns the two configurations, for the stage that was built from the first.
    pub fn of<Config: Any>(&self) -> (&'a Config, &'a Config) {
        let both = self.before.downcast_ref().zip(self.after.downcast_ref());
        both.expect("a stage is told of the configuration that it was made from")
    }
}

/// Packets inside a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// Number of packets inside the stage.
    pub packets: u64,
    /// Their size at the network layer in bytes.
    pub bytes: u64,
}

/// The reason for which a packet was dropped. Each reason is a constant next to the model that
/// drops for it.
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

/// Packets and bytes that were created, consumed and dropped so far in a network.
/// At any moment created = consumed + dropped + held.
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
    /// True if they had payload: pure acknowledgments and reports have none.
    pub data: bool,
    /// Their code point (DSCP) when they were lost.
    pub dscp: u8,
    /// Index of the stage that dropped them.
    pub stage: u32,
    /// The reason for which they were dropped.
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
    /// Stage and output port of each packet in `sent`, kept separately so that packets are moved in
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
    /// When the network released it: when the host should receive it.
    pub due: Time,
    /// The packet as it is at that moment.
    pub packet: Packet,
}

/// A packet on its way out of a stage.
#[derive(Debug)]
pub struct Sent {
    /// The stage that sent it.
    pub stage: u32,
    /// Output port of that stage.
    pub port: Port,
    /// The packet as it is at that moment.
    pub packet: Packet,
}

/// Receives packets as a capture tool would see them at an interface.
pub trait Capture: Send {
    /// Records a packet that passes `interface` at `now`.
    fn packet(&mut self, interface: u32, now: Time, packet: &Packet);
}

impl Outbox {
    /// Creates an empty outbox whose probes write to `recorder`.
    pub fn new(recorder: Recorder) -> Outbox {
        Outbox { recorder, ..Outbox::default() }
    }

    /// Sends a packet that is passed on through output `port`.
    #[inline(always)]
    pub fn send(&mut self, port: Port, packet: Packet) {
        self.exits.push_back((self.stage, port));
        self.sent.push_back(Whole::new(packet));
    }

    /// [`send`](Self::send) of a packet that `take` removes from where it was kept, straight to its
    /// place.
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

    /// [`create`](Self::create) of a packet of `size` bytes that `make` builds in its place: room
    /// is reserved before it exists, so that nothing can fail that would have to drop it, and it
    /// need not be assembled elsewhere first.
    #[inline]
    pub fn create_with(&mut self, port: Port, size: u32, make: impl FnOnce() -> Packet) {
        self.totals.created.packets += 1;
        self.totals.created.bytes += u64::from(size);
        self.exits.push_back((self.stage, port));
        self.sent.extend(std::iter::once_with(|| Whole::new(make())));
    }

    /// Shows the packet that was last sent to the capture, as [`capture`](Self::capture) does.
    #[inline]
    pub fn capture_sent(&mut self, interface: u32, now: Time) {
        if let (Some(capture), Some(packet)) = (&mut self.capture, self.sent.back_mut()) {
            capture.packet(interface, now, packet.get_mut());
        }
    }

    /// Counts a packet that this stage has just made and keeps, to [`send`](Self::send) it later.
    #[inline]
    pub fn create_held(&mut self, packet: &Packet) {
        self.totals.created.add(packet);
    }

    /// Takes a packet that has reached the stage it was meant for, and returns it.
    #[inline]
    pub fn consume(&mut self, packet: Packet) -> Packet {
        self.totals.consumed.add(&packet);
        packet
    }

    /// Counts a message of this stage that reaches its receiver by other means than as a packet.
    #[inline]
    pub fn pass(&mut self, bytes: u32) {
        for held in [&mut self.totals.created, &mut self.totals.consumed] {
            held.packets += 1;
            held.bytes += u64::from(bytes);
        }
    }

    /// Counts a packet that has reached the stage it was meant for and is dropped where it is:
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

    /// Lets a packet go to the real host behind gate number `gate`.
    #[inline]
    pub fn leave(&mut self, now: Time, gate: u32, packet: Packet) {
        self.totals.consumed.add(&packet);
        self.outside.push_back(Leaving { gate, due: now, packet });
    }

    /// Writes one row of a trace. Guard it with the `Option<Probe>` that the stage was built with,
    /// so that a trace that is off costs one branch.
    #[inline]
    pub fn record(&mut self, probe: Probe, now: Time, values: &[f64]) {
        self.recorder.record(probe, now, values);
    }

    /// Shows a packet to the capture, if there is one. Guard it with the interface that the stage
    /// was built with.
    #[inline]
    pub fn capture(&mut self, interface: u32, now: Time, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            capture.packet(interface, now, packet);
        }
    }

    /// Sets what captured packets go to.
    pub fn set_capture(&mut self, capture: Option<Box<dyn Capture>>) -> Option<Box<dyn Capture>> {
        std::mem::replace(&mut self.capture, capture)
    }

    /// For the event loop: the stage that is about to be called.
    #[inline]
    pub fn begin(&mut self, stage: u32) {
        self.stage = stage;
    }

    /// Returns true if packets that were sent have not been delivered.
    #[inline]
    pub fn has_sent(&self) -> bool {
        !self.exits.is_empty()
    }

    /// For the event loop: stage and out port of the next packet that was sent, in the order of
    /// sending. The packet itself has to be [taken](Self::take_sent) then; it comes apart from them
    /// to be moved in one piece.
    #[inline]
    pub fn next_exit(&mut self) -> Option<(u32, Port)> {
        self.exits.pop_front()
    }

    /// For the event loop: the packet that goes to [`next_exit`](Self::next_exit); panics when
    /// there is none.
    #[inline]
    pub fn take_sent(&mut self) -> Packet {
        self.sent.pop_front().expect("a packet was sent").into_inner()
    }

    /// Returns the next packet that was sent, in the order of sending.
    pub fn next_sent(&mut self) -> Option<Sent> {
        let (stage, port) = self.next_exit()?;
        Some(Sent { stage, port, packet: self.take_sent() })
    }

    /// For the driver: the next packet for a real host.
    #[inline]
    pub fn next_leaving(&mut self) -> Option<Leaving> {
        self.outside.pop_front()
    }

    /// For the driver: whether there are packets for real hosts.
    #[inline]
    pub fn is_any_leaving(&self) -> bool {
        !self.outside.is_empty()
    }

    /// For the driver: the buffers of dropped frames, to be filled again.
    #[inline]
    pub fn spare(&mut self) -> &mut Vec<Box<[u8]>> {
        &mut self.spare
    }

    /// What has been created, consumed and dropped so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the recorder, to flush it at the end.
    pub fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }
}
