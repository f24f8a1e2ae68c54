//! The placement of a query's operators.

use super::cost::{cost, selectivity, Power};
use super::{partial_bytes, result_bytes, row_bytes, Kind, Network, Operator, Placement, Plan, WHOLE};
use crate::query::{Column, Expression, Field, Query};
use std::collections::{BTreeMap, BTreeSet};

/// Places the operators of a query on nodes. With [`Placement::Nodes`], a join is placed on the
/// node that minimizes the bytes sent.
pub fn place(query: &Query, network: &Network, placement: Placement) -> Plan {
    let sink = network.sink();
    let plan = |join: usize| {
        let mut builder = Builder { query, network, operators: Vec::new() };
        match placement {
            Placement::Sink => builder.shipped(),
            Placement::Nodes => builder.placed(join),
        }
        Plan { query: query.clone(), placement, operators: builder.operators }
    };
    if placement == Placement::Sink || query.sources.len() < 2 {
        return plan(sink);
    }
    let candidates = std::iter::once(sink).chain(0..sink).map(plan);
    let bytes = |plan: &Plan| cost(plan, network, &Power::default()).bytes_per_s;
    candidates.min_by(|a, b| bytes(a).total_cmp(&bytes(b))).unwrap_or_else(|| plan(sink))
}

struct Builder<'a> {
    query: &'a Query,
    network: &'a Network,
    /// The operators so far. Each operator precedes its successors.
    operators: Vec<Operator>,
}

