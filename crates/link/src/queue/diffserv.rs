//! The usual per-hop behaviours in one queue: expedited forwarding (RFC 3246), four classes of
//! assured forwarding (RFC 2597), best effort.
//!
//! The queue is equivalent to this tree: strict priority of `ef`, shaped to its share of the rate
//! so that it cannot starve the rest, over weighted fair queueing of `control` (CS6 and CS7), `af4`
//! to `af1` with weights 8, 6, 4 and 2 and three drop precedences each (WRED), and `be` with weight
//! 2 and RED. For another structure, write the tree with `priority`, `wfq` and `wred`.
//!
//! ```toml
//! queue = "diffserv"
//! queue = { kind = "diffserv", packets = 200, ef = 0.25 }
//! ```

use super::classes::Class;
use super::early::Packets;
use super::{drop_tail, priority, red, shaper, wfq, wred, Config as Any, Discipline, Queue};
use bentpipe_core::{Count, Dscp, Fraction, Problems, Rate, Sample, Size};
use bentpipe_stage::facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The common DiffServ per-hop behaviours in one queue: expedited forwarding (RFC 3246), four
/// assured forwarding classes (RFC 2597), control traffic (CS6, CS7) and best effort.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of waiting packets in each assured forwarding class and in best effort.
    /// Default 100.
    pub packets: Packets,
    /// Maximum share of the link's rate for expedited forwarding, greater than 0 and at most 1.
    /// Default 0.3.
    pub ef: Fraction,
}

impl Default for Config {
    fn default() -> Config {
        Config { packets: Packets::new(100), ef: Fraction::thousandths(300) }
    }
}

/// Maximum number of waiting packets of expedited forwarding and of control protocols. It is small
/// to bound their delay.
const SHORT: u64 = 20;

impl Config {
    /// Builds the equivalent tree of queues for a link of this rate.
    pub fn tree(&self, rate: Rate) -> priority::Config {
        let short = || Any::DropTail(drop_tail::Config { packets: Some(Count::new(SHORT)), bytes: None });
        let max = (rate.bits_per_second() as f64 * self.ef.value()).max(1.0) as u64;
        let ef = Any::Shaper(shaper::Config {
            rate: Rate::from_bits_per_second(max),
            burst: Size::from_bytes(3000),
            queue: Box::new(short()),
        });
        let code = |number| Dscp::new(number).expect("a constant");
        let control = vec![code(48), code(56)];
        let assured = |class: u8| {
            let queue = Any::Wred(wred::Config { packets: self.packets, ..wred::Config::default() });
            let dscp = (1..=3).map(|precedence| Dscp::af(class, precedence)).collect();
            Class::new(&format!("af{class}"), dscp, Some(2 * u64::from(class)), queue)
        };
        let best = Any::Red(red::Config {
            packets: self.packets,
            min: Packets::new(20),
            max: Packets::new(60),
            ..red::Config::default()
        });
        let mut rest = vec![Class::new("control", control, Some(2), short())];
        rest.extend((1..=4).rev().map(assured));
        rest.push(Class::new("be", Vec::new(), Some(2), best));
        let rest = Any::Wfq(wfq::Config { classes: rest });
        let classes =
            vec![Class::new("ef", vec![Dscp::EF], None, ef), Class::new("rest", Vec::new(), None, rest)];
        priority::Config { classes }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "packets = 70, ef = 0.2";
}

impl Discipline for Config {
    fn build(&self, rate: Rate) -> Queue {
        self.tree(rate).build(rate)
    }

    fn facts(&self, rate: Rate, dscp: Dscp) -> facts::Queue {
        let mut facts = self.tree(rate).facts(rate, dscp);
        facts.notes.push("diffserv stands for a tree of these".to_owned());
        facts::Queue { kind: "diffserv", ..facts }
    }

    fn check(&self, problems: &mut Problems) {
        if self.ef.value() == 0.0 {
            problems.add("ef", "must be greater than 0");
        }
    }
}
