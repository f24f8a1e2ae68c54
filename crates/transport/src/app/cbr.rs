//! Constant bit rate, optionally on and off: datagrams of one size at one rate while on.
//!
//! If `on` and `off` are given, the source alternates between sending and silence, starting with
//! sending. The lengths are exact by default; with `distribution = "exponential"` they are
//! exponentially distributed with these means. With `spacing = "exponential"` the times between
//! datagrams are also exponentially distributed: a Poisson process of the same mean rate, as often
//! used for probes (RFC 2330, section 11.1).
//!
//! ```toml
//! app = { kind = "cbr", rate = "64 kbit/s", datagram = "160 B", on = "1 s", off = "1.35 s" }
//! app = { kind = "cbr", rate = "20 kbit/s", datagram = "100 B", spacing = "exponential" }
//! ```

use super::{Actions, App, Arrival, Demand, End, Event, Workload};
use bentpipe_core::{Column, Problems, Rate, Report, Sample, Size, Span, Stream, Table, Tables, Time};
use bentpipe_stage::LARGEST_DATAGRAM;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A constant bit rate source: datagrams of one size at one rate, continuously or in bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rate of the payload while the source is sending.
    pub rate: Rate,
    /// Payload of one datagram, 1 kB by default; at least 1 B.
    #[serde(default = "datagram")]
    pub datagram: Size,
    /// Length of a burst, or its mean; must be longer than 0 s and be given together with `off`. If
    /// unset, the source sends continuously.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Span>,
    /// Length of the silence after each burst, or its mean; must be given together with `on`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<Span>,
    /// Distribution of the lengths of bursts and silences: `"constant"` (the default) or
    /// `"exponential"`.
    #[serde(default)]
    pub distribution: Distribution,
    /// Distribution of the times between datagrams while the source is sending: `"constant"` (the
    /// default) or `"exponential"`.
    #[serde(default, skip_serializing_if = "Distribution::is_constant")]
    pub spacing: Distribution,
}

/// The distribution of the lengths of bursts and silences, or of the times between datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Constant lengths, exactly the given ones.
    #[default]
    Constant,
    /// Exponentially distributed lengths, whose means are the given ones.
    Exponential,
}

impl Distribution {
    fn is_constant(&self) -> bool {
        *self == Distribution::Constant
    }

    /// Draws a length with this mean.
    fn draw(self, mean: Span, stream: &mut Stream) -> Span {
        match self {
            Distribution::Constant => mean,
            Distribution::Exponential => Span::from_secs_f64(stream.exponential(mean.as_secs_f64())),
        }
    }
}

fn datagram() -> Size {
    Size::from_bytes(1000)
}

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&DATAGRAMS];
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"rate = "200 kbit/s", datagram = "500 B", on = "1 s", off = "1 s", distribution = "exponential""#;
}

impl Workload for Config {
    fn build(&self, end: End, _plan: Stream) -> Box<dyn App> {
        match end {
            End::Source => Box::new(Source {
                config: self.clone(),
                interval: self.rate.span_of(self.datagram.bytes()),
                burst_end: Time::MAX,
            }),
            End::Destination => Box::new(Sink::default()),
        }
    }

    fn is_elastic(&self) -> bool {
        false
    }

    fn demand(&self) -> Option<Demand> {
        let seconds = |span: Option<Span>| span.map_or(0.0, Span::as_secs_f64);
        let (on, off) = (seconds(self.on), seconds(self.off));
        let share = if on > 0.0 { on / (on + off) } else { 1.0 };
        let rate_bit_s = share * self.rate.bits_per_second() as f64;
        Some(Demand { rate_bit_s, datagram: self.datagram.bytes() as u32 })
    }

    fn check(&self, problems: &mut Problems) {
        let bytes = self.datagram.bytes();
        if !(1..=LARGEST_DATAGRAM).contains(&bytes) {
            problems.add(
                "datagram",
                format!("{bytes} B is out of range; allowed: 1 B to {} B", LARGEST_DATAGRAM),
            );
        }
        match (self.on, self.off) {
            (Some(_), None) => problems.add("on", "needs off, the length of the silence after a burst"),
            (None, Some(_)) => problems.add("off", "needs on, the length of a burst"),
            (Some(on), _) if on == Span::ZERO => problems.add("on", "must be longer than 0 s"),
            _ => {}
        }
    }
}

