//! Tests that meters fulfil the guarantees of their RFCs for arbitrary arrivals.

use super::*;
use bentpipe_core::Streams;
use proptest::prelude::*;

/// An arriving packet: time since the previous packet in nanoseconds, size in bytes, previous
/// colour.
type Arrival = (u64, u32, Colour);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let colour = prop_oneof![Just(Colour::Green), Just(Colour::Yellow), Just(Colour::Red)];
    let gap = prop_oneof![3 => 0u64..2_000_000, 1 => 0u64..200_000_000];
    prop::collection::vec((gap, 40u32..1500, colour), 1..120)
}

/// Returns, for each packet, its arrival time, its size, its previous colour and its new colour.
fn metered(json: &str, arrivals: &[Arrival]) -> Vec<(u64, u32, Colour, Colour)> {
    let config: Config = serde_json::from_str(json).unwrap();
    let (mut meter, mut stream, mut now) = (config.build(), Streams::new(1, 0).stream("meter"), 0);
    let mut one = |&(gap, size, before): &Arrival| {
        now += gap;
        (now, size, before, meter.meter(Time::from_nanos(now), size, before, &mut stream))
    };
    arrivals.iter().map(&mut one).collect()
}

/// Checks that packets with a drop precedence up to that of `colour` have at most `burst` + `rate`
/// t bytes in any time t.
fn conforms(
    packets: &[(u64, u32, Colour, Colour)],
    colour: Colour,
    rate: f64,
    burst: f64,
) -> Result<(), TestCaseError> {
    for (index, first) in packets.iter().enumerate() {
        let mut bytes = 0.0;
        for packet in packets[index..].iter().filter(|packet| packet.3 <= colour) {
            bytes += f64::from(packet.1);
            let most = burst + rate / 8.0 * (packet.0 - first.0) as f64 / 1e9;
            prop_assert!(bytes <= most + 1e-6, "{bytes} bytes where {most} conform");
        }
    }
    Ok(())
}

/// Returns the tokens of a bucket in bytes after `nanos` nanoseconds. As in the RFCs, the bucket is
/// filled at `rate` up to `size`.
fn filled(tokens: f64, rate: f64, nanos: u64, size: f64) -> f64 {
    (tokens + rate / 8.0 * nanos as f64 / 1e9).min(size)
}

proptest! {
    #[test]
    fn a_token_bucket_passes_conforming_packets_only(arrivals in arrivals()) {
        let json = r#"{"token-bucket": {"rate": "1 Mbit/s", "burst": "3 kB"}}"#;
        let packets = metered(json, &arrivals);
        conforms(&packets, Colour::Green, 1e6, 3000.0)?;
        let mut tokens = 3000.0;
        for ((gap, size, _), (.., colour)) in arrivals.iter().zip(packets) {
            tokens = filled(tokens, 1e6, *gap, 3000.0);
            let size = f64::from(*size);
            if colour == Colour::Green { tokens -= size } else { prop_assert!(tokens < size + 1e-6) }
        }
    }

    #[test]
    fn the_single_rate_marker_follows_rfc_2697(arrivals in arrivals(), aware: bool) {
        let json = format!(
            r#"{{"srtcm": {{"committed": "1 Mbit/s", "burst": "3 kB", "excess": "6 kB", "colour_aware": {aware}}}}}"#
        );
        let packets = metered(&json, &arrivals);
        conforms(&packets, Colour::Green, 1e6, 3000.0)?;
        conforms(&packets, Colour::Yellow, 1e6, 9000.0)?;
        prop_assert!(!aware || packets.iter().all(|packet| packet.3 >= packet.2));
        // Section 3: Tc is incremented CIR times per second. While Tc equals CBS, Te is incremented
        // instead.
        let (mut tc, mut te) = (3000.0, 6000.0);
        for ((gap, size, before), (.., colour)) in arrivals.iter().zip(&packets) {
            let all = tc + filled(0.0, 1e6, *gap, f64::INFINITY);
            (tc, te) = (f64::min(all, 3000.0), f64::min(te + f64::max(all - 3000.0, 0.0), 6000.0));
            let (size, before) = (f64::from(*size), if aware { *before } else { Colour::Green });
            match colour {
                Colour::Green => tc -= size,
                Colour::Yellow => te -= size,
                Colour::Red => prop_assert!(before == Colour::Red || te < size + 1e-6),
            }
            prop_assert!(*colour == Colour::Green || before > Colour::Green || tc < size + 1e-6);
            prop_assert!(tc > -1e-6 && te > -1e-6);
        }
    }

    #[test]
    fn the_two_rate_marker_follows_rfc_2698(arrivals in arrivals(), aware: bool) {
        let json = format!(
            r#"{{"trtcm": {{"committed": "1 Mbit/s", "burst": "3 kB", "peak": "2 Mbit/s", "peak_burst": "5 kB",
                "colour_aware": {aware}}}}}"#
        );
        let packets = metered(&json, &arrivals);
        conforms(&packets, Colour::Green, 1e6, 3000.0)?;
        conforms(&packets, Colour::Yellow, 2e6, 5000.0)?;
        prop_assert!(!aware || packets.iter().all(|packet| packet.3 >= packet.2));
        let (mut tc, mut tp) = (3000.0, 5000.0);
        for ((gap, size, before), (.., colour)) in arrivals.iter().zip(&packets) {
            (tc, tp) = (filled(tc, 1e6, *gap, 3000.0), filled(tp, 2e6, *gap, 5000.0));
            let (size, before) = (f64::from(*size), if aware { *before } else { Colour::Green });
            // Section 3.
            let expected = if before == Colour::Red || tp < size {
                Colour::Red
            } else if before == Colour::Yellow || tc < size {
                Colour::Yellow
            } else {
                Colour::Green
            };
            // Rounding can change the decision if the tokens and the size are equal.
            prop_assert!(*colour == expected || (tp - size).abs() < 1e-6 || (tc - size).abs() < 1e-6);
            tp -= if *colour == Colour::Red { 0.0 } else { size };
            tc -= if *colour == Colour::Green { size } else { 0.0 };
        }
    }
}

