//! Bundles to a destination that reports each of them, as sent by DTNperf: at a rate, within a
//! window, or at given times.
//!
//! Each bundle is one datagram. A network of bundle agents (crate `networks`) carries it as the
//! payload of one bundle; over other networks it is a plain datagram. The destination answers each
//! bundle with a report of `report` bytes, which names the bundle. Within a `window` of W bundles,
//! the source keeps W unreported bundles in flight. It sends the next one when a report arrives, or
//! when `timeout` has passed for the oldest one, which then counts as overdue. At a `rate`, bundles
//! leave at constant intervals, independent of reports. A report that arrives after the timeout
//! still counts as a report. A `series` lists the bundles and their times, as sent by a program
//! with another source of data, such as a proxy.
//!
//! ```toml
//! app = { kind = "bundles", payload = "50 kB", window = 4, timeout = "1 h" }
//! ```
//!
//! Source: C. Caini, A. d'Amico, M. Rodolfi, "DTNperf_3: a further enhanced tool for
//! delay-/disruption-tolerant networking performance evaluation", IEEE Globecom 2013: window-based
//! and rate-based congestion control, and delivery reports. Deviation: DTNperf's reports are
//! administrative records of the bundle protocol; here they are datagrams of the application, of
//! the size of such a record.

use super::{Actions, Answers, App, Arrival, Demand, End, Event, Workload};
use bentpipe_core::{Column, Count, Problems, Rate, Report, Sample, Size, Span, Stream, Table, Tables, Time};
use bentpipe_link::series;
use bentpipe_stage::packet::datagram::Written;
use bentpipe_stage::LARGEST_DATAGRAM;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Bundles at a rate, within a window or at given times, each reported by the destination, as in
/// DTNperf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BundlesApp")]
pub struct Config {
    /// Payload of a bundle, at least 20 B. Default 50 kB, as in DTNperf.
    #[serde(default = "payload")]
    pub payload: Size,
    /// Maximum number of unreported bundles in flight. Give exactly one of `window`, `rate` and
    /// `series`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Count<1, 65_536>>,
    /// Rate of the payload, at which bundles are sent independent of reports. Give exactly one of
    /// `window`, `rate` and `series`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The bundles to send: a table, comma-separated text or a Parquet file, with `time` in seconds
    /// from the start of the flow and `payload` in bytes, which replaces the key `payload`. Give
    /// exactly one of `window`, `rate` and `series`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<series::Table>,
    /// Number of bundles to send. If unset, bundles are sent until the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundles: Option<Count<1, 4_294_967_295>>,
    /// Size of a report. Default 40 B, the length of a status report of the bundle protocol (RFC
    /// 9171, section 6.1.1) with one status. With 0 B no reports are sent, which needs a `rate` or
    /// a `series`.
    #[serde(default = "report")]
    pub report: Size,
    /// Time after which an unreported bundle counts as overdue and leaves the window. Default 1 d.
    #[serde(default = "timeout")]
    pub timeout: Span,
}

fn payload() -> Size {
    Size::from_bytes(50_000)
}

fn report() -> Size {
    Size::from_bytes(40)
}

fn timeout() -> Span {
    Span::from_secs(86_400)
}

/// Report of a source of bundles.
pub static BUNDLES: Table = Table {
    name: "flow_bundles",
    entity: "flow",
    about: "at the end of the run, by the source of a flow of bundles",
    columns: &[
        Column::whole("bundles_sent", "1", "bundles that the source sent"),
        Column::whole("bundles_reported", "1", "bundles whose report arrived"),
        Column::whole("bundles_overdue", "1", "bundles without a report after the timeout"),
        Column::real(
            "bundles_ratio",
            "1",
            "reported bundles divided by sent ones, those still on their way included",
        ),
        Column::real("report_mean", "s", "mean time from sending a bundle to its report"),
        Column::real("report_max", "s", "longest time from sending a bundle to its report"),
    ],
};

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&BUNDLES];
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"payload = "1 kB", window = 4, timeout = "3 s""#;
}

/// Minimum size of a bundle or a report in bytes: the number of the bundle, and the stamp of every
/// datagram.
const REPORT: u64 = NUMBER as u64 + super::STAMP_BYTES;
/// Size of a bundle's number in bytes.
const NUMBER: usize = 4;

impl Workload for Config {
    fn build(&self, end: End, _plan: Stream) -> Box<dyn App> {
        match end {
            End::Source => Box::new(Source {
                config: self.clone(),
                sent: 0,
                begin: Time::ZERO,
                next: Time::ZERO,
                waiting: BTreeMap::new(),
                order: VecDeque::new(),
                reported: 0,
                overdue: 0,
                took: Span::ZERO,
                longest: Span::ZERO,
                late: BTreeMap::new(),
            }),
            End::Destination => Box::new(Destination { report: self.report.bytes(), number: 0 }),
        }
    }

