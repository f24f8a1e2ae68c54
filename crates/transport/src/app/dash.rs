//! Adaptive video streaming over HTTP, as in MPEG-DASH (ISO/IEC 23009-1): a player fetches a video
//! segment by segment and chooses the bit rate of each.
//!
//! ```toml
//! app = { kind = "dash" }
//! app = { kind = "dash", bitrates = ["1 Mbit/s", "4 Mbit/s"], adaptation = "buffer" }
//! ```
//!
//! The flow's source is the player. It requests the next segment when the previous one has arrived
//! and the buffer has room for it (no pipelining), over one persistent connection. Playback starts
//! as soon as the buffer contains `startup` of video. It stalls when the buffer is empty, and
//! resumes under the same condition. The first segment has the lowest bit rate. For each further
//! one, the adaptation chooses:
//!
//! - `rate`: the highest bit rate that is not above the harmonic mean of the throughput of the last
//!   five segments, or the lowest bit rate (RB of Yin et al.).
//! - `buffer`: BBA-0 of Huang et al. (algorithm 1): a linear function f from the video in the
//!   buffer to bit rates, from the lowest at the reservoir to the highest at reservoir and cushion.
//!   The bit rate changes only if f reaches the next higher or the next lower one. Reservoir and
//!   cushion are those of BB of Yin et al.: a sixth and a third of a buffer of 30 s.
//!
//! Sources: T.-Y. Huang et al., "A Buffer-Based Approach to Rate Adaptation: Evidence from a Large
//! Video Streaming Service", SIGCOMM 2014; X. Yin et al., "A Control-Theoretic Approach for Dynamic
//! Adaptive Video Streaming over HTTP", SIGCOMM 2015. The default bit rates are those of Netflix in
//! the former.
//!
//! Deviations: segments of a representation have equal sizes; no TLS and no manifest. Bytes have no
//! content, so the length of a request tells the server the representation: `request` bytes for the
//! lowest, one byte more for each higher. A request must therefore fit into one segment of TCP.

use super::{Actions, Answers, App, Connections, End, Event, Transaction, Transactions, Workload};
use bentpipe_core::{Column, Problems, Rate, Report, Sample, Size, Span, Stream, Table, Tables, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A video over HTTP with an adaptive bit rate, as in MPEG-DASH (ISO/IEC 23009-1). The flow's
/// source is the player.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Dash")]
pub struct Config {
    /// Bit rates of the representations in ascending order, 1 to 100. Default 235, 375, 560, 750,
    /// 1050, 1750, 2350, 3000, 4300 and 5800 kbit/s.
    pub bitrates: Vec<Rate>,
    /// Duration of a segment. Default 4 s.
    pub segment: Span,
    /// Duration of the video. If unset, the video lasts until the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Span>,
    /// Maximum duration of the video in the player's buffer, at least one segment. Default 30 s.
    pub buffer: Span,
    /// Duration of the video in the buffer with which playback starts, and resumes after a stall;
    /// at most `buffer`. Default 4 s.
    pub startup: Span,
    /// The choice of the bit rate of the next segment. Default `"rate"`.
    pub adaptation: Adaptation,
    /// Size of a request for the lowest bit rate, 1 B to 500 B. Default 400 B.
    pub request: Size,
}

/// The choice of the bit rate of the next segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BitrateAdaptation")]
pub enum Adaptation {
    /// By the throughput of the last five segments.
    #[default]
    Rate,
    /// By the duration of the video in the buffer.
    Buffer,
}

/// Netflix's bit rates in kbit/s, as in Huang et al. 2014.
const BITRATES: [u64; 10] = [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800];
/// Number of segments in the mean of the throughput.
const SEGMENTS: usize = 5;
/// Largest number of representations.
const MAX_BITRATES: usize = 100;
/// Largest request in bytes, so that every request fits into the smallest segment of TCP.
const MAX_REQUEST: u64 = 500;

impl Default for Config {
    fn default() -> Config {
        Config {
            bitrates: BITRATES.map(|rate| Rate::from_bits_per_second(1000 * rate)).to_vec(),
            segment: Span::from_secs(4),
            length: None,
            buffer: Span::from_secs(30),
            startup: Span::from_secs(4),
            adaptation: Adaptation::default(),
            request: Size::from_bytes(400),
        }
    }
}

impl Config {
    /// Returns the number of segments of the video.
    fn segments(&self) -> Option<u64> {
        let segments = |length: Span| length.as_nanos().div_ceil(self.segment.as_nanos().max(1));
        self.length.map(segments)
    }

    /// Returns the sizes of a segment of each representation in bytes.
    fn sizes(&self) -> Vec<u64> {
        let size = |rate: &Rate| rate.bits_per_second() as f64 * self.segment.as_secs_f64() / 8.0;
        self.bitrates.iter().map(|rate| (size(rate).round() as u64).max(1)).collect()
    }
}

/// The quality of a video as its viewer perceives it.
pub static VIDEO: Table = Table {
    name: "flow_video",
    entity: "flow",
    about: "at the end of the run, by the source of a dash flow",
    columns: &[
        Column::real("video_startup", "s", "time from the start of the flow until playback started"),
        Column::whole("video_stalls", "1", "stalls of the playback, one at the end of the run included"),
        Column::real("video_stalled", "s", "duration of all stalls"),
        Column::real("video_played", "s", "duration of the video that was played"),
        Column::real("video_bitrate", "bit/s", "mean bit rate of the segments that arrived"),
        Column::whole("video_switches", "1", "changes of the bit rate from one segment to the next"),
    ],
};

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&VIDEO];
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"bitrates = ["100 kbit/s", "500 kbit/s"], segment = "1 s", length = "5 s""#;
}

