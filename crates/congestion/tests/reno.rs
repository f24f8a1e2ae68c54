//! Tests of Reno against RFC 5681.

use std::collections::BTreeMap;

use bentpipe_congestion::interface::{Congestion, State, INFINITE_SSTHRESH};

fn reno() -> (Box<dyn Congestion>, State) {
    let mut control = bentpipe_congestion::create("reno", &BTreeMap::new()).unwrap();
    let mut state = State {
        snd_cwnd: 10,
        snd_cwnd_clamp: 1 << 20,
        snd_ssthresh: INFINITE_SSTHRESH,
        is_cwnd_limited: 1,
        ..State::default()
    };
    control.init(&mut state);
    (control, state)
}

/// Acknowledges a whole window, `acked` segments at a time.
fn acknowledge_window(control: &mut dyn Congestion, state: &mut State, acked: u32) {
    let mut left = state.snd_cwnd;
    while left > 0 {
        control.cong_avoid(state, 0, acked.min(left));
        left -= acked.min(left);
    }
}

#[test]
fn slow_start_doubles_the_window_each_round_trip_with_any_delay_of_acknowledgments() {
    for acked in [1, 2, 5] {
        let (mut control, mut state) = reno();
        let windows: Vec<u32> = (0..5)
            .map(|_| {
                acknowledge_window(control.as_mut(), &mut state, acked);
                state.snd_cwnd
            })
            .collect();
        assert_eq!(windows, [20, 40, 80, 160, 320]);
    }
}

#[test]
fn slow_start_ends_exactly_at_ssthresh_and_the_rest_counts_for_avoidance() {
    let (mut control, mut state) = reno();
    state.snd_ssthresh = 12;
    control.cong_avoid(&mut state, 0, 5);
    assert_eq!((state.snd_cwnd, state.snd_cwnd_cnt), (12, 3));
    control.cong_avoid(&mut state, 0, 9);
    assert_eq!((state.snd_cwnd, state.snd_cwnd_cnt), (13, 0));
}

#[test]
fn avoidance_grows_by_one_segment_each_round_trip() {
    for acked in [1, 2, 3] {
        let (mut control, mut state) = reno();
        state.snd_ssthresh = 10;
        for round in 1..=100 {
            acknowledge_window(control.as_mut(), &mut state, acked);
            assert_eq!(state.snd_cwnd, 10 + round);
        }
    }
}

#[test]
fn credit_from_a_larger_window_yields_one_segment() {
    let (mut control, mut state) = reno();
    (state.snd_ssthresh, state.snd_cwnd_cnt) = (10, 99);
    control.cong_avoid(&mut state, 0, 1);
    assert_eq!((state.snd_cwnd, state.snd_cwnd_cnt), (11, 1));
}

#[test]
fn one_acknowledgment_for_several_windows_is_counted_in_full() {
    let (mut control, mut state) = reno();
    state.snd_ssthresh = 10;
    control.cong_avoid(&mut state, 0, 25);
    assert_eq!((state.snd_cwnd, state.snd_cwnd_cnt), (12, 5));
}

#[test]
fn a_window_that_does_not_limit_sending_does_not_grow() {
    let (mut control, mut state) = reno();
    state.is_cwnd_limited = 0;
    state.max_packets_out = 5;
    control.cong_avoid(&mut state, 0, 1);
    assert_eq!(state.snd_cwnd, 10, "in slow start half of the window was in flight");
    state.max_packets_out = 6;
    control.cong_avoid(&mut state, 0, 1);
    assert_eq!(state.snd_cwnd, 11, "in slow start more than half of the window was in flight");
    state.snd_ssthresh = 10;
    state.max_packets_out = 11;
    control.cong_avoid(&mut state, 0, 100);
    assert_eq!((state.snd_cwnd, state.snd_cwnd_cnt), (11, 0), "in avoidance only the flag counts");
}

#[test]
fn the_window_never_exceeds_the_clamp() {
    let (mut control, mut state) = reno();
    state.snd_cwnd_clamp = 15;
    acknowledge_window(control.as_mut(), &mut state, 1);
    assert_eq!(state.snd_cwnd, 15);
    state.snd_ssthresh = 10;
    acknowledge_window(control.as_mut(), &mut state, 1);
    assert_eq!(state.snd_cwnd, 15);
}

#[test]
fn ssthresh_is_half_the_window_and_at_least_two() {
    let (mut control, mut state) = reno();
    for (cwnd, ssthresh) in [(100, 50), (101, 50), (5, 2), (4, 2), (3, 2), (1, 2)] {
        state.snd_cwnd = cwnd;
        assert_eq!(control.ssthresh(&mut state), ssthresh);
    }
}

#[test]
fn undo_restores_the_window_before_the_reduction_or_keeps_a_larger_one() {
    let (mut control, mut state) = reno();
    (state.snd_cwnd, state.prior_cwnd) = (50, 100);
    assert_eq!(control.undo_cwnd(&mut state), 100);
    state.snd_cwnd = 120;
    assert_eq!(control.undo_cwnd(&mut state), 120);
}

#[test]
fn reno_requests_no_samples() {
    let (control, _) = reno();
    assert!(!control.has_cong_control() && !control.has_pkts_acked());
}
