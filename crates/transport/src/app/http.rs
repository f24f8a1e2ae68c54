//! The web: pages of objects, fetched over two persistent connections of HTTP/1.1 (RFC 9112,
//! section 9.3) or another number. Over QUIC each of them is a stream, so that many of them are
//! HTTP/3.
//!
//! ```toml
//! app = { kind = "http", object = "18 kB" }
//! app = { kind = "http", object = "18 kB", pages = 20, think = "10 s", response_time = "30 ms" }
//! app = { kind = "http", object = "18 kB", connections = 30 }
//! ```
//!
//! The flow's source is the browser. Its first connection requests the page, which is the first
//! object. When the whole page has arrived, the browser opens the other connections that the page
//! needs, each with its own handshake, and fetches the remaining objects over all in turn, starting
//! with the first connection. On each connection it sends the next request when the previous object
//! has arrived (no pipelining). A page of two objects needs no second connection. Connections stay
//! open from page to page and are closed after the last. A page's time runs from the user's request
//! to the last byte of its last object.
//!
//! The number of objects of a page and the size of each object are drawn from the distributions of
//! maximum entropy with the given bounds and means: exponential distributions truncated at both
//! ends.
//!
//! Source: the DAMA study (Luglio, Roseti, Zampognaro 2009), test class T_V, which gives the means
//! and the bounds but not the distributions. Deviations: the header of a response counts as part of
//! its object; no TLS, no name resolution, a single server.

use super::draw::{self, Bounded, Number};
use super::{Actions, Answers, App, Connections, End, Event, Transaction, Transactions, Workload};
use bentpipe_core::{Count, Problems, Sample, Size, Span, Stream, Tables, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Web pages, fetched over persistent connections of HTTP (RFC 9112, section 9.3), or over QUIC
/// over streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Mean size of an object, the page itself included, from `object_min` to `object_max`.
    pub object: Size,
    /// Minimum size of an object, at least 1 B. Default 1 kB.
    #[serde(default = "object_min")]
    pub object_min: Size,
    /// Maximum size of an object. Default 200 kB.
    #[serde(default = "object_max")]
    pub object_max: Size,
    /// Mean number of objects of a page, the page itself included, from `objects_min` to
    /// `objects_max`. Default 8.
    #[serde(default = "objects")]
    pub objects: f64,
    /// Minimum number of objects of a page. Default 1.
    #[serde(default = "objects_min")]
    pub objects_min: Number,
    /// Maximum number of objects of a page. Default 30.
    #[serde(default = "objects_max")]
    pub objects_max: Number,
    /// Size of a request, at least 1 B. Default 400 B.
    #[serde(default = "request")]
    pub request: Size,
    /// Number of connections, or of streams over QUIC, at most. Each fetches one object after the
    /// other. As many as objects: all objects of a page are requested at once, as over HTTP/3.
    /// Default 2.
    #[serde(default = "connections")]
    pub connections: Count<1, 100>,
    /// Number of pages that the user views. Default 1.
    #[serde(default = "pages")]
    pub pages: Number,
    /// Mean time for which the user views a page before requesting the next, exponentially
    /// distributed. Default 0 s.
    #[serde(default)]
    pub think: Span,
    /// Response time of the server, from the arrival of a request to the first byte of its answer.
    /// Default 0 s.
    #[serde(default)]
    pub response_time: Span,
}

fn object_min() -> Size {
    Size::from_bytes(1000)
}

fn object_max() -> Size {
    Size::from_bytes(200_000)
}

fn objects() -> f64 {
    8.0
}

fn objects_min() -> Number {
    Count::new(1)
}

fn objects_max() -> Number {
    Count::new(30)
}

fn request() -> Size {
    Size::from_bytes(400)
}

fn connections() -> Count<1, 100> {
    Count::new(2)
}

fn pages() -> Number {
    Count::new(1)
}

impl Config {
    fn sizes(&self) -> Option<Bounded> {
        let [low, mean, high] =
            [self.object_min, self.object, self.object_max].map(|size| size.bytes() as f64);
        Bounded::new(low, mean, high)
    }