impl Workload for Config {
    fn build(&self, end: End, _plan: Stream) -> Box<dyn App> {
        let (sizes, request) = (self.sizes(), self.request.bytes());
        match end {
            End::Source => Box::new(Player {
                sizes,
                left: self.segments(),
                config: self.clone(),
                playback: Playback::new(self.startup),
                throughput: VecDeque::new(),
                fetched: None,
                missing: 0,
                quality: 0,
                bytes: 0,
                segments: 0,
                switches: 0,
                over: false,
            }),
            End::Destination => Box::new(Server { sizes, request, received: 0 }),
        }
    }

    fn is_elastic(&self) -> bool {
        true
    }

    fn has_transactions(&self) -> bool {
        true
    }

    fn answers(&self) -> Answers {
        Answers::Stream
    }

    fn transactions(&self) -> Option<Transactions> {
        let highest = *self.sizes().last()?;
        Some(Transactions {
            there: self.request.bytes() as f64,
            back: highest as f64,
            count: self.segments(),
            pause: Span::ZERO,
            round_trips: 1.0,
        })
    }

    fn connections(&self) -> Connections {
        Connections::Fixed(1)
    }

    fn check(&self, problems: &mut Problems) {
        let ascending = self.bitrates.windows(2).all(|two| two[0] < two[1]);
        let positive = self.bitrates.first().is_some_and(|rate| rate.bits_per_second() > 0);
        if !ascending || !positive || self.bitrates.len() > MAX_BITRATES {
            problems.add("bitrates", "are not allowed; allowed: 1 to 100 bit rates in ascending order");
        }
        if self.segment == Span::ZERO {
            problems.add("segment", "must be longer than 0 s");
        }
        if self.length == Some(Span::ZERO) {
            problems.add("length", "must be longer than 0 s");
        }
        if self.buffer < self.segment {
            let message = format!("is {}; allowed: at least {}, one segment", self.buffer, self.segment);
            problems.add("buffer", message);
        }
        if self.startup > self.buffer {
            let message = format!("is {}; allowed: at most {}, the buffer", self.startup, self.buffer);
            problems.add("startup", message);
        }
        if !(1..=MAX_REQUEST).contains(&self.request.bytes()) {
            problems.add("request", format!("is {}; allowed: 1 B to {MAX_REQUEST} B", self.request));
        }
    }
}

/// The playback of a video: the video in the buffer, which decreases while it is played.
#[derive(Clone)]
struct Playback {
    startup: Span,
    /// Video in the buffer at the time `at`.
    buffered: Span,
    at: Time,
    state: State,
    start: Time,
    /// Time from the start until playback started.
    delay: Option<Span>,
    stalls: u64,
    stalled: Span,
    played: Span,
}

/// The states of a playback.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Playback has not started.
    Starting,
    Playing,
    /// The buffer is empty since this time.
    Stalled(Time),
    /// The whole video has been played.
    Ended,
}