    fn is_elastic(&self) -> bool {
        false
    }

    fn demand(&self) -> Option<Demand> {
        if let Some((series, sizes)) =
            self.series.as_ref().and_then(|series| Some((series, series.column("payload")?)))
        {
            let (bytes, last) = (sizes.iter().sum::<f64>(), *series.times().last()?);
            let rate_bit_s = 8.0 * bytes / last.as_secs_f64().max(1e-9);
            return Some(Demand { rate_bit_s, datagram: (bytes / sizes.len() as f64) as u32 });
        }
        let rate = self.rate?;
        Some(Demand { rate_bit_s: rate.bits_per_second() as f64, datagram: self.payload.bytes() as u32 })
    }

    fn answers(&self) -> Answers {
        match self.report.bytes() {
            0 => Answers::Nothing,
            bytes => Answers::Messages(bytes as u32),
        }
    }

    fn writes(&self) -> bool {
        true
    }

    fn check(&self, problems: &mut Problems) {
        if !(REPORT..=LARGEST_DATAGRAM).contains(&self.payload.bytes()) {
            problems.add(
                "payload",
                format!("{} is out of range; allowed: {REPORT} B to {LARGEST_DATAGRAM} B", self.payload),
            );
        }
        match (self.window, self.rate, &self.series) {
            (None, None, None) => problems.add("window", "is missing; allowed: a window, a rate or a series"),
            (Some(_), Some(_), _) => {
                problems.add("rate", "cannot be combined with a window; allowed: one of them")
            }
            (Some(_), _, Some(_)) => {
                problems.add("series", "cannot be combined with a window; allowed: one of them")
            }
            (_, Some(_), Some(_)) => {
                problems.add("series", "cannot be combined with a rate; allowed: one of them")
            }
            _ => {}
        }
        if let Some(series) = &self.series {
            problems.within("series", |problems| {
                series.check(&["payload"], &["payload"], problems);
                for (row, value) in series.column("payload").unwrap_or_default().iter().enumerate() {
                    if !(REPORT as f64..=LARGEST_DATAGRAM as f64).contains(value) || value.fract() != 0.0 {
                        let line = series.line(row);
                        let message = format!(
                            "line {line}: payload is {value}; allowed: {REPORT} to {LARGEST_DATAGRAM} bytes"
                        );
                        return problems.add("", message);
                    }
                }
            });
        }
        let report = self.report.bytes();
        if report == 0 && self.window.is_some() {
            problems.add("report", "is 0 B, and a window needs reports; allowed: with a rate or a series");
        }
        if report != 0 && !(REPORT..=LARGEST_DATAGRAM).contains(&report) {
            problems.add(
                "report",
                format!(
                    "{} is out of range; allowed: 0 B, or {REPORT} B to {LARGEST_DATAGRAM} B",
                    self.report
                ),
            );
        }
        if self.timeout == Span::ZERO {
            problems.add("timeout", "must be longer than 0 s");
        }
    }
}

struct Source {
    config: Config,
    sent: u64,
    /// The start of the flow.
    begin: Time,
    /// Time of the next bundle at a rate.
    next: Time,
    /// Unreported bundles and their send times.
    waiting: BTreeMap<u32, Time>,
    /// Numbers of the sent bundles in order of sending, with those that were reported since.
    order: VecDeque<u32>,
    /// Overdue bundles and their send times. Their reports may still arrive.
    late: BTreeMap<u32, Time>,
    reported: u64,
    overdue: u64,
    took: Span,
    longest: Span,
}

impl Source {
    /// Returns the time at which the next bundle is due; `None` if there is none, or if a report
    /// must arrive before.
    fn due(&self, now: Time) -> Option<Time> {
        if self.config.bundles.is_some_and(|bundles| self.sent >= bundles.value()) {
            return None;
        }
        match (self.config.window, &self.config.series) {
            (Some(window), _) => ((self.waiting.len() as u64) < window.value()).then_some(now),
            (None, Some(series)) => {
                series.times().get(self.sent as usize).map(|time| self.begin + time.since(Time::ZERO))
            }
            (None, None) => Some(self.next),
        }
    }

    /// Returns the payload of the next bundle.
    fn size(&self) -> u64 {
        let sizes = self.config.series.as_ref().and_then(|series| series.column("payload"));
        sizes.map_or(self.config.payload.bytes(), |sizes| sizes[self.sent as usize] as u64)
    }

