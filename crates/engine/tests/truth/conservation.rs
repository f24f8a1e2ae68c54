//! Invariants of any scenario: every packet is delivered, dropped for a named reason or still
//! inside; no packet overtakes another; no link carries and no control centre grants more than its
//! capacity; and time advances.

use crate::run::{scenario, Run, TraceRow, Traces};
use bentpipe_core::{Rate, Report, Time};
use bentpipe_engine::scenario::{LinkPair, NetworkKind, Scenario};
use bentpipe_engine::Network;
use bentpipe_networks::dama;
use bentpipe_stage::Held;
use bentpipe_transport::names::traced_as;
use bentpipe_transport::{self as transport, app};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const RATES: &[&str] = &["48 kbit/s", "256 kbit/s", "1 Mbit/s", "3.3 Mbit/s", "8 Mbit/s"];
const DELAYS: &[&str] = &["0 s", "1 us", "3 ms", "47 ms", "250 ms"];
const QUEUES: &[&str] = &[
    "\"drop-tail\"",
    r#"{ kind = "drop-tail", packets = 1 }"#,
    r#"{ kind = "drop-tail", packets = 7 }"#,
    r#"{ kind = "drop-tail", packets = 50 }"#,
    r#"{ kind = "drop-tail", bytes = "1500 B" }"#,
    r#"{ kind = "drop-tail", bytes = "20 kB" }"#,
    r#"{ kind = "drop-tail", packets = 20, bytes = "9 kB" }"#,
    r#"{ kind = "drop-front", packets = 7 }"#,
    r#"{ kind = "codel", packets = 50, target = "20 ms" }"#,
    r#"{ kind = "fq-codel", packets = 30, flows = 4 }"#,
    r#"{ kind = "dualpi2", packets = 50, target = "20 ms" }"#,
    "\"pie\"",
];
const ERRORS: &[&str] = &[
    "\"none\"",
    "\"none\"",
    r#"{ kind = "packet", probability = 0.002 }"#,
    r#"{ kind = "packet", probability = 0.2 }"#,
    r#"{ kind = "bit", rate = 1e-7 }"#,
    r#"{ kind = "bit", rate = 2e-5 }"#,
];

pub fn choice(of: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(of)
}

/// Generates the keys of one direction of a link.
fn direction() -> impl Strategy<Value = String> {
    (choice(RATES), choice(DELAYS), choice(QUEUES), choice(ERRORS)).prop_map(|(rate, delay, queue, error)| {
        format!("rate = \"{rate}\", delay = \"{delay}\", queue = {queue}, error = {error}")
    })
}

/// Generates links in a line, or in a star around the first node. Returns the text of the links and
/// the names of the nodes.
fn links() -> impl Strategy<Value = (String, Vec<String>)> {
    (any::<bool>(), prop::collection::vec((direction(), prop::option::of(direction())), 1..5)).prop_map(
        |(line, links)| {
            let mut text = "link = [\n".to_owned();
            for (index, (forward, back)) in links.iter().enumerate() {
                let (from, to) = (if line { index } else { 0 }, index + 1);
                let back = back.as_ref().map_or(String::new(), |back| format!(", return = {{ {back} }}"));
                let _ = writeln!(
                    text,
                    "  {{ name = \"l{index}\", from = \"n{from}\", to = \"n{to}\", {forward}{back} }},"
                );
            }
            text.push_str("]\n");
            (text, (0..=links.len()).map(|index| format!("n{index}")).collect())
        },
    )
}

