//! Tests of each variant against the equations of its source. The tests of BBR, CUBIC, Reno and
//! Vegas are in files of their own.

use bentpipe_core::math;
use std::collections::BTreeMap;

use bentpipe_congestion::interface::{
    AckSample, Congestion, State, CA_LOSS, CA_OPEN, CA_RECOVERY, INFINITE_SSTHRESH,
};

const MSS: u32 = 1000;

/// A connection in congestion avoidance.
struct Connection {
    control: Box<dyn Congestion>,
    state: State,
}

impl Connection {
    fn new(name: &str, parameters: &[(&str, i64)], cwnd: u32, rtt_us: u32) -> Connection {
        let parameters =
            parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect::<BTreeMap<_, _>>();
        let mut control = bentpipe_congestion::create(name, &parameters).unwrap();
        let mut state = State {
            snd_cwnd: 10,
            snd_cwnd_clamp: 1 << 28,
            snd_ssthresh: INFINITE_SSTHRESH,
            is_cwnd_limited: 1,
            mss_cache: MSS,
            srtt_us: rtt_us * 8,
            rtt_min_us: rtt_us,
            tcp_mstamp: 1_000_000_000,
            sk_pacing_rate: u64::MAX,
            sk_max_pacing_rate: u64::MAX,
            ..State::default()
        };
        control.init(&mut state);
        (state.snd_cwnd, state.snd_ssthresh) = (cwnd, cwnd.min(INFINITE_SSTHRESH));
        Connection { control, state }
    }

    /// Simulates one round trip of `microseconds`: a window is sent and acknowledged segment by
    /// segment, evenly spread.
    fn round(&mut self, microseconds: u32) {
        let window = self.state.snd_cwnd;
        self.state.srtt_us = microseconds * 8;
        let begin = self.state.tcp_mstamp;
        for number in 1..=window {
            self.state.snd_nxt = self.state.snd_nxt.wrapping_add(MSS);
            self.state.packets_out = window;
            self.state.tcp_mstamp = begin + u64::from(microseconds) * u64::from(number) / u64::from(window);
            self.state.snd_una = self.state.snd_nxt.wrapping_sub(window * MSS);
            self.state.delivered += 1;
            let sample = AckSample { pkts_acked: 1, rtt_us: microseconds as i32, in_flight: window };
            self.control.pkts_acked(&mut self.state, &sample);
            let ack = self.state.snd_una;
            self.control.cong_avoid(&mut self.state, ack, 1);
        }
    }

    fn rounds(&mut self, count: u32, microseconds: u32) -> u32 {
        (0..count).for_each(|_| self.round(microseconds));
        self.state.snd_cwnd
    }

    /// Applies a loss and returns the reduced window.
    fn lose(&mut self) -> u32 {
        self.state.prior_cwnd = self.state.snd_cwnd;
        self.state.snd_ssthresh = self.control.ssthresh(&mut self.state);
        self.control.set_state(&mut self.state, CA_RECOVERY);
        self.state.ca_state = CA_RECOVERY;
        self.state.snd_cwnd = self.state.snd_ssthresh;
        self.control.set_state(&mut self.state, CA_OPEN);
        self.state.ca_state = CA_OPEN;
        self.state.snd_cwnd
    }
}

/// Returns the window after rounds in which every acknowledgment adds `a` / window: slightly less
/// than `a` per round, because the window grows during the round.
fn additive(window: f64, a: f64, rounds: u32) -> f64 {
    (0..rounds).fold(window, |window, _| (window * window + 2.0 * a * window).sqrt())
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} instead of {expected} within {tolerance}");
}

#[test]
fn hybla_grows_per_second_as_a_connection_of_25_ms() {
    // Congestion avoidance: one segment per 25 ms per 25 ms, so in a round trip of rho x 25 ms
    // rho^2 segments.
    for rho in [1u32, 2, 4, 10] {
        let mut hybla = Connection::new("hybla", &[("hoe", 0)], 1000, rho * 25_000);
        let expected = additive(1000.0, f64::from(rho * rho), 5);
        assert_near(f64::from(hybla.rounds(5, rho * 25_000)), expected, 2.0);
    }
    // Slow start: each acknowledged segment adds 2^rho - 1 segments, 4.657 for rho = 2.5.
    let mut hybla = Connection::new("hybla", &[("hoe", 0)], 10, 62_500);
    hybla.state.snd_ssthresh = INFINITE_SSTHRESH;
    hybla.round(62_500);
    assert_near(f64::from(hybla.state.snd_cwnd), 10.0 + 10.0 * (math::powf(2f64, 2.5) - 1.0), 1.0);
    // With shorter round-trip times, Hybla behaves as Reno.
    let mut hybla = Connection::new("hybla", &[("hoe", 0)], 100, 5_000);
    assert_near(f64::from(hybla.rounds(3, 5_000)), additive(100.0, 1.0, 3), 1.0);
}

