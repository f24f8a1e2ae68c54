//! What a scenario says of a TCP flow. Both ends take the same values.

use bentpipe_core::{Count, Problems, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A TCP flow.
///
/// ```toml
/// transport = { kind = "tcp", congestion = "vegas", parameters = { alpha = 2, beta = 4 }, initial_window = 1
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Name of the congestion control; for real endpoints also one that only the kernel has, such as cubic.
    pub congestion: String,
    /// Parameters of the congestion control, by the names that it declares.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, i64>,
    /// Payload bytes of a full segment. Packets are 40 bytes longer (IPv4 and TCP headers), 52 with
    /// timestamps.
    pub segment_size: Count<1, 65_000>,
    /// Congestion window at the start, in segments: 10 by RFC 6928, 2 to 4 by RFC 3390, 1 by RFC 2001.
    pub initial_window: Count<1, 1_000_000>,
    /// Slow-start threshold at the start, in segments; infinite when not given (RFC 5681, section 3.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Count<2, 1_000_000_000>>,
    /// Acknowledge every second segment, or after `delayed_ack_timeout` (RFC 1122, section 4.2.3.2);
    /// otherwise every segment at once.
    pub delayed_ack: bool,
    /// Longest delay of an acknowledgment; less than 0.5 s by RFC 1122.
    pub delayed_ack_timeout: Span,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// The receiver's buffer, which it advertises as its window; never limiting (1 GiB) when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<Size>,
    /// Window scaling (RFC 7323, section 2); without it the window is at most 65535 bytes.
    pub window_scaling: bool,
    /// Timestamps (RFC 7323, section 3): 12 bytes in every segment.
    pub timestamps: bool,
    /// Least retransmission time-out: 1 s by RFC 6298 (2.4), 200 ms in Linux.
    pub rto_min: Span,
    /// Retransmission time-out before the first round-trip time sample (RFC 6298, 2.1).
    pub rto_initial: Span,
    /// Greatest retransmission time-out, also with back-off: at least 60 s by RFC 6298 (2.5), 120 s in Linux.
    pub rto_max: Span,
    /// Least value of the term 4 RTTVAR: the clock granularity G of RFC 6298 (2.3), 200 ms in Linux.
    pub rto_variance_min: Span,
    /// Retransmissions of a SYN or SYN-ACK after which the connection fails.
    pub syn_retries: Count<0, 255>,
    /// Retransmissions of the same data, or unanswered window probes, after which the connection fails.
    pub retries: Count<0, 255>,
    /// Pace segments whatever the congestion control asks for, as behind Linux' fq queue discipline; otherwise
    /// only those of a congestion control that asks for it, such as bbr.
    pub pacing: bool,
    /// Pacing rate while cwnd < ssthresh / 2, percent of cwnd / SRTT (Linux' tcp_pacing_ss_ratio).
    pub pacing_ss_ratio: Count<1, 1000>,
    /// Pacing rate above that, percent of cwnd / SRTT (Linux' tcp_pacing_ca_ratio).
    pub pacing_ca_ratio: Count<1, 1000>,
    /// Initial sequence number of both ends; random when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_sequence: Option<Count<0, 4_294_967_295>>,
}

/// Loss recovery algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Without SACK: fast retransmit and NewReno's repair of one loss per round trip (RFC 6582).
    Newreno,
    /// With selective acknowledgments (RFC 2018) and the conservative recovery of RFC 6675.
    #[default]
    Sack,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            congestion: "reno".to_owned(),
            parameters: BTreeMap::new(),
            segment_size: Count::new(1460),
            initial_window: Count::new(10),
            initial_ssthresh: None,
            delayed_ack: true,
            delayed_ack_timeout: Span::from_millis(200),
            recovery: Recovery::Sack,
            receive_window: None,
            window_scaling: true,
            timestamps: false,
            rto_min: Span::from_secs(1),
            rto_initial: Span::from_secs(1),
            rto_max: Span::from_secs(120),
            rto_variance_min: Span::from_millis(200),
            syn_retries: Count::new(6),
            retries: Count::new(15),
            pacing: false,
            pacing_ss_ratio: Count::new(200),
            pacing_ca_ratio: Count::new(120),
            initial_sequence: None,
        }
    }
}

/// Largest window that a 16-bit field and the largest shift count of RFC 7323 (section 2.3) can say.
pub(super) const LARGEST_WINDOW: u64 = 65_535 << 14;

/// Largest window without scaling.
pub(super) const UNSCALED_WINDOW: u64 = 65_535;

impl Config {
    /// Adds what is wrong.
    pub fn check(&self, problems: &mut Problems) {
        let largest = if self.window_scaling { LARGEST_WINDOW } else { UNSCALED_WINDOW };
        if let Some(window) = self.receive_window {
            if window.bytes() < self.segment_size.value() || window.bytes() > largest {
                let why = if self.window_scaling { "" } else { ", as window_scaling is off" };
                problems.add(
                    "receive_window",
                    format!(
                        "{window} is out of range; allowed: one segment ({} B) to {largest} B{why}",
                        self.segment_size.value()
                    ),
                );
            }
        }
        for (key, span) in [("rto_min", self.rto_min), ("rto_initial", self.rto_initial)] {
            if span > self.rto_max || span == Span::ZERO {
                problems.add(
                    key,
                    format!("{span} is out of range; allowed: above 0 s, at most rto_max ({})", self.rto_max),
                );
            }
        }
        if self.delayed_ack && self.delayed_ack_timeout >= Span::from_millis(500) {
            problems.add(
                "delayed_ack_timeout",
                format!("{} is out of range; allowed: below 500 ms (RFC 1122)", self.delayed_ack_timeout),
            );
        }
    }

    /// The receive window to advertise, at most.
    pub(super) fn window(&self) -> u64 {
        let largest = if self.window_scaling { LARGEST_WINDOW } else { UNSCALED_WINDOW };
        self.receive_window.map_or(largest, |window| window.bytes().min(largest))
    }

    /// The least shift count with which the window fits into 16 bits.
    pub(super) fn window_scale(&self) -> u8 {
        (0..14).find(|shift| self.window() >> shift <= UNSCALED_WINDOW).unwrap_or(14)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(json: &str) -> Vec<String> {
        let config: Config = serde_json::from_str(json).unwrap();
        let mut problems = Problems::default();
        config.check(&mut problems);
        problems.into_vec().into_iter().map(|problem| problem.path.join(".")).collect()
    }

    #[test]
    fn windows_that_the_options_cannot_say_are_refused() {
        assert_eq!(problems("{}"), Vec::<String>::new());
        assert_eq!(problems(r#"{"receive_window": "64 KiB"}"#), Vec::<String>::new());
        assert_eq!(problems(r#"{"receive_window": "64 KiB", "window_scaling": false}"#), ["receive_window"]);
        assert_eq!(problems(r#"{"receive_window": "1 kB"}"#), ["receive_window"]);
        assert_eq!(problems(r#"{"rto_min": "200 s"}"#), ["rto_min"]);
        assert_eq!(problems(r#"{"delayed_ack_timeout": "1 s"}"#), ["delayed_ack_timeout"]);
    }

    #[test]
    fn the_window_scale_is_the_least_that_fits() {
        let scale = |bytes| {
            Config { receive_window: Some(Size::from_bytes(bytes)), ..Config::default() }.window_scale()
        };
        assert_eq!([65_535, 65_536, 131_071, 131_072, 1 << 30].map(scale), [0, 1, 1, 2, 14]);
    }
}
