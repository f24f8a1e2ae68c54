//! `summary.json`: the outcome of a run in a short form.

use bentpipe_core::{Report, Span};
use bentpipe_stage::{Held, Totals};
use serde_json::{json, Map, Value};

/// The outcome of a run, from which its summary is made.
#[derive(Clone, Copy)]
pub struct Outcome<'a> {
    /// Length of the run in network time.
    pub duration: Span,
    /// The rows that the stages reported.
    pub report: &'a Report,
    /// Numbers of packets created, consumed and dropped.
    pub totals: &'a Totals,
    /// Packets that the stages held at the end.
    pub held: Held,
    /// Names of the stages, by their index in `totals`.
    pub stages: &'a [String],
    /// Columns about each flow that the report tables do not contain.
    pub flows: &'a crate::FlowColumns,
}

impl Outcome<'_> {
    /// Returns true if each packet and byte that was created is consumed, dropped or held.
    pub fn is_conserved(&self) -> bool {
        let dropped = self.dropped();
        self.totals.created.packets == self.totals.consumed.packets + dropped.packets + self.held.packets
            && self.totals.created.bytes == self.totals.consumed.bytes + dropped.bytes + self.held.bytes
    }

    fn dropped(&self) -> Held {
        self.totals.dropped.values().fold(Held::default(), |sum, dropped| Held {
            packets: sum.packets + dropped.packets,
            bytes: sum.bytes + dropped.bytes,
        })
    }

    /// Returns the content of `summary.json`. Values that are not finite become null.
    pub fn summary(&self) -> Value {
        let drops: Vec<Value> = self
            .totals
            .dropped
            .iter()
            .map(|((stage, reason), held)| {
                let stage = self.stages.get(*stage as usize).map_or("?", String::as_str);
                json!({ "stage": stage, "reason": reason.words(), "packets": held.packets, "bytes": held.bytes })
            })
            .collect();
        let losses = self.totals.lost.iter().filter_map(|(loss, held)| {
            Some(json!({
                "flow": self.flows.legs.get(&(loss.flow, loss.leg))?,
                "data": loss.data,
                "dscp": loss.dscp,
                "stage": self.stages.get(loss.stage as usize)?,
                "reason": loss.reason.words(),
                "packets": held.packets,
                "bytes": held.bytes,
            }))
        });
        let losses: Vec<Value> = losses.collect();
        json!({
            "duration_seconds": self.duration.as_secs_f64(),
            "packets": {
                "created": count(self.totals.created),
                "consumed": count(self.totals.consumed),
                "dropped": count(self.dropped()),
                "held": count(self.held),
                "conserved": self.is_conserved(),
            },
            "drops": drops,
            "losses": losses,
            "units": self.units(),
            "tables": self.tables(),
        })
    }

    fn units(&self) -> Value {
        let mut units = Map::new();
        for (table, _, _) in self.report.rows() {
            if !units.contains_key(table.name) {
                let columns = table.columns.iter().map(|column| (column.name.to_owned(), json!(column.unit)));
                units.insert(table.name.to_owned(), Value::Object(columns.collect()));
            }
        }
        Value::Object(units)
    }

    fn tables(&self) -> Value {
        let mut tables = Map::new();
        for (table, entity, values) in self.report.rows() {
            let mut row = Map::new();
            row.insert(table.entity.to_owned(), json!(entity));
            for (column, value) in table.columns.iter().zip(values) {
                let value = match column.whole && value.is_finite() {
                    true => json!(*value as i64),
                    false => json!(value),
                };
                row.insert(column.name.to_owned(), value);
            }
            let rows = tables.entry(table.name).or_insert_with(|| json!([]));
            rows.as_array_mut().expect("every table is a list").push(Value::Object(row));
        }
        Value::Object(tables)
    }
}

fn count(held: Held) -> Value {
    json!({ "packets": held.packets, "bytes": held.bytes })
}