/// Windows of Linux 6.12's module in virtual time (4 Mbit/s, 20 ms each way; the case `leo-hybla`
/// of parity.py), whose first smoothed round-trip time is 40.6 ms: rho is 1.5 there.
#[test]
fn hybla_as_linux_counts_in_eighths_and_128ths_for_each_acknowledgment() {
    const LINUX: [u32; 18] = [2, 4, 6, 8, 10, 11, 13, 15, 17, 19, 21, 22, 24, 26, 28, 30, 32, 33];
    let linux = [("hoe", 0), ("spacing", 0), ("coarse", 1), ("per_ack", 1), ("from_rho", 1)];
    let mut hybla = Connection::new("hybla", &linux, 10, 40_600);
    hybla.control.init(&mut hybla.state);
    assert_eq!(hybla.state.snd_cwnd, 1, "starts with a window of rho");
    hybla.state.snd_ssthresh = INFINITE_SSTHRESH;
    let mut acknowledge = |state: &mut State| {
        hybla.control.cong_avoid(state, 0, 2);
        state.snd_cwnd
    };
    assert_eq!(LINUX.map(|_| acknowledge(&mut hybla.state)), LINUX);
    // In Linux, congestion avoidance from 26 to 45 segments took 313 acknowledgments. The first
    // step starts with credit.
    (hybla.state.snd_cwnd, hybla.state.snd_ssthresh) = (25, 25);
    while acknowledge(&mut hybla.state) < 26 {}
    let acknowledgments = (1..).find(|_| acknowledge(&mut hybla.state) == 45);
    assert!((312..=315).contains(&acknowledgments.unwrap()), "{acknowledgments:?}");
    // Where rho^2 / W is less than a 128th, with rho being 1, the window grows as Reno's.
    let mut hybla = Connection::new("hybla", &linux, 200, 20_000);
    assert_near(f64::from(hybla.rounds(3, 20_000)), additive(200.0, 1.0, 3), 1.0);
}

#[test]
fn hybla_estimates_its_first_threshold_from_the_spacing_of_acknowledgments() {
    // Acknowledgments 2 ms apart: 500 segments per second, 300 in 600 ms.
    let mut hybla = Connection::new("hybla", &[], 10, 600_000);
    hybla.state.snd_ssthresh = INFINITE_SSTHRESH;
    for number in 1..=5 {
        hybla.state.tcp_mstamp += 2_000;
        let sample = AckSample { pkts_acked: 1, rtt_us: 600_000, in_flight: 10 };
        hybla.control.pkts_acked(&mut hybla.state, &sample);
        hybla.control.cong_avoid(&mut hybla.state, number * MSS, 1);
    }
    assert!((299..=300).contains(&hybla.state.snd_ssthresh), "{}", hybla.state.snd_ssthresh);
    // Slow start would add 2^24 segments but ends at the threshold. From there, two acknowledgments
    // add rho^2 / W each.
    assert_near(f64::from(hybla.state.snd_cwnd), 299.0 + 2.0 * 24.0 * 24.0 / 299.0, 2.0);
    assert_eq!(hybla.state.sk_pacing_status, 1, "segments are spaced");
}

#[test]
fn westwood_reduces_the_window_to_the_measured_rate_times_minimum_delay() {
    // 100 segments every 100 ms. The round-trip time was 80 ms while the path was empty.
    let mut westwood = Connection::new("westwood", &[], 100, 80_000);
    westwood.round(80_000);
    westwood.state.is_cwnd_limited = 0;
    for _ in 0..60 {
        westwood.state.snd_cwnd = 100;
        westwood.round(100_000);
    }
    westwood.state.snd_cwnd = 300;
    assert_near(f64::from(westwood.lose()), 80.0, 2.0);
}

