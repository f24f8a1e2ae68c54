//! Terminals with moving satellites: the response time during a pass, alignment, handovers and
//! interruptions.

use super::*;
use crate::propagation::{Legs, SharedEphemeris};

/// A site on the equator above which an O3b satellite passes at the start of the run, when the
/// Greenwich sidereal time is 280.4606 deg.
const BELOW: &str = r#"{"latitude": "0 deg", "longitude": "79.5394 deg"}"#;

/// A network over moving satellites, with one frame of 23.5 ms per superframe.
fn over(satellites: u32, more: &str, terminals: &str) -> Config {
    let mut config = config(r#"{"scheme": {"vbdc": {}}, "cra": "64 kbit/s"}"#, terminals);
    config.return_link.frames_per_superframe = bentpipe_core::Count::new(1);
    config.propagation = serde_json::from_str(&format!(
        r#"{{"gateway": {BELOW}, "terminals": {BELOW}, "orbit": {{"shell": [{{"walker-delta": {{"altitude": "8062 km",
            "inclination": "0 deg", "planes": 1, "satellites": {satellites}}}}}]{more}}}}}"#
    ))
    .unwrap();
    config
}

fn ephemeris(config: &Config) -> SharedEphemeris {
    config.ephemeris(&config.members()).unwrap()
}

fn legs(config: &Config, seconds: u64) -> Legs {
    let member = &config.members()[0];
    ephemeris(config).track(&config.site(member).unwrap()).legs(ms(1000 * seconds))
}

