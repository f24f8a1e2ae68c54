//! PRoPHET: a node gives a copy to a neighbour that is more likely to meet the destination.
//!
//! Each node A has a delivery predictability P(A,B) for every node B, initially 0. An encounter of
//! A with B changes the predictabilities in this order (RFC 6693, section 2.1.2; `old` denotes the
//! value before a step):
//!
//! - **Ageing** of all values X of both nodes: P(A,X) = P(A,X)old gamma^K, for K units of time
//!   since the last ageing (Eq. 2).
//! - **Encounter**: P(A,B) = P(A,B)old + (1 - delta - P(A,B)old) P_encounter (Eq. 1). P_encounter
//!   is P_encounter_max times min(1, t / I_typ), where t is the time since the last encounter, so a
//!   short interruption of a contact has little effect. At the first encounter, P(A,B) becomes at
//!   least P_encounter_first.
//! - **Transitivity**, for every node C except A: P(A,C) = max(P(A,C)old, P(A,B) P(B,C) beta) (Eq.
//!   3).
//!
//! A gives B a copy of a bundle for D if P(B,D) > P(A,D), which is the forwarding strategy GRTR
//! (section 3.6). The default parameters are those of section 3.3.
//!
//! **Deviations.** delta is 0 instead of 0.01, so P may approach 1. P_first_threshold is 0: small
//! predictabilities are never removed, so only one encounter of two nodes is their first, and it
//! does not reduce a value learned by transitivity. Nodes know each other's predictabilities
//! without exchanging messages. The start of a contact is an encounter of its transmitter with its
//! receiver, but not of the receiver with the transmitter.

use super::{Replication, Router, Routing};
use crate::contacts::{Node, Plan};
use bentpipe_core::{math, Span, Time};
use std::collections::BTreeMap;

/// Parameters of PRoPHET (RFC 6693, section 3.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prophet {
    /// P_encounter_max, the effect of an encounter; 0.7 by default.
    pub encounter: f64,
    /// P_encounter_first, the minimum predictability after the first encounter; 0.5 by default.
    pub first: f64,
    /// beta, the factor of transitivity; 0.9 by default.
    pub transitive: f64,
    /// gamma, the factor of ageing per unit of time; 0.999 by default.
    pub ageing: f64,
    /// The unit of time for ageing; 1 s by default.
    pub unit: Span,
    /// I_typ, the typical time between encounters; 1800 s by default. An earlier encounter has less
    /// effect.
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
    /// The predictabilities of each node for the others.
    of: Vec<BTreeMap<Node, f64>>,
    /// Time of the last ageing of each node's values.
    aged: Vec<Time>,
    /// Time of the last encounter of the first node with the second.
    met: BTreeMap<(Node, Node), Time>,
}

impl Predictabilities {
    /// Ages the values of a node (Eq. 2).
    fn age(&mut self, now: Time, node: Node) {
        let index = node.0 as usize;
        let units = now.since(self.aged[index]).as_secs_f64() / self.parameters.unit.as_secs_f64();
        self.aged[index] = now;
        self.of[index].values_mut().for_each(|chance| *chance *= math::powf(self.parameters.ageing, units));
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
            let value = mine.entry(target).or_insert(0.0);
            *value = value.max(chance * theirs * transitive);
        }
    }

    fn should_copy(&self, _bundle: u64, node: Node, neighbour: Node, to: Node) -> bool {
        self.predictability(neighbour, to) > self.predictability(node, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encounters calculated by hand: the time in seconds, the two nodes, and the predictabilities
    /// of the first node for all three nodes after the encounter.
    #[test]
    fn predictabilities_follow_the_equations() {
        let mut nodes = Predictabilities {
            parameters: Prophet::default(),
            of: vec![BTreeMap::new(); 3],
            aged: vec![Time::ZERO; 3],
            met: BTreeMap::new(),
        };
        let gamma = |seconds| 0.999_f64.powi(seconds);
        // P(0,1) at 1000 s, half of the typical interval after the first encounter, by Eq. 2 and
        // Eq. 1.
        let again = 0.5 * gamma(900) + (1.0 - 0.5 * gamma(900)) * 0.7 * 0.5;
        // P(0,1) at 4600 s, more than the typical interval after the last encounter.
        let late = again * gamma(3600) + (1.0 - again * gamma(3600)) * 0.7;
        // P(1,2) is 0.5 at 0 s. By transitivity, node 0 would get a lower P(0,2) at 1000 s than it
        // has since 100 s, and gets a higher one at 4600 s.
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
        // Node 1 is more likely to meet node 2 than node 0 is. Node 2 has had no encounters.
        let should_copy = |node, neighbour| nodes.should_copy(0, Node(node), Node(neighbour), Node(2));
        assert!(should_copy(0, 1) && !should_copy(1, 0) && !should_copy(0, 2));
    }
}