#[test]
fn second_order_westwood_filters_twice() {
    for (order, left) in [(1, 0.9f64.powi(5)), (2, 0.9f64.powi(5) * 1.5)] {
        let mut westwood = Connection::new("westwood", &[("order", order)], 80, 80_000);
        westwood.state.is_cwnd_limited = 0;
        westwood.round(80_000);
        // The rate falls from 80 to 40 segments per round trip. After five samples, a fraction
        // `left` of the difference remains. Each sample ends with the first acknowledgment of the
        // next round. The first acknowledgment at 40 segments arrives a millisecond later than at
        // 80.
        westwood.state.snd_cwnd = 40;
        westwood.rounds(6, 80_000);
        let first = 80.0 * 80.0 / 81.0;
        assert_near(f64::from(westwood.lose()), 40.0 + (first - 40.0) * left, 1.0);
    }
}

#[test]
fn compound_adds_a_delay_window_without_a_queue_and_removes_it_with_a_queue() {
    // Equation (3) with wnd: each round trip adds Reno's segment and wnd^0.75 / 8 - 1 segments,
    // wnd^0.75 / 8 in total.
    let mut compound = Connection::new("compound", &[], 200, 100_000);
    // The first round ends with the second's first acknowledgment.
    let mut expected = 201.0f64;
    for _ in 0..9 {
        expected += math::powf(expected, 0.75) / 8.0;
    }
    let grown = compound.rounds(10, 100_000);
    assert_near(f64::from(grown), expected, 3.0);
    // 30 % of the window is queued, more than gamma, so dwnd shrinks by this amount until only
    // Reno's part remains.
    let before = compound.state.snd_cwnd;
    compound.state.srtt_us = 143_000 * 8;
    let after = compound.rounds(2, 143_000);
    assert!(after < before, "{before} to {after}");
    // Small windows grow as Reno's.
    assert_eq!(Connection::new("compound", &[], 30, 100_000).rounds(5, 100_000), 35);
    assert_eq!(Connection::new("compound", &[], 100, 100_000).lose(), 50);
}

#[test]
fn scalable_gains_a_hundredth_and_loses_an_eighth() {
    let mut scalable = Connection::new("scalable", &[], 1000, 100_000);
    assert_near(f64::from(scalable.rounds(10, 100_000)), 1000.0 * 1.01f64.powi(10), 3.0);
    scalable.state.snd_cwnd = 800;
    assert_eq!(scalable.lose(), 700);
    assert_eq!(Connection::new("scalable", &[], 10, 100_000).rounds(4, 100_000), 14);
    assert_eq!(Connection::new("scalable", &[], 16, 100_000).lose(), 8);
}

#[test]
fn highspeed_follows_the_table_of_rfc_3649() {
    // Appendix B: w, a(w) reached there, b(w).
    for (w, a, b) in [
        (38, 1.0, 0.50),
        (118, 2.0, 0.44),
        (221, 3.0, 0.41),
        (347, 4.0, 0.38),
        (495, 5.0, 0.37),
        (1058, 8.0, 0.33),
        (2076, 12.0, 0.29),
        (5036, 20.0, 0.25),
        (10661, 30.0, 0.21),
    ] {
        let mut highspeed = Connection::new("highspeed", &[], w, 100_000);
        let before = f64::from(highspeed.state.snd_cwnd);
        assert_near(f64::from(highspeed.rounds(4, 100_000)) - before, 4.0 * a, 0.06 * 4.0 * a + 1.0);
        let mut highspeed = Connection::new("highspeed", &[], w, 100_000);
        assert_near(f64::from(highspeed.lose()) / f64::from(w), 1.0 - b, 0.012);
    }
}

#[test]
fn illinois_grows_by_ten_without_delay_and_by_a_third_at_the_largest() {
    let mut illinois = Connection::new("illinois", &[], 500, 100_000);
    illinois.rounds(3, 100_000);
    let before = illinois.state.snd_cwnd;
    assert_near(f64::from(illinois.rounds(10, 100_000) - before), 100.0, 3.0);
    assert_eq!((f64::from(illinois.lose()) / f64::from(before + 100) * 16.0).round(), 14.0, "beta is 1/8");
    // The largest delay: alpha 0.3, beta 1/2.
    illinois.state.snd_cwnd = 500;
    illinois.rounds(2, 200_000);
    let before = illinois.state.snd_cwnd;
    assert_near(f64::from(illinois.rounds(20, 200_000) - before), 6.0, 2.0);
    let before = illinois.state.snd_cwnd;
    assert_eq!(illinois.lose(), before - before / 2);
}