impl Builder<'_> {
    /// Adds an operator and returns its index. `inputs` contains the preceding operators, each with
    /// the input of the new operator that receives its tuples.
    fn add(&mut self, kind: Kind, node: usize, bytes: u32, rate: f64, inputs: &[(usize, usize)]) -> usize {
        let id = self.operators.len();
        let mut hops = 0;
        for &(predecessor, port) in inputs {
            let operator = &mut self.operators[predecessor];
            operator.outputs.push((id, port));
            let between = self.network.path(operator.node, node).len() as u32 - 1;
            hops = hops.max(operator.hops + between);
        }
        self.operators.push(Operator { kind, node, outputs: Vec::new(), bytes, rate, hops });
        id
    }

    fn rate(&self, id: usize) -> f64 {
        self.operators[id].rate
    }

    /// Returns the conditions that refer only to the stream `wanted`, or, for `None`, to both
    /// streams.
    fn conditions(&self, wanted: Option<usize>) -> Vec<Expression> {
        let about = |condition: &&Expression| {
            let mut columns = BTreeSet::new();
            condition.columns(&mut columns);
            let sources: BTreeSet<usize> = columns.iter().map(|column| column.source).collect();
            match wanted {
                // A condition without columns is assigned to the first stream.
                Some(source) => sources == BTreeSet::from([source]) || (sources.is_empty() && source == 0),
                None => sources.len() > 1,
            }
        };
        self.query.conditions.iter().filter(about).cloned().collect()
    }

    /// Returns the columns that operators need after the conditions on single streams.
    fn columns(&self) -> BTreeSet<Column> {
        let mut columns = BTreeSet::new();
        let aggregated = self.query.aggregates.iter().filter_map(|aggregate| aggregate.argument.as_ref());
        let items = self.query.items.iter().map(|item| &item.expression);
        let joined = self.conditions(None);
        items.chain(aggregated).chain(&joined).for_each(|expression| expression.columns(&mut columns));
        columns
    }

    /// Adds one sampling operator for each mote of the streams.
    fn samples(&mut self) -> BTreeMap<u16, usize> {
        let motes: BTreeSet<u16> =
            self.query.sources.iter().flat_map(|source| source.motes.clone()).collect();
        let rate = 1.0 / self.network.period.as_secs_f64();
        motes.into_iter().map(|mote| (mote, self.add(Kind::Sample, mote.into(), WHOLE, rate, &[]))).collect()
    }

    /// Adds an operator for the conditions on a stream after `inputs`, and returns it. Without
    /// conditions, returns `inputs`.
    fn select(&mut self, source: usize, node: usize, inputs: Vec<usize>) -> Vec<usize> {
        let conditions = self.conditions(Some(source));
        if conditions.is_empty() {
            return inputs;
        }
        let share: f64 = conditions.iter().map(|condition| selectivity(condition, self.network)).product();
        let bytes = inputs.first().map_or(0, |input| self.operators[*input].bytes);
        let rate = inputs.iter().map(|input| self.rate(*input)).sum::<f64>() * share;
        let inputs: Vec<(usize, usize)> = inputs.iter().map(|input| (*input, source)).collect();
        vec![self.add(Kind::Select { source, conditions }, node, bytes, rate, &inputs)]
    }

    /// Places all operators at the sink, except sampling.
    fn shipped(&mut self) {
        let sink = self.network.sink();
        let samples = self.samples();
        let streams = self.query.sources.iter().enumerate();
        let streams: Vec<Vec<usize>> = streams
            .map(|(source, stream)| {
                let inputs = stream.motes.iter().map(|mote| samples[mote]).collect();
                self.select(source, sink, inputs)
            })
            .collect();
        let joined = self.join(sink, &streams);
        self.finish(joined, sink);
    }

    /// Places operators on the nodes, and a join on the node `at`.
    fn placed(&mut self, at: usize) {
        let samples = self.samples();
        let columns = self.columns();
        let mut streams = Vec::new();
        for (source, stream) in self.query.sources.iter().enumerate() {
            let needed: BTreeSet<Column> =
                columns.iter().filter(|column| column.source == source).copied().collect();
            let mut ends = Vec::new();
            for mote in &stream.motes {
                let node = usize::from(*mote);
                let selected = self.select(source, node, vec![samples[mote]]);
                for id in selected {
                    let (rate, bytes) = (self.rate(id), row_bytes(1, &needed));
                    let columns = needed.clone();
                    ends.push(self.add(Kind::Project { columns }, node, bytes, rate, &[(id, source)]));
                }
            }
            streams.push(ends);
        }
        if streams.len() > 1 {
            let joined = self.join(at, &streams);
            self.finish(joined, at);
        } else if self.query.grouping.is_some() {
            self.aggregated_in_network(&streams[0]);
        } else {
            self.computed_at_motes(&streams[0], &columns);
        }
    }

    /// Adds a join of two streams, or returns the operators of a single stream.
    fn join(&mut self, node: usize, streams: &[Vec<usize>]) -> Vec<usize> {
        let (Some(within), [left, right]) = (self.query.within, streams) else {
            return streams.iter().flatten().copied().collect();
        };
        let conditions = self.conditions(None);
        let [a, b] = [left, right].map(|ends| ends.iter().map(|end| self.rate(*end)).sum::<f64>());
        let period = self.network.period.as_secs_f64();
        let partners = 1.0 + 2.0 * (within.as_secs_f64() / period).floor();
        // The time bound is excluded, since it only determines the number of partners.
        let others = conditions.iter().filter(|condition| !compares_times(condition));
        let share: f64 = others.map(|condition| selectivity(condition, self.network)).product();
        let bytes = row_bytes(2, &self.columns());
        let inputs: Vec<(usize, usize)> =
            left.iter().map(|end| (*end, 0)).chain(right.iter().map(|end| (*end, 1))).collect();
        vec![self.add(
            Kind::Join { within, conditions },
            node,
            bytes,
            a * b * period * partners * share,
            &inputs,
        )]
    }

    /// Adds an aggregate, if the query has one, and the computation of results on a node after
    /// `ends`.
    fn finish(&mut self, ends: Vec<usize>, node: usize) {
        let mut ends = ends;
        if self.query.grouping.is_some() {
            let rate = self.groups_per_s(&ends);
            let inputs: Vec<(usize, usize)> = ends.iter().map(|end| (*end, 0)).collect();
            ends = vec![self.add(
                Kind::Aggregate { last: true },
                node,
                partial_bytes(self.query),
                rate,
                &inputs,
            )];
        }
        let rate = ends.iter().map(|end| self.rate(*end)).sum();
        let inputs: Vec<(usize, usize)> = ends.iter().map(|end| (*end, 0)).collect();
        let computed = self.add(Kind::Compute, node, result_bytes(self.query), rate, &inputs);
        self.deliver(&[computed]);
    }

    fn deliver(&mut self, ends: &[usize]) {
        let rate = ends.iter().map(|end| self.rate(*end)).sum();
        let inputs: Vec<(usize, usize)> = ends.iter().map(|end| (*end, 0)).collect();
        self.add(Kind::Deliver, self.network.sink(), 0, rate, &inputs);
    }

    /// Returns the expected number of groups per second from `inputs`: the groups of all windows,
    /// but at most the number of measures that enter windows.
    fn groups_per_s(&self, inputs: &[usize]) -> f64 {
        let Some(grouping) = &self.query.grouping else { return 0.0 };
        let motes = match grouping.node {
            Some(source) => self.query.sources[source].motes.len(),
            None => 1,
        };
        let windows = grouping.size.as_secs_f64() / grouping.step.as_secs_f64();
        let into: f64 = inputs.iter().map(|input| self.rate(*input)).sum();
        (motes as f64 / grouping.step.as_secs_f64()).min(into * windows.ceil())
    }

    /// Adds a partial aggregate on each mote and on every node on the path to the sink.
    fn aggregated_in_network(&mut self, ends: &[usize]) {
        let Some(grouping) = self.query.grouping else { return };
        let sink = self.network.sink();
        let mut inputs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut nodes = BTreeSet::from([sink]);
        for &end in ends {
            let node = self.operators[end].node;
            inputs.entry(node).or_default().push(end);
            nodes.extend(self.network.ascent(node));
        }
        // Process the nodes that are farthest from the sink first.
        let mut nodes: Vec<usize> = nodes.into_iter().collect();
        nodes.sort_by_key(|node| (usize::MAX - self.network.ascent(*node).len(), *node));
        let bytes = partial_bytes(self.query);
        // For each aggregate, the number of motes that contribute measures. If measures are grouped
        // by mote, this is the number of groups.
        let mut below: BTreeMap<usize, usize> = BTreeMap::new();
        for node in nodes {
            let from = inputs.remove(&node).unwrap_or_default();
            let motes = from.iter().map(|id| below.get(id).copied().unwrap_or(1)).sum::<usize>();
            let groups = if grouping.node.is_some() { motes as f64 } else { 1.0 };
            let windows = (grouping.size.as_secs_f64() / grouping.step.as_secs_f64()).ceil();
            let into: f64 = from
                .iter()
                .map(|id| match self.operators[*id].kind {
                    Kind::Aggregate { .. } => self.rate(*id),
                    _ => self.rate(*id) * windows,
                })
                .sum();
            let rate = (groups / grouping.step.as_secs_f64()).min(into);
            let ports: Vec<(usize, usize)> = from.iter().map(|id| (*id, 0)).collect();
            let id = self.add(Kind::Aggregate { last: node == sink }, node, bytes, rate, &ports);
            below.insert(id, motes);
            match self.network.parents.get(node) {
                Some(&parent) => inputs.entry(parent).or_default().push(id),
                None => {
                    let computed = self.add(Kind::Compute, sink, result_bytes(self.query), rate, &[(id, 0)]);
                    self.deliver(&[computed]);
                }
            }
        }
    }

    /// Adds the computation of results of single measures: on each mote, unless a row of results is
    /// longer than the columns that it needs.
    fn computed_at_motes(&mut self, ends: &[usize], columns: &BTreeSet<Column>) {
        let bytes = result_bytes(self.query);
        if bytes > row_bytes(1, columns) {
            return self.finish(ends.to_vec(), self.network.sink());
        }
        let mut computed = Vec::new();
        for &end in ends {
            let (node, rate) = (self.operators[end].node, self.rate(end));
            computed.push(self.add(Kind::Compute, node, bytes, rate, &[(end, 0)]));
        }
        self.deliver(&computed);
    }
}

/// Returns true if a condition compares only times.
fn compares_times(condition: &Expression) -> bool {
    let mut columns = BTreeSet::new();
    condition.columns(&mut columns);
    columns.iter().all(|column| column.field == Field::Time)
}