/// Generates a DVB-RCS network with node n0 as its gateway. Returns the text of the network and the
/// names of the terminals.
fn network() -> impl Strategy<Value = (String, Vec<String>)> {
    let scheme = choice(&[
        "\"cra\"",
        "\"rbdc\"",
        "\"vbdc\"",
        "{ kind = \"rbdc\", gamma = 1.0, timeout = 1 }",
        "{ kind = \"rbdc\", gamma = 0.05, timeout = 40 }",
        "{ kind = \"rbdc\", estimator = \"arrival\" }",
        "\"avbdc\"",
        "\"fca\"",
        "{ kind = \"mix\", rbdc = { max = \"512 kbit/s\" }, vbdc = { max = \"1024 kbit/s\" }, fca = true }",
    ]);
    let terminal = (prop::option::of(0u64..6), prop::option::of(0u32..4000));
    // Slots per frame, frames per superframe, and a `response` (in superframes) that is long enough
    // for 250 ms each way and 200 ms of processing.
    let structure = prop::sample::select(&[(32u64, 4u64, 12u32), (16, 2, 20), (8, 1, 34)]);
    let more = prop::option::of(0u32..12);
    (
        (scheme, prop::option::of(0u64..4), structure, more, choice(&["0 s", "40 ms", "200 ms"])),
        prop::collection::vec(terminal, 1..7),
        (choice(&["0 s", "13 ms", "250 ms"]), choice(QUEUES), choice(QUEUES), choice(ERRORS), choice(ERRORS)),
        choice(&["128 kbit/s", "1 Mbit/s", "10 Mbit/s"]),
    )
        .prop_map(
            |((scheme, cra, (slots, frames, response), more, processing), terminals, rest, forward)| {
                let (propagation, queue, forward_queue, error, forward_error) = rest;
                // The constant slots of all terminals must fit into the link.
                let constant = |wanted: u64| wanted.min(slots / terminals.len() as u64) * 2048 / slots;
                let mut text = format!(
                    "[network.sat]\nkind = \"dvb-rcs\"\ngateway = \"n0\"\npropagation = \"{propagation}\"\n\
                 forward = {{ rate = \"{forward}\", queue = {forward_queue}, error = {forward_error} }}\n\
                 terminals = [\n"
                );
                for (index, (cra, logon)) in terminals.iter().enumerate() {
                    let _ = write!(text, "  {{ name = \"t{index}\"");
                    if let Some(wanted) = cra {
                        let _ = write!(text, ", cra = \"{} kbit/s\"", constant(*wanted));
                    }
                    if let Some(logon) = logon {
                        let _ = write!(text, ", logon = \"{logon} ms\"");
                    }
                    text.push_str(" },\n");
                }
                let cra =
                    cra.map_or(String::new(), |wanted| format!("cra = \"{} kbit/s\"\n", constant(wanted)));
                let response = more.map_or(String::new(), |more| format!("response = {}\n", response + more));
                let _ = write!(
                text,
                "]\n[network.sat.return]\nrate = \"2048 kbit/s\"\nslots_per_frame = {slots}\n\
                 frames_per_superframe = {frames}\nqueue = {queue}\nerror = {error}\n\
                 [network.sat.return.dama]\nscheme = {scheme}\nprocessing = \"{processing}\"\n{cra}{response}"
            );
                (text, (0..terminals.len()).map(|index| format!("t{index}")).collect())
            },
        )
}

const APPS: &[&str] = &[
    "\"bulk\"",
    r#"{ kind = "bulk", size = "30 kB" }"#,
    r#"{ kind = "bulk", size = "1 B" }"#,
    r#"{ kind = "bulk", duration = "700 ms" }"#,
    r#"{ kind = "http", object = "3 kB", pages = 5, think = "100 ms" }"#,
    r#"{ kind = "ftp", size = "5 kB", distribution = "exponential", every = "300 ms" }"#,
    r#"{ kind = "ftp", size = "9 kB", messages = 1, every = "900 ms", direction = "download" }"#,
    r#"{ kind = "email", size = "4 kB", messages = 5, every = "500 ms", mails = 3 }"#,
];
const OPTIONS: &[&str] = &[
    "",
    ", receive_window = \"10 kB\"",
    ", segment_size = 536",
    ", initial_window = 1, initial_ssthresh = 4",
];
const BURSTS: &[&str] = &[
    "",
    ", on = \"100 ms\", off = \"0 s\"",
    ", on = \"1 s\", off = \"2 s\"",
    ", on = \"200 ms\", off = \"100 ms\", distribution = \"exponential\"",
];

