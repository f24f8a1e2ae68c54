//! A conference bridge. It answers the calls of all flows that end at its node and mixes their
//! speech.
//!
//! All flows of calls (over `sip` or `iax2`) that end at the node belong to one conference. The
//! bridge answers every call like an ordinary exchange at the flow's destination, with the lines,
//! the de-jitter buffer and the codec of the flow. At every multiple of a packet's duration, it
//! sends one packet to each party. This packet contains the sum of the speech that was played from
//! all other parties since the previous packet. Flows may have packets of different durations, such
//! as 20 ms (GSM) and 30 ms (iLBC). The bridge then mixes frames of the greatest common divisor of
//! the durations (10 ms): it divides each arriving packet into frames, and the packet for a party
//! contains the frames since the previous one. With n parties, the bridge therefore sends n
//! streams, whereas a [relay](super::relay) sends n (n - 1). If no other party speaks, a party
//! receives silence. With silence suppression, no packets are then sent, except comfort noise if it
//! is enabled.
//!
//! In results, the rows FLOW.destination of the tables `calls` and `call` describe the speech that
//! the bridge received from each party. The rows FLOW.source describe the speech that a party
//! received; their delay starts at the bridge. The table `bridge` has the time from the arrival of
//! a packet at the bridge until the mix that contains its first frame has been sent to all other
//! flows, including the de-jitter buffer. With one duration, a mix is sent to all parties at the
//! same time. The delay from mouth to ear is the sum of the delay to the bridge, this time, and the
//! delay in FLOW.source.
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
use bentpipe_core::{Column, Report, Sample, Span, Table, Tables, Time};
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
        Column::real(
            "delay_mean",
            "s",
            "mean time from their arrival until their mix has been sent to all, de-jitter buffer included",
        ),
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
}

/// The bridge as a stage with input port 0 and output port 0.
struct Bridge {
    name: String,
    ends: Vec<Endpoint>,
    /// Index in `ends`, by the ID of the flow.
    places: BTreeMap<u32, usize>,
    /// Duration of the packets of each end.
    packets: Vec<Span>,
    /// Duration of the frames that are mixed, which divides the duration of every packet.
    frame: Span,
    /// Parties whose next packet is not complete, by place and call. True if it has speech.
    pending: BTreeMap<(usize, u32), bool>,
    /// Time of the next mix; `None` without parties.
    tick: Option<Time>,
    parties: usize,
    wait: SpanStatistics,
}

impl Bridge {
    fn new(name: &str, flows: Vec<ServedFlow>, supply: &mut dyn Supply) -> Bridge {
        let places = flows.iter().enumerate().map(|(place, served)| (served.flow.0, place)).collect();
        let mut packets = Vec::new();
        let mut ends = Vec::new();
        for served in flows {
            let calls = served.calls.expect("flows over sip or iax2 carry calls");
            packets.push(calls.sending().packet());
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
            frame: packets.iter().copied().reduce(common_divisor).unwrap_or(Span::from_millis(20)),
            packets,
            pending: BTreeMap::new(),
            tick: None,
            parties: 0,
            wait: SpanStatistics::default(),
        }
    }

    /// Mixes a frame. Sends each party whose packet is complete the sum of the speech of all other
    /// parties.
    fn mix(&mut self, now: Time, out: &mut Outbox) {
        let mut parties = Vec::new();
        for place in 0..self.ends.len() {
            let sent = self.sent_to_all(now, place);
            let of_it = self.ends[place].parties(now, self.frame, sent, &mut self.wait);
            parties.extend(of_it.into_iter().map(|(call, spoke)| (place, call, spoke)));
        }
        self.parties = self.parties.max(parties.len());
        let speakers = parties.iter().filter(|(.., spoke)| *spoke).count();
        let before = std::mem::take(&mut self.pending);
        for (place, call, spoke) in &parties {
            let party = (*place, *call);
            let others = speakers - usize::from(*spoke);
            let speech = others > 0 || before.get(&party) == Some(&true);
            let packet = self.packets[*place].as_nanos();
            match now.as_nanos().is_multiple_of(packet) {
                true => self.ends[*place].say(now, *call, now.as_nanos() / packet, speech, out),
                false => {
                    self.pending.insert(party, speech);
                }
            }
        }
        self.tick = (!parties.is_empty()).then(|| self.next_tick(now));
    }

    /// Returns the time at which the last of the other flows than that of `place` gets the frame
    /// that is mixed at `now`.
    fn sent_to_all(&self, now: Time, place: usize) -> Time {
        let others = self.packets.iter().enumerate().filter(|(other, _)| *other != place);
        let complete = |packet: &Span| Time::from_nanos(now.as_nanos().next_multiple_of(packet.as_nanos()));
        let last = others.map(|(_, packet)| complete(packet)).max();
        last.unwrap_or_else(|| complete(&self.packets[place]))
    }

    fn next_tick(&self, now: Time) -> Time {
        let frame = self.frame.as_nanos();
        Time::from_nanos((now.as_nanos() / frame + 1) * frame)
    }

    /// Schedules the next mix if none is scheduled.
    fn start_ticks(&mut self, now: Time) {
        if self.tick.is_none() {
            self.tick = Some(self.next_tick(now));
        }
    }
}

/// Returns the greatest common divisor of two durations.
fn common_divisor(one: Span, other: Span) -> Span {
    let (mut one, mut other) = (one.as_nanos(), other.as_nanos());
    while other > 0 {
        (one, other) = (other, one % other);
    }
    Span::from_nanos(one)
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
