//! CUBIC, from RFC 9438 and RFC 9406.

use bentpipe_core::math;
use std::collections::BTreeMap;

use bentpipe_congestion::interface::{
    AckSample, Congestion, Event, State, CA_LOSS, CA_OPEN, CA_RECOVERY, INFINITE_SSTHRESH,
};

fn cubic(parameters: &[(&str, i64)]) -> (Box<dyn Congestion>, State) {
    let parameters =
        parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect::<BTreeMap<_, _>>();
    let mut control = bentpipe_congestion::create("cubic", &parameters).unwrap();
    let mut state = State {
        snd_cwnd: 10,
        snd_cwnd_clamp: 1 << 24,
        snd_ssthresh: INFINITE_SSTHRESH,
        is_cwnd_limited: 1,
        mss_cache: 1448,
        tcp_mstamp: 1_000_001_000,
        jiffy_us: 1,
        ..State::default()
    };
    control.init(&mut state);
    (control, state)
}

/// Simulates a loss in a window of `cwnd`: fast recovery, and back to Open.
fn lose(control: &mut dyn Congestion, state: &mut State, cwnd: u32) {
    state.snd_cwnd = cwnd;
    state.prior_cwnd = cwnd;
    state.snd_ssthresh = control.ssthresh(state);
    control.set_state(state, CA_RECOVERY);
    state.snd_cwnd = state.snd_ssthresh;
    control.set_state(state, CA_OPEN);
}

fn wait(state: &mut State, seconds: f64) {
    state.tcp_mstamp += (seconds * 1e6).round() as u64;
}

/// Acknowledges segments until the window is constant at the present time.
fn settle(control: &mut dyn Congestion, state: &mut State) {
    loop {
        let before = state.snd_cwnd;
        for _ in 0..30 * before {
            let cwnd = state.snd_cwnd;
            control.cong_avoid(state, 0, 1);
            // The target is computed once per jiffy.
            state.tcp_mstamp += u64::from(state.snd_cwnd != cwnd);
        }
        if state.snd_cwnd == before {
            return;
        }
    }
}

#[test]
fn windows_follow_the_reference_rows_of_rfc_9438() {
    // tests/authorities/tcp/PROVENANCE.md: kind, W_max, cwnd_epoch, C, beta, t, value.
    let rows = include_str!("../../../tests/authorities/tcp/rfc9438_cubic_reference.csv");
    let mut seen = 0;
    let mut k = 0.0;
    for row in rows.lines().skip(1) {
        let field: Vec<&str> = row.split(',').collect();
        let number = |index: usize| field[index].parse::<f64>().unwrap();
        if field[0] == "K" {
            k = number(6);
        }
        if field[0] != "W_cubic" {
            continue;
        }
        let (t, value) = (number(5), number(6));
        let (mut control, mut state) = cubic(&[("reno_friendly", 0), ("hystart", 0)]);
        lose(control.as_mut(), &mut state, number(1) as u32);
        assert!((f64::from(state.snd_cwnd) - number(2)).abs() < 1.0, "{row}");
        // The avoidance stage begins with its first acknowledgment.
        state.snd_ssthresh = state.snd_cwnd;
        control.cong_avoid(&mut state, 0, 1);
        wait(&mut state, t);
        settle(control.as_mut(), &mut state);
        // Whole segments, rounded towards W_max. W_max 416 begins at 291 instead of 291.2, which
        // moves K by 5 ms; K and t are whole milliseconds, and the slope bounds their effect.
        let slope = 3.0 * 0.4 * (t - k).powi(2);
        let (above, slack) = (f64::from(state.snd_cwnd) - value, 0.02 + 0.007 * slope);
        let allowed = if t < k { -slack..1.0 + slack } else { -1.0 - slack..1.0 + slack };
        assert!(allowed.contains(&above), "{row}: cwnd {}", state.snd_cwnd);
        seen += 1;
    }
    assert!(seen > 50, "{seen} rows");
}

#[test]
fn fast_convergence_lowers_w_max_after_a_smaller_maximum() {
    for (fast_convergence, expected) in [(1, 85.0), (0, 100.0)] {
        let (mut control, mut state) =
            cubic(&[("fast_convergence", fast_convergence), ("reno_friendly", 0), ("hystart", 0)]);
        lose(control.as_mut(), &mut state, 200);
        lose(control.as_mut(), &mut state, 100);
        control.cong_avoid(&mut state, 0, 1);
        // K after the second loss: W_max = 100 (1 + beta) / 2 or 100, from 70.
        wait(&mut state, math::cbrt((expected - 70.0) / 0.4_f64));
        settle(control.as_mut(), &mut state);
        assert!((f64::from(state.snd_cwnd) - expected).abs() <= 1.0, "{} of {expected}", state.snd_cwnd);
    }
}