/// Generates the application and the transport of a flow.
fn talk() -> impl Strategy<Value = String> {
    let variant = (choice(&["reno", "vegas"]), choice(&["sack", "newreno"]));
    let tcp = (choice(APPS), variant, any::<bool>(), any::<bool>(), choice(OPTIONS)).prop_map(
        |(app, (congestion, recovery), delayed_ack, timestamps, more)| {
            format!(
                "app = {app}\ntransport = {{ kind = \"tcp\", congestion = \"{congestion}\", \
                 recovery = \"{recovery}\", delayed_ack = {delayed_ack}, timestamps = {timestamps}{more} }}\n"
            )
        },
    );
    let rate = choice(&["16 kbit/s", "300 kbit/s", "2 Mbit/s"]);
    let udp =
        (rate, choice(&["1 B", "160 B", "1400 B"]), choice(BURSTS)).prop_map(|(rate, datagram, bursts)| {
            format!(
                "app = {{ kind = \"cbr\", rate = \"{rate}\", datagram = \"{datagram}\"{bursts} }}\n\
             transport = \"udp\"\n"
            )
        });
    let app = choice(&["\"bulk\"", r#"{ kind = "cbr", rate = "100 kbit/s", datagram = "700 B" }"#]);
    let tfrc = (app, any::<[bool; 3]>()).prop_map(|(app, [small_packets, damped, quick])| {
        let quick = if quick { ", quick_start = \"300 kbit/s\"" } else { "" };
        format!(
            "app = {app}\ntransport = {{ kind = \"tfrc\", segment_size = 1200, small_packets = {small_packets}, \
             damped = {damped}{quick} }}\n"
        )
    });
    let options = choice(&[
        "",
        ", resumption = true",
        ", mtu_discovery = false",
        ", ecn = true",
        ", certificate = 9000",
        ", ack_frequency = { threshold = 9, max_ack_delay = \"100 ms\", reordering_threshold = 3 }",
    ]);
    let quic = (choice(APPS), choice(&["reno", "cubic", "bbr", "prague"]), options).prop_map(
        |(app, congestion, options)| {
            format!(
                "app = {app}\ntransport = {{ kind = \"quic\", congestion = \"{congestion}\"{options} }}\n"
            )
        },
    );
    let size = choice(&["1 B", "160 B", "1100 B"]);
    let datagrams =
        (choice(&["16 kbit/s", "2 Mbit/s"]), size, choice(BURSTS)).prop_map(|(rate, datagram, bursts)| {
            format!(
                "app = {{ kind = \"cbr\", rate = \"{rate}\", datagram = \"{datagram}\"{bursts} }}\n\
                 transport = {{ kind = \"quic\", max_datagram_frame_size = 1200 }}\n"
            )
        });
    prop_oneof![3 => tcp, 2 => udp, 1 => tfrc, 2 => quic, 1 => datagrams]
}

/// A random change: the changed part (an index over links and the network), the time in permille of
/// the duration, the keys if the part is a link, and the keys if it is the network.
type ChangeOf = (prop::sample::Index, u64, String, String);

fn change() -> impl Strategy<Value = ChangeOf> {
    let of_link = (any::<bool>(), 0..4, choice(RATES), choice(DELAYS), choice(QUEUES), choice(ERRORS))
        .prop_map(|(back, which, rate, delay, queue, error)| {
            let back = if back { "return." } else { "" };
            match which {
                0 => format!("{back}rate = \"{rate}\""),
                1 => format!("{back}delay = \"{delay}\""),
                2 => format!("{back}queue = {queue}"),
                _ => format!("{back}error = {error}"),
            }
        });
    let of_network = (0..4, choice(QUEUES), choice(ERRORS)).prop_map(|(which, queue, error)| match which {
        // At least as fast as every initial rate, so that plans arrive in time.
        0 => "forward.rate = \"10 Mbit/s\"".to_owned(),
        1 => format!("return.queue = {queue}"),
        2 => format!("forward.error = {error}"),
        _ => format!("return.error = {error}"),
    });
    (any::<prop::sample::Index>(), 0u64..1000, of_link, of_network)
}

/// Generates the text of a scenario, and the times at which the run is inspected, in permille of
/// the duration.
pub fn case() -> impl Strategy<Value = (String, Vec<u64>)> {
    (
        any::<u32>(),
        1u64..12,
        links(),
        prop::option::weighted(0.6, network()),
        prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u32..2500, talk()), 1..5),
        prop::collection::vec(0u64..1000, 0..6),
        any::<bool>(),
        prop::collection::vec(change(), 0..8),
    )
        .prop_map(|(seed, seconds, (links, mut nodes), network, flows, mut moments, capture, changes)| {
            let parts: Vec<String> = (0..nodes.len() - 1).map(|index| format!("link.l{index}")).collect();
            let mut text =
                format!("name = \"random\"\nseed = {seed}\nduration = \"{seconds} s\"\n{links}");
            if capture {
                // A captured node keeps its router. Without a capture, a router with a single exit
                // is bypassed.
                text.push_str("record.capture = [\"n0\", \"n1\"]\n");
            }
            for (part, permille, of_link, of_network) in changes {
                let _ = write!(text, "[[change]]\nat = \"{} ms\"\n", permille * seconds);
                let _ = match parts.get(part.index(parts.len() + usize::from(network.is_some()))) {
                    Some(link) => writeln!(text, "set.{link}.{of_link}"),
                    None => writeln!(text, "set.network.sat.{of_network}"),
                };
            }
            if let Some((network, terminals)) = network {
                text.push_str(&network);
                nodes.extend(terminals);
            }
            for (index, (from, to, start, talk)) in flows.iter().enumerate() {
                let from = from.index(nodes.len());
                let to = (from + 1 + to.index(nodes.len() - 1)) % nodes.len();
                let _ = write!(
                    text,
                    "[[flow]]\nname = \"f{index}\"\nfrom = \"{}\"\nto = \"{}\"\nstart = \"{start} ms\"\n{talk}",
                    nodes[from], nodes[to]
                );
            }
            moments.sort_unstable();
            (text, moments)
        })
}