    fn counts(&self) -> Option<Bounded> {
        Bounded::whole(self.objects_min.value(), self.objects, self.objects_max.value())
    }
}

impl Tables for Config {}

impl Sample for Config {
    const SAMPLE: &'static str = r#"object = "8 kB", pages = 5, think = "1 s""#;
}

impl Workload for Config {
    fn build(&self, end: End, plan: Stream) -> Box<dyn App> {
        let (counts, sizes) = self.counts().zip(self.sizes()).expect("the scenario has been checked");
        let site = WebSite { plan, counts, sizes, page: Vec::new() };
        let connections = self.connections.value() as usize;
        match end {
            End::Source => Box::new(Browser {
                site,
                request: self.request.bytes(),
                pages: self.pages.value(),
                think: self.think,
                start: Time::ZERO,
                loading: false,
                lanes: vec![Lane::default(); connections],
                over: false,
            }),
            End::Destination => Box::new(Server {
                site,
                request: self.request.bytes(),
                response_time: self.response_time,
                received: vec![0; connections],
                next: vec![None; connections],
                due: VecDeque::new(),
                ready: 0,
            }),
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
        // Each connection waits for an object before it requests the next one: the page, then the
        // others over all connections.
        let others = self.objects - 1.0;
        let turns = 1.0 + (others / self.connections.value() as f64).max(others.min(1.0));
        Some(Transactions {
            there: self.objects * self.request.bytes() as f64,
            back: self.objects * self.object.bytes() as f64,
            count: Some(self.pages.value()),
            pause: self.think + Span::from_secs_f64(turns * self.response_time.as_secs_f64()),
            round_trips: turns,
        })
    }

    fn connections(&self) -> Connections {
        Connections::Fixed(self.connections.value() as u16)
    }

    fn check(&self, problems: &mut Problems) {
        if self.sizes().is_none() {
            problems.add(
                "object",
                format!(
                    "{} cannot be the mean of sizes from object_min ({}) to object_max ({}); allowed: between them",
                    self.object, self.object_min, self.object_max
                ),
            );
        }
        if self.object_min.bytes() == 0 {
            problems.add("object_min", "must be at least 1 B");
        }
        if self.request.bytes() == 0 {
            problems.add("request", "must be at least 1 B");
        }
        if self.counts().is_none() {
            let (min, max) = (self.objects_min.value(), self.objects_max.value());
            let message = format!(
                "{} cannot be the mean of numbers from objects_min ({min}) to objects_max ({max}); allowed: between them",
                self.objects
            );
            problems.add("objects", message);
        }
    }
}

/// The pages of a site. Both ends draw the same ones.
struct WebSite {
    plan: Stream,
    counts: Bounded,
    sizes: Bounded,
    /// Sizes of the objects of the present page.
    page: Vec<u64>,
}

impl WebSite {
    fn turn_over(&mut self) {
        let count = self.counts.draw_whole(&mut self.plan);
        self.page.clear();
        self.page.extend((0..count).map(|_| self.sizes.draw(&mut self.plan).round() as u64));
    }
}

/// Returns the object that a connection fetches after `object`: the connections take turns with the
/// objects after the page itself, which the first one fetches.
fn after(connection: usize, object: Option<usize>, connections: usize) -> usize {
    match (object, connection) {
        (None, 0) => 0,
        (Some(0), 0) => 1,
        (None, _) => connection + 1,
        (Some(object), _) => object + connections,
    }
}

/// A connection as seen by the browser.
#[derive(Clone, Copy, Default)]
struct Lane {
    open: bool,
    /// The object being fetched, and the number of its bytes that have not arrived.
    object: Option<usize>,
    missing: u64,
}

struct Browser {
    site: WebSite,
    request: u64,
    /// Pages still to be fetched, the present one included.
    pages: u64,
    think: Span,
    start: Time,
    /// True while a requested page is incomplete.
    loading: bool,
    lanes: Vec<Lane>,
    over: bool,
}

impl Browser {
    fn ask(&mut self, connection: usize, actions: &mut Actions) {
        let connections = self.lanes.len();
        let lane = &mut self.lanes[connection];
        let object = after(connection, lane.object, connections);
        if let Some(size) = self.site.page.get(object) {
            (lane.object, lane.missing) = (Some(object), *size);
            actions.send += self.request;
        }
    }

