//! The graph of stages and its event loop. A driver determines the time: the virtual clock jumps to
//! the next wake, and the real clock waits for it.

use crate::change::{Changes, Orders};
use bentpipe_core::{Report, Span, Time, Wakes};
use bentpipe_networks::multicast::Groups;
use bentpipe_networks::node::router::Router;
use bentpipe_networks::StageId;
use bentpipe_scenario::{ScenarioError, Set};
use bentpipe_stage::packet::Leg;
use bentpipe_stage::{DropReason, Held, Outbox, Packet, Port, Stage};

/// The destination of an output port.
#[derive(Clone, Copy, Debug)]
struct Wire {
    stage: u32,
    port: Port,
}

const LOOSE: Wire = Wire { stage: u32::MAX, port: Port(0) };

/// The stage or router with a stage number.
enum Place {
    Stage(Box<dyn Stage>),
    /// Forwards packets without holding them.
    Router(Box<Router>),
}

impl Place {
    fn stage(&self) -> Option<&dyn Stage> {
        match self {
            Place::Stage(stage) => Some(&**stage),
            Place::Router(_) => None,
        }
    }
}

/// Stages, the wires between their ports, and pending wakes.
pub struct Network {
    places: Vec<Place>,
    names: Vec<String>,
    wires: Vec<Wire>,
    /// Index in `wires` of each stage's first wire; one more entry than stages.
    offsets: Vec<u32>,
    wakes: Wakes,
    changes: Changes,
    groups: Groups,
    out: Outbox,
    events: u64,
    receives: u64,
}

/// A network under construction.
#[derive(Default)]
pub struct Graph {
    places: Vec<Option<Place>>,
    names: Vec<String>,
    wires: Vec<Vec<Wire>>,
}

impl Graph {
    /// Adds a stage. `name` must differ from the names of all other stages.
    pub fn add(&mut self, name: impl Into<String>, stage: Box<dyn Stage>) -> StageId {
        let id = self.reserve(name);
        self.fill(id, stage);
        id
    }

    /// Reserves a number for a stage that is added later, so that other stages can be wired to it.
    pub fn reserve(&mut self, name: impl Into<String>) -> StageId {
        self.places.push(None);
        self.names.push(name.into());
        self.wires.push(Vec::new());
        StageId(self.places.len() as u32 - 1)
    }

    /// Returns the name under which a stage was added, or the name of the node for a router.
    pub fn name(&self, id: StageId) -> &str {
        &self.names[id.0 as usize]
    }

    /// Adds a stage under its reserved number.
    pub fn fill(&mut self, id: StageId, stage: Box<dyn Stage>) {
        self.places[id.0 as usize] = Some(Place::Stage(stage));
    }

    /// Adds a router under its reserved number.
    pub fn fill_router(&mut self, id: StageId, router: Router) {
        self.places[id.0 as usize] = Some(Place::Router(Box::new(router)));
    }

    /// Connects output port `from` to input port `to`. Several output ports may lead to one input
    /// port.
    pub fn wire(&mut self, from: (StageId, Port), to: (StageId, Port)) {
        let wires = &mut self.wires[from.0 .0 as usize];
        let port = from.1 .0 as usize;
        if wires.len() <= port {
            wires.resize(port + 1, LOOSE);
        }
        assert_eq!(
            wires[port].stage, LOOSE.stage,
            "out port {port} of {} is wired twice",
            self.names[from.0 .0 as usize]
        );
        wires[port] = Wire { stage: to.0 .0, port: to.1 };
    }

    /// Returns the number of stages.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns true if there are no stages.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the finished network. Its stages write to `out`.
    pub fn finish(self, out: Outbox) -> Network {
        let mut offsets = vec![0];
        let mut wires = Vec::new();
        for of_stage in &self.wires {
            wires.extend_from_slice(of_stage);
            offsets.push(wires.len() as u32);
        }
        let filled =
            |(place, name): (Option<_>, &String)| place.unwrap_or_else(|| panic!("stage {name} is missing"));
        let places: Vec<Place> = self.places.into_iter().zip(&self.names).map(filled).collect();
        let mut wakes = Wakes::new(places.len());
        for (index, place) in places.iter().enumerate() {
            wakes.set(index as u32, place.stage().and_then(Stage::next_wake));
        }
        let (names, changes, groups) = (self.names, Changes::default(), Groups::default());
        Network { places, names, wires, offsets, wakes, changes, groups, out, events: 0, receives: 0 }
    }
}

