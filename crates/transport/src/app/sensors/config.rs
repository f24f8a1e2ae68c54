//! Configuration of a sensor network, with its checks.

use super::RadioErrors;
use bentpipe_core::{Count, Problems, Size, Span, Stream, Streams, Time};
use bentpipe_link::channel;
use bentpipe_sensors::field::{self, Field};
use bentpipe_sensors::ieee802154::Rules;
use bentpipe_sensors::plan::{place, Network, Placement, Plan};
use bentpipe_sensors::query;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A sensor network: motes on an IEEE 802.15.4 channel, and a sink, the flow's destination, that
/// sends the results of a query to the flow's source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SensorsApp")]
pub struct Config {
    /// Names of the motes, 1 to 100. They are not nodes of the scenario.
    pub motes: Vec<String>,
    /// The query, a subset of SQL over the streams `motes` (all motes) and that of each mote by its
    /// name, with the columns `node`, `time`, `light`, `temperature`, `acceleration`, `magnetism`
    /// and `audio`.
    pub query: String,
    /// Time between two samples of a mote, at least 10 ms. Default 1 s; the platform study has 100
    /// ms to 2 s.
    #[serde(default = "period")]
    pub period: Span,
    /// Placement of the query's operators: `"nodes"` (the default) places each operator at the node
    /// at which the fewest bytes are sent, `"sink"` sends every measure to the sink.
    #[serde(default)]
    pub placement: Placement,
    /// Parent of each mote in the tree towards the sink, by names. A mote that is not listed sends
    /// to the sink itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parents: BTreeMap<String, String>,
    /// Motes that each mote hears, by names (the sink is `"sink"`). A mote that is not listed hears
    /// all. Motes that do not hear each other do not defer to each other, so their transmissions
    /// may collide at other motes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hears: BTreeMap<String, Vec<String>>,
    /// Errors of frames on the air, independent for each direction between two motes. Default none.
    #[serde(default)]
    pub error: channel::Config,
    /// Time for which a window waits for partial aggregates after its end, per hop below its node.
    /// Default 1 s.
    #[serde(default = "wait")]
    pub wait: Span,
    /// Size of a row of results on the path to the client. Default 25 B, as for a measure in the
    /// platform study.
    #[serde(default = "measure")]
    pub measure: Size,
    /// True if motes acknowledge frames, and retransmit unacknowledged ones. Default true.
    #[serde(default = "acknowledged")]
    pub acknowledged: bool,
    /// Maximum number of retransmissions of a frame (macMaxFrameRetries). Default 3.
    #[serde(default = "retries")]
    pub retries: Count<0, 7>,
    /// Number of further attempts at a busy channel before a frame is given up
    /// (macMaxCSMABackoffs). Default 4.
    #[serde(default = "backoffs")]
    pub backoffs: Count<0, 5>,
    /// Exponent of the first backoff (macMinBE): up to 2^3 - 1 periods of 320 us for the default,
    /// 3.
    #[serde(default = "min_be")]
    pub min_be: Count<0, 8>,
    /// Maximum exponent of backoffs (macMaxBE). Default 5.
    #[serde(default = "max_be")]
    pub max_be: Count<3, 8>,
    /// Maximum number of frames in a mote's queue. Default 64.
    #[serde(default = "queue")]
    pub queue: Count<1, 10_000>,
}

fn period() -> Span {
    Span::from_secs(1)
}

fn wait() -> Span {
    Span::from_secs(1)
}

fn measure() -> Size {
    Size::from_bytes(bentpipe_sensors::measure::MEASURE.into())
}

fn acknowledged() -> bool {
    Rules::default().acknowledged
}

fn retries() -> Count<0, 7> {
    Count::new(Rules::default().retries.into())
}

fn backoffs() -> Count<0, 5> {
    Count::new(Rules::default().backoffs.into())
}

fn min_be() -> Count<0, 8> {
    Count::new(Rules::default().min_be.into())
}

fn max_be() -> Count<3, 8> {
    Count::new(Rules::default().max_be.into())
}

fn queue() -> Count<1, 10_000> {
    Count::new(Rules::default().queue as u64)
}

/// The name of the sink in lists of motes.
const SINK: &str = "sink";
/// Maximum number of motes on the shared channel.
const MAX_MOTES: usize = 100;

