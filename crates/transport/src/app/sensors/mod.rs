//! A sensor network whose sink serves the results of a query over TCP.
//!
//! The flow's destination is the sink of a field of motes, its source the client. The client
//! connects and sends the text of the query. The sink starts the query and sends each row of the
//! results as `measure` bytes until the run ends. Between motes and sink, messages cross an IEEE
//! 802.15.4 channel: contention by unslotted CSMA-CA, collisions, acknowledgments, retransmissions,
//! and channel errors. The operators of the query run on the motes or at the sink
//! ([`bentpipe_sensors`]).
//!
//! ```toml
//! [[flow]]
//! name = "measures"
//! from = "earth"
//! to = "sink"
//! app = { kind = "sensors", motes = ["m1", "m2", "m3"], period = "500 ms", query = """
//!     SELECT node, avg(temperature), max(light) FROM motes WHERE audio > 40
//!     GROUP BY node, TUMBLE(time, INTERVAL '10' SECOND)""" }
//! transport = "tcp"
//! ```
//!
//! The motes are not nodes of the scenario, and no other traffic of the scenario crosses their
//! channel. The same field therefore runs with a simulated TCP, with a kernel's TCP in an
//! emulation, and with `bentpipe sensors serve`.
//!
//! Source: the platform study of satellites and terrestrial networks (EGGS) for the sampled
//! quantities, the sampling period of 100 ms to 2 s, and about 25 bytes per measure; IEEE
//! 802.15.4-2006. Deviations: the measured values are synthetic ([`bentpipe_sensors::world`]); the
//! text of the query reaches the motes without messages.

mod channel;
mod config;
mod results;
#[cfg(test)]
mod tests;

pub use channel::RadioErrors;
pub use config::Config;
pub use results::{FLOW, MOTES};

use super::{Actions, Answers, App, Demand, End, Event, Workload};
use bentpipe_core::{Problems, Report, Sample, Span, Stream, Table, Tables, Time};
use bentpipe_sensors::field::{Field, Row};

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&FLOW, &MOTES];
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"motes = ["m1", "m2"], period = "200 ms", query = "SELECT * FROM motes""#;
}

impl Workload for Config {
    fn build(&self, end: End, plan: Stream) -> Box<dyn App> {
        match end {
            End::Source => Box::new(Client { query: self.query.len() as u64 }),
            End::Destination => Box::new(Sink {
                config: self.clone(),
                plan,
                received: 0,
                running: None,
                rows: Vec::new(),
                delays: Delays::default(),
            }),
        }
    }

    fn is_elastic(&self) -> bool {
        false
    }

    /// In the flow's direction, only the query is sent.
    fn demand(&self) -> Option<Demand> {
        Some(Demand { rate_bit_s: 0.0, datagram: self.query.len() as u32 })
    }

    fn answers(&self) -> Answers {
        Answers::Messages(self.measure.bytes() as u32)
    }

    fn check(&self, problems: &mut Problems) {
        self.check_keys(problems);
    }
}

/// The client, which sends the query.
struct Client {
    query: u64,
}

impl App for Client {
    fn on(&mut self, _now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Start => actions.connect = true,
            Event::Connected => actions.send = self.query,
            Event::PeerClosed => actions.close = true,
            _ => {}
        }
    }
}

/// The sink, with its field of motes.
struct Sink {
    config: Config,
    plan: Stream,
    /// Bytes of the query that have arrived.
    received: u64,
    running: Option<(Field, RadioErrors)>,
    rows: Vec<Row>,
    delays: Delays,
}

/// Delays from sampling to the delivery at the sink.
#[derive(Clone, Copy, Default)]
struct Delays {
    rows: u64,
    total: Span,
    longest: Span,
}

impl App for Sink {
    fn on(&mut self, now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Received { bytes } => {
                self.received += bytes;
                if self.running.is_none() && self.received >= self.config.query.len() as u64 {
                    let field = self.config.field(&self.config.query, now, &mut self.plan);
                    self.running = Some(field.expect("the scenario has been checked"));
                }
            }
            // The client has closed the connection.
            Event::PeerClosed | Event::Failed => {
                if let Some((field, _)) = &mut self.running {
                    field.end();
                }
                actions.close = event == Event::PeerClosed;
            }
            _ => {}
        }
        let Some((field, errors)) = &mut self.running else { return };
        field.wake(now, errors, &mut self.rows);
        actions.timer = field.next_wake();
        for row in self.rows.drain(..) {
            let delay = now.since(row.sampled);
            self.delays.rows += 1;
            self.delays.total += delay;
            self.delays.longest = self.delays.longest.max(delay);
            actions.send += self.config.measure.bytes();
        }
    }

    fn report(&self, flow: &str, _: Span, report: &mut Report) {
        if let Some((field, _)) = &self.running {
            results::report(flow, field, self.delays, report);
        }
    }
}
