//! The configuration of a campaign: many runs of one scenario. `bentpipe campaign` uses it; the
//! engine runs a single one.

use bentpipe_core::{Count, Fraction, Problems};
use schemars::JsonSchema;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A campaign: values are varied, and each combination is replicated. The variants are the product
/// of `vary`, each table of `zip`, `list` and `sample`; the last of them varies fastest. A single
/// run of the scenario ignores it.
///
/// Keys are written as in an override, quoted or not: `vary.flow.up.transport.congestion = ["reno",
/// "vegas"]` has the effect of `--set flow.up.transport.congestion=reno` in one run and of `--set
/// flow.up.transport.congestion=vegas` in another.
///
/// ```toml
/// [campaign]
/// replications = 10
/// vary.flow.up.transport.congestion = ["reno", "vegas"]
/// vary.link.sat.rate = ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"]
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Campaign {
    /// A grid: every combination of these values. The last key varies fastest.
    #[schemars(with = "BTreeMap<String, Value>")]
    pub vary: Lists,
    /// Lists of equal length whose values are combined in step: the first values of all keys
    /// together, then the second, and so on. A list under the key `label` names the combinations in
    /// tables and figures; only one part of a campaign may have labels.
    #[schemars(with = "Vec<BTreeMap<String, Value>>")]
    pub zip: Vec<Lists>,
    /// Explicit combinations, each a table of keys and values. The key `label` names a combination
    /// in tables and figures.
    #[schemars(with = "Vec<BTreeMap<String, Value>>")]
    pub list: Vec<Point>,
    /// Randomly drawn combinations. If unset, none are drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// Number of runs of each variant, each with its own random numbers. Default 1.
    pub replications: Count<1, 1_000_000>,
    /// Confidence level: probability with which a confidence interval contains the mean, between 0
    /// and 1. Default 0.95.
    pub confidence: Fraction,
    /// True if replications with the same number draw the same random numbers in every variant, so
    /// that differences between variants are not due to chance. False: every variant has its own
    /// seed. Default true.
    pub common_random_numbers: bool,
    /// Precision at which a variant has enough replications; `replications` is then the minimum. If
    /// unset, each variant has exactly `replications`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Clock of the runs: simulated (`"virtual"`, the default), or real kernels in virtual time
    /// (`"kernel"`).
    pub clock: Clock,
    /// True if the folders of the runs are kept, with their traces. False: only reports are
    /// recorded. Default false.
    pub keep_runs: bool,
}

impl Default for Campaign {
    fn default() -> Campaign {
        Campaign {
            vary: Lists::default(),
            zip: Vec::new(),
            list: Vec::new(),
            sample: None,
            replications: Count::new(1),
            confidence: Fraction::thousandths(950),
            common_random_numbers: true,
            precision: None,
            clock: Clock::Virtual,
            keep_runs: false,
        }
    }
}

/// The clock of the runs of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Simulated runs, in virtual time.
    Virtual,
    /// Runs in a guest with a real kernel in virtual time, which `bentpipe machine kernel build`
    /// builds.
    Kernel,
}

/// Values drawn at random from ranges, for several keys at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Sampling method: `"latin-hypercube"` (the default) or `"random"`.
    #[serde(default)]
    pub method: Method,
    /// Number of combinations to draw, each of which is a variant of the campaign.
    pub count: Count<1, 1_000_000>,
    /// Seed of the draw. Default 1.
    #[serde(default = "first_seed")]
    pub seed: Count<0, 9_007_199_254_740_991>,
    /// Ranges of the keys: minimum and maximum, as numbers or quantities of one unit: `["1 Mbit/s",
    /// "10 Mbit/s"]`.
    #[schemars(with = "BTreeMap<String, Value>")]
    pub between: Lists,
    /// Names of the keys whose logarithm, instead of their value, is uniformly distributed.
    #[serde(default)]
    pub logarithmic: Vec<String>,
}

/// The method of drawing the values of sampled keys from their ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Latin hypercube: each of `count` equal parts of a key's range contributes one value (McKay,
    /// Beckman and Conover 1979).
    #[default]
    LatinHypercube,
    /// Independent and uniform draws of each value.
    Random,
}

/// The precision of a mean at which a variant has enough replications: half of the confidence
/// interval is at most a given fraction of the mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Precision {
    /// Column of the flows that must be known with this precision, or TABLE.COLUMN of another
    /// report.
    pub metric: String,
    /// Name of the flow, terminal or link; or of a group of flows, or a pattern such as `st*`,
    /// whose mean then counts. If unset, all of them must be known with this precision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Maximum half width of the confidence interval, as a fraction of the mean; greater than 0.
    pub relative_half_width: Fraction,
    /// Maximum number of replications of a variant, at least `replications`. Default 100.
    #[serde(default = "many")]
    pub at_most: Count<2, 1_000_000>,
}

fn first_seed() -> Count<0, 9_007_199_254_740_991> {
    Count::new(1)
}

fn many() -> Count<2, 1_000_000> {
    Count::new(100)
}

/// Key paths with a list of values each, in the order of writing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lists(pub Vec<(String, Vec<Value>)>);

/// Key paths with one value each, in the order of writing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point(pub Vec<(String, Value)>);

