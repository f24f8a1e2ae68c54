//! The common part of ACK filtering and ACK decimation (RFC 3449, section 5.2): a queue in the
//! proxy before a slow link. Packets leave this queue at the rate of the slow link, so
//! acknowledgments wait in the proxy, where they can be removed, and not at the link.

use super::acknowledgments::{acknowledges, Counters};
use crate::node::service::ServedFlow;
use bentpipe_core::{FlowId, Rate, Report, Time};
use bentpipe_link::queue::drop_tail::FULL;
use bentpipe_stage::{DropReason, Held, Outbox, Packet, Port, Stage};
use std::collections::{BTreeMap, VecDeque};

/// A rule for superseded acknowledgments in the queue.
pub trait Thinning: Send {
    /// Drop reason of superseded acknowledgments.
    const REASON: DropReason;

    /// Adds to `places` the positions in `queue` of the acknowledgments that the arriving
    /// acknowledgment supersedes, in ascending order.
    fn superseded(&self, queue: &VecDeque<Packet>, arriving: &Packet, places: &mut Vec<usize>);
}

struct Flow {
    served: ServedFlow,
    /// For each end of the flow, true if it is reached over the slow link.
    slow: [bool; 2],
    counters: Counters,
}

/// The proxy as a stage, with input port 0 and output port 0.
pub struct ThinningStage<T: Thinning> {
    thinning: T,
    name: String,
    rate: Rate,
    limit: usize,
    flows: BTreeMap<FlowId, Flow>,
    queue: VecDeque<Packet>,
    /// Time at which the transmission of the last packet that left the queue ends.
    free_at: Time,
    places: Vec<usize>,
}

impl<T: Thinning> ThinningStage<T> {
    /// Creates the stage for packets that leave over the link or network `over`. `rate` is the rate
    /// at which the queue is served, and `limit` the maximum number of waiting packets.
    pub fn new(
        thinning: T,
        name: &str,
        flows: Vec<ServedFlow>,
        over: &str,
        rate: Rate,
        limit: usize,
    ) -> ThinningStage<T> {
        let flow = |served: ServedFlow| {
            let slow = served.links.each_ref().map(|link| link == over);
            (served.flow, Flow { served, slow, counters: Counters::default() })
        };
        ThinningStage {
            thinning,
            name: name.to_owned(),
            rate,
            limit,
            flows: flows.into_iter().map(flow).collect(),
            queue: VecDeque::new(),
            free_at: Time::ZERO,
            places: Vec::new(),
        }
    }

    fn depart(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        self.free_at = now + self.rate.span_of(packet.size.into());
        out.send(Port(0), packet);
    }
}

impl<T: Thinning> Stage for ThinningStage<T> {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        // The packet is destined for the opposite end of its flow.
        let slow = |flow: &&mut Flow| flow.slow[1 - flow.served.side(packet.source)];
        let Some(flow) = self.flows.get_mut(&packet.flow).filter(slow) else {
            return out.send(Port(0), packet);
        };
        if acknowledges(&packet) {
            self.thinning.superseded(&self.queue, &packet, &mut self.places);
            flow.counters.arrived += 1;
            flow.counters.removed += self.places.len() as u64;
            for place in self.places.drain(..).rev() {
                if let Some(old) = self.queue.remove(place) {
                    out.drop(old, T::REASON);
                }
            }
        }
        if self.queue.is_empty() && self.free_at <= now {
            self.depart(now, packet, out);
        } else if self.queue.len() >= self.limit {
            out.drop(packet, FULL);
        } else {
            self.queue.push_back(packet);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        while self.free_at <= now {
            let Some(packet) = self.queue.pop_front() else { return };
            self.depart(now, packet, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        (!self.queue.is_empty()).then_some(self.free_at)
    }

    fn held(&self) -> Held {
        let mut held = Held::default();
        self.queue.iter().for_each(|packet| held.add(packet));
        held
    }

    fn report(&self, _now: Time, report: &mut Report) {
        for flow in self.flows.values() {
            flow.counters.report(&flow.served.name, &self.name, report);
        }
    }
}
