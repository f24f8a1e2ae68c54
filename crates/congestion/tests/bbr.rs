//! BBR, versions 1 and 3, on a path that delivers 1000 segments per second with a round-trip time
//! of 100 ms.

use std::collections::BTreeMap;

use bentpipe_congestion::interface::{Congestion, RateSample, State, CA_RECOVERY, INFINITE_SSTHRESH};

const MSS: u32 = 1000;
/// Bandwidth-delay product in segments.
const BDP: u32 = 100;
/// Pacing rate in bytes per second: the path's rate minus the margin of 1 %.
const RATE: f64 = 990_000.0;

struct Path {
    control: Box<dyn Congestion>,
    state: State,
}

impl Path {
    fn new(name: &str) -> Path {
        let mut control = bentpipe_congestion::create(name, &BTreeMap::new()).unwrap();
        let mut state = State {
            snd_cwnd: 10,
            snd_cwnd_clamp: 1 << 28,
            snd_ssthresh: INFINITE_SSTHRESH,
            mss_cache: MSS,
            srtt_us: 100_000 * 8,
            rtt_min_us: 100_000,
            tcp_mstamp: 1_000_000_000,
            sk_pacing_rate: u64::MAX,
            sk_max_pacing_rate: u64::MAX,
            ..State::default()
        };
        control.init(&mut state);
        Path { control, state }
    }

    /// Simulates a round trip with four acknowledgments: segments permitted by pacing and window
    /// are delivered, at most at the rate of the path.
    fn round(&mut self, losses: i32) {
        let begin = self.state.delivered;
        let paced = (self.state.sk_pacing_rate as f64 / 0.99 / f64::from(MSS) * 0.1).ceil() as u32;
        let flight = self.state.snd_cwnd.min(paced);
        let delivered = flight.min(BDP);
        let interval = if flight > BDP { u64::from(flight) * 1000 } else { 100_000 };
        for quarter in 1..=4 {
            self.state.tcp_mstamp += interval / 4;
            let acked = delivered / 4;
            self.state.delivered += acked;
            self.state.packets_out = flight;
            self.state.lost += losses as u32;
            self.state.is_cwnd_limited = 1;
            let sample = RateSample {
                prior_delivered: begin.saturating_sub(delivered * (4 - quarter) / 4),
                delivered: delivered as i32,
                interval_us: 100_000,
                rtt_us: interval as i64,
                acked_sacked: acked,
                prior_in_flight: flight,
                losses,
                ..RateSample::default()
            };
            self.control.cong_control(&mut self.state, &sample);
        }
    }

    fn pacing(&self) -> f64 {
        self.state.sk_pacing_rate as f64 / RATE
    }
}

#[track_caller]
fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 0.03, "{value} instead of {expected}");
}

#[test]
fn startup_paces_by_its_gain_from_the_first_round_trip_on() {
    // 10 segments in 100 ms: 100 kB/s.
    for (name, gain) in [("bbr", 2.89), ("bbr3", 2.77)] {
        let path = Path::new(name);
        assert_eq!(path.state.sk_pacing_status, 1);
        assert_near(path.pacing() * 10.0, gain);
    }
}

/// Linux 6.12 over 10 Mbit/s and 300 ms: full segments of 1460 bytes leave 21.0417 ms apart after a
/// handshake of 600.09 ms.
#[test]
fn the_first_rate_of_version_1_is_that_of_linux_to_the_byte() {
    let mut control = bentpipe_congestion::create("bbr", &BTreeMap::new()).unwrap();
    let mut state = State {
        snd_cwnd: 10,
        mss_cache: 1460,
        srtt_us: 600_090 * 8,
        sk_max_pacing_rate: u64::MAX,
        ..State::default()
    };
    control.init(&mut state);
    let gap = 1460.0 / state.sk_pacing_rate as f64;
    assert!((gap - 0.021_041_7).abs() < 5e-8, "{gap}");
}

/// While the queue drains, segments that will be delivered before the next segment may leave do not
/// count as in flight.
#[test]
fn drain_compares_the_data_in_flight_at_the_next_departure() {
    let rounds = |wait_ms: u64| {
        let mut path = Path::new("bbr");
        let mut rounds = 0;
        while path.pacing() > 0.5 || rounds < 3 {
            path.round(0);
            rounds += 1;
            assert!(rounds < 20);
        }
        // Draining: the pipe and 60 more segments are in flight, of which `wait_ms` segments will
        // be delivered.
        path.state.tcp_clock_cache = path.state.tcp_mstamp * 1000;
        path.state.tcp_wstamp_ns = path.state.tcp_clock_cache + wait_ms * 1_000_000;
        path.state.packets_out = BDP + 60;
        let sample = RateSample {
            prior_delivered: path.state.delivered - 1,
            delivered: 10,
            interval_us: 100_000,
            rtt_us: 100_000,
            acked_sacked: 1,
            ..RateSample::default()
        };
        path.state.delivered += 1;
        path.control.cong_control(&mut path.state, &sample);
        path.pacing()
    };
    assert!(rounds(0) < 0.5, "still draining");
    assert!(rounds(60) > 0.7, "drained by then");
}

#[test]
fn a_full_pipe_ends_startup_and_the_queue_is_drained() {
    for (name, startup, drain) in [("bbr", 2.89, 1.0 / 2.89), ("bbr3", 2.77, 0.5)] {
        let mut path = Path::new(name);
        let mut seen = Vec::new();
        for _ in 0..18 {
            path.round(0);
            seen.push(path.pacing());
        }
        assert!(seen.iter().any(|pacing| (pacing / startup - 1.0).abs() < 0.03), "{name}: {seen:?}");
        let after = seen.iter().rposition(|pacing| (pacing / drain - 1.0).abs() < 0.03);
        assert!(after.is_some_and(|round| (4..14).contains(&round)), "{name}: {seen:?}");
        // In ProbeBW the rate stays near the path's rate.
        assert!(seen[15..].iter().all(|pacing| (0.7..1.3).contains(pacing)), "{name}: {seen:?}");
    }
}

#[test]
fn the_window_is_two_products_and_three_quanta() {
    let mut path = Path::new("bbr");
    (0..20).for_each(|_| path.round(0));
    // Two segments are a quantum. Probing with 5/4 adds two more, and the segments acknowledged at
    // once.
    let expected = 2 * BDP + 3 * 2;
    let cwnd = path.state.snd_cwnd;
    assert!((expected..expected + BDP).contains(&cwnd), "{cwnd}");
    // After an old round-trip time: four segments for 200 ms.
    path.state.tcp_mstamp += 10_000_000;
    path.round(0);
    assert_eq!(path.state.snd_cwnd, 4);
    let mut back = None;
    for round in 0..10 {
        path.round(0);
        back = back.or((path.state.snd_cwnd >= expected).then_some(round));
    }
    assert!(back.is_some_and(|round| (1..9).contains(&round)), "{back:?}");
}

#[test]
fn loss_reduces_the_window_of_version_3_but_not_of_version_1() {
    let bounded = |name: &str| {
        let mut path = Path::new(name);
        (0..18).for_each(|_| path.round(0));
        let before = path.state.snd_cwnd;
        path.control.ssthresh(&mut path.state);
        path.state.ca_state = CA_RECOVERY;
        for _ in 0..6 {
            path.round(2);
        }
        path.state.ca_state = 0;
        path.round(0);
        f64::from(path.state.snd_cwnd) / f64::from(before)
    };
    assert!(bounded("bbr") > 0.9, "{}", bounded("bbr"));
    assert!(bounded("bbr3") < 0.8, "{}", bounded("bbr3"));
}
