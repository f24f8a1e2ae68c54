//! Traffic classes: names, the code points of their packets, and queues of their own. The list is in order; a packet belongs to the
//! class that names its DSCP, or to the last one.

use super::buffer::{Buffer, Effects, Head};
use super::Config;
use crate::{Held, Packet};
use bentpipe_core::{Count, Dscp, Problems, Rate, Size, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What has a name and code points, so that packets can be told to belong to it.
pub trait Named {
    /// Its name.
    fn name(&self) -> &str;

    /// Code points of its packets; the last of a list has all others, too.
    fn dscp(&self) -> &[Dscp];
}

/// Adds what is wrong with a list of classes.
pub fn check(classes: &[impl Named], problems: &mut Problems) {
    let mut seen = [None; 64];
    for (index, class) in classes.iter().enumerate() {
        problems.within(index.to_string(), |problems| {
            for dscp in class.dscp() {
                let place = &mut seen[usize::from(dscp.value())];
                if let Some(first) = *place {
                    let first: &str = classes[first as usize].name();
                    problems
                        .add("dscp", format!("{dscp} belongs to \"{first}\"; allowed: a code point once"));
                }
                *place = Some(index as u16);
            }
            if class.dscp().is_empty() && index + 1 < classes.len() {
                let message = "no packets belong to it; allowed: code points, or none for the last class";
                problems.add("dscp", message);
            }
        });
    }
}

/// The class of each code point.
pub fn by_dscp(classes: &[impl Named]) -> [u8; 64] {
    let mut table = [classes.len().saturating_sub(1) as u8; 64];
    for (index, class) in classes.iter().enumerate() {
        class.dscp().iter().for_each(|dscp| table[usize::from(dscp.value())] = index as u8);
    }
    table
}

/// A class of a scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ScheduledClass")]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Code points of its packets; the last class has all others, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<Dscp>,
    /// Its share beside the other classes' weights, 1 when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Count<1, 10_000>>,
    /// Its queue, which may have classes of its own.
    #[serde(default)]
    pub queue: Config,
}

impl Class {
    /// Its weight.
    pub fn weight(&self) -> u64 {
        self.weight.map_or(1, Count::value)
    }

    /// A class of these code points with a queue, for trees that are built.
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

/// Adds what is wrong with the classes of a scheduler, in which weights may count.
pub(super) fn check_scheduled(classes: &[Class], weighted: bool, problems: &mut Problems) {
    if classes.is_empty() || classes.len() > 64 {
        problems.add("classes", format!("{} classes; allowed: 1 to 64", classes.len()));
    }
    problems.within("classes", |problems| {
        check(classes, problems);
        for (index, class) in classes.iter().enumerate() {
            problems.within(index.to_string(), |problems| {
                if class.weight.is_some() && !weighted {
                    problems.add("weight", "the order of the classes decides; allowed: no weight");
                }
                problems.within("queue", |problems| class.queue.check(problems));
            });
        }
    });
}

/// Adds what is wrong with a quantum.
pub(super) fn check_quantum(quantum: Size, problems: &mut Problems) {
    if !(64..=1_000_000).contains(&quantum.bytes()) {
        problems.add("quantum", format!("{quantum} is no quantum; allowed: 64 B to 1 MB"));
    }
}

/// The queues of all classes.
pub struct Lanes {
    by_dscp: [u8; 64],
    lanes: Vec<Box<dyn Buffer>>,
}

impl Lanes {
    /// Empty ones in front of a rate.
    pub fn new(classes: &[Class], rate: Rate) -> Lanes {
        let lanes = classes.iter().map(|class| class.queue.build(rate).buffer()).collect();
        Lanes { by_dscp: by_dscp(classes), lanes }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.lanes.len()
    }

    /// Bytes of the packet that a class could send now.
    pub fn ready(&self, class: usize, now: Time) -> Option<u32> {
        self.lanes[class].head(now).filter(|head| head.at <= now).map(|head| head.size)
    }

    /// Whether nothing of a class waits.
    pub fn is_empty(&self, class: usize) -> bool {
        self.lanes[class].held().packets == 0
    }
}

/// Which class is served next.
pub trait Policy: Send {
    /// A packet of a class has come and found nothing of it waiting.
    fn begins(&mut self, _now: Time, _class: usize, _lanes: &Lanes) {}

    /// The class that is served; one that could send now.
    fn next(&mut self, now: Time, lanes: &Lanes) -> Option<usize>;

    /// That class has sent so many bytes; none when what it had was dropped.
    fn sent(&mut self, now: Time, class: usize, size: u32, lanes: &Lanes);
}

/// Classes that are served by a policy.
pub struct Scheduler<P> {
    lanes: Lanes,
    policy: P,
}

impl<P> Scheduler<P> {
    /// Nothing waits.
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

    fn dequeue(&mut self, now: Time, effects: &mut Effects<'_>) -> Option<Packet> {
        loop {
            let class = self.policy.next(now, &self.lanes)?;
            let packet = self.lanes.lanes[class].dequeue(now, effects);
            let size = packet.as_ref().map_or(0, |packet| packet.size);
            self.policy.sent(now, class, size, &self.lanes);
            if packet.is_some() {
                return packet;
            }
        }
    }

    /// Of the class that can send first, and first in the list.
    fn head(&self, now: Time) -> Option<Head> {
        self.lanes.lanes.iter().filter_map(|lane| lane.head(now)).min_by_key(|head| head.at)
    }

    fn held(&self) -> Held {
        let held = self.lanes.lanes.iter().map(|lane| lane.held());
        held.fold(Held::default(), |sum, held| Held {
            packets: sum.packets + held.packets,
            bytes: sum.bytes + held.bytes,
        })
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.lanes.lanes.iter_mut().flat_map(|lane| lane.drain()).collect()
    }

    fn set_rate(&mut self, rate: Rate) {
        self.lanes.lanes.iter_mut().for_each(|lane| lane.set_rate(rate));
    }
}
