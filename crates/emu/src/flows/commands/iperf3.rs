//! The results of iperf3 with `-J`: its JSON document, as written by iperf 3.1 to 3.19.

use serde_json::Value;

/// The measured values of iperf3. NaN for values that it does not report.
#[derive(Clone, Debug)]
pub struct Measured {
    /// True if data was sent from the flow's destination to its source (`-R`).
    pub reverse: bool,
    sent_bytes: f64,
    delivered_bytes: f64,
    packets: [f64; 2],
    retransmissions: f64,
    /// Smallest, mean and largest round-trip time in seconds.
    rtt: [f64; 3],
    /// Duration of the measurement of arrivals, in seconds.
    seconds: f64,
}

impl Default for Measured {
    fn default() -> Measured {
        let none = f64::NAN;
        Measured {
            reverse: false,
            sent_bytes: none,
            delivered_bytes: none,
            packets: [none; 2],
            retransmissions: none,
            rtt: [none; 3],
            seconds: none,
        }
    }
}

/// Parses the output of a client: one direction, or both of a bidirectional test (`--bidir`).
/// Returns nothing for other text, and if iperf3 failed before it measured.
pub fn read(text: &str) -> Vec<Measured> {
    let Ok(document) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let version = document.pointer("/start/version").and_then(Value::as_str);
    let Some(end) = document.get("end").filter(|_| version.is_some_and(|name| name.starts_with("iperf 3")))
    else {
        return Vec::new();
    };
    let reverse = number(&document, "/start/test_start/reverse") == 1.0;
    let both = end.get("sum_sent_bidir_reverse").is_some();
    let forth = direction(end, "", reverse);
    if both {
        vec![forth, direction(end, "_bidir_reverse", true)]
    } else {
        vec![forth]
    }
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN)
}

