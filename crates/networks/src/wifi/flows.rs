//! Queues of an access category: frames that wait, and frames that are sent until they are
//! acknowledged or given up.
//!
//! A receiver delivers the frames from one sender in order. With block acknowledgments, the
//! receiver keeps a frame until all earlier frames have arrived or have been given up. One data
//! structure represents both the sender and the receiver. A frame stays in the sender's window
//! until it is settled. Its contents are removed from the window when the receiver delivers them.
//!
//! A frame that is retransmitted because its acknowledgment was lost no longer has contents. The
//! receiver detects duplicates by this.

use std::collections::VecDeque;

/// A frame that has not been sent yet.
pub struct QueuedFrame<L> {
    /// The contents of the frame, as the layer above passed them.
    pub payload: L,
    /// Size of the MPDU in bytes.
    pub bytes: u32,
    /// Sequence number in the category, in order of arrival.
    pub order: u64,
    /// Number of failures after which the frame is given up; `None` for the limit in the cell's
    /// rules.
    pub limit: Option<u32>,
}

/// A frame that was sent at least once.
pub struct SentFrame<L> {
    /// The contents; `None` after the receiver has delivered them.
    pub payload: Option<L>,
    /// Size of the MPDU in bytes.
    pub bytes: u32,
    /// Sequence number in the category, in order of arrival.
    pub order: u64,
    /// Number of failures after which the frame is given up; `None` for the limit in the cell's
    /// rules.
    pub limit: Option<u32>,
    /// Number of transmissions that failed.
    pub failures: u32,
    /// True if the receiver has received the frame.
    pub received: bool,
    /// True if the frame arrived in its last transmission.
    pub arrived: bool,
    /// True if the sender has received an acknowledgment of the frame or has given it up.
    pub settled: bool,
}

/// The frames for one destination.
pub struct Flow<L> {
    /// Index of the receiving station.
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

    /// Appends a frame. Returns its sequence number in the category.
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

    /// Returns the index of the flow whose first frame arrived earliest; `None` if there are no
    /// frames.
    pub fn first(&self) -> Option<usize> {
        let order = |flow: &Flow<L>| match flow.window.front() {
            Some(sent) => Some(sent.order),
            None => flow.waiting.front().map(|frame| frame.order),
        };
        let orders = self.flows.iter().enumerate().filter_map(|(index, flow)| Some((order(flow)?, index)));
        orders.min().map(|(_, index)| index)
    }

    /// Returns true if no frame waits or is unsettled.
    pub fn is_empty(&self) -> bool {
        self.flows.iter().all(|flow| flow.window.is_empty() && flow.waiting.is_empty())
    }

    /// Returns true if a frame waits for its first transmission.
    pub fn has_unsent(&self) -> bool {
        self.flows.iter().any(|flow| !flow.waiting.is_empty())
    }

    /// Returns the flow with this index.
    pub fn flow(&mut self, index: usize) -> &mut Flow<L> {
        &mut self.flows[index]
    }

    /// Returns the contents of all frames that have not been delivered or given up.
    pub fn payloads(&self) -> impl Iterator<Item = &L> {
        self.flows.iter().flat_map(|flow| {
            let sent = flow.window.iter().filter_map(|sent| sent.payload.as_ref());
            sent.chain(flow.waiting.iter().map(|frame| &frame.payload))
        })
    }
}

impl<L> Flow<L> {
    /// Returns the frames to send next, in order: those that were sent before and are not settled.
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

    /// Delivers received frames in order, up to the first missing frame that has not been given up.
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