    fn arrived(
        &mut self,
        now: Time,
        connection: usize,
        bytes: u64,
        stream: &mut Stream,
        actions: &mut Actions,
    ) {
        let lane = &mut self.lanes[connection];
        lane.missing = lane.missing.saturating_sub(bytes);
        if lane.missing > 0 || self.over {
            return;
        }
        let was_page = connection == 0 && lane.object == Some(0);
        self.ask(connection, actions);
        if was_page && self.used() > 1 {
            actions.turn = Some(1);
            // Nothing has been requested on these connections yet, so they have no complete object
            // either.
            let used = self.used();
            self.lanes[1..used].iter_mut().for_each(|lane| lane.missing = u64::MAX);
        }
        if self.lanes.iter().all(|lane| lane.missing == 0) {
            self.complete(now, stream, actions);
        }
    }

    /// Returns the number of connections that the present page needs.
    fn used(&self) -> usize {
        self.lanes.len().min(self.site.page.len().saturating_sub(1)).max(1)
    }

    fn begin(&mut self, now: Time) {
        (self.start, self.loading) = (now, true);
        self.site.turn_over();
    }

    /// Ends the page, which is complete or aborted.
    fn end(&mut self, complete: bool, actions: &mut Actions) {
        let (bytes, parts) = (self.site.page.iter().sum(), self.site.page.len() as u32);
        actions.over = Some(Transaction { start: self.start, bytes, parts, complete });
        self.loading = false;
    }

    fn complete(&mut self, now: Time, stream: &mut Stream, actions: &mut Actions) {
        self.end(true, actions);
        self.pages -= 1;
        self.lanes.iter_mut().for_each(|lane| lane.object = None);
        if self.pages > 0 {
            actions.timer = Some(now + draw::gap(self.think, stream));
        } else {
            self.close(actions);
        }
    }

    /// Closes this connection and then the others.
    fn close(&mut self, actions: &mut Actions) {
        self.over = true;
        actions.close = true;
        let other = self.lanes.iter().position(|lane| lane.open);
        actions.turn = other.map(|number| number as u16);
    }
}

impl App for Browser {
    fn on(&mut self, now: Time, connection: u16, event: Event, stream: &mut Stream, actions: &mut Actions) {
        let number = usize::from(connection);
        match event {
            Event::Start => {
                self.begin(now);
                actions.connect = true;
            }
            Event::Timer => {
                self.begin(now);
                self.ask(0, actions);
            }
            Event::Connected => {
                self.lanes[number].open = true;
                self.ask(number, actions);
            }
            Event::Turn if self.over => {
                self.lanes[number].open = false;
                self.close(actions);
            }
            Event::Turn => {
                if self.lanes[number].open {
                    self.ask(number, actions);
                } else {
                    actions.connect = true;
                }
                actions.turn = (number + 1 < self.used()).then_some(connection + 1);
            }
            Event::Received { bytes } => self.arrived(now, number, bytes, stream, actions),
            Event::PeerClosed | Event::Failed if !self.over => {
                self.end(false, actions);
                self.lanes[number].open = false;
                self.close(actions);
            }
            Event::MaySend | Event::PeerClosed | Event::Failed => {}
        }
    }

