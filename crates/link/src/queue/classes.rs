//! Traffic classes: names, code points, and a queue per class. A packet belongs to the class that
//! lists its DSCP, otherwise to the last class.

use super::buffer::{Buffer, Effects, Head, Waiting};
use super::Config;
use bentpipe_core::{Count, Dscp, Problems, Rate, Size, Time};
use bentpipe_stage::{facts, Held, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A class with a name and a list of code points that select its packets.
pub trait Named {
    /// Returns the name of the class.
    fn name(&self) -> &str;

    /// Returns the code points of the class. The last class of a list also takes all code points
    /// that no class lists.
    fn dscp(&self) -> &[Dscp];
}

/// Adds the problems of a list of classes.
pub fn check(classes: &[impl Named], problems: &mut Problems) {
    let mut seen = [None; 64];
    for (index, class) in classes.iter().enumerate() {
        problems.within(index.to_string(), |problems| {
            for dscp in class.dscp() {
                let place = &mut seen[usize::from(dscp.value())];
                if let Some(first) = *place {
                    let first: &str = classes[first as usize].name();
                    problems.add(
                        "dscp",
                        format!("{dscp} already belongs to \"{first}\"; allowed: each code point once"),
                    );
                }
                *place = Some(index as u16);
            }
            if class.dscp().is_empty() && index + 1 < classes.len() {
                let message =
                    "selects no packets; allowed: at least one code point, except for the last class";
                problems.add("dscp", message);
            }
        });
    }
}

/// Maps each code point to the index of its class.
pub fn by_dscp(classes: &[impl Named]) -> [u8; 64] {
    let mut table = [classes.len().saturating_sub(1) as u8; 64];
    for (index, class) in classes.iter().enumerate() {
        class.dscp().iter().for_each(|dscp| table[usize::from(dscp.value())] = index as u8);
    }
    table
}

/// A class of a scheduling queue: it has a name, selects packets by DSCP and has its own queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ScheduledClass")]
pub struct Class {
    /// Name of the class, used in messages.
    pub name: String,
    /// Code points (DSCP) of the class's packets. The last class also takes all code points that no
    /// class lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<Dscp>,
    /// Weight relative to the other classes, 1 to 10000. Default 1. Not allowed in a `priority`
    /// queue, where the order of the classes decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Count<1, 10_000>>,
    /// Queue discipline of the class, which may contain further classes.
    #[serde(default)]
    pub queue: Config,
}

impl Class {
    /// Returns the weight of the class, 1 if unset.
    pub fn weight(&self) -> u64 {
        self.weight.map_or(1, Count::value)
    }

    /// Creates a class for these code points, for queues that are built from other keys.
    pub(super) fn new(name: &str, dscp: Vec<Dscp>, weight: Option<u64>, queue: Config) -> Class {
        Class { name: name.to_owned(), dscp, weight: weight.map(Count::new), queue }
    }
}

impl Named for Class {
    fn name(&self) -> &str {
        &self.name
    }

    fn dscp(&self) -> &[Dscp] {
        &self.dscp
    }
}

/// Adds the problems of a scheduler's classes; `weighted` allows weights.
pub(super) fn check_scheduled(classes: &[Class], weighted: bool, problems: &mut Problems) {
    if classes.is_empty() || classes.len() > 64 {
        problems.add("classes", format!("{} classes; allowed: 1 to 64", classes.len()));
    }
    problems.within("classes", |problems| {
        check(classes, problems);
        for (index, class) in classes.iter().enumerate() {
            problems.within(index.to_string(), |problems| {
                if class.weight.is_some() && !weighted {
                    problems.add("weight", "has no effect, as the order of the classes decides; remove it");
                }
                problems.within("queue", |problems| class.queue.check(problems));
            });
        }
    });
}

/// Adds a problem if the quantum is out of range.
pub(super) fn check_quantum(quantum: Size, problems: &mut Problems) {
    if !(64..=1_000_000).contains(&quantum.bytes()) {
        problems.add("quantum", format!("{quantum} is out of range; allowed: 64 B to 1 MB"));
    }
}

/// Returns the facts of a scheduler of kind `kind` for packets of a code point: those of the queue
/// of their class.
pub(super) fn facts(kind: &'static str, classes: &[Class], rate: Rate, dscp: Dscp) -> facts::Queue {
    let class = &classes[usize::from(by_dscp(classes)[usize::from(dscp.value())])];
    let mut facts = class.queue.facts(rate, dscp);
    if classes.len() > 1 {
        facts.notes.push(format!(
            "{kind} serves {} classes, of which this is \"{}\"",
            classes.len(),
            class.name
        ));
    }
    facts::Queue { kind, ..facts }
}

/// The queues of all classes.
pub struct Lanes {
    by_dscp: [u8; 64],
    lanes: Vec<Box<dyn Buffer>>,
}

impl Lanes {
    /// Creates empty queues in front of a link of this rate.
    pub fn new(classes: &[Class], rate: Rate) -> Lanes {
        let lanes = classes.iter().map(|class| class.queue.build(rate).buffer()).collect();
        Lanes { by_dscp: by_dscp(classes), lanes }
    }

    /// Returns the number of classes.
    pub fn count(&self) -> usize {
        self.lanes.len()
    }

    /// Returns the size in bytes of the packet that the class could send now, if any.
    pub fn ready(&self, class: usize, now: Time) -> Option<u32> {
        self.lanes[class].head(now).filter(|head| head.at <= now).map(|head| head.size)
    }

    /// Returns true if the class has no waiting packets.
    pub fn is_empty(&self, class: usize) -> bool {
        self.lanes[class].held().packets == 0
    }
}

/// A policy that chooses the class to serve next.
pub trait Policy: Send {
    /// Called when a packet arrives at a class without waiting packets.
    fn begins(&mut self, _now: Time, _class: usize, _lanes: &Lanes) {}

    /// Returns the class to serve, which must have a packet ready.
    fn next(&mut self, now: Time, lanes: &Lanes) -> Option<usize>;

    /// Called after the class has sent `size` bytes; 0 if its packet was dropped instead.
    fn sent(&mut self, now: Time, class: usize, size: u32, lanes: &Lanes);
}

/// A buffer of several classes, served in the order that a policy chooses.
pub struct Scheduler<P> {
    lanes: Lanes,
    policy: P,
}

impl<P> Scheduler<P> {
    /// Creates a scheduler with empty queues.
    pub fn new(classes: &[Class], rate: Rate, policy: P) -> Scheduler<P> {
        Scheduler { lanes: Lanes::new(classes, rate), policy }
    }
}

impl<P: Policy> Buffer for Scheduler<P> {
    fn enqueue(&mut self, now: Time, packet: Packet, effects: &mut Effects<'_>) {
        let class = usize::from(self.lanes.by_dscp[usize::from(packet.dscp & 63)]);
        let idle = self.lanes.is_empty(class);
        self.lanes.lanes[class].enqueue(now, packet, effects);
        if idle && !self.lanes.is_empty(class) {
            self.policy.begins(now, class, &self.lanes);
        }
    }

    fn dequeue(&mut self, now: Time, effects: &mut Effects<'_>) -> Option<(Packet, Time)> {
        loop {
            let class = self.policy.next(now, &self.lanes)?;
            let packet = self.lanes.lanes[class].dequeue(now, effects);
            let size = packet.as_ref().map_or(0, |(packet, _)| packet.size);
            self.policy.sent(now, class, size, &self.lanes);
            if packet.is_some() {
                return packet;
            }
        }
    }

    /// Returns the head of the class that can send first; the earlier class in the list if several
    /// can.
    fn head(&self, now: Time) -> Option<Head> {
        self.lanes.lanes.iter().filter_map(|lane| lane.head(now)).min_by_key(|head| head.at)
    }

    fn held(&self) -> Held {
        self.lanes.lanes.iter().map(|lane| lane.held()).sum()
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = Waiting> + '_> {
        Box::new(self.lanes.lanes.iter().flat_map(|lane| lane.waiting()))
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.lanes.lanes.iter_mut().flat_map(|lane| lane.drain()).collect()
    }

    fn set_rate(&mut self, rate: Rate) {
        self.lanes.lanes.iter_mut().for_each(|lane| lane.set_rate(rate));
    }
}