#[test]
fn response_during_a_pass_equals_hand_computed_values() {
    let config = over(1, "", r#"["a"]"#);
    // Slant range: 8062 km overhead, and sqrt(14440.137^2 - 6378.137^2 cos^2 10 deg) - 6378.137 sin
    // 10 deg = 11 895 km at the mask.
    let overhead = legs(&config, 0);
    assert_eq!((overhead.terminal, overhead.gateway.as_micros()), (overhead.gateway, 26_891));
    let member = &config.members()[0];
    assert_eq!((member.timing.up.as_micros(), member.timing.one_way), (39_677, member.timing.up * 2));
    // L = floor((R + g) / D) + 1 + 4, which is 7 while the range is below 9240 km. At this range
    // the cosine of the angle at the Earth's centre is (14440^2 + 6378^2 - 9240^2) / (2 x 14440 x
    // 6378) = 0.8894. The satellite moves by 3.638e-4 - 7.292e-5 = 2.909e-4 rad/s relative to the
    // ground, so the range is reached 1632 s after the start.
    for (start, response) in [(0, 7), (1000, 7), (1600, 7), (1660, 8), (2500, 8)] {
        let mut rig = Rig::new(&config);
        rig.run(ms(1000 * start));
        rig.send(0, 1500);
        rig.run(ms(1000 * start + 1000));
        let first = |rows: Vec<(u64, u64)>| rows.into_iter().find(|(_, slots)| *slots > 0).unwrap().0;
        let (requested, assigned) = (first(rig.trace("a", "request")), first(rig.trace("a", "assigned")));
        assert_eq!(assigned - requested, response, "at {start} s");
        assert_eq!(rig.report().value("ncc", "sat", "response"), Some(8.0));
        assert_eq!(rig.report().value("terminal", "a", "late_slots"), Some(0.0));
        rig.assert_conserved();
    }
}

#[test]
fn bursts_of_all_terminals_are_aligned_at_the_satellite() {
    let terminals = r#"["a", {"name": "b", "site": {"latitude": "-20 deg", "longitude": "95 deg"}}]"#;
    let config = over(8, "", terminals);
    let ephemeris = ephemeris(&config);
    let longest = config.members()[0].timing.up;
    let (superframe, slot) = (Span::from_micros(23_500), Span::from_nanos(734_375));
    let mut rig = Rig::new(&config);
    for at in [100, 2000, 5000] {
        rig.run(ms(1000 * at));
        rig.arrived.clear();
        rig.send(0, 100);
        rig.send(1, 100);
        rig.run(ms(1000 * at + 1000));
        assert_eq!(rig.arrived.len(), 2);
        for (time, packet) in &rig.arrived {
            let index = u64::from(packet.source.0) - 1;
            let member = &config.members()[index as usize];
            let track = ephemeris.track(&config.site(member).unwrap());
            // Terminal a has the first constant slot, terminal b the second.
            let number = (ms(1000 * at).since(Time::ZERO)) / superframe;
            let passages = (number..number + 4).map(|number| Time::ZERO + superframe * number + longest);
            let expected = passages.map(|at| at + slot * (index + 1) + track.legs(at).gateway);
            assert!(expected.clone().any(|expected| expected == *time), "{index}: {time:?}");
        }
    }
    rig.assert_conserved();
}

/// Sends a packet of 100 bytes from the terminal every 100 ms around the first handover, and
/// returns the times of arrival.
fn around_the_handover(config: &Config) -> (Rig, Vec<Time>) {
    let mut rig = Rig::new(config);
    for number in 0..200 {
        rig.run(ms(1_340_000 + number * 100));
        rig.send(0, 100);
    }
    rig.run(ms(1_362_000));
    rig.assert_conserved();
    let times = rig.arrived.iter().map(|(time, _)| *time).collect();
    (rig, times)
}

/// With eight satellites, two are equally high when they are 22.5 deg before and after the zenith.
/// This is 1350 s after the start; the margin of 0.1 deg delays the handover a little.
#[test]
fn handover_changes_the_delay_and_loses_no_packets() {
    let config = over(8, "", r#"["a"]"#);
    let (mut rig, times) = around_the_handover(&config);
    assert_eq!(times.len(), 200);
    let report = rig.report();
    assert_eq!(report.value("site", "gw", "handovers"), Some(1.0));
    assert_eq!(report.value("site", "gw", "outage"), Some(0.0));
    assert!(rig.out.totals().dropped.is_empty());
}

#[test]
fn no_packets_are_sent_during_an_interruption() {
    let config = over(8, r#", "interruption": "2 s""#, r#"["a"]"#);
    let sky = ephemeris(&config);
    let handover =
        (1_340_000..1_360_000).map(ms).find(|at| sky.satellite(*at) != sky.satellite(ms(1_340_000)));
    let handover = handover.unwrap();
    let (mut rig, times) = around_the_handover(&config);
    assert_eq!(times.len(), 200, "data wait");
    let legs = legs(&config, 1350);
    let (passed, open) = (handover + legs.gateway, handover + Span::from_secs(2) + legs.gateway);
    // Superframes that overlap with the interruption are not used. One packet may fall into the
    // partial superframe before it, and none into the interruption.
    let within = times.iter().filter(|time| **time > passed && **time < open).count();
    assert_eq!(within, 0, "{handover:?}");
    assert!(times.iter().any(|time| *time <= passed) && times.iter().any(|time| *time >= open));
    assert_eq!(rig.report().value("site", "gw", "outage"), Some(0.0), "a satellite was there");
}

#[test]
fn data_wait_while_no_satellite_is_above_the_mask() {
    // The only satellite sets 54.2 deg after the zenith, after 3253 s, and rises 305.8 deg later.
    let config = over(1, "", r#"["a"]"#);
    let mut rig = Rig::new(&config);
    rig.run(ms(3_300_000));
    rig.send(0, 1500);
    rig.run(ms(17_000_000));
    assert_eq!(rig.arrived.len(), 0);
    rig.run(ms(19_000_000));
    assert_eq!(rig.arrived.len(), 1);
    let outage = rig.report().value("site", "gw", "outage").unwrap();
    // (360 - 2 x 54.2) deg at 2.909e-4 rad/s.
    assert!((outage - 15_095.0).abs() < 30.0, "{outage}");
    rig.assert_conserved();
}

#[test]
fn geostationary_shell_has_the_delays_of_a_fixed_satellite() {
    let of = |satellite: &str| {
        let mut config = config(r#"{"scheme": {"vbdc": {}}, "cra": "64 kbit/s"}"#, r#"["a"]"#);
        config.propagation = serde_json::from_str(&format!(
            r#"{{{satellite}, "gateway": {{"latitude": "41.9 deg", "longitude": "12.5 deg"}},
                "terminals": {{"latitude": "51.5 deg", "longitude": "0 deg"}}}}"#
        ))
        .unwrap();
        config
    };
    let located = of(r#""satellite": "13 deg""#);
    let orbit = of(r#""orbit": {"shell": [{"geo": {"longitudes": ["13 deg"]}}]}"#);
    let Legs { terminal, gateway } = legs(&orbit, 7200);
    let timing = located.members()[0].timing;
    let difference = (terminal + gateway).as_nanos().abs_diff(timing.one_way.as_nanos());
    // Both delays are rounded; the orbit follows the Earth's rotation to within 1e-6 m.
    assert!(difference <= 1, "{difference} ns");
}

#[test]
fn superframes_shorter_than_the_shift_of_a_handover_are_rejected() {
    let mut config = over(8, "", r#"["a"]"#);
    config.return_link.frame = Some(Span::from_millis(12));
    config.return_link.rate = "2 Mbit/s".parse().unwrap();
    config.return_link.slots_per_frame = bentpipe_core::Count::new(30);
    config.return_link.dama.cra = None;
    let mut problems = Problems::default();
    config.check(&mut problems);
    let problems = problems.into_vec();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].path, ["propagation", "orbit"]);
    // 39.678 ms at the mask minus 26.891 ms overhead.
    assert!(problems[0].message.contains("12.78"), "{}", problems[0].message);
}