#[test]
fn veno_distinguishes_random_losses_from_congestion() {
    let mut veno = Connection::new("veno", &[], 100, 100_000);
    assert_eq!(veno.rounds(6, 100_000), 106);
    assert_eq!(veno.lose(), 84, "four fifths of 106");
    // 10 % of the window queued.
    veno.state.snd_cwnd = 100;
    veno.round(111_111);
    let before = veno.state.snd_cwnd;
    assert_near(f64::from(veno.rounds(8, 111_111) - before), 4.0, 1.0);
    let before = veno.state.snd_cwnd;
    assert_eq!(veno.lose(), before / 2);
}

#[test]
fn htcp_grows_with_the_time_since_the_last_loss() {
    let mut htcp = Connection::new("htcp", &[], 1000, 100_000);
    htcp.lose();
    htcp.state.snd_cwnd = 1000;
    htcp.rounds(9, 100_000);
    assert_near(f64::from(htcp.state.snd_cwnd), 1009.0, 1.0);
    // After 11 s: alpha(D) = 1 + 10 x 10 + 5^2 = 126, times 2 (1 - beta) = 1.
    htcp.state.tcp_mstamp += 10_050_000;
    let before = htcp.state.snd_cwnd;
    htcp.round(100_000);
    assert_near(f64::from(htcp.state.snd_cwnd), additive(f64::from(before), 126.0, 1), 4.0);
}

/// Returns the window a round trip later, 11 s after a loss that left 1000 segments: alpha(D) is
/// 126.
fn htcp_after_eleven_seconds(parameters: &[(&str, i64)], rtt_us: u32) -> f64 {
    let mut htcp = Connection::new("htcp", parameters, 1000, rtt_us);
    htcp.round(rtt_us);
    htcp.lose();
    htcp.state.snd_cwnd = 1000;
    htcp.state.tcp_mstamp += 11_000_000 - u64::from(rtt_us / 2);
    htcp.round(rtt_us);
    f64::from(htcp.state.snd_cwnd)
}

#[test]
fn htcp_can_scale_its_growth_with_the_round_trip_time() {
    for (rtt_ms, scale) in [(40, 0.4), (100, 1.0), (150, 1.5), (500, 2.0), (5, 0.1)] {
        let window = htcp_after_eleven_seconds(&[("rtt_reference", 100)], rtt_ms * 1000);
        assert_near(window, additive(1000.0, 126.0 * scale, 1), 4.0);
    }
    assert_near(htcp_after_eleven_seconds(&[], 500_000), additive(1000.0, 126.0, 1), 4.0);
    // 1000 acknowledgments; at most every second one permits a segment.
    assert_near(htcp_after_eleven_seconds(&[("coarse", 1)], 100_000), 1000.0 + 1000.0 / 9.0, 12.0);
    let cwnd = htcp_after_eleven_seconds(&[("coarse", 1), ("delta_low", 0)], 5_000_000);
    assert!(cwnd <= 1500.0, "{cwnd}");
}

#[test]
fn htcp_counts_time_and_rate_from_the_end_of_a_repair() {
    let after_repair = |parameters: &[(&str, i64)]| {
        let mut htcp = Connection::new("htcp", parameters, 1000, 100_000);
        htcp.control.ssthresh(&mut htcp.state);
        htcp.control.set_state(&mut htcp.state, CA_RECOVERY);
        htcp.state.tcp_mstamp += 10_000_000;
        htcp.control.set_state(&mut htcp.state, CA_OPEN);
        f64::from(htcp.rounds(5, 100_000))
    };
    assert_near(after_repair(&[("from_repair", 1)]), 1005.0, 1.0);
    assert!(after_repair(&[]) > 1400.0);

    // The window falls to a third. Segments sent before the loss do not count for the rate after
    // it.
    let mut htcp = Connection::new("htcp", &[], 900, 100_000);
    htcp.state.is_cwnd_limited = 0;
    htcp.rounds(3, 100_000);
    htcp.control.ssthresh(&mut htcp.state);
    htcp.control.set_state(&mut htcp.state, CA_RECOVERY);
    htcp.round(100_000);
    htcp.control.set_state(&mut htcp.state, CA_OPEN);
    htcp.state.snd_cwnd = 300;
    htcp.rounds(3, 120_000);
    assert_eq!(htcp.lose(), 150, "half, since the rate changed by more than a fifth");
}

