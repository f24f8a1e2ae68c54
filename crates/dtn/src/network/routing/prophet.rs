//! PRoPHET: a node gives a copy to a neighbour that is more likely to meet the destination.
//!
//! Each node A has a delivery predictability P(A,B) for every node B, 0 at first. When A meets B,
//! in this order (RFC 6693, section 2.1.2; `old` is the value before):
//!
//! - Both age their values: P(A,X) = P(A,X)old gamma^K, with K units of time since the last ageing
//!   (Eq. 2).
//! - A encounters B: P(A,B) = P(A,B)old + (1 - delta - P(A,B)old) P_encounter (Eq. 1). P_encounter
//!   is P_encounter_max times min(1, t / I_typ) at a time t after their last meeting, so a short
//!   interruption of a contact counts little. At their first meeting it is P_encounter_first.
//! - A learns whom B meets, for every node C except A: P(A,C) = max(P(A,C)old, P(A,B) P(B,C) beta)
//!   (Eq. 3).
//!
//! A gives B a bundle for D if P(B,D) > P(A,D): the forwarding strategy GRTR (section 3.6).
//! Parameters are those of section 3.3.
//!
//! **Deviations.** delta is 0 rather than 0.01, so P may come arbitrarily close to 1. No
//! predictability is too small to be kept (P_first_threshold is 0): two nodes meet for the first
//! time only once, and a first meeting does not reduce what was learned from others. Nodes know
//! each other's predictabilities without exchanging messages. A meeting is the start of a contact,
//! in its direction only.

use super::{Replication, Router, Routing};
use crate::contacts::{Node, Plan};
use bentpipe_core::{math, Span, Time};
use std::collections::BTreeMap;

/// Parameters of PRoPHET (RFC 6693, section 3.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prophet {
    /// P_encounter_max.
    pub encounter: f64,
    /// P_encounter_first.
    pub first: f64,
    /// beta, for nodes that the neighbour can reach.
    pub transitive: f64,
    /// gamma, for each unit of time.
    pub ageing: f64,
    /// The unit of time.
    pub unit: Span,
    /// I_typ, the typical time between meetings; an earlier meeting counts less.
    pub interval: Span,
}

impl Default for Prophet {
    fn default() -> Prophet {
        Prophet {
            encounter: 0.7,
            first: 0.5,
            transitive: 0.9,
            ageing: 0.999,
            unit: Span::from_secs(1),
            interval: Span::from_secs(1800),
        }
    }
}

impl Routing for Prophet {
    fn router(&self, known: &Plan) -> Router {
        let nodes = known.nodes().len();
        Router::Replication(Box::new(Predictabilities {
            parameters: *self,
            of: vec![BTreeMap::new(); nodes],
            aged: vec![Time::ZERO; nodes],
            met: BTreeMap::new(),
        }))
    }
}

struct Predictabilities {
    parameters: Prophet,
    /// P of each node for the others.
    of: Vec<BTreeMap<Node, f64>>,
    /// Times of the last ageing of each node's values.
    aged: Vec<Time>,
    /// Times of the last meetings of two nodes.
    met: BTreeMap<(Node, Node), Time>,
}

impl Predictabilities {
    /// Ages the values of a node (Eq. 2).
    fn age(&mut self, now: Time, node: Node) {
        let place = node.0 as usize;
        let units = now.since(self.aged[place]).as_secs_f64() / self.parameters.unit.as_secs_f64();
        self.aged[place] = now;
        self.of[place].values_mut().for_each(|chance| *chance *= math::powf(self.parameters.ageing, units));
    }

    fn predictability(&self, node: Node, other: Node) -> f64 {
        self.of[node.0 as usize].get(&other).copied().unwrap_or(0.0)
    }
}

impl Replication for Predictabilities {
    fn encounter(&mut self, now: Time, node: Node, other: Node) {
        let Prophet { encounter, first, transitive, interval, .. } = self.parameters;
        for node in [node, other] {
            self.age(now, node);
        }
        let before = self.met.insert((node, other), now);
        let old = self.predictability(node, other);
        let share = match before.map(|before| now.since(before)) {
            Some(gap) if gap < interval => gap.as_secs_f64() / interval.as_secs_f64(),
            _ => 1.0,
        };
        // Eq. 1.
        let chance = match before {
            None => first.max(old),
            Some(_) => old + (1.0 - old) * encounter * share,
        };
        let others = self.of[other.0 as usize].clone();
        let mine = &mut self.of[node.0 as usize];
        mine.insert(other, chance);
        // Eq. 3.
        for (target, theirs) in others.into_iter().filter(|(target, _)| *target != node) {
            let place = mine.entry(target).or_insert(0.0);
            *place = place.max(chance * theirs * transitive);
        }
    }

    fn should_copy(&self, _bundle: u64, node: Node, neighbour: Node, to: Node) -> bool {
        self.predictability(neighbour, to) > self.predictability(node, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Meetings by hand: seconds, the two nodes, and the predictabilities of the first for all
    /// three nodes afterwards.
    #[test]
    fn predictabilities_follow_the_equations() {
        let mut nodes = Predictabilities {
            parameters: Prophet::default(),
            of: vec![BTreeMap::new(); 3],
            aged: vec![Time::ZERO; 3],
            met: BTreeMap::new(),
        };
        let gamma = |seconds| 0.999_f64.powi(seconds);
        // P(0,1) at 1000 s, half of the typical interval after the first meeting: Eq. 2, then Eq.
        // 1.
        let again = 0.5 * gamma(900) + (1.0 - 0.5 * gamma(900)) * 0.7 * 0.5;
        // At 4600 s, later than that interval.
        let late = again * gamma(3600) + (1.0 - again * gamma(3600)) * 0.7;
        // P(1,2) is 0.5 at first. At 1000 s, 0 learns less from it than it has from 100 s, and at
        // 4600 s more.
        assert!(again < 0.5 && late > 0.5);
        for (seconds, node, other, expected) in [
            (0, 1, 2, [0.0, 0.0, 0.5]),
            (100, 0, 1, [0.0, 0.5, 0.5 * 0.5 * gamma(100) * 0.9]),
            (1000, 0, 1, [0.0, again, 0.5 * 0.5 * gamma(1000) * 0.9]),
            (4600, 0, 1, [0.0, late, late * 0.5 * gamma(4600) * 0.9]),
        ] {
            nodes.encounter(Time::ZERO + Span::from_secs(seconds), Node(node), Node(other));
            for (target, expected) in (0..).map(Node).zip(expected) {
                let found = nodes.predictability(Node(node), target);
                assert!((found - expected).abs() < 1e-12, "{seconds} s: {found}, not {expected}");
            }
        }
        // 1 is more likely to meet 2 than 0 is, and 2 has met nobody.
        let should_copy = |node, neighbour| nodes.should_copy(0, Node(node), Node(neighbour), Node(2));
        assert!(should_copy(0, 1) && !should_copy(1, 0) && !should_copy(0, 2));
    }
}
