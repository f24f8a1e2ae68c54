//! The frames of an access category: waiting, on their way, and repeated until they are
//! acknowledged or given up.
//!
//! Frames for one destination keep their order. A receiver passes them on in that order; with block
//! acknowledgments it keeps frames that arrive before an earlier one. Both ends are one data
//! structure here: a frame stays in the sender's window until it is settled, and its contents leave
//! the window when the receiver passes them on.
//!
//! If a frame that has arrived is retransmitted because its acknowledgment was lost, it no longer
//! has contents. This is how duplicates are detected.

use std::collections::VecDeque;

/// A frame that has not been sent yet.
pub struct QueuedFrame<L> {
    /// The contents of the frame, as the layer above passed them.
    pub payload: L,
    /// Size of the MPDU in bytes.
    pub bytes: u32,
    /// Place in the order of arrival in the category.
    pub order: u64,
    /// Number of failures after which it is given up; `None` for the limit of the cell's rules.
    pub limit: Option<u32>,
}

/// A frame that was sent at least once.
pub struct SentFrame<L> {
    /// The contents, until the receiver passes them on.
    pub payload: Option<L>,
    /// Size of the MPDU in bytes.
    pub bytes: u32,
    /// Place in the order of arrival in the category.
    pub order: u64,
    /// Number of failures after which it is given up; `None` for the limit of the cell's rules.
    pub limit: Option<u32>,
    /// Number of transmissions that failed.
    pub failures: u32,
    /// True if the receiver has received the frame.
    pub received: bool,
    /// True if it arrived in the last transmission.
    pub arrived: bool,
    /// True if the sender knows that it arrived, or has given it up.
    pub settled: bool,
}

/// The frames for one destination.
pub struct Flow<L> {
    /// Number of the receiving station.
    pub to: usize,
    /// Frames that have not been sent yet.
    pub waiting: VecDeque<QueuedFrame<L>>,
    /// Frames that were sent, in order.
    pub window: VecDeque<SentFrame<L>>,
}

/// All frames of an access category of a station.
pub struct Frames<L> {
    flows: Vec<Flow<L>>,
    /// Index of the flow of each destination.
    of_destination: Vec<u16>,
    next_order: u64,
}

const NONE: u16 = u16::MAX;

impl<L> Frames<L> {
    /// Creates an empty set of frames, for destinations below `destinations`.
    pub fn new(destinations: usize) -> Frames<L> {
        Frames { flows: Vec::new(), of_destination: vec![NONE; destinations], next_order: 0 }
    }

    /// Appends a frame; returns its place in the order of arrival.
    pub fn push(&mut self, to: usize, bytes: u32, limit: Option<u32>, payload: L) -> u64 {
        if self.of_destination[to] == NONE {
            self.of_destination[to] = self.flows.len() as u16;
            self.flows.push(Flow { to, waiting: VecDeque::new(), window: VecDeque::new() });
        }
        let flow = &mut self.flows[usize::from(self.of_destination[to])];
        let order = self.next_order;
        flow.waiting.push_back(QueuedFrame { payload, bytes, order, limit });
        self.next_order += 1;
        order
    }

    /// Returns the flow whose first frame came first; `None` if there are no frames.
    pub fn first(&self) -> Option<usize> {
        let order = |flow: &Flow<L>| match flow.window.front() {
            Some(sent) => Some(sent.order),
            None => flow.waiting.front().map(|frame| frame.order),
        };
        let orders = self.flows.iter().enumerate().filter_map(|(index, flow)| Some((order(flow)?, index)));
        orders.min().map(|(_, index)| index)
    }

    /// Returns true if no frame waits or is under way.
    pub fn is_empty(&self) -> bool {
        self.flows.iter().all(|flow| flow.window.is_empty() && flow.waiting.is_empty())
    }

    /// Returns the flow of this number.
    pub fn flow(&mut self, index: usize) -> &mut Flow<L> {
        &mut self.flows[index]
    }

    /// Returns all contents that have not been passed on.
    pub fn payloads(&self) -> impl Iterator<Item = &L> {
        self.flows.iter().flat_map(|flow| {
            let sent = flow.window.iter().filter_map(|sent| sent.payload.as_ref());
            sent.chain(flow.waiting.iter().map(|frame| &frame.payload))
        })
    }
}

impl<L> Flow<L> {
    /// Returns the next frames to send: those sent before that are not settled, in order.
    pub fn unsettled(&mut self) -> impl Iterator<Item = &mut SentFrame<L>> {
        self.window.iter_mut().filter(|sent| !sent.settled)
    }

    /// Moves the first waiting frame into the window.
    pub fn advance(&mut self) {
        if let Some(QueuedFrame { payload, bytes, order, limit }) = self.waiting.pop_front() {
            self.window.push_back(SentFrame {
                payload: Some(payload),
                bytes,
                order,
                limit,
                failures: 0,
                received: false,
                arrived: false,
                settled: false,
            });
        }
    }

    /// Passes on the frames that the receiver has in order, up to the first missing one that may
    /// still come.
    pub fn release(&mut self, mut pass: impl FnMut(L)) {
        for sent in &mut self.window {
            if sent.received {
                if let Some(payload) = sent.payload.take() {
                    pass(payload);
                }
            } else if !sent.settled {
                break;
            }
        }
    }

    /// Removes settled frames from the front of the window.
    pub fn remove_settled(&mut self) {
        while self.window.front().is_some_and(|sent| sent.settled) {
            self.window.pop_front();
        }
    }
}
