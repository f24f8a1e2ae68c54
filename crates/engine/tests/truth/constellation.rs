//! Flows over constellations: every loss has a named reason, and no packet is faster than light.

use crate::conservation::sums;
use crate::run::{results, scenario, value, Run};
use bentpipe_core::Time;
use bentpipe_engine::presets;
use bentpipe_engine::scenario::Scenario;
use bentpipe_scenario::{load, Source};
use std::collections::BTreeMap;

/// Returns a scenario with two sites and a flow in each direction over the constellation of a
/// preset. `more` is additional text.
fn between(preset: &str, more: &str) -> String {
    format!(
        r#"
name = "cities"
duration = "900 s"
preset = "{preset}"
{more}

[network.sky.sites.london]
latitude = "51.53 deg"
longitude = "0 deg"

[network.sky.sites.boston]
latitude = "42.3 deg"
longitude = "-71.1 deg"

[[flow]]
name = "probe"
from = "london"
to = "boston"
app = {{ kind = "cbr", rate = "160 kbit/s", datagram = "500 B" }}
transport = {{ kind = "udp" }}

[[flow]]
name = "load"
from = "boston"
to = "london"
app = {{ kind = "bulk" }}
transport = {{ kind = "tcp", congestion = "reno" }}
"#
    )
}

/// Minimum delay in seconds between the sites: the length of the chord through the Earth divided by
/// the speed of light. The distance along the surface is 5265 km.
const CHORD: f64 = 5.11e6 / 299_792_458.0;

#[test]
fn every_created_packet_is_delivered_counted_as_dropped_or_held() {
    let fates = [
        ("", ["no path over satellites", "queue full", ""]),
        (
            "[network.sky.handover]\npackets = \"lose\"\ninterruption = \"200 ms\"\n[network.sky.routing]\nvanished = \"lose\"",
            ["handover", "queue full", "inter-satellite link went down"],
        ),
        ("[network.sky.handover]\noverlap = \"2 s\"", ["no path over satellites", "queue full", ""]),
    ];
    for (more, reasons) in fates {
        let mut run = Run::new(&scenario(&between("big-leo", more)), 1, 0);
        for second in 1..=900 {
            run.network.run_until(Time::from_nanos(second * 1_000_000_000));
            sums(&mut run.network).unwrap_or_else(|wrong| panic!("{second} s: {wrong}"));
        }
        let totals = run.network.out().totals().clone();
        for (_, reason) in totals.dropped.keys() {
            assert!(reasons.contains(&reason.words()), "{reason:?} with {more}");
        }
    }
}

#[test]
fn a_probe_takes_the_traced_path_and_is_not_faster_than_light() {
    let scenario = scenario(&between("big-leo", ""));
    let results = results(&scenario);
    let paths = &results.traces["path"];
    assert!(paths.len() > 100, "{} rows", paths.len());
    let of_probe: Vec<_> = paths.iter().filter(|row| row.entity == "probe").collect();
    for row in &of_probe {
        if row.values[1].is_nan() {
            continue;
        }
        assert!(row.values[0] >= 2.0 && row.values[1] > CHORD, "{row:?}");
    }
    // Delays of datagrams by the time of sending in nanoseconds. The sites are directly at the
    // constellation, so this is also the time of arrival there.
    let sent = |time: u64, delay: f64| (time as f64 - delay * 1e9).round() as u64;
    let took: BTreeMap<u64, f64> =
        results.traces["datagram"].iter().map(|row| (sent(row.time, row.values[1]), row.values[1])).collect();
    let mut checked = 0;
    for row in of_probe {
        let [hops, delay] = row.values[..] else { panic!("two columns") };
        let Some((_, took)) = took.range(row.time.saturating_sub(2)..=row.time + 2).next() else { continue };
        // 528 bytes at 2 Mbit/s twice and at 25 Mbit/s on each link between satellites.
        // Acknowledgments may be before them, and the distances change during the flight.
        let sending = 528.0 * 8.0 * (2.0 / 2e6 + (hops - 2.0) / 25e6);
        let more = took - delay - sending;
        assert!((-5e-6..0.005).contains(&more), "{row:?}: {took} s, {more} s more");
        checked += 1;
    }
    assert!(checked > 50, "{checked} rows");
}

#[test]
fn a_flow_reports_the_mean_of_its_packets_paths() {
    let run = Run::new(&scenario(&between("big-leo", "")), 1, 0).finished();
    let report = run.report();
    let results = run.results();
    // A packet of the probe arrives every 25 ms.
    let mut rows: Vec<_> = results.traces["path"].iter().filter(|row| row.entity == "probe").collect();
    rows.retain(|row| row.time < 900_000_000_000);
    let ends = rows.iter().skip(1).map(|row| row.time).chain([900_000_000_000]);
    let (mut hops, mut delay, mut all) = (0.0, 0.0, 0.0);
    for (row, end) in rows.iter().zip(ends).filter(|(row, _)| !row.values[0].is_nan()) {
        let packets = ((end - row.time) as f64 / 25e6).round();
        (hops, delay, all) = (hops + packets * row.values[0], delay + packets * row.values[1], all + packets);
    }
    let of = |column| value(&report, "flow_path", "probe", column);
    assert!((of("path_hops") - hops / all).abs() < 1e-3, "{} and {}", of("path_hops"), hops / all);
    assert!((of("path_delay") - delay / all).abs() < 1e-5, "{} and {}", of("path_delay"), delay / all);
    let handovers = ["london", "boston"].map(|site| value(&report, "site", site, "handovers"));
    assert_eq!(of("path_handovers"), handovers.iter().sum::<f64>());
    assert!(value(&report, "flow_path", "load", "path_hops") >= 2.0);
}

