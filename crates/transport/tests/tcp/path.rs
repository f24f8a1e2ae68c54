//! Two endpoints and a link in each direction, run on a virtual clock.

use super::reno::Reno;
use bentpipe_core::{FlowId, NodeId, Recorder, Report, Streams, Time};
use bentpipe_link::Link;
use bentpipe_stage::{Outbox, Packet, Port, Stage};
use bentpipe_transport::app::{Config as AppConfig, End};
use bentpipe_transport::hosting::Site;
use bentpipe_transport::tcp::endpoint::{Endpoint, MakeCongestion, Probes, Traces, DELIVERY, TRACE};
use bentpipe_transport::tcp::Config;

pub const SOURCE: usize = 0;
pub const DESTINATION: usize = 1;

pub struct Path {
    pub now: Time,
    pub ends: [Endpoint; 2],
    /// The link from the source, and the link towards it.
    pub links: [Link; 2],
    pub out: Outbox,
    pub calls: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
}

impl Path {
    /// Creates a path of two links given as JSON, with an application; traced if there is a
    /// recorder.
    pub fn new(config: &Config, app: &AppConfig, links: [&str; 2], recorder: Option<Recorder>) -> Path {
        let streams = Streams::new(1, 0);
        let mut recorder_of_probes = recorder;
        let calls = std::sync::Arc::default();
        let mut build = |end: End| {
            let (name, node, peer) =
                if end == End::Source { ("source", 0, 1) } else { ("destination", 1, 0) };
            let site = Site {
                flow: FlowId(0),
                name: "flow".to_owned(),
                node: NodeId(node),
                peer: NodeId(peer),
                end,
                start: Time::ZERO,
                dscp: 0,
                details: false,
                capture: None,
            };
            let probes = match (&mut recorder_of_probes, end) {
                (Some(recorder), End::Source) => {
                    Probes { sender: Some(recorder.open(&TRACE, "flow")), delivery: None }
                }
                (Some(recorder), End::Destination) => {
                    Probes { sender: None, delivery: Some(recorder.open(&DELIVERY, "flow")) }
                }
                _ => Probes::default(),
            };
            let noted = (end == End::Source).then(|| std::sync::Arc::clone(&calls));
            let congestion: MakeCongestion = Box::new(move || Box::new(Reno { calls: noted.clone() }));
            let app = app.build(end, streams.stream("plan"));
            let traces = Traces { connections: vec![probes], transactions: None };
            Endpoint::new(site, config, app, congestion, streams.stream(name), traces)
        };
        let ends = [build(End::Source), build(End::Destination)];
        let link = |name: &str, json: &str| {
            Link::new(name, &serde_json::from_str(json).unwrap(), streams.stream(name), None)
        };
        let links = [link("out", links[0]), link("back", links[1])];
        let out = Outbox::new(recorder_of_probes.unwrap_or_default());
        Path { now: Time::ZERO, ends, links, out, calls }
    }

    /// Returns a bulk transfer of this many bytes, endless with `None`.
    pub fn bulk(config: &Config, bytes: Option<u64>, links: [&str; 2]) -> Path {
        let size = bytes.map(|bytes| format!(r#""size": "{bytes} B""#)).unwrap_or_default();
        let app = serde_json::from_str(&format!(r#"{{"bulk": {{{size}}}}}"#)).unwrap();
        Path::new(config, &app, links, None)
    }

    /// Runs until nothing is due or `end` is reached.
    pub fn run(&mut self, end: Time) {
        while let Some(now) = self.next().filter(|now| *now <= end) {
            assert!(now >= self.now, "time goes backwards");
            self.now = now;
            for index in 0..2 {
                if self.ends[index].next_wake().is_some_and(|wake| wake <= now) {
                    self.ends[index].wake(now, &mut self.out);
                    self.carry(index);
                }
                if self.links[index].next_wake().is_some_and(|wake| wake <= now) {
                    self.links[index].wake(now, &mut self.out);
                    let mut arrived = self.sent();
                    for packet in arrived.drain(..) {
                        self.ends[1 - index].receive(now, Port(0), packet, &mut self.out);
                        self.carry(1 - index);
                    }
                }
            }
        }
    }

    pub fn report(&self) -> Report {
        let mut report = Report::default();
        self.ends[SOURCE].report(self.now, &mut report);
        self.ends[DESTINATION].report(self.now, &mut report);
        self.links[SOURCE].report(self.now, &mut report);
        report
    }

    /// Returns a value of the flow's own report.
    pub fn value(&self, table: &str, column: &str) -> f64 {
        self.report().value(table, "flow", column).unwrap_or(f64::NAN)
    }

    fn next(&self) -> Option<Time> {
        let ends = self.ends.iter().filter_map(|end| end.next_wake());
        ends.chain(self.links.iter().filter_map(|link| link.next_wake())).min()
    }

    fn carry(&mut self, from: usize) {
        for packet in self.sent() {
            self.links[from].receive(self.now, Port(0), packet, &mut self.out);
        }
    }

    fn sent(&mut self) -> Vec<Packet> {
        std::iter::from_fn(|| self.out.next_sent()).map(|sent| sent.packet).collect()
    }
}
