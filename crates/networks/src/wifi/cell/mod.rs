//! Frame exchanges on the medium: RTS, CTS, a data frame or an aggregate, and the acknowledgment.
//!
//! Frames either wait in the cell, in order of arrival, or in the layer above, from which the cell
//! takes the next frame when an exchange begins.
//!
//! This file begins exchanges. `frames.rs` handles the end of each frame, and `outcomes.rs` handles
//! the outcome of an exchange.
//!
//! A data frame costs three events: its beginning, its end, and the end of its acknowledgment. The
//! cell itself has no knowledge of packets, rate adaptation and channels. Its [`UpperLayer`]
//! implements these.

mod frames;
mod outcomes;

use super::adaptation::{Choice, Outcome};
use super::air::{Access, Air, Transmission};
use super::counters::Counters;
use super::flows::Frames;
use super::phy::Phy;
use super::RTS;
use bentpipe_core::{Span, Stream, Time};
use bentpipe_link::channel::Frame;

/// The layer above a cell. It chooses rates, decides which frames the channel corrupts, and
/// receives the delivered frames.
pub trait UpperLayer {
    /// The type of a frame's contents.
    type Payload;

    /// Returns the rate of a transmission that begins at `now`, as an index of the physical layer.
    /// `attempt` is the number of earlier transmissions of the first frame.
    fn choose(&mut self, now: Time, link: Link, attempt: u32, payload: Option<&Self::Payload>) -> Choice;

    /// Returns true if a frame may share an aggregate with an earlier frame. Both are identified by
    /// their sequence numbers in `category`, in order of arrival.
    fn may_aggregate(&self, _link: Link, _category: usize, _first: u64, _other: u64) -> bool {
        true
    }

    /// Returns true if the layer above has a frame ready that the cell has not taken.
    fn has_frame(&mut self, _now: Time, _from: usize, _category: usize) -> bool {
        false
    }

    /// Removes the next frame of the layer above, which is sent now.
    fn take_frame(&mut self, _now: Time, _from: usize, _category: usize) -> Option<NextFrame<Self::Payload>> {
        None
    }

    /// Records the outcome of a transmission, as far as its sender knows. Called before the frames
    /// of the transmission are settled.
    fn record_outcome(&mut self, now: Time, link: Link, sent: &Attempt, outcome: Outcome);

    /// Returns true if the channel corrupts a frame whose last bit arrives at `at`. `control` is
    /// true for control frames.
    fn corrupts(&mut self, at: Time, link: Link, frame: Frame, control: bool) -> bool;

    /// Returns true if receivers answer a corrupted frame of the sender `from` with a NAK.
    fn sends_naks(&self, from: usize) -> bool;

    /// Called when a frame has arrived.
    fn deliver(&mut self, now: Time, link: Link, payload: Self::Payload);

    /// Called for each station at which a frame to all stations has arrived.
    fn deliver_copy(&mut self, now: Time, link: Link, payload: &Self::Payload);

    /// Called when the sender gives up a frame that has not arrived.
    fn give_up(&mut self, now: Time, link: Link, payload: Self::Payload);

    /// Called when the sender has finished with a frame, which is identified by its `category` and
    /// its sequence number `order` in that category.
    fn settle(&mut self, _now: Time, _link: Link, _category: usize, _order: u64, _end: Settled) {}
}

/// A frame that the cell takes from the layer above.
pub struct NextFrame<L> {
    /// Index of the receiving station.
    pub to: usize,
    /// Size of the MPDU in bytes.
    pub bytes: u32,
    /// The contents of the frame.
    pub payload: L,
}

/// Outcome of a frame for its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settled {
    /// True if the frame was acknowledged, false if it was given up.
    pub acknowledged: bool,
    /// Number of transmissions that were not acknowledged.
    pub failures: u32,
}

/// A pair of stations: a sender and a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Index of the sending station.
    pub from: usize,
    /// Index of the receiving station. An index equal to the number of stations means all stations.
    pub to: usize,
}

