//! Tests of Vegas as published in 1995: its differences from Linux's version (vegas.rs).

use std::collections::BTreeMap;

use bentpipe_congestion::interface::{AckSample, Congestion, State, CA_OPEN, CA_RECOVERY, INFINITE_SSTHRESH};

const MSS: u32 = 1000;
const BASE_RTT_US: i32 = 500_000;

fn create(
    variant: &str,
    cwnd: u32,
    ssthresh: u32,
    parameters: &[(&str, i64)],
) -> (Box<dyn Congestion>, State) {
    let parameters: BTreeMap<String, i64> =
        parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let mut control = bentpipe_congestion::create(variant, &parameters).unwrap();
    let mut state = State {
        snd_cwnd: cwnd,
        snd_cwnd_clamp: 1 << 20,
        snd_ssthresh: ssthresh,
        is_cwnd_limited: 1,
        ..State::default()
    };
    control.init(&mut state);
    (control, state)
}

fn vegas95(cwnd: u32, ssthresh: u32, parameters: &[(&str, i64)]) -> (Box<dyn Congestion>, State) {
    create("vegas95", cwnd, ssthresh, parameters)
}

/// Simulates one round trip: a window is sent and acknowledged, segment by segment, with the
/// round-trip times of `rtt_us` in turn. The round ends with the first acknowledgment of the next
/// one.
fn round(control: &mut dyn Congestion, state: &mut State, rtt_us: &[i32]) {
    let window = state.snd_cwnd as usize;
    state.snd_nxt = state.snd_una.wrapping_add(window as u32 * MSS);
    for rtt_us in rtt_us.iter().cycle().take(window).copied() {
        state.snd_una = state.snd_una.wrapping_add(MSS);
        control.pkts_acked(state, &AckSample { pkts_acked: 1, rtt_us, in_flight: window as u32 });
        let ack = state.snd_una;
        control.cong_avoid(state, ack, 1);
        state.snd_nxt = state.snd_nxt.wrapping_add(MSS);
    }
}

/// Returns a connection in congestion avoidance whose base round-trip time is known.
fn in_avoidance(variant: &str, cwnd: u32, parameters: &[(&str, i64)]) -> (Box<dyn Congestion>, State) {
    let (mut control, mut state) = create(variant, cwnd, cwnd / 2, parameters);
    round(control.as_mut(), &mut state, &[BASE_RTT_US]);
    round(control.as_mut(), &mut state, &[BASE_RTT_US]);
    state.snd_cwnd = cwnd;
    (control, state)
}

#[test]
fn a_delay_of_part_of_the_window_counts_here_but_not_in_linux() {
    // Nine in ten segments wait for an assignment; the mean is 1.9 times the base, so Diff is far
    // above beta.
    let mut mixed = vec![2 * BASE_RTT_US; 9];
    mixed.insert(0, BASE_RTT_US);
    for (variant, change) in [("vegas95", -1), ("vegas", 1)] {
        let (mut control, mut state) = in_avoidance(variant, 40, &[]);
        round(control.as_mut(), &mut state, &mixed);
        let before = state.snd_cwnd;
        round(control.as_mut(), &mut state, &mixed);
        assert_eq!(state.snd_cwnd as i32 - before as i32, change, "{variant}");
    }
}

#[test]
fn the_window_grows_below_alpha_and_shrinks_above_beta() {
    // Diff = cwnd (RTT - BaseRTT) / RTT with cwnd 100.
    for (diff, change) in [(0, 1), (2, 0), (4, -1), (30, -1)] {
        let (mut control, mut state) = in_avoidance("vegas95", 100, &[]);
        let rtt = BASE_RTT_US / (100 - diff) * 100;
        round(control.as_mut(), &mut state, &[rtt]);
        let before = state.snd_cwnd as i32;
        round(control.as_mut(), &mut state, &[rtt]);
        assert_eq!(state.snd_cwnd as i32 - before, change, "Diff {diff}");
    }
}

#[test]
fn without_mean_the_sample_of_one_segment_decides() {
    // The last sample of a round is that of the segment that ends it, the first of the next window.
    let first_is_late = [4 * BASE_RTT_US, BASE_RTT_US, BASE_RTT_US, BASE_RTT_US];
    let first_is_early = [BASE_RTT_US, 4 * BASE_RTT_US, 4 * BASE_RTT_US, 4 * BASE_RTT_US];
    for (rtt_us, change) in [(first_is_late, -1), (first_is_early, 1)] {
        let (mut control, mut state) = in_avoidance("vegas95", 40, &[("mean", 0)]);
        round(control.as_mut(), &mut state, &rtt_us);
        let before = state.snd_cwnd as i32;
        round(control.as_mut(), &mut state, &rtt_us);
        assert_eq!(state.snd_cwnd as i32 - before, change, "{rtt_us:?}");
    }
}

#[test]
fn slow_start_doubles_the_window_every_other_round_trip() {
    let (mut control, mut state) = vegas95(4, INFINITE_SSTHRESH, &[]);
    let windows: Vec<u32> = (0..6)
        .map(|_| {
            round(control.as_mut(), &mut state, &[BASE_RTT_US]);
            state.snd_cwnd
        })
        .collect();
    for pair in windows.windows(3) {
        let held = pair[0].abs_diff(pair[1]).min(pair[1].abs_diff(pair[2]));
        assert!(held <= 1, "{windows:?}: in one round of two the window stays");
        assert!(pair[2] >= 2 * pair[0] - 2, "{windows:?}: in the other it doubles");
    }
}

#[test]
fn slow_start_ends_once_with_a_reduction_by_an_eighth() {
    let (mut control, mut state) = vegas95(80, INFINITE_SSTHRESH, &[("gamma", 1)]);
    state.snd_nxt = 1;
    control.pkts_acked(&mut state, &AckSample { pkts_acked: 1, rtt_us: BASE_RTT_US, in_flight: 80 });
    control.pkts_acked(&mut state, &AckSample { pkts_acked: 1, rtt_us: 2 * BASE_RTT_US, in_flight: 80 });
    let before = state.snd_cwnd + 1;
    control.cong_avoid(&mut state, MSS, 1);
    assert_eq!(state.snd_cwnd, before - before / 8);
    assert_eq!(state.snd_ssthresh, state.snd_cwnd);
    for _ in 0..100 {
        round(control.as_mut(), &mut state, &[2 * BASE_RTT_US]);
        assert!(state.snd_cwnd >= state.snd_ssthresh);
    }
    assert_eq!(state.snd_cwnd, 6, "Diff, which is cwnd / 2, is no longer above beta");
}

#[test]
fn renos_increase_is_used_outside_the_open_state() {
    let (mut control, mut state) = in_avoidance("vegas95", 50, &[]);
    control.set_state(&mut state, CA_RECOVERY);
    (state.snd_cwnd, state.snd_cwnd_cnt, state.snd_ssthresh) = (50, 0, 25);
    round(control.as_mut(), &mut state, &[4 * BASE_RTT_US]);
    assert_eq!(state.snd_cwnd, 51, "Reno does not look at the queue");
    control.set_state(&mut state, CA_OPEN);
    round(control.as_mut(), &mut state, &[4 * BASE_RTT_US]);
    round(control.as_mut(), &mut state, &[4 * BASE_RTT_US]);
    assert!(state.snd_cwnd < 51, "Vegas does");
}