/// Returns the values of the sums with this ending.
fn direction(end: &Value, ending: &str, reverse: bool) -> Measured {
    let sum = |name: &str| end.get(format!("{name}{ending}")).unwrap_or(&Value::Null);
    let (sent, received) = (sum("sum_sent"), sum("sum_received"));
    let streams = end.get("streams").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    // Microseconds; 0 if the sender is at the other end.
    let rtts = |key: &str| -> Vec<f64> {
        let path = format!("/sender/{key}");
        streams.iter().map(|stream| number(stream, &path)).filter(|rtt| !reverse && *rtt > 0.0).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let rtt = [
        rtts("min_rtt").into_iter().fold(f64::NAN, f64::min),
        mean(&rtts("mean_rtt")),
        rtts("max_rtt").into_iter().fold(f64::NAN, f64::max),
    ];
    let measured = Measured {
        reverse,
        sent_bytes: number(sent, "/bytes"),
        delivered_bytes: number(received, "/bytes"),
        // UDP packets. A receiver counts those that it knows to have been sent.
        packets: [number(sent, "/packets"), number(received, "/packets") - number(received, "/lost_packets")],
        retransmissions: number(sent, "/retransmits"),
        rtt: rtt.map(|microseconds| microseconds / 1e6),
        seconds: number(received, "/seconds"),
    };
    match end.get("sum") {
        // Versions before 3.12 have one sum for UDP, with the sent packets and the lost ones among
        // them.
        Some(sum) if received.is_null() => {
            let (packets, lost) = (number(sum, "/packets"), number(sum, "/lost_packets"));
            let share = if packets > 0.0 { (packets - lost) / packets } else { 0.0 };
            Measured {
                sent_bytes: number(sum, "/bytes"),
                delivered_bytes: number(sum, "/bytes") * share,
                packets: [packets, packets - lost],
                seconds: number(sum, "/seconds"),
                ..measured
            }
        }
        _ => measured,
    }
}

impl Measured {
    /// Returns the row of the flow's source, with its start and its completion.
    pub fn source(&self, start: f64, completed: f64) -> [f64; 14] {
        let none = f64::NAN;
        let [min, mean, max] = self.rtt;
        [
            start,
            self.sent_bytes,
            self.packets[0],
            self.retransmissions,
            none,
            mean,
            min,
            none,
            none,
            max,
            none,
            none,
            none,
            completed,
        ]
    }

    /// Returns the row of the flow's destination. The last delivery counts from the program's
    /// start, without iperf3's set-up before and exchange after the measurement, so that the
    /// goodput of the results equals that of iperf3.
    pub fn destination(&self, start: f64) -> [f64; 6] {
        let none = f64::NAN;
        [self.delivered_bytes, self.packets[1], start + self.seconds, none, none, none]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sums_and_round_trip_times_are_read() {
        let stream = |min: u32, mean: u32, max: u32| json!({"sender": {"min_rtt": min, "mean_rtt": mean, "max_rtt": max}});
        let document = json!({
            "start": {"version": "iperf 3.12", "test_start": {"protocol": "TCP", "reverse": 0}},
            "end": {
                "streams": [stream(20000, 30000, 50000), stream(10000, 50000, 60000), stream(0, 0, 0)],
                "sum_sent": {"bytes": 1500, "retransmits": 3, "seconds": 2.0},
                "sum_received": {"bytes": 1000, "seconds": 2.5},
                "sum_sent_bidir_reverse": {"bytes": 700, "retransmits": 1, "seconds": 2.0},
                "sum_received_bidir_reverse": {"bytes": 600, "seconds": 2.5},
            },
        });
        let [measured, back] = &read(&document.to_string())[..] else { panic!("two directions") };
        let source = measured.source(1.0, 4.0);
        assert_eq!((source[0], source[1], source[3], source[13]), (1.0, 1500.0, 3.0, 4.0));
        assert_eq!([source[6], source[5], source[9]], [0.01, 0.04, 0.06]);
        assert!(source[2].is_nan() && source[4].is_nan());
        assert_eq!(measured.destination(1.0)[..1], [1000.0]);
        assert_eq!(measured.destination(1.0)[2], 3.5);
        assert_eq!((measured.reverse, back.reverse), (false, true));
        let source = back.source(1.0, 4.0);
        assert_eq!((source[1], source[3], back.destination(1.0)[0]), (700.0, 1.0, 600.0));
        assert!(source[5].is_nan() && source[6].is_nan());
    }

    #[test]
    fn arrived_datagrams_are_counted_at_the_receiver() {
        // From a run with -u -R over a full queue, iperf 3.12: 69 packets were still in flight when
        // the receiver stopped.
        let sums = json!({
            "sum": {"seconds": 3.000063, "bytes": 3020740, "lost_packets": 740, "packets": 2069},
            "sum_sent": {"seconds": 3.020252, "bytes": 3020740, "lost_packets": 0, "packets": 2069},
            "sum_received": {"seconds": 3.000063, "bytes": 1839600, "lost_packets": 740, "packets": 2000},
        });
        let read_one = |end: &Value| {
            let start = json!({"version": "iperf 3.12", "test_start": {"protocol": "UDP", "reverse": 1}});
            let found = read(&json!({"start": start, "end": end}).to_string());
            assert!(found.len() == 1 && found[0].reverse);
            (found[0].source(0.0, 4.0), found[0].destination(0.0))
        };
        let (source, destination) = read_one(&sums);
        assert_eq!((source[1], source[2]), (3_020_740.0, 2069.0));
        assert_eq!(destination[..2], [1_839_600.0, 1260.0]);
        assert_eq!(1260 * 1460, 1_839_600);
        let (_, destination) = read_one(&json!({"sum": sums["sum"]}));
        assert_eq!((destination[1], destination[2]), (1329.0, 3.000063));
    }

    #[test]
    fn values_missing_from_iperf3_are_empty() {
        for text in ["", "{}", "connected", r#"{"start": {"version": "iperf 2"}, "end": {}}"#, "[1]"] {
            assert!(read(text).is_empty(), "{text}");
        }
        let failed =
            r#"{"start": {"version": "iperf 3.12"}, "intervals": [], "end": {}, "error": "no route"}"#;
        assert!(read(failed)[0].source(0.0, 1.0)[1].is_nan());
    }
}
