//! The shared radio channel, and the nodes that contend for it.

use super::timing::{
    airtime, frame, pause, ACKNOWLEDGMENT, ACK_TIMEOUT, ASSESSMENT, BACKOFF, MAX_FRAME, TURNAROUND,
};
use bentpipe_core::{Span, Stream, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The parameters of channel access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Initial backoff exponent (macMinBE); 3 by default.
    pub min_be: u32,
    /// Maximum backoff exponent (macMaxBE); 5 by default.
    pub max_be: u32,
    /// Maximum number of further attempts after a busy channel (macMaxCSMABackoffs); 4 by default.
    pub backoffs: u32,
    /// Maximum number of retransmissions of a frame without an acknowledgment (macMaxFrameRetries);
    /// 3 by default.
    pub retries: u32,
    /// True if receivers acknowledge frames; true by default.
    pub acknowledged: bool,
    /// Maximum number of frames in a node's queue, including the frame in transmission; 64 by
    /// default.
    pub queue: usize,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { min_be: 3, max_be: 5, backoffs: 4, retries: 3, acknowledged: true, queue: 64 }
    }
}

/// A model of the channel's transmission errors.
pub trait Channel {
    /// Returns true if the channel corrupts a frame of `bytes` that a node receives from another
    /// node until `now`.
    fn corrupts(&mut self, now: Time, from: usize, to: usize, bytes: u32) -> bool;
}

/// A channel without errors.
impl Channel for () {
    fn corrupts(&mut self, _: Time, _: usize, _: usize, _: u32) -> bool {
        false
    }
}

/// The reason for dropping a frame at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The channel was busy at every assessment.
    ChannelAccess,
    /// No transmission of the frame was acknowledged.
    NoAcknowledgment,
    /// The queue of the node was full.
    QueueFull,
}

/// The outcome of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// The frame has arrived at `to` for the first time.
    Received {
        /// The sender of the frame.
        from: usize,
        /// The receiver of the frame.
        to: usize,
        /// Content of the frame.
        value: T,
    },
    /// The sender has removed the frame from its queue: the frame was acknowledged, or sent without
    /// acknowledgments.
    Sent {
        /// The sender of the frame.
        from: usize,
    },
    /// The sender has dropped the frame. The receiver may still have received it, if only
    /// acknowledgments were lost.
    Failed {
        /// The sender of the frame.
        from: usize,
        /// Content of the frame.
        value: T,
        /// The reason for dropping the frame.
        reason: Failure,
        /// True if the receiver has received the frame.
        received: bool,
    },
}

/// The counts of a node's transceiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data frames transmitted, including retransmissions.
    pub transmissions: u64,
    /// Bytes of the transmitted data frames, including headers and check sequences.
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
    /// Duplicate data frames received.
    pub duplicates: u64,
    /// Total time of transmitting.
    pub transmitting: Span,
    /// Total time of assessing the channel, receiving data frames for this node, and waiting for
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
    /// The node contends for the channel, after `busy` assessments of a busy channel.
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
    /// Sequence number of the next frame.
    number: u32,
    /// End of the pause after the node's last frame.
    ready_at: Time,
    /// End of the last transmission that the node hears or sends, including an acknowledgment that
    /// it still has to send.
    busy_until: Time,
    /// Sequence number of the last frame received from each node.
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
    /// True for each node at which another transmission overlaps with this one.
    collides: Vec<bool>,
}

/// An event. Events at the same time are processed in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    End,
    Assessed(usize),
    Timeout(usize, Time),
    Data(usize),
    Acknowledgment { from: usize, to: usize, number: u32 },
}

/// The channel and its nodes. `T` is the content of frames.
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
    /// Creates a channel for `hears.len()` nodes. `hears[a][b]` is true if node a hears node b.
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

    /// Returns the number of frames in a node's queue.
    pub fn waiting(&self, node: usize) -> usize {
        self.nodes[node].queue.len()
    }

    /// Returns the number of frames in a node's queue that their receivers have not received.
    pub fn undelivered(&self, node: usize) -> usize {
        self.nodes[node].queue.iter().filter(|frame| !frame.received).count()
    }

    /// Adds a frame with `payload` bytes to the queue of `from`.
    ///
    /// # Errors
    /// Returns the frame's content if the queue is full.
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

    /// Processes all events until `now`, and adds the outcomes of frames to `outcomes`.
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

    /// Starts the contention for the first frame of the queue. If the queue is empty, the node
    /// becomes idle.
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

    /// Processes the end of a channel assessment.
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
                // A transmission that ends now does not overlap with this one.
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

    /// Processes the end of a transmission.
    fn end(
        &mut self,
        now: Time,
        channel: &mut dyn Channel,
        stream: &mut Stream,
        outcomes: &mut Vec<Outcome<T>>,
    ) {
        let Some(index) = self.on_air.iter().position(|transmission| transmission.end == now) else { return };
        let transmission = self.on_air.remove(index);
        let Transmission { from, to, number, bytes, acknowledges, .. } = transmission;
        let hears = self.hears[to][from];
        let collides = transmission.collides[to];
        let corrupted = hears && channel.corrupts(now, from, to, bytes);
        let intact = hears && !collides && !corrupted;
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
            receiver.counters.errors += u64::from(!collides && corrupted);
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

    /// Removes the first frame of the queue after its successful transmission.
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
