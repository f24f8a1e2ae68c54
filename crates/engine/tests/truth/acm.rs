//! Adaptive coding and modulation (ACM) in a star and on a link. Rates follow the signal in both
//! directions. Packets are lost if their MODCOD is too high for the signal. Packets share baseband
//! frames. Every byte is delivered, dropped or held.

use crate::bad_scenarios::loaded;
use crate::conservation::sums;
use crate::run::{scenario, value, Run};
use bentpipe_core::{Span, Time};
use proptest::prelude::*;

/// Returns a scenario with a star and a flow of datagrams of 1000 bytes in each direction, which
/// exceed the capacity of the links in rain. The arguments are the keys of ACM and the framings of
/// both directions, and the request scheme.
fn star([forward, back]: [&str; 2], [frames, framing]: [&str; 2], scheme: &str) -> String {
    format!(
        r#"
name = "rain"
duration = "60 s"

[network.sat]
kind = "dvb-rcs"
propagation = "125 ms"
terminals = ["st", {{ prefix = "other", count = 2 }}]
gateway = "gw"
forward = {{ rate = "1 Mbit/s", framing = "{frames}", queue = {{ kind = "drop-tail", packets = 20 }}, acm = {{ {forward} }} }}

[network.sat.return]
rate = "2048 kbit/s"
framing = "{framing}"
acm = {{ burst = 1616, {back} }}
queue = {{ kind = "drop-tail", packets = 50 }}
dama = {{ scheme = {scheme} }}

[[flow]]
name = "down"
from = "gw"
to = "st"
app = {{ kind = "cbr", rate = "4 Mbit/s", datagram = "1000 B" }}
transport = "udp"

[[flow]]
name = "up"
from = "st"
to = "gw"
app = {{ kind = "cbr", rate = "3 Mbit/s", datagram = "1000 B" }}
transport = "udp"
"#
    )
}

/// Runs the network and returns the goodput of each flow in bit/s between two times in seconds.
fn delivered(run: &mut Run, flows: [&str; 2], from: u64, to: u64) -> [f64; 2] {
    let mut bytes = |at: u64| {
        let at = Time::ZERO + Span::from_secs(at);
        run.network.run_until(at);
        let report = run.network.report(at);
        flows.map(|flow| value(&report, "flow_destination", flow, "delivered_bytes"))
    };
    let before = bytes(from);
    let after = bytes(to);
    [0, 1].map(|flow| 8.0 * (after[flow] - before[flow]) / (to - from) as f64)
}

