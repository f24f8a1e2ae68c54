//! Prague, by the equations of draft-briscoe-iccrg-prague-congestion-control-04, section 2.

use std::collections::BTreeMap;

use bentpipe_congestion::interface::{
    Congestion, RateSample, State, CA_CWR, CA_OPEN, CA_RECOVERY, INFINITE_SSTHRESH, PACING_NEEDED,
};

struct Connection {
    control: Box<dyn Congestion>,
    state: State,
}

impl Connection {
    /// A connection in congestion avoidance with this window and round-trip time.
    fn new(cwnd: u32, rtt_us: u32) -> Connection {
        let mut control = bentpipe_congestion::create("prague", &BTreeMap::new()).unwrap();
        let mut state = State {
            snd_cwnd: cwnd,
            snd_cwnd_clamp: 1 << 24,
            snd_ssthresh: cwnd,
            mss_cache: 1000,
            srtt_us: 8 * rtt_us,
            is_cwnd_limited: 1,
            delivered: 1,
            tcp_mstamp: 1_000_000,
            sk_pacing_rate: u64::MAX,
            sk_max_pacing_rate: u64::MAX,
            accurate_ecn: 1,
            ..State::default()
        };
        control.init(&mut state);
        Connection { control, state }
    }

    fn acknowledge(&mut self, acked: u32, marked: u32) {
        self.state.delivered += acked;
        self.state.delivered_ce += marked;
        let sample = RateSample { acked_sacked: acked, ..RateSample::default() };
        self.control.cong_control(&mut self.state, &sample);
    }

    /// A round trip in which `acked` segments are acknowledged one by one, the first `marked` of
    /// them with a mark. The time passes before the last one.
    fn round(&mut self, acked: u32, marked: u32) {
        for number in 1..=acked {
            if number == acked {
                self.state.tcp_mstamp += u64::from(self.state.srtt_us / 8);
            }
            self.acknowledge(1, u32::from(number <= marked));
        }
    }
}

/// Alpha starts at 1 and follows the fraction of marks with a gain of 1/16 (sections 2.3.2 and
/// 2.4.2). It is visible in the reduction: (1 - alpha / 2) W.
#[test]
fn the_window_falls_in_proportion_to_the_moving_average_of_marks() {
    let mut one = Connection::new(1000, 100_000);
    one.acknowledge(1, 1);
    assert_eq!(one.state.snd_cwnd, 500, "alpha is 1 before the first round trip ends");
    assert_eq!(one.state.snd_ssthresh, 500);

    // Each round trip without marks leaves 15/16 of alpha.
    let mut one = Connection::new(1000, 100_000);
    one.state.is_cwnd_limited = 0;
    for _ in 0..20 {
        one.round(10, 0);
    }
    let alpha = (15.0f64 / 16.0).powi(20);
    one.acknowledge(1, 1);
    let window = 1000.0 * (1.0 - alpha / 2.0);
    assert_eq!(one.state.snd_cwnd, window as u32);

    // With half of the segments marked, alpha goes to 1/2: 1/2 + (15/16)^n / 2.
    let mut one = Connection::new(100_000, 100_000);
    one.state.is_cwnd_limited = 0;
    let mut window = 100_000.0;
    for round in 0..40 {
        one.round(10, 5);
        // The reduction comes with the round's first mark, before the update of alpha.
        window *= 1.0 - (0.5 + 0.5 * (15.0f64 / 16.0).powi(round)) / 2.0;
        if one.state.snd_cwnd > 1000 {
            assert!((f64::from(one.state.snd_cwnd) - window).abs() < 2.0, "{round}");
        }
    }
}

/// One reduction per virtual round-trip time, however many marks arrive (section 2.4.2).
#[test]
fn marks_of_one_round_trip_reduce_the_window_once() {
    let mut one = Connection::new(1000, 100_000);
    one.state.is_cwnd_limited = 0;
    one.acknowledge(1, 1);
    one.acknowledge(10, 10);
    one.state.tcp_mstamp += 99_999;
    one.acknowledge(1, 1);
    assert_eq!(one.state.snd_cwnd, 500);
    one.state.tcp_mstamp += 1;
    one.acknowledge(1, 1);
    assert!(one.state.snd_cwnd < 500);
}

/// One segment per round trip of 25 ms or more; (R / 25 ms)^2 segments below (section 2.4.4).
/// Marked segments do not count (section 2.4.3).
#[test]
fn the_increase_depends_on_the_virtual_round_trip_time() {
    let grown = |rtt_us, rounds| {
        let mut one = Connection::new(1000, rtt_us);
        for _ in 0..rounds {
            let window = one.state.snd_cwnd;
            one.round(window, 0);
        }
        one.state.snd_cwnd - 1000
    };
    assert!((99..=100).contains(&grown(100_000, 100)), "{}", grown(100_000, 100));
    assert!((99..=100).contains(&grown(25_000, 100)));
    // 25 round trips of 5 ms add 25 / 25 segments.
    assert!((3..=4).contains(&grown(5_000, 100)));

    let mut one = Connection::new(1000, 100_000);
    one.acknowledge(1, 1);
    let after_cut = one.state.snd_cwnd;
    for _ in 0..10 * after_cut / 2 {
        one.acknowledge(2, 1);
    }
    // Ten windows, half of whose segments are marked: five segments, within the same round trip.
    assert!((4..=5).contains(&(one.state.snd_cwnd - after_cut)), "{}", one.state.snd_cwnd);
}