    fn pending(&self) -> u64 {
        u64::from(self.loading)
    }
}

struct Server {
    site: WebSite,
    request: u64,
    response_time: Span,
    /// Received bytes of the next request, by connection.
    received: Vec<u64>,
    /// The last object of this page that was sent, by connection.
    next: Vec<Option<usize>>,
    /// Answers in preparation: time at which each is ready, its connection, and its size.
    due: VecDeque<(Time, u16, u64)>,
    /// The answer to send at the next turn.
    ready: u64,
}

impl App for Server {
    fn on(&mut self, now: Time, connection: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        let number = usize::from(connection);
        match event {
            Event::Received { bytes } => {
                self.received[number] += bytes;
                while self.received[number] >= self.request {
                    self.received[number] -= self.request;
                    let answer = self.answer(number);
                    if self.response_time == Span::ZERO {
                        actions.send += answer;
                    } else {
                        self.due.push_back((now + self.response_time, connection, answer));
                        actions.timer = self.due.front().map(|(at, ..)| *at);
                    }
                }
            }
            Event::Timer => {
                if let Some((_, connection, answer)) = self.due.pop_front() {
                    (actions.turn, self.ready) = (Some(connection), answer);
                }
                actions.timer = self.due.front().map(|(at, ..)| *at);
            }
            Event::Turn => actions.send += std::mem::take(&mut self.ready),
            Event::PeerClosed => actions.close = true,
            _ => {}
        }
    }
}

impl Server {
    fn answer(&mut self, number: usize) -> u64 {
        let mut object = after(number, self.next[number], self.next.len());
        if number == 0 && (self.site.page.is_empty() || object >= self.site.page.len()) {
            // The browser requests a page when the previous one is complete.
            self.site.turn_over();
            self.next.fill(None);
            object = 0;
        }
        self.next[number] = Some(object);
        self.site.page.get(object).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;
    use std::collections::BTreeSet;

    /// A message: time in ms, sender, connection, bytes (0 for opening).
    type Message = (u64, char, u16, u64);

    /// Runs a browser and a server over a network in which each step takes a millisecond. Returns
    /// their messages, and the pages.
    fn browse(json: &str) -> (Vec<Message>, Vec<Transaction>) {
        let config: Config = serde_json::from_str(json).unwrap();
        let plan = || Streams::new(1, 0).stream("plan");
        let mut ends = [config.build(End::Source, plan()), config.build(End::Destination, plan())];
        let mut stream = Streams::new(1, 0).stream("own");
        let mut events = VecDeque::from([(0u64, 0usize, 0u16, Event::Start)]);
        let (mut messages, mut pages, mut closed) = (Vec::new(), Vec::new(), BTreeSet::new());
        while let Some((ms, end, connection, event)) = events.pop_front() {
            let mut actions = Actions::default();
            let now = Time::from_nanos(ms * 1_000_000);
            ends[end].on(now, connection, event, &mut stream, &mut actions);
            if let Some(turn) = actions.turn {
                events.push_front((ms, end, turn, Event::Turn));
            }
            let mut later = |by: u64, end, event| events.push_back((ms + by, end, connection, event));
            if actions.connect {
                messages.push((ms, 'c', connection, 0));
                later(1, 1, Event::Connected);
                later(2, 0, Event::Connected);
            }
            if actions.send > 0 {
                messages.push((ms, ['c', 's'][end], connection, actions.send));
                later(1, 1 - end, Event::Received { bytes: actions.send });
            }
            if actions.close {
                closed.insert((connection, end));
                later(1, 1 - end, Event::PeerClosed);
            }
            if let Some(at) = actions.timer {
                // The timer replaces an earlier one.
                events.retain(|(_, other, _, event)| (*other, *event) != (end, Event::Timer));
                events.push_back((at.as_nanos() / 1_000_000, end, 0, Event::Timer));
            }
            pages.extend(actions.over);
            events.make_contiguous().sort_by_key(|(ms, ..)| *ms);
        }
        let opened = messages.iter().filter(|message: &&Message| message.3 == 0).map(|message| message.2);
        let expected: BTreeSet<_> = opened.flat_map(|number| [(number, 0), (number, 1)]).collect();
        assert_eq!(closed, expected, "what was opened is closed from both ends");
        (messages, pages)
    }

    #[test]
    fn the_page_is_sent_first_and_its_objects_over_both_connections() {
        let page = r#"{"object": "2 kB", "object_min": "2 kB", "object_max": "2 kB", "request": "100 B",
                       "objects": 5, "objects_min": 5, "objects_max": 5}"#;
        let (mut messages, pages) = browse(page);
        messages.sort_unstable();
        let expected = [
            (0, 'c', 0, 0),
            (2, 'c', 0, 100),
            (3, 's', 0, 2000),
            // The page has arrived: the next object on this connection, and a handshake for the
            // other.
            (4, 'c', 0, 100),
            (4, 'c', 1, 0),
            (5, 's', 0, 2000),
            (6, 'c', 0, 100),
            (6, 'c', 1, 100),
            (7, 's', 0, 2000),
            (7, 's', 1, 2000),
            (8, 'c', 1, 100),
            (9, 's', 1, 2000),
        ];
        assert_eq!(messages, expected);
        assert_eq!(pages, [Transaction { start: Time::ZERO, bytes: 10_000, parts: 5, complete: true }]);
    }