impl Network {
    /// Returns the time of the next wake or change.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        let wake = self.wakes.first().map(|(time, _)| time);
        match self.changes.next() {
            Some(change) => Some(wake.map_or(change, |wake| wake.min(change))),
            None => wake,
        }
    }

    /// Processes all wakes and changes that are due at `now` or earlier, in order of time. At equal
    /// times, the scenario's changes come first, and then the stages in the order of their numbers.
    #[inline]
    pub fn step(&mut self, now: Time) {
        self.step_within(now, u64::MAX);
    }

    /// Processes all wakes and changes that are due at `now` or earlier, but stops after the event
    /// with number `last`.
    #[inline]
    fn step_within(&mut self, now: Time, last: u64) {
        loop {
            let change = self.changes.next().filter(|at| *at <= now);
            self.wake_before(change.unwrap_or(now + Span::from_nanos(1)), last);
            if self.events >= last {
                return;
            }
            let Some(at) = change else { return };
            let orders = self.changes.apply_next();
            self.apply_changes(at, orders);
        }
    }

    /// Processes all events that are due at `now` or earlier, and then sets a key of the scenario
    /// to another value. Key and value are written as in an override, such as `link.sat.rate` and
    /// `1 Mbit/s`. See [`changeable`](crate::changeable).
    ///
    /// # Errors
    /// Returns the problems if the key or the value is wrong, or if a later change of the scenario
    /// would then be refused. The network is then unchanged.
    pub fn change(&mut self, now: Time, key: &str, value: &str) -> Result<(), ScenarioError> {
        self.step(now);
        let orders = self.changes.set(key, value)?;
        self.apply_changes(now, orders);
        Ok(())
    }

    /// Returns the keys that the scenario or calls of `change` have changed since the start, with
    /// their last values. The keys are in tables such as `{"link": {"sat": {"rate": "1 Mbit/s"}}}`.
    pub fn changed(&self) -> &Set {
        self.changes.made()
    }

    pub(crate) fn expect_changes(&mut self, changes: Changes) {
        self.changes = changes;
    }

    pub(crate) fn set_groups(&mut self, groups: Groups) {
        self.groups = groups;
    }

    /// Applies a configuration change to each affected stage, in stage order.
    #[cold]
    fn apply_changes(&mut self, now: Time, mut orders: Orders) {
        for (number, place) in self.places.iter_mut().enumerate() {
            // A router has the name of its node, which may also be the name of a link.
            let Place::Stage(stage) = place else { continue };
            let Some(change) = orders.remove(&self.names[number]) else { continue };
            self.out.begin(number as u32);
            stage.change(now, change.change(), &mut self.out);
            self.wakes.set(number as u32, stage.next_wake());
        }
        assert!(orders.is_empty(), "every configuration has its stages");
        assert!(self.out.next_exit().is_none(), "a stage sends when it is woken");
    }

    /// Processes all wakes before `end`, but stops after the event with number `last`.
    #[inline]
    fn wake_before(&mut self, end: Time, last: u64) {
        while let Some((time, stage)) = self.wakes.first() {
            if time >= end || self.events >= last {
                break;
            }
            self.out.begin(stage);
            let Place::Stage(woken) = &mut self.places[stage as usize] else {
                unreachable!("routers wait for nothing")
            };
            let until = || self.wakes.others(stage).min(end);
            self.events += woken.wake_until(time, &until, last - self.events, &mut self.out);
            let wake = woken.next_wake();
            debug_assert!(
                wake.is_none_or(|wake| wake >= time),
                "{} wakes in the past",
                self.names[stage as usize]
            );
            self.wakes.set(stage, wake);
            self.deliver(time);
        }
    }

    /// Runs on the virtual clock up to and including `end`.
    pub fn run_until(&mut self, end: Time) {
        self.step(end);
    }

    /// Runs on the virtual clock up to and including `end`, but stops when `max` events have been
    /// processed and no further event is due at the same time. Returns the time that was reached.
    pub fn run_some(&mut self, end: Time, max: u64) -> Time {
        let last = self.events.saturating_add(max);
        self.step_within(end, last);
        let pending = self.next_wake().filter(|next| *next <= end && self.events >= last);
        let reached = pending.unwrap_or(end);
        self.step(reached);
        reached
    }

    /// Injects a packet from outside at `now`.
    pub fn inject(&mut self, now: Time, stage: StageId, port: Port, packet: Packet) {
        self.receive(now, Wire { stage: stage.0, port }, packet);
        self.deliver(now);
    }

    /// Drops a packet with a reason. The packet has left the network through the gate `stage`, but
    /// the receiver outside had no room for it and returned it.
    pub fn drop_at(&mut self, stage: StageId, packet: Packet, reason: DropReason) {
        let out = self.out();
        out.begin(stage.0);
        out.create_held(&packet);
        out.drop(packet, reason);
    }

    /// Processes all events that are due at `now` or earlier. From then on, makes a stage release
    /// packets `by` earlier than in its model; see [`Stage::hasten`]. Returns the part of `by` that
    /// the stage can achieve.
    pub fn hasten(&mut self, now: Time, stage: StageId, by: Span) -> Span {
        self.step(now);
        let Place::Stage(hastened) = &mut self.places[stage.0 as usize] else { return Span::ZERO };
        let could = hastened.hasten(now, by);
        self.wakes.set(stage.0, hastened.next_wake());
        could
    }

    /// Returns the minimum time that a packet spends in one of these stages, if it enters before
    /// the network's next wake ([`Stage::least_delay`](bentpipe_stage::Stage::least_delay)).
    /// Returns zero for an empty list of stages.
    pub fn least_delay(&self, stages: &[StageId]) -> Span {
        let delay = |stage: &StageId| match &self.places[stage.0 as usize] {
            Place::Stage(stage) => stage.least_delay(),
            Place::Router(_) => Span::ZERO,
        };
        stages.iter().map(delay).min().unwrap_or(Span::ZERO)
    }

    #[inline(always)]
    fn receive(&mut self, now: Time, wire: Wire, packet: Packet) {
        self.receives += 1;
        self.out.begin(wire.stage);
        match &mut self.places[wire.stage as usize] {
            Place::Stage(stage) => {
                stage.receive(now, wire.port, packet, &mut self.out);
                self.wakes.set(wire.stage, stage.next_wake());
            }
            Place::Router(_) => self.route(now, wire.stage, packet),
        }
    }

    /// Forwards a packet that has arrived at a router. This is a separate function, so that packets
    /// for other stages are moved only once.
    #[inline(never)]
    fn route(&mut self, now: Time, at: u32, mut packet: Packet) {
        let Place::Router(router) = &mut self.places[at as usize] else { unreachable!("it was looked at") };
        if packet.destination.is_group() {
            return match router.copies(now, &mut packet, &mut self.out) {
                Ok(copies) => self.copy(now, at, &copies, packet),
                Err(reason) => self.out.drop(packet, reason),
            };
        }
        match router.forward(now, &mut packet, &mut self.out) {
            Ok(port) => self.receive(now, self.wire(at, port), packet),
            Err(reason) => self.out.drop(packet, reason),
        }
    }

    /// Sends copies of a multicast packet through output ports of a router.
    fn copy(&mut self, now: Time, at: u32, copies: &[(Port, Leg)], packet: Packet) {
        let Some(((last, leg), others)) = copies.split_last() else { unreachable!("a group has receivers") };
        for (port, leg) in others {
            let copy = Packet { leg: *leg, ..packet.clone() };
            self.out.create_held(&copy);
            self.receive(now, self.wire(at, *port), copy);
        }
        self.receive(now, self.wire(at, *last), Packet { leg: *leg, ..packet });
    }

    /// Returns the destination of a stage's output port.
    #[inline]
    fn wire(&self, stage: u32, port: Port) -> Wire {
        self.wires[self.offsets[stage as usize] as usize + port.0 as usize]
    }

    /// Delivers all packets that were sent at this time, and the packets sent in response, in the
    /// order of sending.
    #[inline(always)]
    fn deliver(&mut self, now: Time) {
        while let Some((stage, port)) = self.out.next_exit() {
            let wire = self.wire(stage, port);
            let packet = self.out.take_sent();
            self.receive(now, wire, packet);
        }
    }

    /// Returns the number of wakes so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the number of packets handed to stages so far.
    pub fn receives(&self) -> u64 {
        self.receives
    }

    /// Returns the names of the stages, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number and the size of the packets inside the stages.
    pub fn held(&self) -> Held {
        self.places.iter().filter_map(Place::stage).map(Stage::held).fold(Held::default(), |sum, held| Held {
            packets: sum.packets + held.packets,
            bytes: sum.bytes + held.bytes,
        })
    }

    /// Makes the stages write the rows of traces that are still open, at the end of a run.
    pub fn finish(&mut self, now: Time) {
        for (number, place) in self.places.iter_mut().enumerate() {
            if let Place::Stage(stage) = place {
                self.out.begin(number as u32);
                stage.finish(now, &mut self.out);
            }
        }
    }

    /// Collects the stages' reports at the end of a run.
    pub fn report(&self, now: Time) -> Report {
        let mut report = Report::default();
        for place in &self.places {
            match place {
                Place::Stage(stage) => stage.report(now, &mut report),
                Place::Router(router) => router.report(&mut report),
            }
        }
        self.groups.report(self.out.totals(), &mut report);
        report
    }

    /// Returns the outbox, with its totals, recorder and capture.
    pub fn out(&mut self) -> &mut Outbox {
        &mut self.out
    }
}
