//! A conference bridge. It answers the calls of all flows that end at its node and mixes their
//! speech.
//!
//! All flows of calls (over `sip` or `iax2`) that end at the node belong to one conference. The
//! bridge answers every call like an ordinary exchange at the flow's destination, with the lines,
//! the de-jitter buffer and the codec of the flow. At every multiple of a packet's duration, it
//! sends one packet to each party. This packet contains the sum of the speech that was played from
//! all other parties since the previous packet. With n parties, the bridge therefore sends n
//! streams, whereas a [relay](super::relay) sends n (n - 1). If no other party speaks, a party
//! receives silence. With silence suppression, no packets are then sent, except comfort noise if it
//! is enabled.
//!
//! In results, the rows FLOW.destination of the tables `calls` and `call` describe the speech that
//! the bridge received from each party. The rows FLOW.source describe the speech that a party
//! received; their delay starts at the bridge. The table `bridge` has the time from the arrival of
//! a packet at the bridge to the mix that contains it, including the de-jitter buffer. The delay
//! from mouth to ear is the sum of the delay to the bridge, this time, and the delay in
//! FLOW.source.
//!
//! Deviations: mixing takes no time. All speakers are mixed, however many there are. Transcoding
//! between codecs adds no impairment.
//!
//! ```toml
//! [[service]]
//! name = "conference"
//! node = "gateway"
//! role = "bridge"
//! ```

use super::{ServedFlow, ServedPackets, Service, Supply};
use bentpipe_core::{Column, Problems, Report, Sample, Span, Table, Tables, Time};
use bentpipe_stage::{Outbox, Packet, Port, Stage};
use bentpipe_transport::app::End;
use bentpipe_transport::hosting::Site;
use bentpipe_transport::statistics::SpanStatistics;
use bentpipe_transport::telephony::Endpoint;
use bentpipe_transport::{names, Config as Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A conference bridge: answers the calls of its flows, mixes their speech, and sends one stream
/// back to each party.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

/// Totals of a bridge.
pub static REPORT: Table = Table {
    name: "bridge",
    entity: "bridge",
    about: "at the end of the run",
    columns: &[
        Column::whole("parties", "1", "largest number of parties at a time"),
        Column::whole("mixed", "packets", "packets of speech that were mixed"),
        Column::real("delay_mean", "s", "mean time from their arrival to the mix, de-jitter buffer included"),
        Column::real("delay_max", "s", "longest of these times"),
    ],
};

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}

impl Service for Config {
    fn served_packets(&self) -> ServedPackets {
        ServedPackets::Addressed
    }

    fn incompatibility(&self, transport: &Transport) -> Option<&'static str> {
        (!transport.carries_calls()).then_some("is not over sip or iax2")
    }

    fn build(&self, name: &str, flows: Vec<ServedFlow>, supply: &mut dyn Supply) -> Box<dyn Stage> {
        Box::new(Bridge::new(name, flows, supply))
    }

    fn check_flows(&self, flows: &[ServedFlow], problems: &mut Problems) {
        let packets =
            flows.iter().filter_map(|served| Some((served, served.calls.as_ref()?.sending().packet())));
        let packets: Vec<_> = packets.collect();
        if let Some((first, duration)) = packets.first() {
            for (other, different) in packets.iter().filter(|(_, packet)| packet != duration) {
                let message = format!(
                    "packets of flow \"{}\" hold {different:?} of speech and those of \"{}\" {duration:?}; allowed: equal durations",
                    other.name, first.name
                );
                problems.add("flows", message);
            }
        }
    }
}

/// The bridge as a stage with input port 0 and output port 0.
struct Bridge {
    name: String,
    ends: Vec<Endpoint>,
    /// Index in `ends`, by the ID of the flow.
    places: BTreeMap<u32, usize>,
    packet: Span,
    /// Time at which the next mix is sent; `None` without parties.
    tick: Option<Time>,
    parties: usize,
    wait: SpanStatistics,
}

impl Bridge {
    fn new(name: &str, flows: Vec<ServedFlow>, supply: &mut dyn Supply) -> Bridge {
        let places = flows.iter().enumerate().map(|(place, served)| (served.flow.0, place)).collect();
        let mut packet = Span::from_millis(20);
        let mut ends = Vec::new();
        for served in flows {
            let calls = served.calls.expect("flows over sip or iax2 carry calls");
            packet = calls.sending().packet();
            let (node, peer) = (served.ends[1], served.ends[0]);
            let site = Site {
                flow: served.flow,
                name: served.name,
                node,
                peer,
                end: End::Destination,
                start: Time::ZERO,
                dscp: served.dscp,
                details: false,
                capture: None,
            };
            let stream = supply.stream(&names::end(&site.name, site.end));
            ends.push(Endpoint::new(&*served.transport, site, calls, (stream, 0), supply).mixing());
        }
        Bridge {
            name: name.to_owned(),
            ends,
            places,
            packet,
            tick: None,
            parties: 0,
            wait: SpanStatistics::default(),
        }
    }

    /// Sends each party the sum of the speech of all other parties.
    fn mix(&mut self, now: Time, out: &mut Outbox) {
        let mut parties = Vec::new();
        for (place, end) in self.ends.iter_mut().enumerate() {
            let of_it = end.parties(now, &mut self.wait);
            parties.extend(of_it.into_iter().map(|(call, spoke)| (place, call, spoke)));
        }
        self.parties = self.parties.max(parties.len());
        let speakers = parties.iter().filter(|(.., spoke)| *spoke).count();
        let period = now.as_nanos() / self.packet.as_nanos();
        for (place, call, spoke) in &parties {
            let others = speakers - usize::from(*spoke);
            self.ends[*place].say(now, *call, period, others > 0, out);
        }
        self.tick = (!parties.is_empty()).then(|| self.next_tick(now));
    }

    fn next_tick(&self, now: Time) -> Time {
        let packet = self.packet.as_nanos();
        Time::from_nanos((now.as_nanos() / packet + 1) * packet)
    }

    /// Schedules the next mix if none is scheduled.
    fn start_ticks(&mut self, now: Time) {
        if self.tick.is_none() {
            self.tick = Some(self.next_tick(now));
        }
    }
}

impl Stage for Bridge {
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        let place = self.places[&packet.flow.0];
        self.ends[place].receive(now, port, packet, out);
        self.start_ticks(now);
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        for end in &mut self.ends {
            if end.next_wake().is_some_and(|wake| wake <= now) {
                end.wake(now, out);
            }
        }
        if self.tick.is_some_and(|tick| tick <= now) {
            self.mix(now, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.ends.iter().filter_map(Stage::next_wake).chain(self.tick).min()
    }

    fn finish(&mut self, now: Time, out: &mut Outbox) {
        self.ends.iter_mut().for_each(|end| end.finish(now, out));
    }

    fn report(&self, now: Time, report: &mut Report) {
        self.ends.iter().for_each(|end| end.report(now, report));
        let values = [self.parties as f64, self.wait.count() as f64, self.wait.mean(), self.wait.max()];
        report.row(&REPORT, &self.name, &values);
    }
}