impl Playback {
    fn new(startup: Span) -> Playback {
        Playback {
            startup,
            buffered: Span::ZERO,
            at: Time::ZERO,
            state: State::Starting,
            start: Time::ZERO,
            delay: None,
            stalls: 0,
            stalled: Span::ZERO,
            played: Span::ZERO,
        }
    }

    /// Plays until `now`. With `complete`, the end of the buffer is the end of the video.
    fn advance(&mut self, now: Time, complete: bool) {
        if self.state == State::Playing {
            let passed = now.since(self.at);
            let played = passed.min(self.buffered);
            self.played += played;
            self.buffered = self.buffered - played;
            if played < passed {
                self.state = if complete { State::Ended } else { State::Stalled(self.at + played) };
            }
        }
        self.at = now;
    }

    /// Adds a segment that has arrived. The last one starts playback in any case.
    fn add(&mut self, now: Time, segment: Span, is_last: bool) {
        self.advance(now, false);
        self.buffered += segment;
        if self.buffered < self.startup && !is_last {
            return;
        }
        match self.state {
            State::Starting => self.delay = Some(now.since(self.start)),
            State::Stalled(since) => {
                self.stalls += 1;
                self.stalled += now.since(since);
            }
            State::Playing | State::Ended => return,
        }
        self.state = State::Playing;
    }

    /// Returns the number of stalls, their duration, and the duration of the played video until
    /// `end`. With `complete`, all segments have arrived.
    fn until(&self, end: Time, complete: bool) -> (u64, Span, Span) {
        let mut last = self.clone();
        last.advance(end.max(self.at), complete);
        match last.state {
            State::Stalled(since) => (last.stalls + 1, last.stalled + end.since(since), last.played),
            _ => (last.stalls, last.stalled, last.played),
        }
    }
}

struct Player {
    config: Config,
    sizes: Vec<u64>,
    /// Segments that have not arrived; `None` without end.
    left: Option<u64>,
    playback: Playback,
    /// Throughput of the last segments in bit/s.
    throughput: VecDeque<f64>,
    /// Time of the request of the segment that is being fetched, and its missing bytes.
    fetched: Option<Time>,
    missing: u64,
    /// The present representation.
    quality: usize,
    /// Bytes, number and changes of bit rate of the segments that have arrived.
    bytes: u64,
    segments: u64,
    switches: u64,
    over: bool,
}

impl Player {
    /// Returns the representation of the next segment.
    fn choose(&self) -> usize {
        match self.config.adaptation {
            Adaptation::Rate => {
                let inverse: f64 = self.throughput.iter().map(|rate| 1.0 / rate).sum();
                let mean = self.throughput.len() as f64 / inverse;
                let below = self.config.bitrates.iter().filter(|rate| rate.bits_per_second() as f64 <= mean);
                below.count().saturating_sub(1)
            }
            Adaptation::Buffer => self.by_buffer(),
        }
    }

    /// Returns the representation by algorithm 1 of Huang et al.
    fn by_buffer(&self) -> usize {
        let rate = |index: usize| self.config.bitrates[index].bits_per_second() as f64;
        let highest = self.config.bitrates.len() - 1;
        let buffer = self.config.buffer.as_secs_f64();
        let (reservoir, cushion) = (buffer / 6.0, buffer / 3.0);
        let share = (self.playback.buffered.as_secs_f64() - reservoir) / cushion;
        if share <= 0.0 {
            return 0;
        }
        if share >= 1.0 {
            return highest;
        }
        let suggested = rate(0) + share * (rate(highest) - rate(0));
        let (up, down) = ((self.quality + 1).min(highest), self.quality.saturating_sub(1));
        if self.quality < highest && suggested >= rate(up) {
            (0..=highest).rev().find(|index| rate(*index) < suggested).unwrap_or(up)
        } else if self.quality > 0 && suggested <= rate(down) {
            (0..=highest).find(|index| rate(*index) > suggested).unwrap_or(down)
        } else {
            self.quality
        }
    }

    /// Requests the next segment, or waits until the buffer has room for it.
    fn proceed(&mut self, now: Time, actions: &mut Actions) {
        self.playback.advance(now, false);
        let room = self.config.buffer - self.config.segment;
        if self.playback.buffered > room {
            // Playback has started if the buffer is full.
            actions.timer = Some(now + (self.playback.buffered - room));
            return;
        }
        if self.segments > 0 {
            let chosen = self.choose();
            self.switches += u64::from(chosen != self.quality);
            self.quality = chosen;
        }
        self.fetched = Some(now);
        self.missing = self.sizes[self.quality];
        actions.send += self.config.request.bytes() + self.quality as u64;
    }

