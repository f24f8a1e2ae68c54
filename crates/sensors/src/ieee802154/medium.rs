//! The shared channel and the nodes that contend for it.

use super::timing::{
    airtime, frame, pause, ACKNOWLEDGMENT, ACK_TIMEOUT, ASSESSMENT, BACKOFF, MAX_FRAME, TURNAROUND,
};
use bentpipe_core::{Span, Stream, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The parameters of the channel access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Exponent of the first backoff (macMinBE).
    pub min_be: u32,
    /// Largest exponent (macMaxBE).
    pub max_be: u32,
    /// Attempts after a busy channel before the access fails (macMaxCSMABackoffs).
    pub backoffs: u32,
    /// Retransmissions of a frame without acknowledgment (macMaxFrameRetries).
    pub retries: u32,
    /// True if receivers acknowledge frames.
    pub acknowledged: bool,
    /// Most frames that a node holds, including the one in transmission.
    pub queue: usize,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { min_be: 3, max_be: 5, backoffs: 4, retries: 3, acknowledged: true, queue: 64 }
    }
}

/// The errors of the channel.
pub trait Channel {
    /// Returns true if a frame of `bytes` between two nodes, whose last bit arrives at `now`, is
    /// corrupted.
    fn corrupts(&mut self, now: Time, from: usize, to: usize, bytes: u32) -> bool;
}

/// A channel without errors.
impl Channel for () {
    fn corrupts(&mut self, _: Time, _: usize, _: usize, _: u32) -> bool {
        false
    }
}

/// The reason why a node gave up a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The channel was busy at every assessment.
    ChannelAccess,
    /// No acknowledgment came for any transmission.
    NoAcknowledgment,
    /// The queue of the node was full.
    QueueFull,
}

/// The fate of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// The frame has arrived at `to` for the first time.
    Received {
        /// The node that transmitted it.
        from: usize,
        /// The node that received it.
        to: usize,
        /// Content of the frame.
        value: T,
    },
    /// The sender is done with the frame: it was acknowledged, or it was sent and nothing is
    /// acknowledged.
    Sent {
        /// The node that transmitted it.
        from: usize,
    },
    /// The sender gave the frame up. The receiver may still have it, if only acknowledgments were
    /// lost.
    Failed {
        /// The node that transmitted it.
        from: usize,
        /// Content of the frame.
        value: T,
        /// Reason for which the sender gave it up.
        reason: Failure,
        /// True if the receiver has it.
        received: bool,
    },
}

/// Counts of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data frames transmitted, retransmissions included.
    pub transmissions: u64,
    /// Bytes of those frames from the header to the check sequence.
    pub bytes: u64,
    /// Acknowledgments transmitted.
    pub acknowledgments: u64,
    /// Clear channel assessments.
    pub assessments: u64,
    /// Assessments that found the channel busy.
    pub busy: u64,
    /// Data frames for this node that overlapped with another frame.
    pub collisions: u64,
    /// Data frames for this node that the channel corrupted.
    pub errors: u64,
    /// Repeated frames that it recognised.
    pub duplicates: u64,
    /// Time for which it transmitted.
    pub transmitting: Span,
    /// Time for which it assessed the channel, received frames for itself, and waited for
    /// acknowledgments.
    pub receiving: Span,
}

struct Frame<T> {
    to: usize,
    bytes: u32,
    number: u32,
    tries: u32,
    received: bool,
    value: T,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// The node contends for the channel.
    Contending {
        busy: u32,
        exponent: u32,
    },
    Sending,
    /// The node has been waiting for an acknowledgment since this time.
    Waiting(Time),
}

struct Node<T> {
    queue: VecDeque<Frame<T>>,
    state: State,
    /// Sequence number of its next frame.
    number: u32,
    /// Time at which the pause after its last frame ends.
    ready_at: Time,
    /// Time at which the last transmission that it hears ends, including its own and the
    /// acknowledgment that it owes.
    busy_until: Time,
    /// Sequence number of the last frame from each node.
    seen: Vec<Option<u32>>,
    counters: Counters,
}

struct Transmission {
    from: usize,
    to: usize,
    number: u32,
    bytes: u32,
    acknowledges: bool,
    end: Time,
    /// Nodes at which another frame overlaps with it.
    collides: Vec<bool>,
}

/// An event; those at one time are handled in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    End,
    Assessed(usize),
    Timeout(usize, Time),
    Data(usize),
    Acknowledgment { from: usize, to: usize, number: u32 },
}

/// Nodes that share the channel. `T` is the content of frames.
pub struct Medium<T> {
    rules: Rules,
    /// True if the first node hears the second.
    hears: Vec<Vec<bool>>,
    nodes: Vec<Node<T>>,
    events: BinaryHeap<Reverse<(Time, Event, u64)>>,
    order: u64,
    on_air: Vec<Transmission>,
}