#[test]
fn htcp_reduction_empties_the_queue_at_a_steady_rate() {
    let mut htcp = Connection::new("htcp", &[], 500, 100_000);
    htcp.state.is_cwnd_limited = 0;
    htcp.rounds(3, 100_000);
    for _ in 0..2 {
        htcp.state.snd_cwnd = 700;
        htcp.rounds(5, 140_000);
        htcp.lose();
    }
    htcp.state.snd_cwnd = 700;
    htcp.rounds(5, 140_000);
    assert_near(f64::from(htcp.lose()) / 700.0, 1.0 / 1.4, 0.02);
}

#[test]
fn bic_searches_half_the_distance_and_then_probes_beyond() {
    let mut bic = Connection::new("bic", &[], 1000, 100_000);
    assert_eq!(bic.lose(), 875);
    // Half of 125 exceeds S_max = 32 until the distance is 64.
    let mut windows = vec![bic.state.snd_cwnd];
    for _ in 0..30 {
        bic.round(100_000);
        windows.push(bic.state.snd_cwnd);
    }
    assert_near(f64::from(windows[2] - windows[0]), 64.0, 3.0);
    assert!((990..=1001).contains(&windows[7]), "{windows:?}");
    let flat = windows.iter().position(|window| *window >= 999).unwrap();
    assert!(windows[30] > 1100, "{windows:?}");
    let steps: Vec<u32> = windows[flat..].windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().max() <= Some(&33) && steps.last() >= Some(&31), "{steps:?}");
    assert_eq!(Connection::new("bic", &[], 12, 100_000).rounds(1, 100_000), 13);
}

#[test]
fn yeah_is_scalable_with_a_short_queue_and_empties_a_long_one() {
    let mut yeah = Connection::new("yeah", &[], 1000, 100_000);
    assert_near(f64::from(yeah.rounds(10, 100_000)), 1000.0 * 1.01f64.powi(10), 12.0);
    // 20 % queued: more than 80 segments, and more than an eighth of the round trip.
    let before = yeah.state.snd_cwnd;
    yeah.rounds(2, 125_000);
    assert_near(f64::from(yeah.state.snd_cwnd), 0.8 * f64::from(before), 0.03 * f64::from(before));
    let mut yeah = Connection::new("yeah", &[], 800, 100_000);
    assert_eq!(yeah.lose(), 700, "an eighth, as nothing is queued");
}

/// Ends the round with the acknowledgment of a segment with a round-trip time of `rtt_us`, while a
/// window of `cwnd` is in flight.
fn end_round(yeah: &mut Connection, rtt_us: i32) {
    yeah.state.packets_out = yeah.state.snd_cwnd;
    yeah.state.snd_nxt += MSS;
    let sample = AckSample { pkts_acked: 1, rtt_us, in_flight: yeah.state.snd_cwnd };
    yeah.control.pkts_acked(&mut yeah.state, &sample);
    let ack = yeah.state.snd_nxt;
    yeah.control.cong_avoid(&mut yeah.state, ack, 1);
}

/// Values of Linux 6.12's module over VBDC at 6.99 s (docs/notes/linux-tcp.md): round-trip times of
/// 618.3 (base) and 1247.7 ms (round).
#[test]
fn yeah_evaluates_a_round_with_the_window_after_its_last_acknowledgment() {
    let mut yeah = Connection::new("yeah", &[("early", 1)], 160, 618_300);
    yeah.state.snd_ssthresh = INFINITE_SSTHRESH;
    end_round(&mut yeah, 618_300);
    assert_eq!(yeah.state.snd_cwnd, 161, "nothing is queued");
    yeah.state.snd_cwnd = 160;
    // 80.7 of 160 segments are queued, and 81.2 of 161, more than 80. At most half of the window is
    // removed.
    end_round(&mut yeah, 1_247_700);
    assert_eq!((yeah.state.snd_cwnd, yeah.state.snd_ssthresh), (81, 81));
}

