//! Checks the configuration of a TCP flow for values out of range, and for combinations of options
//! that no TCP stack has.

use super::{Config, Recovery, LARGEST_WINDOW, UNSCALED_WINDOW};
use crate::check_quick_start;
use crate::tcp::{handover, writer};
use bentpipe_core::{Problems, Size, Span};

impl Config {
    /// Adds the problems of this configuration to `problems`.
    pub fn check(&self, problems: &mut Problems) {
        self.check_window(problems);
        self.check_buffers(problems);
        check_quick_start(self.quick_start, problems);
        handover::check(&self.freeze, &self.adapt, problems);
        self.check_times(problems);
        self.check_combination(problems);
    }

    fn check_window(&self, problems: &mut Problems) {
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
    }

    fn check_buffers(&self, problems: &mut Problems) {
        let (segment, max) = (self.segment_size.value(), self.window());
        if let Some(start) =
            self.receive_window_start.filter(|start| !(segment..=max).contains(&start.bytes()))
        {
            let text = format!(
                "{start} is out of range; allowed: from one segment ({segment} B) to receive_window ({max} B)"
            );
            problems.add("receive_window_start", text);
        }
        if let Some(buffer) = self.send_buffer.filter(|buffer| buffer.bytes() < segment) {
            let text = format!("{buffer} is out of range; allowed: at least one segment ({segment} B)");
            problems.add("send_buffer", text);
        }
        let min = 2 * (segment + writer::OVERHEAD);
        if let Some(memory) = self.send_memory.filter(|memory| memory.bytes() < min) {
            let text = format!(
                "{memory} is out of range; allowed: at least two segments and their headers ({min} B)"
            );
            problems.add("send_memory", text);
        }
    }

