//! Connections through one or two splitting proxies, over links with any pattern of loss,
//! reordering, duplication, delay and outages: every byte arrives once and in order, or the end
//! that lacks bytes is informed of the reason. No proxy stores or permits more than its buffer.

use super::hostile::{config, drops_become_corruption, endpoint, fate, travel, Fate, Talker};
use super::reno::Reno;
use bentpipe_core::{FlowId, NodeId, Probe, Size, Span, Stream, Table, Time};
use bentpipe_networks::node::proxy::split::{self, Accept, Split};
use bentpipe_networks::node::service::{ServedFlow, Supply};
use bentpipe_stage::packet::segment::SegmentFlags;
use bentpipe_stage::{Body, Sent, Stage};
use bentpipe_testing::bench::{stream, Bench, Network, Wires};
use bentpipe_transport::tcp::connection::{Failure, Phase};
use bentpipe_transport::tcp::endpoint::{Endpoint, MakeCongestion};
use bentpipe_transport::tcp::Config;
use bentpipe_transport::Control;
use proptest::prelude::*;

struct Untraced;

impl bentpipe_stage::Supply for Untraced {
    fn stream(&mut self, name: &str) -> Stream {
        stream(name)
    }

    fn probe(&mut self, _: &'static Table, _: &str) -> Option<Probe> {
        None
    }
}

impl Supply for Untraced {
    fn congestion(&mut self, _: Control<'_>) -> MakeCongestion {
        Box::new(|| Box::<Reno>::default())
    }
}

fn proxy(accept: Accept, buffer: u64, sides: [Config; 2]) -> Split {
    let [left, right] = sides;
    let sides = [("left".to_owned(), left), ("right".to_owned(), right)];
    let config = split::Config {
        accept,
        buffer: Size::from_bytes(buffer),
        sides: sides.map(|(side, config)| (side, config.into())).into(),
        ..Default::default()
    };
    let passing = ServedFlow {
        number: 1,
        flow: FlowId(0),
        name: "flow".to_owned(),
        ends: [NodeId(0), NodeId(1)],
        links: ["left".to_owned(), "right".to_owned()],
        traced: Vec::new(),
        dscp: 0,
        transport: bentpipe_transport::Config::Tcp(Config::default()),
        calls: None,
    };
    Split::new("proxy", &config, vec![passing], &mut Untraced)
}

/// A link between two neighbours in the line.
#[derive(Clone, Debug)]
struct Link {
    /// The fates of the first packets, to the right and to the left.
    fates: [Vec<Fate>; 2],
    /// Start and end of an outage, ms.
    outage: Option<(u64, u64)>,
}

/// Two ends in a line with proxies between them; end 0 and the proxies are the stages before end 1.
struct World {
    ends: [Endpoint; 2],
    proxies: Vec<Split>,
    links: Vec<Link>,
    buffers: Vec<u64>,
    initial: [u32; 2],
    /// Flags per end; true if a reset to it was lost.
    reset_lost: [bool; 2],
    /// The right edge of the last window offered to each end, as a count of bytes.
    offered: [u64; 2],
}

impl World {
    fn bench(case: &Case) -> Bench<World> {
        let build = |end: usize| {
            let app = Talker { bytes: case.bytes[end], opens: end == 0, waits: case.waits == Some(end) };
            endpoint(end, &case.configs[end], app)
        };
        let proxies = case.proxies.iter().map(|(early, buffer, sides)| {
            let accept = if *early { Accept::Early } else { Accept::Late };
            proxy(accept, *buffer, sides.clone())
        });
        let mut bench = Bench::new(World {
            ends: [build(0), build(1)],
            proxies: proxies.collect(),
            links: case.links[..=case.proxies.len()].to_vec(),
            buffers: case.proxies.iter().map(|(_, buffer, _)| *buffer).collect(),
            initial: [0, 1].map(|end| case.configs[end].initial_sequence.unwrap().value() as u32),
            reset_lost: [false; 2],
            offered: [0; 2],
        });
        bench.most_calls = 400_000;
        bench
    }
}