/// Values of Linux 6.12's module over LEO at 0.65 s (docs/notes/linux-tcp.md).
#[test]
fn yeah_subtracts_the_queue_of_the_last_round_at_every_loss() {
    let mut yeah = Connection::new("yeah", &[], 95, 100_000);
    end_round(&mut yeah, 100_000);
    // Of 95 segments 25 are queued.
    end_round(&mut yeah, 136_000);
    assert_eq!(yeah.lose(), 70);
    assert_eq!(yeah.lose(), 45, "no round has ended since");
}

#[test]
fn yeah_does_not_subtract_the_queue_before_the_loss_twice() {
    let mut yeah = Connection::new("yeah", &[], 800, 100_000);
    yeah.rounds(2, 100_000);
    // A round ends here, and another begins.
    yeah.state.snd_nxt += MSS;
    let ack = yeah.state.snd_nxt;
    yeah.control.cong_avoid(&mut yeah.state, ack, 1);
    let left = yeah.control.ssthresh(&mut yeah.state);
    yeah.control.set_state(&mut yeah.state, CA_RECOVERY);
    for _ in 0..100 {
        yeah.state.snd_nxt += MSS;
        let sample = AckSample { pkts_acked: 1, rtt_us: 150_000, in_flight: 800 };
        yeah.control.pkts_acked(&mut yeah.state, &sample);
    }
    yeah.control.set_state(&mut yeah.state, CA_OPEN);
    yeah.state.snd_cwnd = left;
    let ack = yeah.state.snd_nxt;
    yeah.control.cong_avoid(&mut yeah.state, ack, 1);
    assert!((left..=left + 1).contains(&yeah.state.snd_cwnd), "{} of {left}", yeah.state.snd_cwnd);
}

#[test]
fn lp_backs_off_when_the_delay_rises_and_again_in_the_inference_phase() {
    let mut lp = Connection::new("lp", &[], 100, 100_000);
    assert_eq!(lp.rounds(3, 100_000), 103, "Reno's increase");
    // The delay rises above 15 % of its range: the window is halved, and halved again a round trip
    // later, because the delay stays high.
    lp.state.tcp_mstamp += 1;
    lp.round(200_000);
    assert!(lp.state.snd_cwnd <= 52, "{}", lp.state.snd_cwnd);
    lp.rounds(5, 200_000);
    assert!(lp.state.snd_cwnd <= 2, "{}", lp.state.snd_cwnd);
    lp.rounds(60, 100_000);
    assert!(lp.state.snd_cwnd > 20, "{}", lp.state.snd_cwnd);
}

#[test]
fn ledbat_keeps_the_target_and_halves_once_on_loss() {
    // The window grows by one segment per round trip without a queue, and by half a segment with
    // half the target queued. It shrinks above the target.
    let mut ledbat = Connection::new("ledbat", &[], 100, 100_000);
    assert_near(f64::from(ledbat.rounds(10, 100_000)), 110.0, 1.0);
    let before = ledbat.state.snd_cwnd;
    assert_near(f64::from(ledbat.rounds(10, 150_000) - before), 5.0, 1.0);
    let before = ledbat.state.snd_cwnd;
    assert_near(f64::from(ledbat.rounds(10, 200_000)) - f64::from(before), 0.0, 1.0);
    let before = ledbat.state.snd_cwnd;
    assert_near(f64::from(before - ledbat.rounds(10, 250_000)), 5.0, 1.5);
    let before = ledbat.state.snd_cwnd;
    assert_eq!(ledbat.lose(), before / 2);
}

#[test]
fn time_outs_reset_the_state_as_specified_by_each_source() {
    for name in ["compound", "illinois", "veno"] {
        let mut control = Connection::new(name, &[], 200, 100_000);
        control.rounds(5, 100_000);
        control.state.snd_ssthresh = control.control.ssthresh(&mut control.state);
        control.control.set_state(&mut control.state, CA_LOSS);
        control.control.set_state(&mut control.state, CA_OPEN);
        (control.state.snd_cwnd, control.state.snd_ssthresh) = (20, 20);
        // The new path is longer, which is not a queue.
        let grown = control.rounds(8, 300_000) - 20;
        assert!(grown >= 8, "{name} grew by {grown}");
    }
}
