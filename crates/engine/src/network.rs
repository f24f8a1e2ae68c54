//! The graph of stages and the one event loop over it. Drivers decide what time it is: the virtual clock jumps to
//! the next wake, the real clock waits for it.

use crate::wakes::Wakes;
use bentpipe_core::{Held, Outbox, Packet, Port, Report, Stage, Time};

/// Number of a stage in its network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StageId(pub u32);

/// Where an out port leads.
#[derive(Clone, Copy, Debug)]
struct Wire {
    stage: u32,
    port: Port,
}

const LOOSE: Wire = Wire { stage: u32::MAX, port: Port(0) };

/// Stages, the wires between their ports, and what is due.
pub struct Network {
    stages: Vec<Box<dyn Stage>>,
    names: Vec<String>,
    wires: Vec<Wire>,
    /// Where the wires of each stage begin in `wires`; one more entry than stages.
    offsets: Vec<u32>,
    wakes: Wakes,
    out: Outbox,
    events: u64,
    receives: u64,
}

/// A network as it is put together.
#[derive(Default)]
pub struct Graph {
    stages: Vec<Option<Box<dyn Stage>>>,
    names: Vec<String>,
    wires: Vec<Vec<Wire>>,
}

impl Graph {
    /// Adds a stage under a name that no other stage has.
    pub fn add(&mut self, name: impl Into<String>, stage: Box<dyn Stage>) -> StageId {
        let id = self.reserve(name);
        self.fill(id, stage);
        id
    }

    /// Takes a number for a stage that comes later, so that others can be wired to it.
    pub fn reserve(&mut self, name: impl Into<String>) -> StageId {
        self.stages.push(None);
        self.names.push(name.into());
        self.wires.push(Vec::new());
        StageId(self.stages.len() as u32 - 1)
    }

    /// Puts a stage where its number was reserved.
    pub fn fill(&mut self, id: StageId, stage: Box<dyn Stage>) {
        self.stages[id.0 as usize] = Some(stage);
    }

    /// Leads out port `from` to in port `to`. Several out ports may lead to one in port.
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

    /// How many stages there are.
    pub fn len(&self) -> usize {
        self.stages.len()
    }

    /// Whether there are no stages.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// The finished network, whose stages write through `out`.
    pub fn finish(self, out: Outbox) -> Network {
        let mut offsets = vec![0];
        let mut wires = Vec::new();
        for of_stage in &self.wires {
            wires.extend_from_slice(of_stage);
            offsets.push(wires.len() as u32);
        }
        let filled =
            |(stage, name): (Option<_>, &String)| stage.unwrap_or_else(|| panic!("stage {name} is missing"));
        let stages: Vec<Box<dyn Stage>> = self.stages.into_iter().zip(&self.names).map(filled).collect();
        let mut wakes = Wakes::new(stages.len());
        for (index, stage) in stages.iter().enumerate() {
            wakes.set(index as u32, stage.next_wake());
        }
        Network { stages, names: self.names, wires, offsets, wakes, out, events: 0, receives: 0 }
    }
}

impl Network {
    /// When something is next due.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        self.wakes.first().map(|(time, _)| time)
    }

    /// Does all that is due at `now` or earlier, in order of time and then of stage numbers.
    #[inline]
    pub fn step(&mut self, now: Time) {
        while let Some((time, stage)) = self.wakes.first() {
            if time > now {
                break;
            }
            self.events += 1;
            self.out.begin(stage);
            let woken = &mut self.stages[stage as usize];
            woken.wake(time, &mut self.out);
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

    /// Hands in a packet from outside, at `now`.
    pub fn inject(&mut self, now: Time, stage: StageId, port: Port, packet: Packet) {
        self.receive(now, Wire { stage: stage.0, port }, packet);
        self.deliver(now);
    }

    #[inline]
    fn receive(&mut self, now: Time, wire: Wire, packet: Packet) {
        self.receives += 1;
        self.out.begin(wire.stage);
        let stage = &mut self.stages[wire.stage as usize];
        stage.receive(now, wire.port, packet, &mut self.out);
        self.wakes.set(wire.stage, stage.next_wake());
    }

    /// Delivers what has been sent at this moment, and what is sent in answer, in the order of sending.
    #[inline]
    fn deliver(&mut self, now: Time) {
        while let Some(sent) = self.out.next_sent() {
            let offset = self.offsets[sent.stage as usize] as usize + sent.port.0 as usize;
            let wire = self.wires[offset];
            self.receive(now, wire, sent.packet);
        }
    }

    /// Wakes so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Packets handed to stages so far.
    pub fn receives(&self) -> u64 {
        self.receives
    }

    /// Names of the stages, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Packets inside the stages at this moment.
    pub fn held(&self) -> Held {
        self.stages.iter().map(|stage| stage.held()).fold(Held::default(), |sum, held| Held {
            packets: sum.packets + held.packets,
            bytes: sum.bytes + held.bytes,
        })
    }

    /// What the stages have to say at the end of a run.
    pub fn report(&self, now: Time) -> Report {
        let mut report = Report::default();
        for stage in &self.stages {
            stage.report(now, &mut report);
        }
        report
    }

    /// The outbox: totals, recorder, capture.
    pub fn out(&mut self) -> &mut Outbox {
        &mut self.out
    }
}