/// Returns the number of cases: the environment variable `PROPTEST_CASES`, or 100.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(100)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved_and_never_misdirected((text, moments) in case()) {
        let scenario = scenario(&text);
        let mut run = Run::new(&scenario, scenario.seed.value(), 0);
        for permille in moments {
            let now = Time::from_nanos(run.end.as_nanos() / 1000 * permille);
            run.network.run_until(now);
            prop_assert!(run.network.next_wake().is_none_or(|wake| wake > now));
            balance(&mut run.network)?;
        }
        let mut run = run.finished();
        balance(&mut run.network)?;
        let report = run.report();
        let results = run.results();
        let network = results.totals.dropped.iter().filter(|((_, reason), _)| reason.words() != LATE);
        drops_agree(&report, network.map(|(_, held)| held.packets).sum())?;
        for row in &results.captured {
            prop_assert!(row.1 <= scenario.duration.as_nanos());
        }
        prop_assert!(results.captured.windows(2).all(|pair| pair[0].1 <= pair[1].1), "captures go back in time");
        time_goes_forward(&results.traces)?;
        links_carry_their_rate(&scenario, &report)?;
        flows_are_in_order(&scenario, &report, &results.traces)?;
        slots_are_there(&scenario, &report, &results.traces)?;
    }
}

/// Drop reason of a probe or a retransmission that arrives after its connection has ended.
const LATE: &str = "no connection";

/// Reasons for which a packet of a random case may be dropped.
const REASONS: &[&str] = &[
    "queue full",
    "early drop",
    "average queue too long",
    "delay above target",
    "longer than the shaper's burst",
    "channel error",
    "acknowledgment filtered",
    "acknowledgment decimated",
    "acknowledgment suppressed",
    LATE,
];