    fn check_times(&self, problems: &mut Problems) {
        let min = self.rto_min.max(self.rto_initial);
        let profile = self.profile.config();
        if self.rto_max < min && self.rto_max != profile.rto_max {
            let text = format!(
                "{} is out of range; allowed: at least rto_min ({}) and rto_initial ({})",
                self.rto_max, self.rto_min, self.rto_initial
            );
            problems.add("rto_max", text);
            return;
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
                format!("{} is out of range; allowed: less than 500 ms (RFC 1122)", self.delayed_ack_timeout),
            );
        }
        if self.delayed_ack_min > self.delayed_ack_timeout {
            problems.add(
                "delayed_ack_min",
                format!(
                    "{} is out of range; allowed: at most delayed_ack_timeout ({})",
                    self.delayed_ack_min, self.delayed_ack_timeout
                ),
            );
        }
        if self.timer_tick > Span::from_secs(1) {
            problems.add("timer_tick", format!("{} is out of range; allowed: 0 s to 1 s", self.timer_tick));
        }
        if self.jiffy > Span::from_millis(10) {
            problems.add("jiffy", format!("{} is out of range; allowed: 0 s to 10 ms", self.jiffy));
        }
    }

    /// Adds a problem for each combination of options that no TCP stack has.
    fn check_combination(&self, problems: &mut Problems) {
        let mut refuse = |is_wrong: bool, key: &str, reason: &str| {
            if is_wrong {
                problems.add(key, reason.to_owned());
            }
        };
        let sack = self.offers_sack();
        refuse(
            self.recovery.needs_sack() && self.sack == Some(false) && self.recovery != Recovery::Snack,
            "recovery",
            "rack and sack detect losses by selective acknowledgments, but sack is false; allowed with sack = false: tahoe, \
             reno, newreno, snack",
        );
        refuse(
            self.sack == Some(true) && (!self.recovery.needs_sack() || self.recovery == Recovery::Snack),
            "sack",
            "tahoe, reno, newreno and snack do not use selective acknowledgments; allowed with them: recovery = \"sack\" \
             or \"rack\"",
        );
        refuse(
            self.dsack && !sack,
            "dsack",
            "needs selective acknowledgments, which are off; allowed: false",
        );
        refuse(self.frto && !sack, "frto", "needs selective acknowledgments, which are off; allowed: false");
        refuse(
            self.tail_loss_probe && self.recovery != Recovery::Rack,
            "tail_loss_probe",
            "only RACK can interpret the answer to a probe (RFC 8985, section 7); allowed: false, or true with \
             recovery = \"rack\"",
        );
        refuse(
            self.proportional_reduction && self.recovery == Recovery::Tahoe,
            "proportional_reduction",
            "has no effect with tahoe, which restarts from one segment; allowed: false",
        );
        refuse(
            self.rate_halving && self.proportional_reduction,
            "rate_halving",
            "the window is reduced either by halves or in proportion (proportional_reduction), not both; allowed: false, \
             or true with proportional_reduction = false",
        );
        refuse(
            self.rate_halving && self.recovery == Recovery::Tahoe,
            "rate_halving",
            "has no effect with tahoe, which restarts from one segment; allowed: false",
        );
        refuse(
            self.undo && !self.timestamps && !self.dsack,
            "undo",
            "needs timestamps or duplicate selective acknowledgments to detect spurious reductions, and both are \
             off; allowed: false, or true with timestamps or dsack",
        );
        refuse(
            self.careful_resume.is_some() && self.quick_start.is_some(),
            "careful_resume",
            "the window at the start follows either from saved values or from a granted rate (quick_start), not both; \
             allowed: one of the two keys",
        );
        refuse(
            !self.delayed_ack && self.ack_every.value() > 2,
            "ack_every",
            "has no effect, as delayed_ack is false and every segment is acknowledged at once; allowed: 2, or delayed_ack = true",
        );
        let grows = self.quick_window > Size::from_bytes(0);
        refuse(
            grows && !self.window_scaling,
            "quick_window",
            "has no effect without window_scaling, as the window starts at its maximum of 65535 B; allowed: 0 B",
        );
        refuse(
            grows && self.receive_window_start.is_some(),
            "quick_window",
            "the window grows either by what arrives in a round trip (receive_window_start) or by segments (quick_window), \
             not both; allowed with receive_window_start: 0 B",
        );
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
    fn windows_that_the_options_cannot_express_are_refused() {
        assert_eq!(problems("{}"), Vec::<String>::new());
        assert_eq!(problems(r#"{"receive_window": "64 KiB"}"#), Vec::<String>::new());
        assert_eq!(problems(r#"{"receive_window": "64 KiB", "window_scaling": false}"#), ["receive_window"]);
        assert_eq!(problems(r#"{"receive_window": "1 kB"}"#), ["receive_window"]);
        let start = r#"{"receive_window": "64 KiB", "receive_window_start": "100 kB"}"#;
        assert_eq!(problems(start), ["receive_window_start"]);
        assert_eq!(problems(r#"{"send_buffer": "1 kB"}"#), ["send_buffer"]);
        assert_eq!(problems(r#"{"send_memory": "4839 B"}"#), ["send_memory"]);
        assert_eq!(problems(r#"{"rto_min": "200 s"}"#), ["rto_min"]);
        assert_eq!(problems(r#"{"rto_max": "500 ms"}"#), ["rto_max"]);
        for (rate, wrong) in [("79 kbit/s", 1), ("80 kbit/s", 0), ("1310720 kbit/s", 0), ("1311 Mbit/s", 1)] {
            assert_eq!(problems(&format!(r#"{{"quick_start": "{rate}"}}"#)).len(), wrong, "{rate}");
        }
        assert_eq!(problems(r#"{"delayed_ack_timeout": "1 s"}"#), ["delayed_ack_timeout"]);
    }

    #[test]
    fn combinations_that_no_stack_has_are_refused() {
        let profiles = ["linux", "linux-2.6.32", "classic", "freebsd", "nineties"]
            .map(|name| format!("{{\"profile\": \"{name}\"}}"));
        for profile in profiles {
            assert_eq!(problems(&profile), Vec::<String>::new());
        }
        assert_eq!(problems(r#"{"sack": false}"#), ["recovery"]);
        assert_eq!(problems(r#"{"recovery": "newreno", "sack": false}"#), Vec::<String>::new());
        for key in ["dsack", "frto", "tail_loss_probe"] {
            let json = format!(r#"{{"profile": "classic", "recovery": "reno", "{key}": true}}"#);
            assert_eq!(problems(&json), [key]);
        }
        let tahoe = r#"{"profile": "classic", "recovery": "tahoe", "proportional_reduction": true}"#;
        assert_eq!(problems(tahoe), ["proportional_reduction"]);
        assert_eq!(problems(r#"{"profile": "classic", "sack": true, "recovery": "newreno"}"#), ["sack"]);
        // A key that the profile enables counts as requested.
        for key in ["dsack", "frto", "tail_loss_probe"] {
            assert_eq!(problems(&format!(r#"{{"recovery": "newreno", "{key}": true}}"#)), [key]);
        }
        assert_eq!(problems(r#"{"recovery": "sack", "tail_loss_probe": true}"#), ["tail_loss_probe"]);
        let both = r#"{"rate_halving": true, "proportional_reduction": true}"#;
        assert_eq!(problems(both), ["rate_halving"]);
        let tahoe = r#"{"profile": "linux-2.6.32", "recovery": "tahoe", "rate_halving": true}"#;
        assert_eq!(problems(tahoe), ["rate_halving"]);
        assert_eq!(problems(r#"{"profile": "classic", "undo": true}"#), ["undo"]);
        assert_eq!(
            problems(r#"{"profile": "classic", "undo": true, "timestamps": true}"#),
            Vec::<String>::new()
        );
        assert_eq!(problems(r#"{"delayed_ack": false, "ack_every": 4}"#), ["ack_every"]);
        let both = r#"{"careful_resume": "earlier", "quick_start": "1 Mbit/s"}"#;
        assert_eq!(problems(both), ["careful_resume"]);
        assert_eq!(problems(r#"{"quick_window": "1 MiB", "window_scaling": false}"#), ["quick_window"]);
        assert_eq!(
            problems(r#"{"quick_window": "1 MiB", "receive_window_start": "64 KiB"}"#),
            ["quick_window"]
        );
    }

    #[test]
    fn keys_of_the_profile_that_other_keys_make_meaningless_are_switched_off() {
        let given = |json: &str| -> Config { serde_json::from_str(json).unwrap() };
        let newreno = given(r#"{"recovery": "newreno"}"#);
        let on = [newreno.dsack, newreno.frto, newreno.tail_loss_probe, newreno.undo];
        assert_eq!(on, [false, false, false, true]);
        assert!(!given(r#"{"recovery": "newreno", "timestamps": false}"#).undo);
        assert!(given(r#"{"timestamps": false}"#).undo);
        assert!(!given(r#"{"recovery": "tahoe"}"#).proportional_reduction);
        let reductions = |json: &str| (given(json).proportional_reduction, given(json).rate_halving);
        assert_eq!(reductions(r#"{"rate_halving": true}"#), (false, true));
        assert_eq!(reductions(r#"{"profile": "linux-2.6.32"}"#), (false, true));
        assert_eq!(
            reductions(r#"{"profile": "linux-2.6.32", "proportional_reduction": true}"#),
            (true, false)
        );
        assert_eq!(reductions(r#"{"profile": "linux-2.6.32", "recovery": "tahoe"}"#), (false, false));
        assert_eq!(given(r#"{"profile": "scps", "delayed_ack": false}"#).ack_every.value(), 2);
        assert_eq!(given(r#"{"receive_window_start": "64 KiB"}"#).quick_window.bytes(), 0);
        let classic = given(r#"{"profile": "classic", "delayed_ack_timeout": "100 ms"}"#);
        assert_eq!(classic.delayed_ack_min, Span::from_millis(100));
        // The resolved scenario reads back unchanged and without problems.
        for json in ["{}", r#"{"recovery": "tahoe", "timestamps": false}"#, r#"{"window_scaling": false}"#] {
            let resolved = serde_json::to_string(&given(json)).unwrap();
            assert_eq!(given(&resolved), given(json));
            assert_eq!(problems(&resolved), Vec::<String>::new());
        }
    }
}
