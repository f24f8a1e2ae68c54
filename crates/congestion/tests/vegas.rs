//! Tests of Vegas against Brakmo and Peterson's paper and the deviations of Linux.

use std::collections::{BTreeMap, VecDeque};

use bentpipe_congestion::interface::{
    AckSample, Congestion, Event, State, CA_LOSS, CA_OPEN, CA_RECOVERY, INFINITE_SSTHRESH,
};

const MSS: u32 = 1000;
const BASE_RTT_US: i32 = 500_000;

fn vegas(cwnd: u32, ssthresh: u32, parameters: &[(&str, i64)]) -> (Box<dyn Congestion>, State) {
    let parameters: BTreeMap<String, i64> =
        parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let mut control = bentpipe_congestion::create("vegas", &parameters).unwrap();
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

/// Simulates one round trip: a window is sent and acknowledged, segment by segment, each with this
/// round-trip time.
fn round(control: &mut dyn Congestion, state: &mut State, rtt_us: i32) {
    let window = state.snd_cwnd;
    state.snd_nxt = state.snd_una.wrapping_add(window * MSS);
    for _ in 0..window {
        state.snd_una = state.snd_una.wrapping_add(MSS);
        control.pkts_acked(state, &AckSample { pkts_acked: 1, rtt_us, in_flight: window });
        let ack = state.snd_una;
        control.cong_avoid(state, ack, 1);
        state.snd_nxt = state.snd_nxt.wrapping_add(MSS);
    }
}

/// Sends the acknowledgment that ends a round in which three segments had this round-trip time.
fn decide(control: &mut dyn Congestion, state: &mut State, rtt_us: i32) {
    for _ in 0..3 {
        control.pkts_acked(state, &AckSample { pkts_acked: 1, rtt_us, in_flight: state.snd_cwnd });
    }
    state.snd_una = state.snd_nxt.wrapping_add(MSS);
    state.snd_nxt = state.snd_una.wrapping_add(state.snd_cwnd * MSS);
    let ack = state.snd_una;
    control.cong_avoid(state, ack, 1);
}

/// Returns a connection in congestion avoidance whose base round-trip time is known.
fn in_avoidance(cwnd: u32, parameters: &[(&str, i64)]) -> (Box<dyn Congestion>, State) {
    let (mut control, mut state) = vegas(cwnd, cwnd / 2, parameters);
    decide(control.as_mut(), &mut state, BASE_RTT_US);
    state.snd_cwnd = cwnd;
    (control, state)
}

/// Returns the round-trip time at which Diff = cwnd (RTT - BaseRTT) / BaseRTT is `diff` segments
/// and a half.
fn rtt_for(diff: i32, cwnd: u32) -> i32 {
    BASE_RTT_US + (2 * diff + 1) * BASE_RTT_US / (2 * cwnd as i32)
}

#[test]
fn without_a_queue_avoidance_grows_by_one_segment_each_round_trip() {
    let (mut control, mut state) = in_avoidance(20, &[]);
    // A round ends with the first acknowledgment after the last one of the window.
    round(control.as_mut(), &mut state, BASE_RTT_US);
    let windows: Vec<u32> = (0..6)
        .map(|_| {
            round(control.as_mut(), &mut state, BASE_RTT_US);
            state.snd_cwnd
        })
        .collect();
    assert_eq!(windows, [21, 22, 23, 24, 25, 26]);
}

#[test]
fn the_window_grows_below_alpha_and_shrinks_above_beta() {
    for (diff, change) in [(0, 1), (1, 1), (2, 0), (3, 0), (4, 0), (5, -1), (30, -1)] {
        let (mut control, mut state) = in_avoidance(100, &[]);
        decide(control.as_mut(), &mut state, rtt_for(diff, 100));
        assert_eq!(state.snd_cwnd as i32 - 100, change, "Diff {diff}");
    }
}

#[test]
fn parameters_move_the_thresholds() {
    for (diff, change) in [(6, 1), (7, 0), (9, 0), (10, -1)] {
        let (mut control, mut state) = in_avoidance(100, &[("alpha", 7), ("beta", 9)]);
        decide(control.as_mut(), &mut state, rtt_for(diff, 100));
        assert_eq!(state.snd_cwnd as i32 - 100, change, "Diff {diff}");
    }
}

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let (mut control, mut state) = vegas(10, INFINITE_SSTHRESH, &[]);
    for expected in [20, 40, 80] {
        round(control.as_mut(), &mut state, BASE_RTT_US);
        assert_eq!(state.snd_cwnd, expected);
    }
}