struct Source {
    config: Config,
    interval: Span,
    burst_end: Time,
}

/// Report of the datagrams at the destination of a flow.
pub static DATAGRAMS: Table = Table {
    name: "flow_datagrams",
    entity: "flow",
    about: "at the end of the run, by the destination of a cbr flow over udp or tfrc whose datagrams have 16 bytes or more",
    columns: &[
        Column::whole(
            "datagrams_missing",
            "packets",
            "datagrams that had not arrived, of those sent before the last that had",
        ),
        Column::whole("datagrams_overtaken", "packets", "datagrams that arrived after one that was sent later"),
        Column::whole("datagrams_corrupted", "packets", "datagrams that arrived with wrong bytes"),
    ],
};

/// Counters of missing, overtaken and corrupted datagrams.
#[derive(Default)]
struct Sink {
    /// Number of datagrams with a valid stamp.
    stamped: u64,
    /// The highest number among them, plus one.
    sent: u64,
    overtaken: u64,
    corrupted: u64,
    /// Number of datagrams with a corrupted stamp.
    unstamped: u64,
}

impl Source {
    fn send(&mut self, now: Time, stream: &mut Stream, actions: &mut Actions) {
        actions.send = self.config.datagram.bytes();
        let next = now + self.config.spacing.draw(self.interval, stream);
        actions.timer = Some(if next < self.burst_end {
            next
        } else {
            let Config { on, off, distribution, .. } = self.config;
            let resume = self.burst_end + distribution.draw(off.unwrap_or(Span::ZERO), stream);
            self.burst_end = resume + distribution.draw(on.unwrap_or(Span::MAX), stream);
            resume.max(next)
        });
    }
}

impl App for Source {
    fn on(&mut self, now: Time, _: u16, event: Event, stream: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Start => actions.connect = true,
            Event::Connected => {
                if let (Some(on), Some(_)) = (self.config.on, self.config.off) {
                    self.burst_end = now + self.config.distribution.draw(on, stream);
                }
                self.send(now, stream, actions);
            }
            Event::Timer => self.send(now, stream, actions),
            _ => {}
        }
    }
}

impl App for Sink {
    fn on(&mut self, _: Time, _: u16, _: Event, _: &mut Stream, _: &mut Actions) {}

    fn arrived(
        &mut self,
        _now: Time,
        _connection: u16,
        arrival: &Arrival<'_>,
        _row: &mut Vec<f64>,
        _stream: &mut Stream,
        _actions: &mut Actions,
    ) {
        self.corrupted += u64::from(!arrival.intact);
        match arrival.stamp {
            Some(stamp) => {
                let number = u64::from(stamp.number);
                self.overtaken += u64::from(number < self.sent);
                self.sent = self.sent.max(number + 1);
                self.stamped += 1;
            }
            None => self.unstamped += u64::from(!arrival.intact),
        }
    }

    fn report(&self, flow: &str, _: Span, report: &mut Report) {
        if self.stamped > 0 {
            let missing = self.sent.saturating_sub(self.stamped + self.unstamped);
            let values = [missing as f64, self.overtaken as f64, self.corrupted as f64];
            report.row(&DATAGRAMS, flow, &values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    #[test]
    fn an_on_off_source_sends_its_rate_while_on_and_nothing_while_off() {
        let config: Config =
            serde_json::from_str(r#"{"rate": "8 kbit/s", "datagram": "100 B", "on": "1 s", "off": "2 s"}"#)
                .unwrap();
        let mut app = config.build(End::Source, Streams::new(1, 0).stream("plan"));
        let mut stream = Streams::new(1, 0).stream("test");
        let (mut now, mut event, mut sent) = (Time::ZERO, Event::Connected, Vec::new());
        while now < Time::from_nanos(6_000_000_000) {
            let mut actions = Actions::default();
            app.on(now, 0, event, &mut stream, &mut actions);
            sent.push((now.as_nanos() / 100_000_000, actions.send));
            (now, event) = (actions.timer.unwrap(), Event::Timer);
        }
        // 8 kbit/s of 100-byte datagrams is one every 100 ms: ten per second while on.
        let expected: Vec<_> = (0..10).chain(30..40).map(|tenth| (tenth, 100)).collect();
        assert_eq!(sent, expected);
    }
}