impl<T: Clone> Medium<T> {
    /// Creates a channel for `hears.len()` nodes; `hears[a][b]` is true if a hears b.
    pub fn new(rules: Rules, hears: Vec<Vec<bool>>) -> Medium<T> {
        let count = hears.len();
        let node = || Node {
            queue: VecDeque::new(),
            state: State::Idle,
            number: 0,
            ready_at: Time::ZERO,
            busy_until: Time::ZERO,
            seen: vec![None; count],
            counters: Counters::default(),
        };
        let nodes = (0..count).map(|_| node()).collect();
        Medium { rules, hears, nodes, events: BinaryHeap::new(), order: 0, on_air: Vec::new() }
    }

    /// Returns the counts of a node so far.
    pub fn counters(&self, node: usize) -> &Counters {
        &self.nodes[node].counters
    }

    /// Returns the number of frames that a node holds.
    pub fn waiting(&self, node: usize) -> usize {
        self.nodes[node].queue.len()
    }

    /// Returns the number of frames that a node holds and their receiver does not have yet.
    pub fn undelivered(&self, node: usize) -> usize {
        self.nodes[node].queue.iter().filter(|frame| !frame.received).count()
    }

    /// Puts a frame with `payload` bytes into the queue of `from`, or returns its value if the
    /// queue is full.
    ///
    /// # Panics
    /// If the payload does not fit into a frame.
    pub fn send(
        &mut self,
        now: Time,
        from: usize,
        to: usize,
        payload: u32,
        value: T,
        stream: &mut Stream,
    ) -> Result<(), T> {
        let bytes = frame(payload);
        assert!(bytes <= MAX_FRAME, "a payload of {payload} bytes does not fit into a frame");
        let limit = self.rules.queue;
        let node = &mut self.nodes[from];
        if node.queue.len() >= limit {
            return Err(value);
        }
        let number = node.number;
        node.number = number.wrapping_add(1);
        node.queue.push_back(Frame { to, bytes, number, tries: 0, received: false, value });
        if node.state == State::Idle {
            self.contend(now, from, stream);
        }
        Ok(())
    }