impl Campaign {
    pub(crate) fn check(&self, problems: &mut Problems) {
        let mut seen = BTreeSet::new();
        let mut once = |key: &str, problems: &mut Problems| {
            if !seen.insert(key.to_owned()) {
                problems.add(key, "is varied twice; allowed: every key once in a campaign");
            }
        };
        problems.within("vary", |problems| {
            self.vary.check(problems);
            self.vary.0.iter().for_each(|(key, _)| once(key, problems));
        });
        problems.within("zip", |problems| {
            for (index, lists) in self.zip.iter().enumerate() {
                problems.within(index.to_string(), |problems| {
                    lists.check(problems);
                    lists.check_lengths(problems);
                    lists.0.iter().for_each(|(key, _)| once(key, problems));
                });
            }
        });
        problems.within("list", |problems| {
            let keys: BTreeSet<_> = self.list.iter().flat_map(|point| &point.0).map(|(key, _)| key).collect();
            keys.into_iter().for_each(|key| once(key, problems));
        });
        problems.within("sample", |problems| {
            if let Some(sample) = &self.sample {
                problems.within("between", |problems| {
                    sample.between.check_ranges(problems);
                    sample.between.0.iter().for_each(|(key, _)| once(key, problems));
                });
                let keys: Vec<_> = sample.between.0.iter().map(|(key, _)| key.as_str()).collect();
                for key in sample.logarithmic.iter().filter(|key| !keys.contains(&key.as_str())) {
                    problems.add(
                        "logarithmic",
                        format!("\"{key}\" is no key of between; allowed: {}", keys.join(", ")),
                    );
                }
            }
        });
        if let Some(precision) = &self.precision {
            problems.within("precision", |problems| {
                if precision.relative_half_width.value() == 0.0 {
                    problems.add("relative_half_width", "must be greater than 0");
                }
                if precision.at_most.value() < self.replications.value() {
                    let min = self.replications.value();
                    problems.add("at_most", format!("must be at least replications, {min}"));
                }
            });
        }
        if !(0.0..1.0).contains(&self.confidence.value()) || self.confidence.value() == 0.0 {
            problems.add("confidence", "must be greater than 0 and less than 1, for instance 0.95");
        }
    }
}

impl Lists {
    fn check(&self, problems: &mut Problems) {
        for (key, values) in &self.0 {
            if values.is_empty() {
                problems.add(key, "has no values; allowed: a list with at least one value");
            }
        }
    }

    fn check_lengths(&self, problems: &mut Problems) {
        let Some((first, values)) = self.0.first() else { return };
        for (key, others) in self.0.iter().filter(|(_, others)| others.len() != values.len()) {
            let (has, wanted) = (others.len(), values.len());
            problems.add(
                key,
                format!(
                    "has {has} values and {first} has {wanted}; allowed: lists of the same length, or vary for all \
                     combinations"
                ),
            );
        }
    }

    fn check_ranges(&self, problems: &mut Problems) {
        for (key, _) in self.0.iter().filter(|(_, values)| values.len() != 2) {
            problems.add(key, "must be the minimum and the maximum, as [MINIMUM, MAXIMUM]");
        }
    }
}

/// A table within `vary` and similar keys: its values, nested as written.
enum Branch<L> {
    Leaf(L),
    Table(Vec<(String, Branch<L>)>),
}

impl<L> Branch<L> {
    fn flatten(self, path: &str, into: &mut Vec<(String, L)>) {
        match self {
            Branch::Leaf(leaf) => into.push((path.to_owned(), leaf)),
            Branch::Table(entries) => {
                for (key, branch) in entries {
                    let path = if path.is_empty() { key } else { format!("{path}.{key}") };
                    branch.flatten(&path, into);
                }
            }
        }
    }
}

/// The value at the end of a key path, with the way to read it.
trait Leaf: Sized {
    const WHAT: &'static str;
    fn from_list(values: Vec<Value>) -> Self;
    fn from_value(value: Value) -> Option<Self>;
}

impl Leaf for Vec<Value> {
    const WHAT: &'static str = "a list of values, or a table of further keys";
    fn from_list(values: Vec<Value>) -> Self {
        values
    }
    fn from_value(_: Value) -> Option<Self> {
        None
    }
}

impl Leaf for Value {
    const WHAT: &'static str = "a value, or a table of further keys";
    fn from_list(values: Vec<Value>) -> Self {
        Value::Array(values)
    }
    fn from_value(value: Value) -> Option<Self> {
        Some(value)
    }
}

impl<'de, L: Leaf> Deserialize<'de> for Branch<L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Node<L>(std::marker::PhantomData<L>);
        impl<L: Leaf> Node<L> {
            fn scalar<E: Error>(self, value: Value) -> Result<Branch<L>, E> {
                let shown = value.to_string();
                L::from_value(value)
                    .map(Branch::Leaf)
                    .ok_or_else(|| E::custom(format!("expected {}, found {shown}", L::WHAT)))
            }
        }
        impl<'de, L: Leaf> Visitor<'de> for Node<L> {
            type Value = Branch<L>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(L::WHAT)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Branch<L>, E> {
                self.scalar(text.into())
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Branch<L>, E> {
                self.scalar(number.into())
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Branch<L>, E> {
                self.scalar(number.into())
            }
            fn visit_bool<E: Error>(self, truth: bool) -> Result<Branch<L>, E> {
                self.scalar(truth.into())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Branch<L>, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(Branch::Leaf(L::from_list(values)))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Branch<L>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = table.next_entry()? {
                    entries.push(entry);
                }
                Ok(Branch::Table(entries))
            }
        }
        deserializer.deserialize_any(Node(std::marker::PhantomData))
    }
}

fn paths<'de, L: Leaf, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, L)>, D::Error> {
    let branch = Branch::deserialize(deserializer)?;
    if matches!(branch, Branch::Leaf(_)) {
        return Err(D::Error::custom("expected a table of key paths"));
    }
    let mut found = Vec::new();
    branch.flatten("", &mut found);
    Ok(found)
}

macro_rules! ordered {
    ($name:ident) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                paths(deserializer).map($name)
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
            }
        }
    };
}
ordered!(Lists);
ordered!(Point);