    fn receive(&mut self, now: Time, bytes: u64, actions: &mut Actions) {
        let Some(begin) = self.fetched else { return };
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing > 0 {
            return;
        }
        self.fetched = None;
        let size = self.sizes[self.quality];
        let took = now.since(begin).as_secs_f64();
        if took > 0.0 {
            self.throughput.push_back(8.0 * size as f64 / took);
            if self.throughput.len() > SEGMENTS {
                self.throughput.pop_front();
            }
        }
        (self.bytes, self.segments) = (self.bytes + size, self.segments + 1);
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        let is_last = self.left == Some(0);
        self.playback.add(now, self.config.segment, is_last);
        actions.over = Some(Transaction { start: begin, bytes: size, parts: 1, complete: true });
        if is_last {
            self.over = true;
            actions.close = true;
        } else {
            self.proceed(now, actions);
        }
    }
}

impl App for Player {
    fn on(&mut self, now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Start => {
                (self.playback.start, self.playback.at) = (now, now);
                actions.connect = true;
            }
            Event::Connected | Event::Timer if !self.over => self.proceed(now, actions),
            Event::Received { bytes } => self.receive(now, bytes, actions),
            Event::PeerClosed | Event::Failed if !self.over => {
                self.over = true;
                actions.close = true;
                if let Some(start) = self.fetched.take() {
                    let bytes = self.sizes[self.quality];
                    actions.over = Some(Transaction { start, bytes, parts: 1, complete: false });
                }
            }
            _ => {}
        }
    }

    fn pending(&self) -> u64 {
        u64::from(self.fetched.is_some())
    }

    fn report(&self, flow: &str, lasted: Span, report: &mut Report) {
        let end = self.playback.start + lasted;
        let (stalls, stalled, played) = self.playback.until(end, self.left == Some(0));
        let video = self.segments as f64 * self.config.segment.as_secs_f64();
        report.row(
            &VIDEO,
            flow,
            &[
                self.playback.delay.map_or(f64::NAN, Span::as_secs_f64),
                stalls as f64,
                stalled.as_secs_f64(),
                played.as_secs_f64(),
                if video > 0.0 { 8.0 * self.bytes as f64 / video } else { f64::NAN },
                self.switches as f64,
            ],
        );
    }
}

/// The server, which answers a request with a segment.
struct Server {
    sizes: Vec<u64>,
    request: u64,
    /// Bytes of the present request that have arrived.
    received: u64,
}

