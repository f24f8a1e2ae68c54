//! The cost of a call of a congestion control. The simulated sender makes one call per
//! acknowledgment.

#![allow(missing_docs, reason = "criterion's macros make functions without documentation")]

use std::collections::BTreeMap;
use std::hint::black_box;

use bentpipe_congestion::interface::{AckSample, RateSample, State};
use criterion::{criterion_group, criterion_main, Criterion};

fn calls(criterion: &mut Criterion) {
    for variant in bentpipe_congestion::variants() {
        let mut control = variant.create(&BTreeMap::new()).expect("defaults are in range");
        let mut state = State {
            snd_cwnd: 100,
            snd_cwnd_clamp: 1000,
            snd_ssthresh: 50,
            is_cwnd_limited: 1,
            snd_nxt: 144_800,
            ..State::default()
        };
        control.init(&mut state);
        criterion.bench_function(&format!("{}: one acknowledgment", variant.name), |bencher| {
            bencher.iter(|| {
                state.snd_una = state.snd_una.wrapping_add(1448);
                state.snd_nxt = state.snd_nxt.wrapping_add(1448);
                if control.has_pkts_acked() {
                    let sample = AckSample { pkts_acked: 1, rtt_us: 500_000, in_flight: 100 };
                    control.pkts_acked(&mut state, &sample);
                }
                let ack = state.snd_una;
                state.tcp_mstamp += 5000;
                if control.has_cong_control() {
                    state.delivered = state.delivered.wrapping_add(1);
                    let sample = RateSample {
                        delivered: 100,
                        interval_us: 500_000,
                        rtt_us: 500_000,
                        acked_sacked: 1,
                        prior_in_flight: 100,
                        prior_delivered: state.delivered.wrapping_sub(100),
                        ..RateSample::default()
                    };
                    black_box(&mut control).cong_control(black_box(&mut state), &sample);
                } else {
                    black_box(&mut control).cong_avoid(black_box(&mut state), ack, 1);
                }
            })
        });
    }
}

criterion_group!(benches, calls);
criterion_main!(benches);