impl Network for World {
    fn stages(&self) -> usize {
        self.proxies.len() + 2
    }

    fn stage(&mut self, place: usize) -> &mut dyn Stage {
        match place {
            0 => &mut self.ends[0],
            place if place <= self.proxies.len() => &mut self.proxies[place - 1],
            _ => &mut self.ends[1],
        }
    }

    fn carry(&mut self, from: usize, sent: Vec<Sent>, wires: &mut Wires<'_>) {
        for Sent { packet, .. } in sent {
            let to_right = packet.destination == NodeId(1);
            let (place, link) = if to_right { (from + 1, from) } else { (from - 1, from - 1) };
            let end = usize::from(to_right);
            let Body::Segment(segment) = &packet.body else { panic!("not a segment") };
            let last = place == if to_right { self.proxies.len() + 1 } else { 0 };
            if last && segment.flags.contains(SegmentFlags::ACK) && !segment.flags.contains(SegmentFlags::RST)
            {
                let acknowledged = segment.acknowledgment.wrapping_sub(self.initial[end]);
                let edge = (u64::from(acknowledged) + u64::from(segment.window)).saturating_sub(1);
                self.offered[end] = self.offered[end].max(edge);
            }
            let reset = segment.flags.contains(SegmentFlags::RST);
            let link = &mut self.links[link];
            let fates = &mut link.fates[1 - end];
            let mut fate = if fates.is_empty() { Fate::Arrives } else { fates.remove(0) };
            let out = link
                .outage
                .is_some_and(|(begin, end)| (begin..end).contains(&(wires.now.as_nanos() / 1_000_000)));
            if out {
                fate = Fate::Lost;
            }
            self.reset_lost[end] |= reset && matches!(fate, Fate::Lost | Fate::Corrupted(false));
            travel(packet, fate, place, wires);
        }
        for end in 0..2 {
            // The window may permit only the data that the other end has read, the room of the
            // proxies on the way, and a FIN, which also has a number.
            let room = self.ends[1 - end].delivered().delivered_bytes + self.buffers.iter().sum::<u64>() + 1;
            assert!(self.offered[end] <= room, "end {end} is offered {} of {room} bytes", self.offered[end]);
        }
    }
}

#[derive(Clone, Debug)]
struct Case {
    configs: [Config; 2],
    /// The proxies: early accept, buffer, and TCP of both sides.
    proxies: Vec<(bool, u64, [Config; 2])>,
    bytes: [u64; 2],
    /// The end that closes only after the other has closed.
    waits: Option<usize>,
    links: Vec<Link>,
}