#[test]
fn goodput_follows_the_signal_in_both_directions() {
    // The sky is clear until 10 s. Rain lasts until 30 s, and an outage until 40 s. ACM has a
    // margin of 1 dB, no hysteresis and a delay of 1 s.
    let fade = r#"margin_db = 1.0, hysteresis_db = 0.0, delay = "1 s", esn0_db = 11.3, fade = { samples = "time,st\n0,0\n10,6\n30,20\n40,0\n" }"#;
    let scenario = scenario(
        &star([fade, fade], ["none", "none"], "\"cra\"")
            .replace("[\"st\", { prefix = \"other\", count = 2 }]", "[\"st\"]"),
    );
    let mut run = Run::new(&scenario, 1, 0);
    // Forward link: at 10.3 dB, ACM uses 16APSK 3/4 with 2.967 bit/symbol; at 4.3 dB, QPSK 3/4 with
    // 1.487 bit/symbol. CRA assigns no slots on request, so no plans are sent. Return link:
    // waveform 20 (2.19 bit/symbol, 442 B per slot) in clear sky, waveform 15 (1.3 bit/symbol, 262
    // B per slot) in rain, and 32 slots in 23.5 ms.
    let slots = 8.0 * 32.0 / 23.5e-3;
    // Packets have 1028 B with headers, and 1000 B of payload count.
    let payload = 1000.0 / 1028.0;
    for (from, to, forward, back) in
        [(2, 9, 2.967e6, 442.0), (14, 29, 1.487e6, 262.0), (44, 59, 2.967e6, 442.0)]
    {
        let (down, up) = (payload * forward, payload * slots * back);
        let found = delivered(&mut run, ["down", "up"], from, to);
        // The tolerances are one packet for the forward link, and one superframe at each end for
        // the return link.
        assert!((found[0] / down - 1.0).abs() < 0.003, "down from {from} s: {found:?}, expected {down}");
        assert!((found[1] / up.min(3e6) - 1.0).abs() < 0.03, "up from {from} s: {found:?}, expected {up}");
    }
    sums(&mut run.network).unwrap();
    let totals = run.network.out().totals().clone();
    let dropped = |reason: &str| {
        let of = totals.dropped.iter().filter(|((_, why), _)| why.words() == reason);
        of.map(|(_, held)| held.packets).sum::<u64>()
    };
    // Packets are lost for 1.125 s after each fade: for the second until the sender knows of the
    // fade, and for the 125 ms of propagation of the last packets with the old MODCOD.
    //
    // - Forward link at 2.967 and 1.487 Mbit/s: 1.125 s * (361 + 181) packets/s = 609 packets.
    // - Return link at 3 Mbit/s, which the flow offers, and at 2.85 Mbit/s: 1.125 s * (365 + 347)
    //   packets/s = 801 packets, plus up to a superframe with 67 packets.
    let lost = dropped("signal below the threshold of the MODCOD");
    assert!((1380..1500).contains(&lost), "{lost}");
    assert!(dropped("outage") > 0);
    let report = run.finished();
    let mut network = report.network;
    network.finish(report.end);
    let report = network.report(report.end);
    for direction in ["forward", "return"] {
        let of = |column: &str| value(&report, "acm", &format!("st.{direction}"), column);
        assert!((of("outage") - 10.0).abs() < 0.2, "{direction}: {}", of("outage"));
        assert_eq!(of("changes"), 3.0, "{direction}");
    }
}

