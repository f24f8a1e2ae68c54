//! {Title}: the sent packets and the measured quantities, in a sentence.
//!
//! Source, deviations, limits. The skeleton sends datagrams at regular intervals. Its destination
//! writes their one-way delays to a trace, and the maximum to a column of the flow.
//!
//! ```toml
//! app = { kind = "{kebab}", interval = "20 ms" }
//! ```

use super::{Actions, App, Arrival, Demand, End, Event, Workload};
use bentpipe_core::{Column, Problems, Report, Sample, Span, Stream, Table, Tables, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: a datagram of 160 bytes at regular intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time between two datagrams; must be longer than 0 s.
    pub interval: Span,
}

/// Bytes of a datagram's payload.
const DATAGRAM: u32 = 160;

/// The trace of arrived datagrams.
pub static TRACE: Table = Table {
    name: "{snake}",
    entity: "flow",
    about: "when a datagram of {words} arrives",
    columns: &[
        Column::whole("{snake}_number", "1", "number of the datagram in sending order, from 0"),
        Column::real("{snake}_delay", "s", "one-way delay of the datagram"),
    ],
};

/// The columns of the flow's report.
pub static REPORT: Table = Table {
    name: "flow_{snake}",
    entity: "flow",
    about: "at the end of the run",
    columns: &[Column::real("{snake}_delay_max", "s", "greatest one-way delay of a datagram")],
};

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&TRACE];
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"interval = "20 ms""#;
}

impl Workload for Config {
    fn build(&self, end: End, _plan: Stream) -> Box<dyn App> {
        match end {
            End::Source => Box::new(Source { interval: self.interval }),
            End::Destination => Box::new(Destination { greatest: None }),
        }
    }

    fn is_elastic(&self) -> bool {
        false
    }

    fn demand(&self) -> Option<Demand> {
        let rate_bit_s = f64::from(DATAGRAM) * 8.0 / self.interval.as_secs_f64();
        Some(Demand { rate_bit_s, datagram: DATAGRAM })
    }

    fn measures(&self) -> Option<&'static Table> {
        Some(&TRACE)
    }

    fn check(&self, problems: &mut Problems) {
        if self.interval == Span::ZERO {
            problems.add("interval", "must be longer than 0 s");
        }
    }
}

struct Source {
    interval: Span,
}

struct Destination {
    greatest: Option<Span>,
}

impl App for Source {
    fn on(&mut self, now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Start => actions.connect = true,
            Event::Connected | Event::Timer => {
                actions.send = DATAGRAM.into();
                actions.timer = Some(now + self.interval);
            }
            _ => {}
        }
    }
}

impl App for Destination {
    fn on(&mut self, _: Time, _: u16, _: Event, _: &mut Stream, _: &mut Actions) {}

    fn arrived(
        &mut self,
        now: Time,
        _connection: u16,
        arrival: &Arrival<'_>,
        row: &mut Vec<f64>,
        _stream: &mut Stream,
        _actions: &mut Actions,
    ) {
        let Some(stamp) = arrival.stamp else { return };
        let delay = now.since(stamp.sent);
        self.greatest = self.greatest.max(Some(delay));
        row.extend([f64::from(stamp.number), delay.as_secs_f64()]);
    }

    fn report(&self, flow: &str, _: Span, report: &mut Report) {
        if let Some(greatest) = self.greatest {
            report.row(&REPORT, flow, &[greatest.as_secs_f64()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Stamp;
    use bentpipe_core::Streams;

    #[test]
    fn the_greatest_delay_is_a_column_of_the_flow() {
        let config: Config = serde_json::from_str(r#"{"interval": "20 ms"}"#).unwrap();
        let stream = || Streams::new(1, 0).stream("test");
        let mut app = config.build(End::Destination, stream());
        for (number, delay) in [(0, 250), (1, 270), (2, 260)] {
            let stamp = Some(Stamp { number, sent: Time::ZERO });
            let arrival = Arrival { bytes: 160, stamp, intact: true, content: &[] };
            let (now, mut row) = (Time::ZERO + Span::from_millis(delay), Vec::new());
            app.arrived(now, 0, &arrival, &mut row, &mut stream(), &mut Actions::default());
            assert_eq!(row, [f64::from(number), delay as f64 / 1e3]);
        }
        let mut report = Report::default();
        app.report("f", Span::ZERO, &mut report);
        assert_eq!(report.value("flow_{snake}", "f", "{snake}_delay_max"), Some(0.27));
    }
}
