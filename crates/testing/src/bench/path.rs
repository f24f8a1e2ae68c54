//! Two ends of a transport, with a link in each direction.

use super::{Network, Wires};
use bentpipe_stage::{Port, Sent, Stage};

/// Two ends, with a link from each to the other. The ends are the stages 0 and 2; the links from
/// them are the stages 1 and 3.
pub struct Path<End, Link> {
    /// Source and destination of the flow, at the ends of the path.
    pub ends: [End; 2],
    /// The links from the source and from the destination.
    pub links: [Link; 2],
    /// If set to n, every n-th packet of the source is lost before its link.
    pub loses_every: Option<u64>,
    sent: u64,
}

impl<End: Stage, Link: Stage> Path<End, Link> {
    /// Connects the two ends of a flow by a link in each direction.
    pub fn new(ends: [End; 2], links: [Link; 2]) -> Path<End, Link> {
        Path { ends, links, loses_every: None, sent: 0 }
    }
}

impl<End: Stage, Link: Stage> Network for Path<End, Link> {
    fn stages(&self) -> usize {
        4
    }

    fn stage(&mut self, index: usize) -> &mut dyn Stage {
        match index % 2 {
            0 => &mut self.ends[index / 2],
            _ => &mut self.links[index / 2],
        }
    }

    fn carry(&mut self, from: usize, sent: Vec<Sent>, wires: &mut Wires<'_>) {
        for Sent { packet, .. } in sent {
            self.sent += u64::from(from == 0);
            match self.loses_every {
                Some(every) if from == 0 && self.sent.is_multiple_of(every) => wires.discard(packet),
                _ => wires.to((from + 1) % 4, Port(0), packet),
            }
        }
    }
}