    /// Returns the time of the next event.
    pub fn next_wake(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((time, ..))| *time)
    }

    /// Handles the events until `now`, and adds the outcomes of frames.
    pub fn wake(
        &mut self,
        now: Time,
        channel: &mut dyn Channel,
        stream: &mut Stream,
        outcomes: &mut Vec<Outcome<T>>,
    ) {
        while let Some(&Reverse((time, event, _))) = self.events.peek() {
            if time > now {
                return;
            }
            self.events.pop();
            match event {
                Event::End => self.end(time, channel, stream, outcomes),
                Event::Assessed(node) => self.assessed(time, node, stream, outcomes),
                Event::Timeout(node, since) => self.timeout(time, node, since, stream, outcomes),
                Event::Data(node) => {
                    let Node { queue, counters, .. } = &mut self.nodes[node];
                    let Some(head) = queue.front() else { continue };
                    counters.transmissions += 1;
                    counters.bytes += u64::from(head.bytes);
                    let (to, number, bytes) = (head.to, head.number, head.bytes);
                    self.transmit(time, node, to, number, bytes, false);
                }
                Event::Acknowledgment { from, to, number } => {
                    self.nodes[from].counters.acknowledgments += 1;
                    self.transmit(time, from, to, number, ACKNOWLEDGMENT, true);
                }
            }
        }
    }

    fn at(&mut self, time: Time, event: Event) {
        self.order += 1;
        self.events.push(Reverse((time, event, self.order)));
    }

    /// Starts the contention for the first frame of the queue, if there is one.
    fn contend(&mut self, now: Time, node: usize, stream: &mut Stream) {
        if self.nodes[node].queue.is_empty() {
            self.nodes[node].state = State::Idle;
            return;
        }
        let start = now.max(self.nodes[node].ready_at);
        self.back_off(start, node, 0, self.rules.min_be, stream);
    }

    fn back_off(&mut self, start: Time, node: usize, busy: u32, exponent: u32, stream: &mut Stream) {
        self.nodes[node].state = State::Contending { busy, exponent };
        let units = (stream.uniform() * f64::from(1_u32 << exponent)) as u64;
        self.at(start + Span::from_nanos(units * BACKOFF.as_nanos()) + ASSESSMENT, Event::Assessed(node));
    }

    /// Handles the end of a channel assessment.
    fn assessed(&mut self, now: Time, node: usize, stream: &mut Stream, outcomes: &mut Vec<Outcome<T>>) {
        let State::Contending { busy, exponent } = self.nodes[node].state else { return };
        let this = &mut self.nodes[node];
        this.counters.assessments += 1;
        this.counters.receiving += ASSESSMENT;
        if this.busy_until <= now - ASSESSMENT {
            this.state = State::Sending;
            return self.at(now + TURNAROUND, Event::Data(node));
        }
        this.counters.busy += 1;
        if busy == self.rules.backoffs {
            return self.give_up(now, node, Failure::ChannelAccess, stream, outcomes);
        }
        self.back_off(now, node, busy + 1, (exponent + 1).min(self.rules.max_be), stream);
    }

    fn transmit(&mut self, now: Time, from: usize, to: usize, number: u32, bytes: u32, acknowledges: bool) {
        let end = now + airtime(bytes);
        let mut collides = vec![false; self.nodes.len()];
        for (node, collides) in collides.iter_mut().enumerate() {
            let hears = node == from || self.hears[node][from];
            for other in &mut self.on_air {
                // A transmission that ends now does not overlap.
                if other.end > now && hears && (node == other.from || self.hears[node][other.from]) {
                    *collides = true;
                    other.collides[node] = true;
                }
            }
            if hears {
                self.nodes[node].busy_until = self.nodes[node].busy_until.max(end);
            }
        }
        let counters = &mut self.nodes[from].counters;
        counters.transmitting += airtime(bytes);
        self.on_air.push(Transmission { from, to, number, bytes, acknowledges, end, collides });
        self.at(end, Event::End);
    }

    /// Handles the end of a transmission.
    fn end(
        &mut self,
        now: Time,
        channel: &mut dyn Channel,
        stream: &mut Stream,
        outcomes: &mut Vec<Outcome<T>>,
    ) {
        let Some(place) = self.on_air.iter().position(|transmission| transmission.end == now) else { return };
        let transmission = self.on_air.remove(place);
        let Transmission { from, to, number, bytes, acknowledges, .. } = transmission;
        let hears = self.hears[to][from];
        let collides = transmission.collides[to];
        let spoiled = hears && channel.corrupts(now, from, to, bytes);
        let intact = hears && !collides && !spoiled;
        if acknowledges {
            if intact && self.is_waiting_for(to, number) {
                self.done(now, to, stream, outcomes);
            }
            return;
        }
        let receiver = &mut self.nodes[to];
        if hears {
            receiver.counters.receiving += airtime(bytes);
            receiver.counters.collisions += u64::from(collides);
            receiver.counters.errors += u64::from(!collides && spoiled);
        }
        if intact {
            if receiver.seen[from] == Some(number) {
                receiver.counters.duplicates += 1;
            } else {
                receiver.seen[from] = Some(number);
                if let Some(head) = self.nodes[from].queue.front_mut() {
                    head.received = true;
                    outcomes.push(Outcome::Received { from, to, value: head.value.clone() });
                }
            }
            if self.rules.acknowledged {
                let receiver = &mut self.nodes[to];
                receiver.busy_until = receiver.busy_until.max(now + TURNAROUND + airtime(ACKNOWLEDGMENT));
                self.at(now + TURNAROUND, Event::Acknowledgment { from: to, to: from, number });
            }
        }
        if self.rules.acknowledged {
            self.nodes[from].state = State::Waiting(now);
            self.at(now + ACK_TIMEOUT, Event::Timeout(from, now));
        } else {
            self.done(now, from, stream, outcomes);
        }
    }

    fn is_waiting_for(&self, node: usize, number: u32) -> bool {
        let node = &self.nodes[node];
        matches!(node.state, State::Waiting(_))
            && node.queue.front().is_some_and(|head| head.number == number)
    }

    /// Handles the completion of the first frame of the queue.
    fn done(&mut self, now: Time, node: usize, stream: &mut Stream, outcomes: &mut Vec<Outcome<T>>) {
        let this = &mut self.nodes[node];
        if let State::Waiting(since) = this.state {
            this.counters.receiving += now.since(since);
        }
        if let Some(head) = this.queue.pop_front() {
            this.ready_at = now + pause(head.bytes);
            outcomes.push(Outcome::Sent { from: node });
        }
        self.contend(now, node, stream);
    }

    fn timeout(
        &mut self,
        now: Time,
        node: usize,
        since: Time,
        stream: &mut Stream,
        outcomes: &mut Vec<Outcome<T>>,
    ) {
        let this = &mut self.nodes[node];
        if this.state != State::Waiting(since) {
            return;
        }
        this.counters.receiving += ACK_TIMEOUT;
        let Some(head) = this.queue.front_mut() else { return };
        if head.tries == self.rules.retries {
            return self.give_up(now, node, Failure::NoAcknowledgment, stream, outcomes);
        }
        head.tries += 1;
        self.contend(now, node, stream);
    }

    fn give_up(
        &mut self,
        now: Time,
        node: usize,
        reason: Failure,
        stream: &mut Stream,
        outcomes: &mut Vec<Outcome<T>>,
    ) {
        if let Some(Frame { value, received, .. }) = self.nodes[node].queue.pop_front() {
            outcomes.push(Outcome::Failed { from: node, value, reason, received });
        }
        self.contend(now, node, stream);
    }
}