#[test]
fn a_handover_is_traced_and_counted() {
    let scenario = scenario(&between("iridium-next", ""));
    let run = Run::new(&scenario, 1, 0).finished();
    let report = run.report();
    let results = run.results();
    for site in ["london", "boston"] {
        let rows = results.traces["handover"].iter().filter(|row| row.entity == site);
        let rows: Vec<_> = rows.collect();
        assert_eq!(rows.len() as f64, value(&report, "site", site, "handovers"));
        // A satellite at 780 km is in view for at most 12 minutes.
        assert!(rows.len() >= 2, "{site}: {}", rows.len());
        for pair in rows.windows(2) {
            assert_eq!(
                pair[0].values[2], pair[1].values[1],
                "the previous satellite is not the one of the last handover"
            );
        }
    }
}

#[test]
fn invalid_constellations_are_refused_and_suspicious_ones_reported() {
    let loaded = |preset: &str, more: &str| {
        let text = between(preset, more);
        load::<Scenario>(Source::Text { name: "test.toml", text: &text }, &presets::all(), &[])
    };
    for (more, message) in [
        ("[[network.sky.shell]]\nkind = \"walker-delta\"\naltitude = \"-5 km\"\ninclination = \"53 deg\"\nplanes = 2\nsatellites = 3",
         "is below the surface"),
        ("[[network.sky.shell]]\nkind = \"elements\"\nelements = { file = \"none.tle\" }",
         "none.tle: there is no such file"),
        ("[[network.sky.shell]]\nkind = \"elements\"\nelements = \"1 25544U 98067A   20194.88612269 -.00002218  00000-0 -31515-4 0  9993\"",
         "line 1 of the element sets: the checksum is 3, but the line's digits add up to 2"),
        ("[network.sky.gsl]\nmask = \"95 deg\"", "95 deg is out of range"),
        ("[network.sky]\nepoch = \"tomorrow\"", "is not a time"),
        ("[network.sky.gsl]\nchoice = { kind = \"schedule\", slot = \"7 s\" }", "does not divide a minute"),
        ("[network.sky.routing]\nforwarding = \"at 0 s\\nlondon P9S9 down\"", "\"P9S9\" is not a satellite"),
        ("[network.sky.sites.nowhere]\nlatitude = \"91 deg\"\nlongitude = \"0 deg\"", "91 deg is out of range"),
    ] {
        let error = loaded("big-leo", more).expect_err(more).to_string();
        assert!(error.contains(message), "{error}\nshould say\n{message}");
    }
    let remarks = |preset: &str, more: &str| {
        let loaded = loaded(preset, more).unwrap();
        loaded.refuse(loaded.value.remarks()).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(remarks("geo-five", ""), "");
    let pole = "[network.sky.sites.pole]\nlatitude = \"89 deg\"\nlongitude = \"0 deg\"";
    let said = remarks("geo-five", pole);
    assert!(
        said.contains("network.sky.sites.pole: sees no satellite above 8.2 deg in the whole run"),
        "{said}"
    );
    let said = remarks("telesat", "");
    assert!(said.contains("leave 2 groups of satellites"), "{said}");
    let tle = include_str!("../../../../tests/authorities/orbits/iridium.tle");
    let old = format!(
        "[network.sky]\nepoch = \"2022-10-31T00:00:00Z\"\n[[network.sky.shell]]\nkind = \"elements\"\nelements = '''\n{tle}'''"
    );
    let said = remarks("oneweb", &old);
    assert!(said.contains("31 of 31 element sets are 30 days or more from the run"), "{said}");
    assert!(said.contains("47 to 140 km"), "{said}");
}

/// In a bent pipe with element sets from a file, packets pass while a satellite sees both sites.
#[test]
fn element_sets_carry_packets() {
    let tle = include_str!("../../../../tests/authorities/orbits/iridium.tle");
    let text = between("oneweb", &format!("[network.sky]\nepoch = \"2022-09-14T12:00:00Z\"\ngsl = {{ mask = \"0 deg\" }}\n[[network.sky.shell]]\nkind = \"elements\"\nelements = '''\n{tle}'''"));
    let scenario = scenario(&text.replace("42.3 deg", "50 deg").replace("-71.1 deg", "10 deg"));
    let report = Run::new(&scenario, 1, 0).finished().report();
    assert!(value(&report, "flow_destination", "probe", "delivered_packets") > 1000.0);
    // Minimum delay in seconds for 400 km up and down, which is less than the altitude of the
    // lowest satellite.
    let min = 2.0 * 400e3 / 299_792_458.0;
    assert!(value(&report, "flow_destination", "probe", "delay_mean") > min);
}