/// The rate is W / R, doubled in slow start (section 2.5), and pacing is on.
#[test]
fn segments_are_paced_at_the_window_per_round_trip() {
    let mut one = Connection::new(1000, 100_000);
    assert_eq!(one.state.sk_pacing_status, PACING_NEEDED);
    one.state.is_cwnd_limited = 0;
    one.acknowledge(1, 0);
    assert_eq!(one.state.sk_pacing_rate, 10_000_000);
    one.state.snd_ssthresh = INFINITE_SSTHRESH;
    one.acknowledge(1, 0);
    assert_eq!(one.state.sk_pacing_rate, 20_000_000);
}

/// Enters a state as an endpoint does.
fn enter(one: &mut Connection, state: u32) {
    one.state.prior_cwnd = one.state.snd_cwnd;
    one.state.snd_ssthresh = one.control.ssthresh(&mut one.state);
    one.control.set_state(&mut one.state, state);
    one.state.ca_state = state;
}

/// A loss halves the window, also together with a reduction for marks in the same round trip
/// (section 2.4.1).
#[test]
fn a_loss_halves_the_window_like_reno() {
    let mut one = Connection::new(1000, 100_000);
    enter(&mut one, CA_RECOVERY);
    assert_eq!((one.state.snd_cwnd, one.state.snd_ssthresh), (500, 500));

    let mut one = Connection::new(1000, 100_000);
    one.state.is_cwnd_limited = 0;
    (0..40).for_each(|_| one.round(10, 0));
    enter(&mut one, CA_CWR);
    assert_eq!((one.state.snd_cwnd, one.state.snd_ssthresh), (1000, 1000), "the marks decide");
    one.acknowledge(1, 1);
    assert!(one.state.snd_cwnd > 950, "{}", one.state.snd_cwnd);
    one.control.set_state(&mut one.state, CA_RECOVERY);
    assert_eq!(one.state.snd_cwnd, 500);
}

/// Without accurate feedback: Reno (section 2.3.1; RFC 9331, section 4.3).
#[test]
fn without_accurate_feedback_a_mark_halves_the_window() {
    let mut one = Connection::new(1000, 100_000);
    one.state.accurate_ecn = 0;
    (0..40).for_each(|_| one.round(10, 0));
    let window = one.state.snd_cwnd;
    enter(&mut one, CA_CWR);
    assert_eq!(one.state.snd_cwnd, window / 2);
    one.acknowledge(10, 10);
    assert_eq!(one.state.snd_cwnd, window / 2, "no growth and no second reduction");
    one.control.set_state(&mut one.state, CA_OPEN);
    one.state.ca_state = CA_OPEN;
    let window = one.state.snd_cwnd;
    one.round(window + 1, 0);
    assert_eq!(one.state.snd_cwnd, window + 1);
}

#[test]
fn prague_is_the_scalable_control() {
    assert!(bentpipe_congestion::is_scalable("prague"));
    assert!(!bentpipe_congestion::is_scalable("cubic") && !bentpipe_congestion::is_scalable("bbr"));
    let control = bentpipe_congestion::create("prague", &BTreeMap::new()).unwrap();
    assert!(control.is_scalable());
}

/// Sections 2.4.2 and 2.4.3 in balance, if each segment is marked with probability p: a window W
/// grows by 1 - p per round trip and falls by p W / 2 per reduction. After a reduction, one round
/// trip and on average 1 / (p W) round trips until the next mark pass. With x = p W: x^2 = 2 (1 -
/// p) (x + 1).
#[test]
fn the_mean_window_balances_increase_and_random_marks() {
    for p in [0.01f64, 0.02, 0.05, 0.1] {
        let mut one = Connection::new(100, 100_000);
        let mut random = 1u64;
        let (mut sum, mut count) = (0.0, 0.0);
        for round in 0..6000 {
            let window = one.state.snd_cwnd;
            for _ in 0..window {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let is_marked = ((random >> 33) as f64) < p * 2f64.powi(31);
                one.state.tcp_mstamp += u64::from(100_000 / window);
                one.acknowledge(1, u32::from(is_marked));
            }
            if round >= 1000 {
                sum += f64::from(window);
                count += 1.0;
            }
        }
        let growth = 1.0 - p;
        let expected = (growth + (growth * growth + 2.0 * growth).sqrt()) / p;
        let mean = sum / count;
        assert!((mean / expected - 1.0).abs() < 0.1, "p {p}: {mean} instead of {expected}");
    }
}