    #[test]
    fn with_as_many_connections_as_objects_all_are_requested_at_once() {
        let page = r#"{"object": "2 kB", "object_min": "2 kB", "object_max": "2 kB", "request": "100 B",
                       "objects": 5, "objects_min": 5, "objects_max": 5, "connections": 30}"#;
        let (messages, pages) = browse(page);
        let requests: Vec<_> =
            messages.iter().filter(|(_, end, _, bytes)| (*end, *bytes) == ('c', 100)).collect();
        let expected = [(2, 0), (4, 0), (6, 1), (6, 2), (6, 3)];
        assert!(requests.iter().map(|(ms, _, number, _)| (*ms, *number)).eq(expected), "{requests:?}");
        assert_eq!(pages, [Transaction { start: Time::ZERO, bytes: 10_000, parts: 5, complete: true }]);
    }

    #[test]
    fn the_server_waits_its_think_time_before_each_answer() {
        let page = r#"{"object": "2 kB", "object_min": "2 kB", "object_max": "2 kB", "request": "100 B",
                       "objects": 5, "objects_min": 5, "objects_max": 5, "response_time": "10 ms"}"#;
        let (mut messages, pages) = browse(page);
        messages.sort_unstable();
        let expected = [
            (0, 'c', 0, 0),
            (2, 'c', 0, 100),
            (13, 's', 0, 2000),
            (14, 'c', 0, 100),
            (14, 'c', 1, 0),
            // Requested at 14 and, with a handshake, at 16 ms: both answers are prepared at the
            // same time.
            (16, 'c', 1, 100),
            (25, 's', 0, 2000),
            (26, 'c', 0, 100),
            (27, 's', 1, 2000),
            (28, 'c', 1, 100),
            (37, 's', 0, 2000),
            (39, 's', 1, 2000),
        ];
        assert_eq!(messages, expected);
        assert_eq!(pages, [Transaction { start: Time::ZERO, bytes: 10_000, parts: 5, complete: true }]);
    }

    #[test]
    fn pages_have_the_means_of_their_class_and_both_ends_agree_on_them() {
        for (class, volume) in [(4_400, 35_200.0), (18_000, 144_000.0), (55_000, 440_000.0)] {
            let json = format!(r#"{{"object": "{class} B", "pages": 4000}}"#);
            let (messages, pages) = browse(&json);
            assert_eq!(pages.len(), 4000);
            let parts = pages.iter().map(|page| f64::from(page.parts)).sum::<f64>() / 4000.0;
            assert!((parts - 8.0).abs() < 0.4, "{parts} objects");
            let bytes = pages.iter().map(|page| page.bytes).sum::<u64>();
            assert!((bytes as f64 / 4000.0 / volume - 1.0).abs() < 0.06, "{bytes} for pages of {volume}");
            assert_eq!(
                messages.iter().filter(|messages| messages.1 == 's').map(|messages| messages.3).sum::<u64>(),
                bytes
            );
            assert_eq!(
                messages.iter().filter(|messages| messages.3 == 0).count(),
                2,
                "connections are persistent"
            );
        }
    }
}
