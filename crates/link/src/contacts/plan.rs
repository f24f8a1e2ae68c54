//! Contacts by a contact plan.
//!
//! ```toml
//! when = { kind = "plan", plan = { file = "mars-day.csv" } }
//! ```

use super::{Contacts, Opening, PlanText};
use bentpipe_core::{Problems, Rate, Sample, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Contacts by a contact plan: the contacts between the link's nodes, in both directions. Rates and
/// light times of the plan replace those of the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The contact plan: JSON, HDTN's JSON, commands of ION, comma-separated values, or TOML.
    pub plan: PlanText,
    /// True to skip contacts that do not end after their start, as HDTN does. Default false: a plan
    /// with such a contact is refused.
    #[serde(default)]
    pub skip_impossible: bool,
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"plan = "src,dst,start,end,rate_bps,owlt_s\na,b,1,9,1000000,0.2\nb,a,1,9,1000000,0.2""#;
}

impl Contacts for Config {
    fn openings(&self, from: &str, to: &str, _stream: Stream) -> Box<dyn Iterator<Item = Opening> + Send> {
        let plan = self.plan.plan();
        let (from, to) = (plan.node(from), plan.node(to));
        let contacts =
            plan.contacts().iter().filter(|contact| (Some(contact.from), Some(contact.to)) == (from, to));
        let mut openings: Vec<Opening> = contacts
            .map(|contact| Opening {
                start: contact.start,
                end: contact.end,
                rate: Some(Rate::from_bits_per_second(
                    (contact.rate.bits_per_second().round() as u64).max(1),
                )),
                delay: Some(contact.delay),
            })
            .collect();
        openings.sort_by_key(|opening| (opening.start, opening.end));
        // Overlapping contacts of one pair agree on rate and light time.
        let mut merged: Vec<Opening> = Vec::with_capacity(openings.len());
        for opening in openings {
            match merged.last_mut() {
                Some(last) if last.end > opening.start => last.end = last.end.max(opening.end),
                _ => merged.push(opening),
            }
        }
        Box::new(merged.into_iter())
    }

    fn remark(&self, remarks: &mut Problems) {
        self.plan.remark(remarks);
    }

    fn check(&self, from: &str, to: &str, problems: &mut Problems) {
        self.plan.check(self.skip_impossible, problems);
        let plan = self.plan.plan();
        let unknown = [from, to].into_iter().find(|name| plan.node(name).is_none());
        if let Some(name) = unknown {
            let known = plan.nodes().join(", ");
            problems
                .add("plan", format!("has no contact of \"{name}\", a node of the link; its nodes: {known}"));
        }
    }
}
