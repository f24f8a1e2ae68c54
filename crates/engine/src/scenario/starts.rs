//! Start times of the flows of a group: processes of start times.

use super::{Flow, Scenario};
use bentpipe_core::{kinds, Problems, Sample, Span, Stream, Streams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

kinds! {
    /// A process of start times of the flows of a group, counted from `start`.
    pub enum Starts: Process {
        "even" => Even(Even),
        "uniform" => Uniform(Uniform),
        "poisson" => Poisson(Poisson),
    }
}

/// The contract of a process of start times.
pub trait Process {
    /// Returns the times of `count` starts, in the order of the flows.
    fn times(&self, count: usize, stream: &mut Stream) -> Vec<Span>;

    /// Adds the problems of the configuration.
    fn check(&self, problems: &mut Problems);
}

/// Starts at equal distances: the first flow at once, and each further one after a fraction of
/// `over`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Even {
    /// Time over which the starts are spread; longer than 0 s.
    pub over: Span,
}

/// Starts at independent random times, uniformly distributed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uniform {
    /// Time within which all flows start; longer than 0 s.
    pub over: Span,
}

/// Starts of a Poisson process: exponentially distributed times between consecutive starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Mean time between two starts; longer than 0 s.
    pub mean: Span,
}

impl Sample for Even {
    const SAMPLE: &'static str = r#"over = "10 s""#;
}

impl Sample for Uniform {
    const SAMPLE: &'static str = r#"over = "10 s""#;
}

impl Sample for Poisson {
    const SAMPLE: &'static str = r#"mean = "500 ms""#;
}

impl Process for Even {
    fn times(&self, count: usize, _: &mut Stream) -> Vec<Span> {
        (0..count as u64).map(|index| self.over * index / count as u64).collect()
    }

    fn check(&self, problems: &mut Problems) {
        positive("over", self.over, problems);
    }
}

impl Process for Uniform {
    fn times(&self, count: usize, stream: &mut Stream) -> Vec<Span> {
        (0..count).map(|_| Span::from_secs_f64(stream.uniform() * self.over.as_secs_f64())).collect()
    }

    fn check(&self, problems: &mut Problems) {
        positive("over", self.over, problems);
    }
}

impl Process for Poisson {
    fn times(&self, count: usize, stream: &mut Stream) -> Vec<Span> {
        let mut at = Span::ZERO;
        let mean = self.mean.as_secs_f64();
        let next = |_| {
            at += Span::from_secs_f64(stream.exponential(mean));
            at
        };
        (0..count).map(next).collect()
    }

    fn check(&self, problems: &mut Problems) {
        positive("mean", self.mean, problems);
    }
}

fn positive(key: &str, span: Span, problems: &mut Problems) {
    if span == Span::ZERO {
        problems.add(key, "must be longer than 0 s");
    }
}

impl Scenario {
    /// Returns the scenario with the start times of all flows, as drawn for replication `run` under
    /// `seed`. The draws of a group depend only on its name and the number of its flows.
    pub fn started(&self, seed: u64, run: u64) -> Cow<'_, Scenario> {
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, flow) in self.flow.iter().enumerate() {
            if let Flow { starts: Some(_), group: Some(group), .. } = flow {
                groups.entry(group).or_default().push(index);
            }
        }
        if groups.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut flows = self.flow.clone();
        for (group, members) in groups {
            let mut stream = Streams::new(seed, run).stream(&format!("{group} starts"));
            let process = self.flow[members[0]].starts.as_ref().expect("only such flows were gathered");
            for (&member, after) in members.iter().zip(process.times(members.len(), &mut stream)) {
                flows[member].start += after;
            }
        }
        flows.iter_mut().for_each(|flow| flow.starts = None);
        Cow::Owned(Scenario { flow: flows, ..self.clone() })
    }
}