#[test]
fn the_reno_friendly_region_grows_by_alpha_per_round_trip_and_by_one_above_the_old_window() {
    let (mut control, mut state) = cubic(&[("hystart", 0), ("fast_reno", 1)]);
    lose(control.as_mut(), &mut state, 20);
    let mut windows = Vec::new();
    // Round trips of 40 ms: the cubic part is slower.
    for _ in 0..24 {
        wait(&mut state, 0.04);
        let mut left = state.snd_cwnd;
        while left > 0 {
            control.cong_avoid(&mut state, 0, 1);
            left -= 1;
        }
        windows.push(state.snd_cwnd);
    }
    // alpha = 3 (1 - 0.7) / (1 + 0.7) = 0.529: from 14 to 20 in 11.3 round trips, then one each.
    assert!((17..=18).contains(&windows[6]), "{windows:?}");
    let reached = windows.iter().position(|window| *window >= 20).unwrap();
    assert!((11..=14).contains(&reached), "{windows:?}");
    let grown = windows[reached + 10] - windows[reached];
    assert!((9..=10).contains(&grown), "{windows:?}");
}

#[test]
fn after_a_time_out_the_window_grows_by_a_twentieth_per_round_trip_from_the_end_of_slow_start() {
    let (mut control, mut state) = cubic(&[("reno_friendly", 0), ("hystart", 0)]);
    (state.snd_cwnd, state.prior_cwnd) = (100, 100);
    state.snd_ssthresh = control.ssthresh(&mut state);
    control.cwnd_event(&mut state, Event::Loss);
    control.set_state(&mut state, CA_LOSS);
    assert_eq!(state.snd_ssthresh, 70);
    state.snd_cwnd = 70;
    control.cong_avoid(&mut state, 0, 1);
    let mut round = |state: &mut State, seconds| {
        wait(state, seconds);
        for _ in 0..state.snd_cwnd {
            control.cong_avoid(state, 0, 1);
        }
        state.snd_cwnd
    };
    // K = 0: W_cubic has not grown yet. One segment per 20 acknowledged segments.
    assert_eq!([round(&mut state, 0.1), round(&mut state, 0.1)], [73, 77]);
    // After 8 s: 0.4 * 8 * 8 * 8 segments, which is limited to half a window.
    assert!((114..=116).contains(&round(&mut state, 7.8)), "{}", state.snd_cwnd);
}

#[test]
fn an_undone_reduction_starts_a_new_curve_at_the_previous_window() {
    // Linux, not section 4.9 of RFC 9438: docs/notes/linux-tcp.md.
    let (mut control, mut state) = cubic(&[("reno_friendly", 0), ("hystart", 0)]);
    lose(control.as_mut(), &mut state, 100);
    control.cong_avoid(&mut state, 0, 1);
    wait(&mut state, 2.0);
    settle(control.as_mut(), &mut state);
    let before = state.snd_cwnd;
    lose(control.as_mut(), &mut state, before);
    state.snd_cwnd = control.undo_cwnd(&mut state);
    assert_eq!(state.snd_cwnd, before);
    wait(&mut state, 0.1);
    control.cong_avoid(&mut state, 0, 1);
    wait(&mut state, 4.0);
    settle(control.as_mut(), &mut state);
    // K = 0: four seconds make 0.4 * 4 * 4 * 4 = 25.6 segments.
    assert!((before + 24..=before + 26).contains(&state.snd_cwnd), "{} after {before}", state.snd_cwnd);
}

#[test]
fn idle_time_does_not_count() {
    for (sent_again, expected) in [(true, 86..=87), (false, 115..=250)] {
        let (mut control, mut state) = cubic(&[("reno_friendly", 0), ("hystart", 0)]);
        lose(control.as_mut(), &mut state, 100);
        control.cong_avoid(&mut state, 0, 1);
        state.lsndtime = state.tcp_mstamp;
        wait(&mut state, 10.0);
        if sent_again {
            control.cwnd_event(&mut state, Event::TxStart);
        }
        wait(&mut state, 1.0);
        settle(control.as_mut(), &mut state);
        // W_cubic(1 s) of the reference rows is 86.68.
        assert!(expected.contains(&state.snd_cwnd), "{}", state.snd_cwnd);
    }
}