#[test]
fn rain_at_one_terminal_does_not_slow_down_another_terminal() {
    let fade = |level: f64| format!(r#"esn0_db = 12.0, fade = {{ samples = "time,st\n0,{level}\n" }}"#);
    let with = |level: f64| {
        let text = star([&fade(level), &fade(level)], ["none", "rle"], "\"cra\"");
        let text = format!("{text}\n[[flow]]\nname = \"other\"\nfrom = \"other1\"\nto = \"gw\"\napp = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}\ntransport = \"udp\"\n");
        let mut run = Run::new(&scenario(&text), 1, 0);
        let found = delivered(&mut run, ["up", "other"], 1, 50);
        sums(&mut run.network).unwrap();
        found
    };
    let (clear, rain, outage) = (with(0.0), with(9.0), with(30.0));
    assert!(rain[0] < 0.5 * clear[0] && outage[0] == 0.0, "{clear:?} {rain:?} {outage:?}");
    assert!(clear[1] > 0.0);
    assert_eq!((clear[1], clear[1]), (rain[1], outage[1]));
}

/// Returns a scenario with one link and a flow of datagrams of 1000 bytes in each direction. The
/// arguments are the keys of both directions of the link.
fn link(forward: &str, back: &str) -> String {
    format!(
        r#"
name = "rain"
duration = "60 s"

[[link]]
name = "sat"
from = "hub"
to = "site"
delay = "250 ms"
{forward}
return = {{ delay = "250 ms", {back} }}

[[flow]]
name = "down"
from = "hub"
to = "site"
app = {{ kind = "cbr", rate = "4 Mbit/s", datagram = "1000 B" }}
transport = "udp"

[[flow]]
name = "up"
from = "site"
to = "hub"
app = {{ kind = "cbr", rate = "3 Mbit/s", datagram = "1000 B" }}
transport = "udp"
"#
    )
}

#[test]
fn a_link_follows_the_signal_and_keeps_packets_over_an_outage() {
    // The signal is the same as in `goodput_follows_the_signal_in_both_directions`. The return
    // direction has half the symbol rate, and its fade has the column `hub`.
    let fade = |name: &str| {
        format!(
            r#"acm = {{ margin_db = 1.0, hysteresis_db = 0.0, delay = "1 s", esn0_db = 11.3, fade = {{ samples = "time,{name}\n0,0\n10,6\n30,20\n40,0\n" }} }}"#
        )
    };
    let queue = r#"queue = { kind = "drop-tail", packets = 100 }"#;
    let text = link(
        &format!("rate = \"1 Mbit/s\"\n{queue}\n{}", fade("site")),
        &format!("rate = \"500 kbit/s\", {queue}, {}", fade("hub")),
    );
    let mut run = Run::new(&scenario(&text), 1, 0);
    for (from, to, efficiency) in [(2, 9, 2.967), (14, 29, 1.487), (44, 59, 2.967)] {
        let found = delivered(&mut run, ["down", "up"], from, to);
        for (found, symbols) in found.into_iter().zip([1e6, 0.5e6]) {
            let expected = symbols * efficiency * 1000.0 / 1028.0;
            // The tolerance is one packet at each end.
            assert!((found / expected - 1.0).abs() < 0.003, "from {from} s: {found}, expected {expected}");
        }
    }
    sums(&mut run.network).unwrap();
    let totals = run.network.out().totals().clone();
    let dropped = |reason: &str| {
        let of = totals.dropped.iter().filter(|((_, why), _)| why.words() == reason);
        of.map(|(_, held)| held.packets).sum::<u64>()
    };
    assert_eq!(dropped("outage"), 0, "packets wait in the queue");
    // Packets are lost for 1.25 s after each fade: for 1 s until the sender knows of the fade, and
    // for 250 ms of propagation. Both directions together send at 1.5 times 2.967 and 1.487 Mbit/s,
    // so 1.25 s * (541.2 + 271.2) packets/s = 1015.5 packets are lost. The tolerance is one packet
    // at each of the four ends.
    let lost = dropped("signal below the threshold of the MODCOD");
    assert!((1011..=1020).contains(&lost), "{lost}");
    let report = run.finished();
    let mut network = report.network;
    network.finish(report.end);
    let report = network.report(report.end);
    for name in ["sat", "sat.return"] {
        let of = |column: &str| value(&report, "acm", name, column);
        assert!((of("outage") - 10.0).abs() < 1e-9, "{name}: {}", of("outage"));
        assert_eq!(of("changes"), 3.0, "{name}");
    }
}

#[test]
fn packets_of_one_modcod_share_baseband_frames() {
    // A packet of 1028 B has 4 B of GSE header. A packet that is fragmented at the end of a frame
    // has headers of 7 B and 3 B, and a checksum of 4 B. A frame has 48 600 - 192 - 80 bits = 6041
    // B with 16APSK 3/4 and with QPSK 3/4.
    let share = (6041.0 - 10.0) / 6041.0 * 1000.0 / 1032.0;
    let acm = r#"margin_db = 1.0, hysteresis_db = 0.0, esn0_db = 11.3, fade = { samples = "time,st,other1\n0,0,0\n20,0,6\n" }"#;
    let text = star([acm, "esn0_db = 12.0"], ["gse", "none"], "\"cra\"");
    // The periods of the two flows differ slightly. With equal periods, each flow would always find
    // the same queue.
    let other = "\n[[flow]]\nname = \"other\"\nfrom = \"gw\"\nto = \"other1\"\napp = { kind = \"cbr\", rate = \"3970 kbit/s\", datagram = \"1000 B\" }\ntransport = \"udp\"\n";
    let mut run = Run::new(&scenario(&format!("{text}{other}")), 1, 0);
    // CRA assigns no slots on request, so no plans are sent.
    let found = delivered(&mut run, ["down", "other"], 2, 19);
    let expected = 2.967e6 * share;
    assert!(((found[0] + found[1]) / expected - 1.0).abs() < 0.003, "{found:?}, expected {expected}");
    // From 20 s, packets of two MODCODs share the link. The transmission time of a frame depends on
    // its MODCOD.
    let found = delivered(&mut run, ["down", "other"], 22, 59);
    let used = (found[0] / 2.967e6 + found[1] / 1.487e6) / share;
    assert!((used - 1.0).abs() < 0.003, "{found:?}: {used} of the time");
    assert!((found[0] / found[1] - 4.0 / 3.97).abs() < 0.1, "{found:?}");
    sums(&mut run.network).unwrap();
    // Without load, a frame does not wait for more packets. The delay is 125 ms of propagation plus
    // the transmission time of 6041 B at 2.967 Mbit/s.
    let text = text.replace("4 Mbit/s", "10 kbit/s").replace("3 Mbit/s", "10 kbit/s");
    let mut run = Run::new(&scenario(&text), 1, 0);
    run.network.run_until(Time::ZERO + Span::from_secs(19));
    let report = run.network.report(Time::ZERO + Span::from_secs(19));
    let delay = value(&report, "flow_destination", "down", "delay_p95");
    let expected = 0.125 + 8.0 * 6041.0 / 2.967e6;
    assert!((delay - expected).abs() < 1e-4, "{delay}, expected {expected}");
}

#[test]
fn invalid_links_with_acm_are_refused() {
    let refused = |forward: &str| loaded(&link(forward, "rate = \"1 Mbit/s\"")).map(drop).unwrap_err();
    let with = |acm: &str| refused(&format!("rate = \"1 Mbit/s\"\nacm = {{ {acm} }}"));
    for (acm, words) in [
        ("", "needs the Es/N0 in clear sky"),
        ("esn0_db = 9.0, burst = 536", "has no bursts"),
        (r#"esn0_db = 9.0, fade = { samples = "time,elsewhere\n0,1\n" }"#, "allowed: time, site, hub"),
        (
            r#"esn0_db = 9.0, fade = { quantity = "esn0", samples = "time,site,hub\n0,9,20\n" }"#,
            "feeder_esn0_db",
        ),
    ] {
        let message = with(acm);
        assert!(message.contains(words) && message.contains("link.sat.acm"), "{acm}: {message}");
    }
    let both = refused(
        "rate = \"1 Mbit/s\"\nacm = { esn0_db = 9.0 }\ntrace = { samples = \"time,rate\\n0,1e6\\n\" }",
    );
    assert!(both.contains("one of acm and a trace with rates"), "{both}");
    // A series may also have columns of sites that are not on this link, because a group of links
    // shares one series.
    let many = r#"acm = { esn0_db = 9.0, fade = { samples = "time,site,other\n0,1,2\n" } }"#;
    assert!(loaded(&link(&format!("rate = \"1 Mbit/s\"\n{many}"), "rate = \"1 Mbit/s\"")).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_byte_is_accounted_for_in_any_weather(
        levels in prop::collection::vec(0.0f64..22.0, 2..40), feeder in 0.0f64..8.0, delay in 0u64..3000,
        frames in prop::sample::select(&["none", "ule", "gse"]),
        framing in prop::sample::select(&["none", "rle", "gse"]),
        queue in prop::sample::select(&["{ kind = \"drop-tail\", packets = 20 }", "\"codel\"", "\"fq-codel\""]),
        scheme in prop::sample::select(&["\"cra\"", "\"rbdc\"", "\"vbdc\"", "\"avbdc\"", "\"fca\"", "{ kind = \"rbdc\", estimator = \"predictive\" }"]),
    ) {
        let samples: String = levels.iter().enumerate().map(|(at, level)| format!("{},{level},{feeder}\\n", at as f64 * 1.3)).collect();
        let acm = |names: &str| format!(r#"esn0_db = 14.0, delay = "{delay} ms", fade = {{ samples = "time,{names}\n{samples}", repeat = "60 s" }}"#);
        let direction = |names: &str, between: &str| {
            [r#"rate = "1 Mbit/s""#.to_owned(), format!("framing = \"{frames}\""), format!("queue = {queue}"), format!("acm = {{ {} }}", acm(names))].join(between)
        };
        let star = star([&acm("st,gw"), &acm("st,gw")], [frames, framing], scheme);
        for text in [star, link(&direction("site,hub", "\n"), &direction("hub,site", ", "))] {
            let mut run = Run::new(&scenario(&text), 1, 0);
            for second in 1..60 {
                run.network.run_until(Time::ZERO + Span::from_secs(second));
                sums(&mut run.network).unwrap();
            }
        }
    }
}
