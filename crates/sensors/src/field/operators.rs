//! The processing of tuples by operators.

use super::{Field, Partial, Row, Timer, Tuple};
use crate::measure::Measure;
use crate::plan::Kind;
use crate::query::expression::{Scope, State};
use crate::query::{Column, Field as Name};
use bentpipe_core::{Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The open windows of an aggregate.
#[derive(Default)]
pub struct Groups {
    /// The open windows, by start in nanoseconds.
    open: BTreeMap<u64, Window>,
    /// Windows that start before this time in nanoseconds are closed.
    closed_before: u64,
}

/// The groups of a window, by mote. Each group has the states of its aggregates and the time of its
/// latest measure.
type Window = BTreeMap<Option<u16>, (Vec<State>, Time)>;

/// The measures of both streams that a join stores for later partners.
#[derive(Default)]
pub struct Pairs {
    sides: [VecDeque<Measure>; 2],
}

/// The measure of a stream that a tuple does not contain: all values are NaN.
const NOTHING: Measure = Measure { mote: 0, time: Time::ZERO, values: [f32::NAN; 5] };

impl Field {
    /// Processes a tuple that arrives at an input of an operator.
    pub(super) fn process(&mut self, now: Time, id: usize, port: usize, tuple: &Tuple, rows: &mut Vec<Row>) {
        match &self.plan.operators[id].kind {
            Kind::Sample => {}
            Kind::Select { source, conditions } => {
                let Tuple::Measures(measures) = tuple else { return };
                let aligned = aligned(measures, *source);
                let scope = Scope { measures: &aligned, ..Scope::default() };
                if conditions.iter().all(|condition| condition.holds(scope)) {
                    self.emit(now, id, tuple.clone(), rows);
                }
            }
            Kind::Project { columns } => {
                let Tuple::Measures(measures) = tuple else { return };
                let kept = measures.iter().map(|measure| projected(measure, columns)).collect();
                self.emit(now, id, Tuple::Measures(kept), rows);
            }
            Kind::Join { .. } => {
                let Tuple::Measures(measures) = tuple else { return };
                if let Some(&measure) = measures.first() {
                    self.join(now, id, port, measure, rows);
                }
            }
            Kind::Aggregate { .. } => match tuple {
                Tuple::Measures(measures) => self.aggregate(id, measures),
                Tuple::Partial(partial) => self.merge(id, partial.clone()),
                Tuple::Row(_) => {}
            },
            Kind::Compute => self.compute(now, id, tuple, rows),
            Kind::Deliver => {
                if let Tuple::Row(row) = tuple {
                    self.totals.rows += 1;
                    rows.push(Row { delivered: now, ..row.clone() });
                }
            }
        }
    }

    fn join(&mut self, now: Time, id: usize, port: usize, measure: Measure, rows: &mut Vec<Row>) {
        let operator = &self.plan.operators[id];
        let Kind::Join { within, conditions } = &operator.kind else { return };
        // Measures are kept for this time, since partners may still be in transit.
        let retention = *within + times(self.network.wait, operator.hops + 1);
        let sides = &mut self.pairs[id].sides;
        for side in &mut *sides {
            while side.front().is_some_and(|oldest| oldest.time + retention < now) {
                side.pop_front();
            }
        }
        let mut found = Vec::new();
        for other in &sides[1 - port] {
            let pair = if port == 0 { [measure, *other] } else { [*other, measure] };
            let apart = pair[0].time.since(pair[1].time).max(pair[1].time.since(pair[0].time));
            let scope = Scope { measures: &pair, ..Scope::default() };
            if apart <= *within && conditions.iter().all(|condition| condition.holds(scope)) {
                found.push(pair.to_vec());
            }
        }
        sides[port].push_back(measure);
        for pair in found {
            self.emit(now, id, Tuple::Measures(pair), rows);
        }
    }

    /// Adds a measure or a joined pair of measures to its windows.
    fn aggregate(&mut self, id: usize, measures: &[Measure]) {
        let query = &self.plan.query;
        let Some(grouping) = query.grouping else { return };
        let Some(latest) = measures.iter().map(|measure| measure.time).max() else { return };
        let scope = Scope { measures, ..Scope::default() };
        let value = |argument: &Option<crate::query::Expression>| {
            argument.as_ref().map_or(0.0, |argument| argument.number(scope))
        };
        let states: Vec<State> =
            query.aggregates.iter().map(|aggregate| State::of(value(&aggregate.argument))).collect();
        let group = grouping.node.and_then(|source| measures.get(source)).map(|measure| measure.mote);
        // A joined pair belongs to the windows of its later measure.
        let (time, step) = (latest.as_nanos(), grouping.step.as_nanos());
        let mut start = time - time % step;
        loop {
            let partial = Partial { start, group, states: states.clone(), latest };
            self.merge(id, partial);
            if start < step || start - step + grouping.size.as_nanos() <= time {
                return;
            }
            start -= step;
        }
    }

    /// Merges a partial aggregate into its window, or counts it as late if the window is closed.
    fn merge(&mut self, id: usize, partial: Partial) {
        let Some(grouping) = self.plan.query.grouping else { return };
        let groups = &mut self.groups[id];
        if partial.start < groups.closed_before {
            self.totals.late += 1;
            return;
        }
        let window = groups.open.entry(partial.start).or_default();
        if window.is_empty() {
            let end = Time::from_nanos(partial.start) + grouping.size;
            let due = end + times(self.network.wait, self.plan.operators[id].hops);
            self.timers.push(Reverse((due, Timer::Close(id, partial.start))));
        }
        match window.get_mut(&partial.group) {
            Some((states, latest)) => {
                *latest = (*latest).max(partial.latest);
                for (state, other) in states.iter_mut().zip(partial.states) {
                    *state = state.merged(other);
                }
            }
            None => {
                window.insert(partial.group, (partial.states, partial.latest));
            }
        }
    }

    /// Closes a window and emits its groups.
    pub(super) fn close(&mut self, now: Time, id: usize, start: u64, rows: &mut Vec<Row>) {
        let groups = &mut self.groups[id];
        groups.closed_before = groups.closed_before.max(start + 1);
        let Some(window) = groups.open.remove(&start) else { return };
        for (group, (states, latest)) in window {
            self.emit(now, id, Tuple::Partial(Partial { start, group, states, latest }), rows);
        }
    }

    /// Computes a row of results from measures or from a complete group, and emits it.
    fn compute(&mut self, now: Time, id: usize, tuple: &Tuple, rows: &mut Vec<Row>) {
        let query = &self.plan.query;
        let row = match tuple {
            Tuple::Measures(measures) => {
                let scope = Scope { measures, ..Scope::default() };
                let values = query.items.iter().map(|item| item.expression.value(scope, &self.network.motes));
                let sampled = measures.iter().map(|measure| measure.time).max().unwrap_or(now);
                Row { values: values.collect(), sampled, delivered: now }
            }
            Tuple::Partial(partial) => {
                let functions = query.aggregates.iter().zip(&partial.states);
                let aggregates: Vec<f64> =
                    functions.map(|(aggregate, state)| state.value(aggregate.function)).collect();
                // Outside of aggregates, expressions contain no column other than the group's mote.
                let measures =
                    vec![Measure { mote: partial.group.unwrap_or(0), ..NOTHING }; query.sources.len()];
                let window_start = Time::from_nanos(partial.start).as_secs_f64();
                let scope = Scope { measures: &measures, aggregates: &aggregates, window_start };
                if query.having.as_ref().is_some_and(|having| !having.holds(scope)) {
                    return;
                }
                let values = query.items.iter().map(|item| item.expression.value(scope, &self.network.motes));
                Row { values: values.collect(), sampled: partial.latest, delivered: now }
            }
            Tuple::Row(_) => return,
        };
        self.emit(now, id, Tuple::Row(row), rows);
    }
}

/// Places the measures of a stream at the index of the stream in the query.
fn aligned(measures: &[Measure], source: usize) -> Vec<Measure> {
    let mut aligned = vec![NOTHING; source];
    aligned.extend_from_slice(measures);
    aligned
}

/// Returns a measure with only the values of these columns.
fn projected(measure: &Measure, columns: &BTreeSet<Column>) -> Measure {
    let mut values = [f32::NAN; 5];
    for column in columns {
        if let Name::Quantity(quantity) = column.field {
            values[quantity as usize] = measure.values[quantity as usize];
        }
    }
    Measure { values, ..*measure }
}

fn times(span: Span, count: u32) -> Span {
    Span::from_nanos(span.as_nanos().saturating_mul(count.into()))
}