impl Link {
    /// Returns the link in the opposite direction.
    pub fn back(self) -> Link {
        Link { from: self.to, to: self.from }
    }
}

/// The parameters of a cell's exchanges.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The physical layer of the stations.
    pub phy: Phy,
    /// The access categories of each station, the one with the highest priority first.
    pub access: Vec<Access>,
    /// Maximum size of a frame that is sent without RTS, in bytes.
    pub rts_threshold: u32,
    /// Number of failures after which a frame of at most `rts_threshold` bytes is given up.
    pub short_limit: u32,
    /// Number of failures after which a frame of more than `rts_threshold` bytes is given up.
    pub long_limit: u32,
    /// Maximum size of an aggregate in bytes; 0 without aggregation.
    pub aggregate: u32,
    /// Maximum number of frames in an aggregate.
    pub window: usize,
    /// Propagation delay between any two stations.
    pub delay: Span,
    /// True if stations wait for EIFS after a frame that they cannot read.
    pub eifs: bool,
    /// True if slots are counted as with EDCA.
    pub edca: bool,
}

/// A transmission of a data frame or an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// Index of the rate in the physical layer.
    pub rate: usize,
    /// Number of earlier transmissions of the first frame.
    pub attempt: u32,
    /// Number of frames in the transmission.
    pub count: u32,
    /// True if the transmission overlapped with another one at the receiver.
    pub collided: bool,
    flow: usize,
    bytes: u32,
    /// True if an RTS precedes the transmission.
    rts: bool,
    airtime: Span,
    /// End of the transmission opportunity: until this time, the category may start further
    /// exchanges without contention.
    txop_ends: Time,
}

/// The kinds of frames in an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Rts,
    Cts,
    /// A CTS that a station sends to itself, for protection from 802.11b stations.
    Protect,
    Data,
    /// An acknowledgment or a block acknowledgment.
    Ack,
    Nak,
}

#[derive(Clone, Copy, Debug)]
struct OnAir {
    transmission: Transmission,
    kind: Kind,
    /// Index of the category to whose exchange the frame belongs.
    index: usize,
    /// True if the frame has been put on the medium of the stations that hear it.
    begun: bool,
}

/// Maximum airtime of a frame (aPPDUMaxTime of HT).
const LONGEST: Span = Span::from_micros(5484);

/// A shared medium with its stations.
pub struct Cell<L> {
    rules: Rules,
    air: Air,
    /// Frames of each category.
    queues: Vec<Frames<L>>,
    /// Current transmission of each category.
    attempts: Vec<Option<Attempt>>,
    on_air: Vec<OnAir>,
    stations: usize,
    /// Counters of each station since the start of the run.
    pub counters: Vec<Counters>,
    next: Option<Time>,
    due: Vec<usize>,
}

impl<L> Cell<L> {
    /// Creates an idle cell. `heard_by` lists, for each station, the stations that hear it,
    /// including itself; `None` if every station hears every other one.
    pub fn new(stations: usize, rules: Rules, heard_by: Option<Vec<Vec<u16>>>, stream: Stream) -> Cell<L> {
        let phy = &rules.phy;
        let eifs = if rules.eifs { phy.sifs + phy.lowest_ack() + rules.delay } else { Span::ZERO };
        let timing = (phy.slot, phy.sifs);
        let air = Air::new(stations, &rules.access, timing, eifs, heard_by, rules.edca, stream);
        let categories = stations * rules.access.len();
        Cell {
            air,
            queues: (0..categories).map(|_| Frames::new(stations + 1)).collect(),
            attempts: vec![None; categories],
            on_air: Vec::new(),
            stations,
            counters: vec![Counters::default(); stations],
            next: None,
            due: Vec::new(),
            rules,
        }
    }