impl App for Server {
    fn on(&mut self, _: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Received { bytes } => {
                self.received += bytes;
                if let Some(index) = self.received.checked_sub(self.request) {
                    self.received = 0;
                    actions.send += self.sizes[(index as usize).min(self.sizes.len() - 1)];
                }
            }
            Event::PeerClosed | Event::Failed => actions.close = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    fn at(seconds: f64) -> Time {
        Time::ZERO + Span::from_secs_f64(seconds)
    }

    /// Plays a video whose segments arrive at the given rate in bit/s of each time, without round
    /// trips, and returns the indices of the representations and the row of the report after
    /// `lasted` seconds.
    fn watched(json: &str, lasted: f64, rate: impl Fn(f64) -> f64) -> (Vec<usize>, Vec<f64>) {
        let config: Config = serde_json::from_str(json).unwrap();
        let mut problems = Problems::default();
        config.check(&mut problems);
        assert_eq!(problems.into_vec(), []);
        let streams = Streams::new(1, 0);
        let mut player = config.build(End::Source, streams.stream("plan"));
        let mut server = config.build(End::Destination, streams.stream("plan"));
        let mut stream = streams.stream("test");
        let (mut now, mut event, mut chosen) = (1.0, Event::Start, Vec::new());
        while now <= 1.0 + lasted {
            let mut actions = Actions::default();
            player.on(at(now), 0, event, &mut stream, &mut actions);
            let mut answer = Actions::default();
            if actions.send > 0 {
                chosen.push((actions.send - config.request.bytes()) as usize);
                server.on(at(now), 0, Event::Received { bytes: actions.send }, &mut stream, &mut answer);
            }
            if actions.connect {
                event = Event::Connected;
            } else if answer.send > 0 {
                now += 8.0 * answer.send as f64 / rate(now);
                event = Event::Received { bytes: answer.send };
            } else if let Some(timer) = actions.timer {
                now = timer.since(Time::ZERO).as_secs_f64();
                event = Event::Timer;
            } else {
                break;
            }
        }
        let mut report = Report::default();
        player.report("film", Span::from_secs_f64(lasted), &mut report);
        let value = |column: &Column| report.value("flow_video", "film", column.name).unwrap();
        (chosen, VIDEO.columns.iter().map(value).collect())
    }

    /// One representation of 1 Mbit/s at 0.8 Mbit/s: a segment of 4 s takes 5 s. Playback starts
    /// after the first, and each of the following segments is 1 s late.
    #[test]
    fn a_path_below_the_bit_rate_stalls_once_per_segment() {
        let json = r#"{"bitrates": ["1 Mbit/s"], "length": "20 s"}"#;
        let (chosen, row) = watched(json, 60.0, |_| 0.8e6);
        assert_eq!(chosen, [0; 5]);
        assert_eq!(row, [5.0, 4.0, 4.0, 20.0, 1e6, 0.0]);
        // The run ends in the third stall, which began at 19 s.
        let (_, row) = watched(json, 19.5, |_| 0.8e6);
        assert_eq!(row[1..4], [3.0, 2.5, 12.0]);
    }

    /// The buffer never exceeds its maximum, so a segment is requested every 4 s.
    #[test]
    fn a_full_buffer_delays_requests() {
        let json = r#"{"bitrates": ["1 Mbit/s"], "buffer": "12 s"}"#;
        let (chosen, row) = watched(json, 100.0, |_| 1e9);
        // Three at once, then one every 4 s of the 100 s.
        assert_eq!(chosen.len(), 3 + 24);
        assert_eq!((row[1], row[2]), (0.0, 0.0));
        assert!((row[3] - 100.0).abs() < 0.1, "{row:?}");
    }

    /// The harmonic mean of 1, 1, 1, 1 and 4 Mbit/s is 1.18 Mbit/s; of 1 and four times 4 Mbit/s,
    /// 2.5 Mbit/s.
    #[test]
    fn the_rate_adaptation_follows_the_harmonic_mean_of_five_segments() {
        let json = r#"{"bitrates": ["0.9 Mbit/s", "1.1 Mbit/s", "2.4 Mbit/s", "3.9 Mbit/s"], "length": "44 s",
                       "buffer": "400 s"}"#;
        let started = std::cell::Cell::new(0);
        let (chosen, row) = watched(json, 400.0, |_| {
            started.set(started.get() + 1);
            if started.get() <= 5 {
                1e6
            } else {
                4e6
            }
        });
        // 1.18, 1.43, 1.82 and 2.5 Mbit/s, then 4 Mbit/s.
        assert_eq!(chosen, [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3]);
        assert_eq!(row[5], 3.0);
    }

    /// Algorithm 1 of Huang et al. with a reservoir of 5 s and a cushion of 10 s.
    #[test]
    fn the_buffer_adaptation_moves_between_reservoir_and_cushion() {
        let config: Config = serde_json::from_str(
            r#"{"bitrates": ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s"], "adaptation": "buffer"}"#,
        )
        .unwrap();
        let of = |quality: usize, seconds: f64| {
            let mut playback = Playback::new(config.startup);
            playback.buffered = Span::from_secs_f64(seconds);
            let player = Player {
                sizes: config.sizes(),
                left: None,
                config: config.clone(),
                playback,
                throughput: VecDeque::new(),
                fetched: None,
                missing: 0,
                quality,
                bytes: 0,
                segments: 1,
                switches: 0,
                over: false,
            };
            player.choose()
        };
        // f is 1 + 2 (B - 5) / 10 Mbit/s.
        assert_eq!([0, 1, 2].map(|quality| of(quality, 4.9)), [0, 0, 0]);
        assert_eq!([0, 1, 2].map(|quality| of(quality, 9.0)), [0, 1, 1]);
        assert_eq!([0, 1, 2].map(|quality| of(quality, 11.0)), [1, 1, 2]);
        assert_eq!([0, 1, 2].map(|quality| of(quality, 15.0)), [2, 2, 2]);
    }
}