    /// Sends a bundle if one is due, and requests the next event.
    fn act(&mut self, now: Time, actions: &mut Actions) {
        self.expire(now);
        if self.due(now).is_some_and(|due| due <= now) {
            actions.send = self.size();
            if self.config.report != Size::from_bytes(0) {
                self.waiting.insert(self.sent as u32, now);
                self.order.push_back(self.sent as u32);
            }
            self.sent += 1;
            if let Some(rate) = self.config.rate {
                self.next = now + rate.span_of(self.config.payload.bytes());
            }
        }
        let oldest = self.order.front().and_then(|number| self.waiting.get(number));
        let expires = oldest.map(|sent| *sent + self.config.timeout);
        actions.timer = [self.due(now), expires].into_iter().flatten().min();
    }

    /// Counts the bundles that have timed out.
    fn expire(&mut self, now: Time) {
        while let Some(number) = self.order.front().copied() {
            match self.waiting.get(&number).copied() {
                Some(sent) if sent + self.config.timeout > now => break,
                Some(sent) => {
                    self.waiting.remove(&number);
                    self.late.insert(number, sent);
                    self.overdue += 1;
                }
                None => {}
            }
            self.order.pop_front();
        }
    }

    fn reported(&mut self, now: Time, number: u32) {
        let waited = self.waiting.remove(&number);
        let Some(sent) = waited.or_else(|| self.late.remove(&number)) else { return };
        let took = now.since(sent);
        self.overdue -= u64::from(waited.is_none());
        self.reported += 1;
        self.took += took;
        self.longest = self.longest.max(took);
    }
}

impl App for Source {
    fn on(&mut self, now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Start => actions.connect = true,
            Event::Connected => {
                self.begin = now;
                self.act(now, actions);
            }
            Event::Timer => self.act(now, actions),
            _ => {}
        }
    }

    fn arrived(
        &mut self,
        now: Time,
        _connection: u16,
        arrival: &Arrival<'_>,
        _row: &mut Vec<f64>,
        _stream: &mut Stream,
        actions: &mut Actions,
    ) {
        let number = arrival.content.get(..NUMBER).and_then(|bytes| bytes.try_into().ok());
        if let Some(number) = number.filter(|_| arrival.intact) {
            self.reported(now, u32::from_be_bytes(number));
            self.act(now, actions);
        }
    }

    fn written(&self, datagram: &[u8]) -> usize {
        datagram.len().min(NUMBER)
    }

    fn report(&self, flow: &str, _: Span, report: &mut Report) {
        let per = |value: f64, count: u64| if count == 0 { f64::NAN } else { value / count as f64 };
        let longest = if self.reported == 0 { f64::NAN } else { self.longest.as_secs_f64() };
        let values = [
            self.sent as f64,
            self.reported as f64,
            self.overdue as f64,
            per(self.reported as f64, self.sent),
            per(self.took.as_secs_f64(), self.reported),
            longest,
        ];
        report.row(&BUNDLES, flow, &values);
    }
}

/// The destination, which reports each bundle.
struct Destination {
    report: u64,
    /// The bundle to report next.
    number: u32,
}

impl App for Destination {
    fn on(&mut self, _: Time, _: u16, _: Event, _: &mut Stream, _: &mut Actions) {}

    fn arrived(
        &mut self,
        _now: Time,
        _connection: u16,
        arrival: &Arrival<'_>,
        _row: &mut Vec<f64>,
        _stream: &mut Stream,
        actions: &mut Actions,
    ) {
        // A corrupted bundle is ignored: its CRC fails.
        if let Some(stamp) = arrival.stamp.filter(|_| arrival.intact && self.report > 0) {
            self.number = stamp.number;
            actions.send = self.report;
        }
    }