/// Checks the [`sums`], and that every drop has one of the [`REASONS`].
pub fn balance(network: &mut Network) -> Result<(), TestCaseError> {
    sums(network)?;
    for (_, reason) in network.out().totals().dropped.keys() {
        prop_assert!(REASONS.contains(&reason.words()), "{reason:?}");
    }
    Ok(())
}

/// Checks that created = consumed + dropped + held, in packets and in bytes, and that every drop
/// has a stage of the network.
pub fn sums(network: &mut Network) -> Result<(), TestCaseError> {
    let held = network.held();
    let stages = network.names().len();
    let totals = network.out().totals();
    let (mut packets, mut bytes) = (held.packets, held.bytes);
    for (&(stage, _), &Held { packets: count, bytes: size }) in &totals.dropped {
        prop_assert!((stage as usize) < stages);
        prop_assert!(count > 0 && size >= count);
        packets += count;
        bytes += size;
    }
    prop_assert_eq!(totals.created.packets, totals.consumed.packets + packets);
    prop_assert_eq!(totals.created.bytes, totals.consumed.bytes + bytes);
    Ok(())
}

/// Checks that the links and terminals report `dropped` drops in total.
fn drops_agree(report: &Report, dropped: u64) -> Result<(), TestCaseError> {
    let mut reported = 0.0;
    for (table, entity, _) in report.rows() {
        if ["link", "terminal"].contains(&table.name) {
            for column in ["queue_drops", "error_drops"] {
                reported += report.value(table.name, entity, column).expect("a count is a number");
            }
        }
    }
    prop_assert_eq!(reported, dropped as f64);
    Ok(())
}

/// Checks that the rows of each trace are in order of time. The trace `dama` is checked per entity,
/// because a terminal writes the row of a superframe after its end.
pub fn time_goes_forward(traces: &Traces) -> Result<(), TestCaseError> {
    for (table, rows) in traces {
        let mut last: BTreeMap<&str, u64> = BTreeMap::new();
        for row in rows {
            let entity = if *table == "dama" { row.entity.as_str() } else { "" };
            let before = last.insert(entity, row.time).unwrap_or(0);
            prop_assert!(before <= row.time, "{} of {}: {} after {}", table, row.entity, row.time, before);
        }
    }
    Ok(())
}

/// Returns the rates over time of a direction of a link, or of a network's forward link. Each entry
/// has a duration in seconds and a rate in bytes per second.
fn rates(scenario: &Scenario, list: &str, name: &str, keys: [&str; 2], first: Rate) -> Vec<(f64, f64)> {
    let mut moments = vec![(0.0, first)];
    // A return direction that is not set follows the forward direction until a change sets it.
    let mut own =
        keys[0] != "return" || scenario.link.iter().any(|link| link.name == name && link.back.is_some());
    for (_, change) in scenario.changes() {
        let Some(set) = change.set.get(list).and_then(|named| named.get(name)) else { continue };
        let within = if keys[0].is_empty() { Some(set) } else { set.get(keys[0]) };
        own |= within.is_some();
        let rate = if own { within.and_then(|set| set.get(keys[1])) } else { set.get(keys[1]) };
        if let Some(rate) = rate.and_then(|rate| rate.as_str()) {
            moments.push((change.at.as_secs_f64(), rate.parse().expect("the scenario was checked")));
        }
    }
    let ends = moments.iter().skip(1).map(|(at, _)| *at).chain([scenario.duration.as_secs_f64()]);
    moments
        .iter()
        .zip(ends)
        .map(|((at, rate), end)| (end - at, rate.bits_per_second() as f64 / 8.0))
        .collect()
}

/// Returns the rates of the two directions of a link over the duration.
fn rates_of(scenario: &Scenario, link: &LinkPair) -> [Vec<(f64, f64)>; 2] {
    let of = |keys, first| rates(scenario, "link", &link.name, keys, first);
    [of(["", "rate"], *link.forward().rate), of(["return", "rate"], *link.back().rate)]
}