impl Config {
    /// Returns the motes and their tree.
    ///
    /// # Panics
    /// Panics if the configuration has not passed its check.
    pub fn network(&self) -> Network {
        let index = |name: &str| self.motes.iter().position(|mote| mote == name).unwrap_or(self.motes.len());
        let parents = self
            .motes
            .iter()
            .map(|mote| self.parents.get(mote).map_or(self.motes.len(), |parent| index(parent)));
        Network {
            motes: self.motes.clone(),
            parents: parents.collect(),
            period: self.period,
            wait: self.wait,
        }
    }

    /// Returns the plan of a query, or the fault of the query.
    pub fn plan(&self, query: &str) -> Result<Plan, String> {
        let parsed = query::parse(query, &self.motes)?;
        let plan = place(&parsed, &self.network(), self.placement);
        plan.check()?;
        Ok(plan)
    }

    /// Creates the field that runs a query from `begin`, and the errors of its channel. Returns the
    /// fault of the query if it is invalid.
    pub fn field(
        &self,
        query: &str,
        begin: Time,
        draws: &mut Stream,
    ) -> Result<(Field, RadioErrors), String> {
        let plan = self.plan(query)?;
        let streams = Streams::new(draws.bits(), 0);
        let motes = self.motes.iter().map(|mote| streams.stream(&format!("mote {mote}"))).collect();
        let own = field::Streams { motes, medium: streams.stream("medium") };
        let errors = RadioErrors::new(&self.error, self.motes.len() + 1, &streams);
        Ok((Field::new(self.network(), plan, self.rules(), self.audible(), begin, own), errors))
    }

    fn rules(&self) -> Rules {
        Rules {
            min_be: self.min_be.value() as u32,
            max_be: self.max_be.value() as u32,
            backoffs: self.backoffs.value() as u32,
            retries: self.retries.value() as u32,
            acknowledged: self.acknowledged,
            queue: self.queue.value() as usize,
        }
    }

    /// Returns the audibility between nodes, the sink last.
    fn audible(&self) -> Vec<Vec<bool>> {
        let names: Vec<&str> = self.motes.iter().map(String::as_str).chain([SINK]).collect();
        let hears = |a: &&str, b: &&str| {
            a != b && self.hears.get(*a).is_none_or(|heard| heard.iter().any(|name| name == b))
        };
        names.iter().map(|a| names.iter().map(|b| hears(a, b)).collect()).collect()
    }

    pub(super) fn check_keys(&self, problems: &mut Problems) {
        let before = problems.count();
        if !(1..=MAX_MOTES).contains(&self.motes.len()) {
            problems.add("motes", format!("{} motes; allowed: 1 to {MAX_MOTES}", self.motes.len()));
        }
        for (place, mote) in self.motes.iter().enumerate() {
            if mote.is_empty() || mote == SINK || mote == query::ALL || self.motes[..place].contains(mote) {
                problems.add(
                    "motes",
                    format!("\"{mote}\" is not the name of a mote; allowed: different names other than {SINK} and {}", query::ALL),
                );
            }
        }
        let known = |name: &str| self.motes.iter().any(|mote| mote == name);
        let names = || self.motes.join(", ");
        for (mote, parent) in &self.parents {
            if !known(mote) || !known(parent) {
                problems.add(
                    "parents",
                    format!("{mote} = \"{parent}\" is not a pair of motes; allowed: {}", names()),
                );
            }
        }
        for (mote, heard) in &self.hears {
            let unknown = |name: &String| !known(name) && name != SINK;
            if let Some(name) = std::iter::once(mote).chain(heard).find(|name| unknown(name)) {
                problems.add("hears", format!("\"{name}\" is not a mote; allowed: {}, {SINK}", names()));
            }
        }
        if self.period < Span::from_millis(10) {
            problems.add("period", format!("{} is too short; allowed: 10 ms or longer", self.period));
        }
        if self.min_be.value() > self.max_be.value() {
            problems.add("min_be", "is greater than max_be; allowed: up to max_be");
        }
        if !(1..=1400).contains(&self.measure.bytes()) {
            problems.add("measure", format!("{} is out of range; allowed: 1 B to 1400 B", self.measure));
        }
        problems.within("error", |problems| self.error.check(problems));
        if problems.count() > before {
            return;
        }
        for mote in &self.motes {
            let mut at = mote;
            for _ in 0..self.motes.len() {
                at = self.parents.get(at).unwrap_or(at);
            }
            if self.parents.contains_key(at) {
                return problems
                    .add("parents", format!("{mote} reaches no sink; allowed: parents without a circle"));
            }
        }
        if let Err(wrong) = self.plan(&self.query) {
            problems.add("query", wrong);
        }
    }
}
