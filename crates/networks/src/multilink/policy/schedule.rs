//! Handovers at the times given by the scenario's `[[handover]]`s.

use super::{Choice, Decision, Handover, Policy, View};
use bentpipe_core::{Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Handovers at the times given by the scenario's `[[handover]]`s, and at no others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Choice for Config {
    fn build(
        &self,
        _links: &[String],
        _handover: Handover,
        schedule: Vec<(Time, Decision)>,
        _stream: Stream,
    ) -> Box<dyn Policy> {
        Box::new(Schedule(schedule.into()))
    }
}

/// The handovers in order of time.
struct Schedule(VecDeque<(Time, Decision)>);

impl Policy for Schedule {
    fn next(&self) -> Option<Time> {
        self.0.front().map(|(at, _)| *at)
    }

    fn decide(&mut self, _now: Time, _view: &View<'_>) -> Option<Decision> {
        self.0.pop_front().map(|(_, decision)| decision)
    }
}