#[test]
fn time_is_rounded_down_and_the_round_trip_time_up_to_jiffies() {
    // In jiffies of 10 ms, W_cubic(t + RTT) is the same for all times in a jiffy and all round-trip
    // times up to one.
    let acknowledgments = |start: u64, rtt_us: i32| {
        let (mut control, mut state) = cubic(&[("reno_friendly", 0), ("hystart", 0)]);
        (state.jiffy_us, state.tcp_mstamp) = (10_000, 1_000_000_000);
        let sample = AckSample { pkts_acked: 1, rtt_us, in_flight: 1 };
        control.pkts_acked(&mut state, &sample);
        lose(control.as_mut(), &mut state, 100_000);
        control.cong_avoid(&mut state, 0, 1);
        state.tcp_mstamp += 50_000 + start;
        let before = state.snd_cwnd;
        (1..).find(|_| {
            control.cong_avoid(&mut state, 0, 1);
            state.snd_cwnd > before
        })
    };
    let first = acknowledgments(0, 10_000);
    assert!(acknowledgments(9_999, 1) == first && acknowledgments(5_000, 9_000) == first, "{first:?}");
    assert!(acknowledgments(10_000, 1) < first && acknowledgments(0, 10_001) < first, "{first:?}");
}

/// Simulates slow start round by round. `rtt` gives the round-trip time, in microseconds, of each
/// of a round's samples; `gap` is the time between acknowledgments. Returns the windows at the ends
/// of the rounds.
fn rounds(kind: i64, count: u32, gap: u64, rtt: impl Fn(u32, u32) -> i32) -> (Vec<u32>, State) {
    let (mut control, mut state) = cubic(&[("hystart", kind)]);
    let (mut windows, mut una) = (Vec::new(), 0u32);
    for round in 0..count {
        let flight = state.snd_cwnd;
        state.snd_nxt = una + flight * 1448;
        let begin = state.tcp_mstamp;
        for number in 0..flight {
            una += 1448;
            state.snd_una = una;
            state.tcp_mstamp += gap;
            // The next window is sent meanwhile.
            state.snd_nxt += 1448;
            let sample = AckSample { pkts_acked: 1, rtt_us: rtt(round, number), in_flight: flight };
            control.pkts_acked(&mut state, &sample);
            control.cong_avoid(&mut state, una, 1);
        }
        state.tcp_mstamp = state.tcp_mstamp.max(begin + 100_000);
        windows.push(state.snd_cwnd);
    }
    (windows, state)
}

#[test]
fn hystart_ends_slow_start_when_round_trip_times_rise_by_an_eighth_or_a_train_is_long() {
    // Acknowledgments 3 ms apart are not a train. From the fifth round on the delay rises from 100
    // to 112 ms, by less than an eighth.
    for (risen, ends) in [(112_000, false), (113_000, true)] {
        let (windows, state) = rounds(1, 7, 3000, |round, _| if round < 4 { 100_000 } else { risen });
        assert_eq!(windows[..4], [20, 40, 80, 160]);
        assert_eq!(state.snd_ssthresh < INFINITE_SSTHRESH, ends, "{windows:?}");
    }
    // Acknowledgments 1 ms apart: the train of the round with 80 segments is longer than 50 ms. A
    // round begins with the first acknowledgment after the end of the previous one, slightly later
    // than here.
    let (windows, state) = rounds(1, 4, 1000, |_, _| 100_000);
    assert_eq!(windows[..3], [20, 40, 80]);
    assert!((128..=136).contains(&state.snd_ssthresh), "{}", state.snd_ssthresh);
}

#[test]
fn hystart_plus_plus_slows_down_for_five_rounds_unless_the_delay_falls() {
    // RFC 9406: a quarter of the growth from the round in which the delay rises, and avoidance
    // after five rounds.
    let (windows, state) = rounds(2, 9, 10, |round, _| if round < 3 { 100_000 } else { 120_000 });
    assert_eq!(windows[..3], [20, 40, 80]);
    let growth: Vec<f64> = windows.windows(2).map(|pair| f64::from(pair[1]) / f64::from(pair[0])).collect();
    assert!((1.25..1.4).contains(&growth[2]), "{growth:?}");
    for round in 3..6 {
        assert!((growth[round] - 1.25).abs() < 0.03, "{growth:?}");
    }
    assert!(state.snd_ssthresh < INFINITE_SSTHRESH && growth[7] < 1.1, "{growth:?}");
    // A rise that disappears is ignored.
    let (windows, state) = rounds(2, 7, 10, |round, _| if round == 3 { 120_000 } else { 100_000 });
    assert!(state.snd_ssthresh == INFINITE_SSTHRESH, "{windows:?}");
    assert!(windows[6] as f64 / windows[5] as f64 > 1.9, "{windows:?}");
}