/// Returns the configuration of a DVB-RCS network; `None` for other networks.
fn star(network: &NetworkKind) -> Option<dama::Config> {
    network.changing("")?.config.downcast_ref::<dama::Config>().cloned()
}

/// Checks that no link transmits more than its rate multiplied by the duration, and that the busy
/// time of each link matches the transmitted bytes.
fn links_carry_their_rate(scenario: &Scenario, report: &Report) -> Result<(), TestCaseError> {
    // The largest packet: a segment of 1460 bytes with timestamps.
    const PACKET: f64 = 1512.0;
    let mut links = Vec::new();
    for link in &scenario.link {
        let [forward, back] = rates_of(scenario, link);
        links.push((link.name.clone(), forward, 0.0));
        links.push((LinkPair::back_name(&link.name), back, 0.0));
    }
    for (name, network) in &scenario.network {
        let Some(config) = star(network) else { continue };
        // Plans and logon responses do not wait for the data before them, and delay the data after
        // them.
        let plans = report.value("ncc", name, "plan_bytes").expect("a count is a number");
        let logons = 64.0 * 1000.0;
        let rates = rates(scenario, "network", name, ["forward", "rate"], *config.forward.rate);
        links.push((format!("{name}.forward"), rates, plans + logons));
    }
    for (name, rates, signalling) in links {
        let value = |column| report.value("link", &name, column);
        let utilisation = value("utilisation").expect("the run has a duration");
        prop_assert!((0.0..=1.0).contains(&utilisation), "{}: {}", name, utilisation);
        let count = |column| value(column).expect("a count is a number");
        let (sent, capacity) =
            (count("bytes"), rates.iter().map(|(seconds, rate)| seconds * rate).sum::<f64>());
        let fastest = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        // Each transmission time is rounded down to the nanosecond. The remaining time at a change
        // of the rate is also rounded down.
        let more = signalling + (count("packets") + rates.len() as f64) * 1e-9 * fastest;
        prop_assert!(sent <= capacity + more, "{}: {} of {} bytes", name, sent, capacity);
        if rates.len() > 1 {
            continue;
        }
        // A packet in transmission at the end counts for either the bytes or the busy time.
        let busy = utilisation * capacity;
        prop_assert!(busy - sent <= PACKET + signalling, "{}: {} bytes, busy for {}", name, sent, busy);
        prop_assert!(sent - busy <= more, "{}: {} bytes, busy for {}", name, sent, busy);
    }
    Ok(())
}

/// Returns the minimum mean rate on the path of a flow, in bit/s. These networks have only one path
/// between two nodes.
fn bottleneck(scenario: &Scenario, from: &str, to: &str) -> f64 {
    type Hop = (String, String, f64);
    let mut hops: Vec<Hop> = Vec::new();
    let bits = |rate: Rate| rate.bits_per_second() as f64;
    let mean = |rates: Vec<(f64, f64)>| {
        let bytes: f64 = rates.iter().map(|(seconds, rate)| seconds * rate).sum();
        bytes * 8.0 / scenario.duration.as_secs_f64()
    };
    for link in &scenario.link {
        let LinkPair { from, to, .. } = link;
        let [forward, back] = rates_of(scenario, link).map(mean);
        hops.push((from.clone(), to.clone(), forward));
        hops.push((to.clone(), from.clone(), back));
    }
    for (name, network) in &scenario.network {
        let Some(config) = star(network) else { continue };
        let forward = mean(rates(scenario, "network", name, ["forward", "rate"], *config.forward.rate));
        for terminal in config.terminal_names() {
            hops.push((config.gateway.clone(), terminal.clone(), forward));
            hops.push((terminal, config.gateway.clone(), bits(config.return_link.rate)));
        }
    }
    let mut known = BTreeMap::from([(from.to_owned(), f64::INFINITY)]);
    while !known.contains_key(to) {
        for (from, to, rate) in &hops {
            if let (Some(&so_far), false) = (known.get(from), known.contains_key(to)) {
                known.insert(to.clone(), so_far.min(*rate));
            }
        }
    }
    known[to]
}