#[test]
fn slow_start_ends_when_more_than_gamma_segments_are_queued() {
    for (gamma, diff, ends) in [(1, 0, false), (1, 1, false), (1, 2, true), (5, 5, false), (5, 6, true)] {
        let (mut control, mut state) = vegas(80, INFINITE_SSTHRESH, &[("gamma", gamma)]);
        decide(control.as_mut(), &mut state, BASE_RTT_US);
        state.snd_cwnd = 80;
        let rtt = rtt_for(diff, 80);
        decide(control.as_mut(), &mut state, rtt);
        if ends {
            // The window that fills the path without a queue, cwnd BaseRTT / RTT, plus one.
            let target = (80 * BASE_RTT_US / rtt) as u32 + 1;
            assert_eq!((state.snd_cwnd, state.snd_ssthresh), (target, target), "gamma {gamma}, Diff {diff}");
        } else {
            assert_eq!(
                (state.snd_cwnd, state.snd_ssthresh),
                (81, INFINITE_SSTHRESH),
                "gamma {gamma}, Diff {diff}"
            );
        }
    }
}

#[test]
fn fewer_than_three_samples_in_a_round_cause_renos_increase() {
    let (mut control, mut state) = in_avoidance(100, &[]);
    for samples in [2, 3] {
        let before = state.snd_cwnd;
        state.snd_nxt = state.snd_una.wrapping_add(100 * MSS);
        // Ends the present round; the next one begins here.
        let ack = state.snd_nxt.wrapping_add(1 << 20);
        control.cong_avoid(&mut state, ack, 1);
        state.snd_cwnd = before;
        state.snd_cwnd_cnt = 0;
        state.snd_una = state.snd_nxt;
        for _ in 0..samples {
            control.pkts_acked(&mut state, &AckSample { pkts_acked: 1, rtt_us: BASE_RTT_US, in_flight: 100 });
        }
        let ack = state.snd_una.wrapping_add(MSS);
        control.cong_avoid(&mut state, ack, 1);
        let grown = u32::from(samples == 3);
        assert_eq!((state.snd_cwnd - before, state.snd_cwnd_cnt), (grown, 1 - grown), "{samples} samples");
    }
}

#[test]
fn samples_of_retransmitted_segments_are_ignored() {
    let (mut control, mut state) = in_avoidance(20, &[]);
    let remembered = state.icsk_ca_priv;
    control.pkts_acked(&mut state, &AckSample { pkts_acked: 1, rtt_us: -1, in_flight: 20 });
    assert_eq!(state.icsk_ca_priv, remembered);
}

#[test]
fn renos_increase_is_used_outside_the_open_state() {
    let (mut control, mut state) = in_avoidance(50, &[]);
    for new_state in [CA_RECOVERY, CA_LOSS] {
        control.set_state(&mut state, new_state);
        state.ca_state = new_state;
        (state.snd_cwnd, state.snd_cwnd_cnt, state.snd_ssthresh) = (50, 0, 25);
        let queue = rtt_for(20, 50);
        round(control.as_mut(), &mut state, queue);
        assert_eq!(state.snd_cwnd, 51, "Reno does not look at the queue");
        control.set_state(&mut state, CA_OPEN);
        state.ca_state = CA_OPEN;
        round(control.as_mut(), &mut state, queue);
        round(control.as_mut(), &mut state, queue);
        assert!(state.snd_cwnd < 51, "Vegas does");
    }
}

