//! Refusals of TCP flows: values out of range, and combinations of options that no stack has. The
//! cases differ only in the keys of one transport.

use crate::bad_scenarios::{loaded, GOOD};
use crate::golden;
use std::fmt::Write as _;

/// Keys that replace `congestion = "reno"`.
const CASES: &[&str] = &[
    r#"profile = "linus""#,
    r#"recovery = "rac""#,
    r#"recovery = "sack", sack = false"#,
    r#"recovery = "newreno", sack = true"#,
    r#"recovery = "snack", sack = true"#,
    r#"recovery = "newreno", dsack = true"#,
    r#"recovery = "newreno", frto = true"#,
    r#"recovery = "snack", frto = true"#,
    r#"recovery = "sack", tail_loss_probe = true"#,
    r#"recovery = "tahoe", proportional_reduction = true"#,
    r#"rate_halving = true, proportional_reduction = true"#,
    r#"profile = "classic", undo = true"#,
    r#"timestamps = false, dsack = false, undo = true"#,
    r#"delayed_ack = false, ack_every = 4"#,
    r#"window_scaling = false, receive_window = "64 KiB""#,
    r#"window_scaling = false, quick_window = "1 MiB""#,
    r#"receive_window_start = "64 KiB", quick_window = "1 MiB""#,
    r#"receive_window = "64 KiB", receive_window_start = "128 KiB""#,
    r#"receive_window = "2 GiB""#,
    r#"send_buffer = "100 B""#,
    r#"send_memory = "4 kB""#,
    r#"initial_window = 0"#,
    r#"initial_ssthresh = 1"#,
    r#"segment_size = 70000"#,
    r#"delayed_ack_timeout = "600 ms""#,
    r#"delayed_ack_min = "300 ms""#,
    r#"rto_min = "130 s""#,
    r#"rto_max = "500 ms""#,
    r#"rto_estimator = "rfc2988""#,
    r#"timer_tick = "2 s""#,
    r#"jiffy = "20 ms""#,
    r#"syn_retries = 300"#,
    r#"pacing_ca_ratio = 5000"#,
    r#"quick_start = "10 kbit/s""#,
    r#"quick_start = "2 Gbit/s""#,
    r#"freeze = [{ at = "3 s", until = "2 s" }]"#,
    r#"freeze = [{ at = "3 s", until = "5 s" }, { at = "4 s", until = "6 s" }]"#,
    r#"adapt = [{ at = "3 s", rate = "1 Mbit/s", round_trip = "0 s" }, { at = "2 s", rate = "1 Mbit/s", round_trip = "1 s" }]"#,
    r#"initial_sequence = 4294967296"#,
];

#[test]
fn each_tcp_refusal_names_the_allowed_values_and_the_reason() {
    let mut text = "Refused keys of a TCP flow and their messages\n".to_owned();
    for keys in CASES {
        let case = GOOD.replacen("congestion = \"reno\"", keys, 1);
        let message = loaded(&case).err().unwrap_or_else(|| panic!("{keys} is accepted"));
        assert!(message.contains("allowed") || message.contains("must be"), "{message}");
        let _ = writeln!(text, "\n{keys}\n  {}", message.replace('\n', "\n  "));
    }
    golden::check("refusals-tcp.txt", &text);
}