fn flows_are_in_order(scenario: &Scenario, report: &Report, traces: &Traces) -> Result<(), TestCaseError> {
    fn of<'a>(traces: &'a Traces, table: &str, flow: &'a str) -> Vec<&'a TraceRow> {
        traces.get(table).map_or(Vec::new(), |rows| rows.iter().filter(|row| row.entity == flow).collect())
    }
    let seconds = scenario.duration.as_secs_f64();
    for flow in &scenario.flow {
        let name = flow.name.as_str();
        let source = |column| report.value("flow_source", name, column).unwrap_or(f64::NAN);
        let destination = |column| report.value("flow_destination", name, column).unwrap_or(f64::NAN);
        let (sent, delivered) = (source("sent_bytes"), destination("delivered_bytes"));
        prop_assert!(delivered <= sent, "{}: {} of {}", name, delivered, sent);
        prop_assert!(destination("delivered_packets") <= source("sent_packets"), "{}", name);
        let capacity = bottleneck(scenario, &flow.from, &flow.to) * seconds;
        prop_assert!(delivered * 8.0 <= capacity, "{}: {} of {}", name, delivered * 8.0, capacity);
        match &flow.transport {
            transport::Config::Tcp(_) => {
                let connections = flow.app.connections();
                let mut total = 0.0;
                for number in 0..connections.traced() {
                    let (traced, _) = traced_as(&flow.name, app::End::Source, number);
                    let deliveries = of(traces, "delivery", &traced);
                    prop_assert!(deliveries.windows(2).all(|pair| pair[0].values[0] < pair[1].values[0]));
                    let here = deliveries.last().map_or(0.0, |row| row.values[0]);
                    total += here;
                    let mut at_least = [0.0; 4];
                    for row in of(traces, "tcp", &traced) {
                        // Acknowledged, sent, retransmissions, time-outs so far.
                        let now: [f64; 4] =
                            row.values[7..11].try_into().expect("the trace has these columns");
                        prop_assert!(
                            now.iter().zip(&at_least).all(|(now, before)| now >= before),
                            "{:?}",
                            row
                        );
                        prop_assert!(now[0] <= now[1], "{:?}", row);
                        prop_assert!(row.values[0] >= 1.0, "{:?}", row);
                        at_least = now;
                    }
                    prop_assert!(at_least[0] <= here, "{} acknowledged, {} delivered", at_least[0], here);
                }
                match connections {
                    app::Connections::Fixed(_) => prop_assert_eq!(total, delivered),
                    app::Connections::Endless => prop_assert!(total <= delivered),
                }
                if let app::Config::Bulk(app::bulk::Config { size: Some(size), .. }) = &flow.app {
                    prop_assert!(sent <= size.bytes() as f64);
                    if !source("completed").is_nan() {
                        prop_assert_eq!(delivered, size.bytes() as f64);
                    }
                }
            }
            transport::Config::Quic(config) if config.max_datagram_frame_size.is_none() => {
                let deliveries = of(traces, "delivery", name);
                prop_assert!(deliveries.windows(2).all(|pair| pair[0].values[0] < pair[1].values[0]));
                prop_assert_eq!(deliveries.last().map_or(0.0, |row| row.values[0]), delivered);
                if !source("completed").is_nan() {
                    prop_assert_eq!(sent, delivered);
                }
            }
            transport::Config::Quic(_) => {
                let datagrams = of(traces, "datagram", name);
                // Also of packets that wait for their keys.
                prop_assert!(datagrams.windows(2).all(|pair| pair[0].values[0] < pair[1].values[0]));
                prop_assert_eq!(datagrams.last().map_or(0.0, |row| row.values[3]), delivered);
            }
            other => {
                let datagrams = of(traces, "datagram", name);
                // Strictly ascending: no overtaking and no duplicates, for any losses.
                prop_assert!(datagrams.windows(2).all(|pair| pair[0].values[0] < pair[1].values[0]));
                // A transport that is not in this list may have its own trace.
                if ["tfrc", "udp"].contains(&other.kind()) {
                    prop_assert_eq!(datagrams.len() as f64, destination("delivered_packets"));
                }
                if other.kind() != "udp" {
                    continue;
                }
                let app::Config::Cbr(config) = &flow.app else { panic!("only cbr runs over udp") };
                // The source sends a datagram at the start, and then one per interval. The interval
                // is rounded down to the nanosecond.
                let interval = config.rate.span_of(config.datagram.bytes());
                prop_assert!(source("sent_packets") <= (scenario.duration / interval + 1) as f64);
                prop_assert_eq!(sent, source("sent_packets") * config.datagram.bytes() as f64);
            }
        }
    }
    Ok(())
}