#[test]
fn the_base_round_trip_time_is_measured_again_after_idle_time() {
    for event in [Event::TxStart, Event::CwndRestart] {
        let (mut control, mut state) = in_avoidance(50, &[]);
        control.cwnd_event(&mut state, event);
        let longer = 2 * BASE_RTT_US;
        round(control.as_mut(), &mut state, longer);
        let before = state.snd_cwnd;
        round(control.as_mut(), &mut state, longer);
        assert_eq!(state.snd_cwnd, before + 1, "the path is longer now and has no queue");
    }
}

#[test]
fn the_window_shrinks_by_one_each_round_trip_but_not_below_two() {
    let (mut control, mut state) = in_avoidance(5, &[]);
    let windows: Vec<u32> = (0..5)
        .map(|_| {
            decide(control.as_mut(), &mut state, 20 * BASE_RTT_US);
            state.snd_cwnd
        })
        .collect();
    assert_eq!(windows, [4, 3, 2, 2, 2]);
}

#[test]
fn loss_halves_the_window_and_undo_restores_it() {
    let (mut control, mut state) = in_avoidance(50, &[]);
    assert_eq!(control.ssthresh(&mut state), 25);
    (state.snd_cwnd, state.prior_cwnd) = (25, 50);
    assert_eq!(control.undo_cwnd(&mut state), 50);
}

/// Simulates a bottleneck with an unlimited queue: one segment each `service` microseconds, a
/// round-trip time of `base` without a queue. Returns the backlog in segments at each
/// acknowledgment of the second half of `rounds` rounds.
fn backlog(base: u64, service: u64, ssthresh: u32, rounds: u64, parameters: &[(&str, i64)]) -> Vec<u64> {
    let (mut control, mut state) = vegas(10, ssthresh, parameters);
    let mut in_flight: VecDeque<(u64, u64)> = VecDeque::new();
    let (mut now, mut last_ack, mut backlogs) = (0, 0, Vec::new());
    while now < rounds * base {
        while (in_flight.len() as u32) < state.snd_cwnd {
            last_ack = (now + base - service).max(last_ack) + service;
            in_flight.push_back((now, last_ack));
            state.snd_nxt = state.snd_nxt.wrapping_add(MSS);
        }
        let before = in_flight.len() as u32;
        let (sent, acked) = in_flight.pop_front().expect("the window is never empty");
        now = acked;
        state.snd_una = state.snd_una.wrapping_add(MSS);
        let sample = AckSample { pkts_acked: 1, rtt_us: (now - sent) as i32, in_flight: before };
        control.pkts_acked(&mut state, &sample);
        let ack = state.snd_una;
        control.cong_avoid(&mut state, ack, 1);
        if now > rounds * base / 2 {
            backlogs.push((now - sent - base) / service);
        }
    }
    backlogs
}

/// Starts in avoidance at nine tenths of the path's capacity, or in slow start. Slow start
/// overshoots to about twice the capacity. The excess shrinks by one segment per round-trip time,
/// which takes more rounds.
#[test]
fn the_queue_stays_between_alpha_and_beta_segments() {
    let assert_near = |base: u64, service: u64| (9 * base / service / 10) as u32;
    for (base, service, ssthresh, rounds) in [
        (500_000, 5_000, assert_near(500_000, 5_000), 600),
        (500_000, 500, assert_near(500_000, 500), 600),
        (40_000, 1_000, assert_near(40_000, 1_000), 600),
        (500_000, 5_000, INFINITE_SSTHRESH, 1200),
    ] {
        for (alpha, beta) in [(2, 4), (5, 9)] {
            let found = backlog(base, service, ssthresh, rounds, &[("alpha", alpha), ("beta", beta)]);
            let (min, max) = (*found.iter().min().unwrap(), *found.iter().max().unwrap());
            assert!(
                min >= alpha as u64 && max <= beta as u64,
                "{min} to {max} queued over {base} us, {service} us per segment, alpha {alpha}, beta {beta}"
            );
        }
    }
}