    /// Returns the time of the next event.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        self.next
    }

    /// Returns the parameters of the cell's exchanges.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the contents of all frames that have not been delivered or given up.
    pub fn payloads(&self) -> impl Iterator<Item = &L> {
        self.queues.iter().flat_map(Frames::payloads)
    }

    /// Queues an MPDU of `bytes` bytes in a category of its sender.
    pub fn enqueue(&mut self, now: Time, link: Link, category: usize, bytes: u32, payload: L) {
        self.enqueue_limited(now, link, category, bytes, None, payload);
    }

    /// Queues a frame that is given up after `limit` failures. Returns the frame's sequence number
    /// in the category.
    pub fn enqueue_limited(
        &mut self,
        now: Time,
        link: Link,
        category: usize,
        bytes: u32,
        limit: Option<u32>,
        payload: L,
    ) -> u64 {
        let index = link.from * self.rules.access.len() + category;
        let idle = self.attempts[index].is_none() && self.queues[index].is_empty();
        let order = self.queues[index].push(link.to, bytes, limit, payload);
        if idle {
            self.air.request_access(now, index);
            self.plan();
        }
        order
    }

    /// Starts the contention of a category for which the layer above has a frame ready.
    pub fn contend(&mut self, now: Time, from: usize, category: usize) {
        let index = from * self.rules.access.len() + category;
        let busy = self.attempts[index].is_some() || self.air.is_contending(index);
        if !busy {
            self.air.request_access(now, index);
            self.plan();
        }
    }

    /// Returns true if a category has a frame to send, here or in the layer above.
    fn has_frame(&self, now: Time, index: usize, upper: &mut impl UpperLayer<Payload = L>) -> bool {
        let categories = self.rules.access.len();
        !self.queues[index].is_empty() || upper.has_frame(now, index / categories, index % categories)
    }

    /// Takes a frame from the layer above if the category has none here. Returns true if the
    /// category has a frame.
    fn ensure_frame(&mut self, now: Time, index: usize, upper: &mut impl UpperLayer<Payload = L>) -> bool {
        let (categories, queue) = (self.rules.access.len(), &mut self.queues[index]);
        if queue.is_empty() {
            take_frame(queue, now, (index / categories, index % categories), upper);
        }
        !queue.is_empty()
    }

    fn plan(&mut self) {
        let events =
            self.on_air
                .iter()
                .map(|one| if one.begun { one.transmission.end } else { one.transmission.begin });
        self.next = events.chain(self.air.next()).min();
    }

    /// Handles the events that are due at `now`.
    pub fn wake(&mut self, now: Time, upper: &mut impl UpperLayer<Payload = L>) {
        while let Some(place) = self.on_air.iter().position(|one| one.begun && one.transmission.end <= now) {
            let ended = self.on_air.swap_remove(place);
            self.end(ended, upper);
        }
        let mut due = std::mem::take(&mut self.due);
        self.air.due(now, &mut due);
        let mut last = None;
        for &index in &due {
            let station = index / self.rules.access.len();
            // The first category of a station has the highest priority. The other categories
            // collide with it internally.
            if last == Some(station) {
                self.collide_internally(now, index, upper);
            } else {
                self.begin(now, index, upper);
            }
            last = Some(station);
        }
        due.clear();
        self.due = due;
        for place in 0..self.on_air.len() {
            let one = &mut self.on_air[place];
            if !one.begun && one.transmission.begin <= now {
                one.begun = true;
                self.air.put(one.transmission);
            }
        }
        self.plan();
    }

    /// Starts an exchange of a category that has won the contention.
    fn begin(&mut self, now: Time, index: usize, upper: &mut impl UpperLayer<Payload = L>) {
        self.air.withdraw(index);
        let txop = self.rules.access[index % self.rules.access.len()].txop;
        self.start(now, index, now + txop, upper);
    }

    fn start(
        &mut self,
        begin: Time,
        index: usize,
        txop_ends: Time,
        upper: &mut impl UpperLayer<Payload = L>,
    ) {
        if !self.ensure_frame(begin, index, upper) {
            return;
        }
        let attempt = self.prepare(begin, index, txop_ends, upper);
        self.attempts[index] = Some(attempt);
        let from = index / self.rules.access.len();
        let phy = &self.rules.phy;
        if attempt.rts {
            self.send(begin, phy.control(attempt.rate, RTS), from, Kind::Rts, index);
        } else if phy.protection {
            self.send(begin, phy.protecting(), from, Kind::Protect, index);
        } else {
            self.send(begin, attempt.airtime, from, Kind::Data, index);
        }
    }

    /// Determines the next frame or aggregate of a category.
    fn prepare(
        &mut self,
        now: Time,
        index: usize,
        txop_ends: Time,
        upper: &mut impl UpperLayer<Payload = L>,
    ) -> Attempt {
        let (from, category) = (index / self.rules.access.len(), index % self.rules.access.len());
        let queue = &mut self.queues[index];
        let number = queue.first().expect("a category that transmits has a frame");
        let mut flow = queue.flow(number);
        let to = flow.to;
        if flow.unsettled().next().is_none() {
            flow.advance();
        }
        let first = flow.unsettled().next().expect("a waiting frame was moved into the window");
        let attempt = first.failures;
        let (mut bytes, order) = (first.bytes, first.order);
        let Choice { rate, rts } = upper.choose(now, Link { from, to }, attempt, first.payload.as_ref());
        let group = to == self.stations;
        let mut count = 1;
        let Rules { phy, aggregate, window, .. } = &self.rules;
        if *aggregate > 0 && !group {
            let most = if txop_ends > now { txop_ends.since(now).min(LONGEST) } else { LONGEST };
            let fits = |bytes: u32| bytes <= *aggregate && phy.data(rate, bytes) <= most;
            let known = flow.unsettled().count();
            let mut sum = subframe(bytes);
            loop {
                if count >= *window {
                    break;
                }
                let next = match count < known {
                    true => flow.unsettled().nth(count).map(|sent| (sent.bytes, sent.order)),
                    false if flow.window.len() < *window => {
                        if !queue.has_unsent() {
                            take_frame(queue, now, (from, category), upper);
                        }
                        flow = queue.flow(number);
                        flow.waiting.front().map(|frame| (frame.bytes, frame.order))
                    }
                    false => None,
                };
                let joins = |other| upper.may_aggregate(Link { from, to }, category, order, other);
                let next = next.filter(|(bytes, other)| fits(sum + subframe(*bytes)) && joins(*other));
                let Some((next, _)) = next else { break };
                if count >= known {
                    flow.advance();
                }
                sum += subframe(next);
                count += 1;
            }
            if count > 1 {
                bytes = sum;
            }
        }
        let airtime = phy.data(rate, bytes);
        let rts = !group && (rts || bytes > self.rules.rts_threshold);
        let count = count as u32;
        Attempt { rate, attempt, count, collided: false, flow: number, bytes, rts, airtime, txop_ends }
    }

    /// Puts a frame of an exchange on the air, from `begin` on.
    fn send(&mut self, begin: Time, airtime: Span, from: usize, kind: Kind, index: usize) {
        let transmission = Transmission { from, begin, end: begin + airtime + self.rules.delay };
        self.counters[from].airtime += airtime;
        // If every station hears every other one, no station transmits in the space before a
        // response.
        let begun = self.air.open();
        if begun {
            self.air.put(transmission);
        }
        self.on_air.push(OnAir { transmission, kind, index, begun });
    }
}

/// Moves the next frame of a category from the layer above to the end of `queue`, if a frame is
/// ready.
fn take_frame<L>(
    queue: &mut Frames<L>,
    now: Time,
    (from, category): (usize, usize),
    upper: &mut impl UpperLayer<Payload = L>,
) {
    if let Some(NextFrame { to, bytes, payload }) = upper.take_frame(now, from, category) {
        queue.push(to, bytes, None, payload);
    }
}

/// Returns the size in bytes of a frame within an aggregate: with a delimiter before the frame, and
/// padded to a multiple of 4 bytes.
const fn subframe(bytes: u32) -> u32 {
    4 + bytes.div_ceil(4) * 4
}
