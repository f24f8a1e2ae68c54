//! What iperf3 says of itself with `-J`: its JSON document, as iperf 3.1 to 3.19 write it.

use serde_json::Value;

/// What it measured. NaN stands for what it does not say.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Whether data went from the flow's destination to its source (`-R`).
    pub reverse: bool,
    sent_bytes: f64,
    delivered_bytes: f64,
    packets: [f64; 2],
    retransmissions: f64,
    /// Smallest, mean and largest round-trip time in seconds.
    rtt: [f64; 3],
    /// For how long it measured what arrived, in seconds.
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

/// Reads the output of a client; `None` when it is something else, or when iperf3 failed before it measured.
pub fn read(text: &str) -> Option<Measured> {
    let document: Value = serde_json::from_str(text).ok()?;
    let version = document.pointer("/start/version").and_then(Value::as_str)?;
    if !version.starts_with("iperf 3") {
        return None;
    }
    let end = document.get("end")?;
    let number = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let udp = document.pointer("/start/test_start/protocol").and_then(Value::as_str) == Some("UDP");
    let streams = end.get("streams").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    // Microseconds, and 0 where the sender is at the other end.
    let rtts = |key: &str| -> Vec<f64> {
        let path = format!("/sender/{key}");
        streams.iter().map(|stream| number(stream, &path)).filter(|rtt| *rtt > 0.0).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let rtt = [
        rtts("min_rtt").into_iter().fold(f64::NAN, f64::min),
        mean(&rtts("mean_rtt")),
        rtts("max_rtt").into_iter().fold(f64::NAN, f64::max),
    ];
    let mut measured = Measured {
        reverse: number(&document, "/start/test_start/reverse") == 1.0,
        sent_bytes: number(end, "/sum_sent/bytes"),
        delivered_bytes: number(end, "/sum_received/bytes"),
        retransmissions: number(end, "/sum_sent/retransmits"),
        rtt: rtt.map(|microseconds| microseconds / 1e6),
        seconds: number(end, "/sum_received/seconds"),
        ..Measured::default()
    };
    if udp {
        // Before 3.17 there is one sum: what was sent, and how much of it was lost.
        let (sent, lost) = (number(end, "/sum/packets"), number(end, "/sum/lost_packets"));
        measured.packets = [sent, sent - lost];
        let share = if sent > 0.0 { (sent - lost) / sent } else { 0.0 };
        measured.sent_bytes = number(end, "/sum/bytes");
        measured.delivered_bytes = measured.sent_bytes * share;
        measured.seconds = number(end, "/sum/seconds");
    }
    Some(measured)
}

impl Measured {
    /// The row of the flow's source, started and completed then.
    pub fn source(&self, start: f64, completed: f64) -> [f64; 11] {
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
            completed,
        ]
    }

    /// The row of its destination. The last delivery is counted from the program's start, without what iperf3 talks before
    /// and after its measurement, so that the goodput of the results is that of iperf3.
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
                "streams": [stream(20000, 30000, 50000), stream(10000, 50000, 60000)],
                "sum_sent": {"bytes": 1500, "retransmits": 3, "seconds": 2.0},
                "sum_received": {"bytes": 1000, "seconds": 2.5},
            },
        });
        let measured = read(&document.to_string()).unwrap();
        let source = measured.source(1.0, 4.0);
        assert_eq!((source[0], source[1], source[3], source[10]), (1.0, 1500.0, 3.0, 4.0));
        assert_eq!([source[6], source[5], source[9]], [0.01, 0.04, 0.06]);
        assert!(source[2].is_nan() && source[4].is_nan());
        assert_eq!(measured.destination(1.0)[..1], [1000.0]);
        assert_eq!(measured.destination(1.0)[2], 3.5);
        assert!(!measured.reverse);
    }

    #[test]
    fn what_iperf3_has_not_measured_is_nothing() {
        for text in ["", "{}", "connected", r#"{"start": {"version": "iperf 2"}, "end": {}}"#, "[1]"] {
            assert!(read(text).is_none(), "{text}");
        }
        let failed =
            r#"{"start": {"version": "iperf 3.12"}, "intervals": [], "end": {}, "error": "no route"}"#;
        assert!(read(failed).unwrap().source(0.0, 1.0)[1].is_nan());
    }
}