/// Returns the fractions of green, yellow and red packets for 1 Mbit/s over 100 s.
fn shares(json: &str) -> [f64; 3] {
    let arrivals = vec![(8_000_000, 1000, Colour::Green); 12_500];
    let packets = metered(json, &arrivals);
    [Colour::Green, Colour::Yellow, Colour::Red].map(|colour| {
        packets.iter().filter(|packet| packet.3 == colour).count() as f64 / packets.len() as f64
    })
}

#[test]
fn time_sliding_windows_colour_by_the_shares_of_the_rates() {
    let all: [(&str, [f64; 3]); 5] = [
        (r#"{"tsw3cm": {"committed": "400 kbit/s", "peak": "700 kbit/s"}}"#, [0.4, 0.3, 0.3]),
        (r#"{"tsw3cm": {"committed": "700 kbit/s", "peak": "1200 kbit/s"}}"#, [0.7, 0.3, 0.0]),
        // The estimate of a constant rate varies by the latest packet, and never exceeds 1.01
        // Mbit/s.
        (r#"{"tsw3cm": {"committed": "1010 kbit/s", "peak": "1100 kbit/s"}}"#, [1.0, 0.0, 0.0]),
        (r#"{"tsw2cm": {"committed": "400 kbit/s"}}"#, [0.4, 0.0, 0.6]),
        (r#"{"tsw2cm": {"committed": "400 kbit/s", "window": "100 ms"}}"#, [0.4, 0.0, 0.6]),
    ];
    for (json, expected) in all {
        let found = shares(json);
        // The tolerance is four standard errors, and an allowance for the first seconds, in which
        // the estimate starts from the committed rate.
        assert!(
            found.iter().zip(expected).all(|(found, share)| (found - share).abs() < 0.03),
            "{json}: {found:?}"
        );
    }
}

#[test]
fn invalid_configurations_are_refused() {
    for (json, key, message) in [
        (r#"{"token-bucket": {"rate": "1 Mbit/s", "burst": "100 B"}}"#, "burst", "allowed: 1500 B or more"),
        (r#"{"tsw3cm": {"committed": "2 Mbit/s", "peak": "1 Mbit/s"}}"#, "peak", "allowed: 2 Mbit/s or more"),
        (r#"{"tsw2cm": {"committed": "2 Mbit/s", "window": "0 s"}}"#, "window", "must be longer than 0 s"),
    ] {
        let mut problems = Problems::default();
        serde_json::from_str::<Config>(json).unwrap().check(&mut problems);
        let problems = problems.into_vec();
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].path.join(".") == key && problems[0].message.contains(message),
            "{:?}",
            problems[0]
        );
    }
}