    fn writes(&mut self) -> Written {
        Written::new(&self.number.to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Stamp;
    use bentpipe_core::Streams;

    /// Sends bundles over a path of `delay` seconds each way, until `end` seconds; `lost` selects
    /// the bundles that are lost. Returns the send times of the bundles, and the report.
    fn run(text: &str, delay: u64, end: u64, lost: impl Fn(u64) -> bool) -> (Vec<u64>, Report) {
        let config: Config = serde_json::from_str(text).unwrap();
        let streams = Streams::new(1, 0);
        let [mut source, mut destination] =
            [End::Source, End::Destination].map(|end| config.build(end, streams.stream("plan")));
        let mut stream = streams.stream("test");
        let seconds = |time: Time| time.as_nanos() / 1_000_000_000;
        let (mut sent, mut timer, mut reports) = (Vec::new(), Some(Time::ZERO), VecDeque::new());
        let mut event = Event::Connected;
        loop {
            let report: Option<(Time, u32)> = reports.front().copied();
            let now = match (timer, report) {
                (Some(timer), Some((report, _))) => timer.min(report),
                (timer, report) => match timer.or(report.map(|(time, _)| time)) {
                    Some(time) => time,
                    None => break,
                },
            };
            if seconds(now) > end {
                break;
            }
            let mut actions = Actions::default();
            if let Some((_, number)) = report.filter(|(time, _)| *time == now) {
                reports.pop_front();
                let content = number.to_be_bytes();
                let arrival = Arrival { bytes: 40, stamp: None, intact: true, content: &content };
                source.arrived(now, 0, &arrival, &mut Vec::new(), &mut stream, &mut actions);
            } else {
                timer = None;
                source.on(now, 0, std::mem::replace(&mut event, Event::Timer), &mut stream, &mut actions);
            }
            timer = actions.timer.map(|time| time.max(now)).or(timer);
            if actions.send > 0 {
                let number = sent.len() as u64;
                sent.push(seconds(now));
                let there = now + Span::from_secs(delay);
                let stamp = Some(Stamp { number: number as u32, sent: now });
                let arrival = Arrival { bytes: actions.send, stamp, intact: true, content: &[] };
                let mut answer = Actions::default();
                destination.arrived(there, 0, &arrival, &mut Vec::new(), &mut stream, &mut answer);
                if answer.send > 0 && !lost(number) {
                    let written = destination.writes();
                    let number = u32::from_be_bytes(written.bytes().try_into().unwrap());
                    reports.push_back((there + Span::from_secs(delay), number));
                }
            }
        }
        let mut report = Report::default();
        source.report("f", Span::ZERO, &mut report);
        (sent, report)
    }

    #[test]
    fn the_timeout_of_a_lost_bundle_frees_its_place_in_the_window() {
        let (sent, report) =
            run(r#"{"window": 2, "bundles": 7, "timeout": "100 s"}"#, 10, 1000, |number| number == 2);
        // Two bundles are sent at once. 0 and 1 are reported at 20 s, 3 at 40 s and so on; until
        // 120 s only one place of the window is free.
        assert_eq!(sent, [0, 0, 20, 20, 40, 60, 80]);
        let value = |column: &str| report.value("flow_bundles", "f", column).unwrap();
        assert_eq!(
            [value("bundles_sent"), value("bundles_reported"), value("bundles_overdue")],
            [7.0, 6.0, 1.0]
        );
        assert_eq!([value("report_mean"), value("report_max")], [20.0, 20.0]);
        let (sent, _) =
            run(r#"{"window": 1, "bundles": 3, "timeout": "100 s"}"#, 10, 1000, |number| number == 0);
        assert_eq!(sent, [0, 100, 120]);
    }

    #[test]
    fn a_rate_ignores_reports_and_late_reports_are_counted() {
        let (sent, report) =
            run(r#"{"rate": "8 kbit/s", "payload": "10 kB", "timeout": "15 s"}"#, 10, 45, |number| {
                number == 1
            });
        assert_eq!(sent, [0, 10, 20, 30, 40]);
        let value = |column: &str| report.value("flow_bundles", "f", column).unwrap();
        // At 45 s the reports of 0 and 2 have arrived. Those of 1 and 3 are overdue; the report of
        // 3 arrives at 50 s.
        assert_eq!([value("bundles_reported"), value("bundles_overdue")], [2.0, 2.0]);
        assert_eq!(value("bundles_ratio"), 0.4);
    }

    #[test]
    fn a_series_sends_its_bundles_at_their_times() {
        let series = r#"{"series": "time,payload\n3,25\n5,30\n5.000000001,1000\n40,25", "timeout": "100 s"}"#;
        let (sent, report) = run(series, 10, 1000, |_| false);
        assert_eq!(sent, [3, 5, 5, 40]);
        assert_eq!(report.value("flow_bundles", "f", "bundles_reported"), Some(4.0));
        let config: Config = serde_json::from_str(series).unwrap();
        assert_eq!(config.demand().unwrap(), Demand { rate_bit_s: 8.0 * 1080.0 / 40.0, datagram: 270 });
        let problems = |text: &str| {
            let mut problems = Problems::default();
            serde_json::from_str::<Config>(text).unwrap().check(&mut problems);
            problems.into_vec().into_iter().map(|problem| problem.message).collect::<Vec<_>>()
        };
        assert!(problems(series).is_empty());
        let short = problems(r#"{"series": "time,payload\n3,25\n5,3"}"#);
        assert_eq!(short, ["line 3: payload is 3; allowed: 20 to 65507 bytes"]);
        let both = problems(r#"{"rate": "1 kbit/s", "series": "time,payload\n3,25"}"#);
        assert_eq!(both, ["cannot be combined with a rate; allowed: one of them"]);
    }
}