/// Checks that grants never exceed capacity, and that slots carry no more than their size.
fn slots_are_there(scenario: &Scenario, report: &Report, traces: &Traces) -> Result<(), TestCaseError> {
    for (name, network) in &scenario.network {
        let Some(config) = star(network) else { continue };
        let frame = config.frame().expect("the scenario was checked");
        let mut given: BTreeMap<u64, f64> = BTreeMap::new();
        let mut assigned: BTreeMap<u64, f64> = BTreeMap::new();
        let mut once = BTreeSet::new();
        for row in &traces["dama"] {
            let [superframe, queue, _, constant, slots, capacity, used] = row.values[..] else {
                panic!("the trace has seven columns")
            };
            prop_assert!(once.insert((row.entity.clone(), superframe as u64)), "{:?} comes twice", row);
            *given.entry(superframe as u64).or_default() += constant + slots;
            *assigned.entry(superframe as u64).or_default() += slots;
            prop_assert_eq!(capacity, (constant + slots) * frame.unit() as f64);
            prop_assert!(used <= capacity, "{:?}", row);
            prop_assert!(queue >= 0.0);
            prop_assert_eq!(row.time, (frame.superframe() * superframe as u64).as_nanos());
        }
        let slots_in_all: f64 =
            config.carriers().expect("the scenario was checked").into_iter().map(f64::from).sum();
        let over = given.iter().find(|(_, slots)| **slots > slots_in_all);
        prop_assert!(over.is_none(), "{:?} of {} slots", over, slots_in_all);
        let mut planned = BTreeMap::new();
        for row in &traces["ncc"] {
            let [superframe, _, demand, free, granted, spare] = row.values[..] else {
                panic!("the trace has six columns")
            };
            prop_assert!(granted <= free && granted - spare <= demand, "{:?}", row);
            prop_assert!(
                spare == 0.0 || granted - spare == demand,
                "spare slots although the demand is not met: {:?}",
                row
            );
            prop_assert!(planned.insert(superframe as u64, granted).is_none(), "{:?} is planned twice", row);
        }
        for (superframe, slots) in &assigned {
            let granted = planned.get(superframe).copied().unwrap_or(0.0);
            prop_assert!(
                *slots <= granted,
                "superframe {}: {} slots of {} granted",
                superframe,
                slots,
                granted
            );
        }
        for terminal in config.terminal_names() {
            let value = |column| report.value("terminal", &terminal, column).unwrap_or(0.0);
            prop_assert!(value("used_bytes") <= value("capacity_bytes"), "{}", terminal);
            prop_assert!(value("efficiency") <= 1.0);
            // No plan is late, because `response` is long enough.
            prop_assert_eq!(value("late_slots"), 0.0, "{}", terminal);
        }
        let value = |column| report.value("ncc", name, column).expect("a count is a number");
        prop_assert_eq!(value("granted_slots") + value("spare_slots"), planned.values().sum::<f64>());
    }
    Ok(())
}