fn case() -> impl Strategy<Value = Case> {
    let fates = || [(); 2].map(|()| prop::collection::vec(fate(), 0..60));
    let outage =
        prop::option::weighted(0.3, (0u64..20_000, prop_oneof![4 => 100u64..30_000, 1 => Just(10_000_000)]));
    let link = (fates(), outage).prop_map(|(fates, outage)| Link {
        fates,
        outage: outage.map(|(begin, length)| (begin, begin + length)),
    });
    let proxy = (any::<bool>(), 1000u64..30_000, [config(), config()]);
    (
        [config(), config()],
        prop::collection::vec(proxy, 1..3),
        [0u64..60_000, 0u64..20_000],
        prop::option::of(0usize..2),
        prop::collection::vec(link, 3),
    )
        .prop_map(|(configs, proxies, bytes, waits, links)| Case {
            configs,
            proxies,
            bytes,
            waits,
            links,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_or_the_receiver_is_informed_of_the_failure(case in case()) {
        let mut world = World::bench(&case);
        world.run(Time::MAX);
        let failures = [0, 1].map(|end| world.ends[end].failure());
        let report = world.report();
        let rows = || report.rows().iter().filter(|(table, ..)| table.name == "split");
        let column = |name| split::REPORT.columns.iter().position(|column| column.name == name).unwrap();
        let broken = rows().map(|(_, _, values)| values[column("broken")]).sum::<f64>();
        let mut all_over = true;
        for end in 0..2 {
            let delivered = world.ends[end].delivered().delivered_bytes;
            prop_assert!(delivered <= case.bytes[1 - end], "end {} has {} bytes too many", end, delivered);
            let connection = world.ends[end].connection();
            let over = matches!(connection.phase(), Phase::Closed | Phase::TimeWait);
            match failures[end] {
                Some(_) => {}
                None if over => prop_assert_eq!(delivered, case.bytes[1 - end]),
                // An end that only waits learns neither of a vanished end nor of a lost reset, with
                // or without a proxy.
                None => {
                    let waits = !connection.sender().is_waiting();
                    let vanished = failures[1 - end].is_some() || world.reset_lost[end] || broken > 0.0;
                    prop_assert!(waits && vanished, "end {} waits in {:?}", end, connection.phase());
                    all_over = false;
                }
            }
        }
        // If one half of a connection vanishes, the other waits forever or gives up, as without a
        // proxy.
        let quiet = failures == [None, None] && case.links.iter().all(|link| link.outage.is_none());
        for ((_, _, values), buffer) in rows().zip(&world.buffers) {
            prop_assert!(values[column("most_buffered")] <= *buffer as f64);
            let settled = ["open", "broken"].map(|name| values[column(name)]) == [0.0, 0.0];
            prop_assert!(settled || !(all_over && quiet));
        }
        prop_assert!(world.proxies.iter().all(|proxy| proxy.buffered() == 0));
        prop_assert!(drops_become_corruption(&world.dropped));
    }
}

/// Two ends and one proxy between links without faults; `change` modifies the case.
fn plain(early: bool, change: impl FnOnce(&mut Case)) -> Bench<World> {
    let config = Config { initial_sequence: Some(bentpipe_core::Count::new(7)), ..Config::default() };
    let link = Link { fates: Default::default(), outage: None };
    let mut case = Case {
        configs: [config.clone(), config.clone()],
        proxies: vec![(early, 100_000, [config.clone(), config])],
        bytes: [50_000, 20_000],
        waits: Some(1),
        links: vec![link; 3],
    };
    change(&mut case);
    let mut world = World::bench(&case);
    world.run(Time::MAX);
    world
}

#[test]
fn early_accept_saves_a_round_trip_of_the_other_side() {
    let completed = |early| {
        let world = plain(early, |case| case.bytes = [50_000, 0]);
        world.ends[1].delivered().last_delivery.unwrap()
    };
    // Both sides have a round trip of 200 ms. Late accept: the source's handshake waits for the
    // other one.
    let saved = completed(false).since(completed(true));
    assert_eq!(saved, Span::from_millis(200));
}

#[test]
fn an_unreachable_or_refusing_destination_is_reported_unchanged() {
    // The destination is unreachable: late accept leaves the source without an answer, early accept
    // resets it.
    let cut = |case: &mut Case| case.links[1].outage = Some((0, u64::MAX));
    assert_eq!(plain(false, cut).ends[0].failure(), Some(Failure::Handshake));
    assert_eq!(plain(true, cut).ends[0].failure(), Some(Failure::Reset));
    // The destination vanishes while data is in flight: the source is reset after the proxy has
    // given up.
    let vanish = |case: &mut Case| {
        case.bytes = [5_000_000, 0];
        case.links[1].outage = Some((700, u64::MAX));
    };
    for early in [false, true] {
        let mut world = plain(early, vanish);
        assert_eq!(world.ends[0].failure(), Some(Failure::Reset));
        let (report, held) = (world.report(), world.proxies[0].buffered());
        assert_eq!((report.value("split", "proxy", "broken"), held), (Some(1.0), 0));
    }
}
