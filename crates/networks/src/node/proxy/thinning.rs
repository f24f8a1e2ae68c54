//! The common part of ACK filtering and ACK decimation (RFC 3449, section 5.2): a queue of the
//! proxy's own before a slow link, whose packets leave at the rate of that link. So acknowledgments
//! wait here, where they can be removed, and not there.

use super::acknowledgments::{acknowledges, Counters};
use crate::node::service::ServedFlow;
use bentpipe_core::{FlowId, Rate, Report, Time};
use bentpipe_link::queue::drop_tail::FULL;
use bentpipe_stage::{DropReason, Held, Outbox, Packet, Port, Stage};
use std::collections::{BTreeMap, VecDeque};

/// Decides which waiting acknowledgments are superseded.
pub trait Thinning: Send {
    /// The reason for which they are dropped.
    const REASON: DropReason;

    /// For an arriving acknowledgment, adds the positions in `queue` of those that need not precede
    /// it, in ascending order.
    fn superseded(&self, queue: &VecDeque<Packet>, arriving: &Packet, places: &mut Vec<usize>);
}

struct Flow {
    served: ServedFlow,
    /// True for each end that is reached over the slow link.
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
    /// Time at which everything that has left will have been sent.
    free_at: Time,
    places: Vec<usize>,
}

impl<T: Thinning> ThinningStage<T> {
    /// Creates the stage for packets that leave over the link or network `over`, which has this
    /// rate.
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
        // The packet goes to the end from which it does not come.
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
