//! Every variant keeps its window within bounds, for any sequence of events.

use std::collections::BTreeMap;

use bentpipe_congestion::interface::{
    AckSample, Event, RateSample, State, CA_LOSS, CA_OPEN, INFINITE_SSTHRESH,
};
use bentpipe_congestion::CongestionError;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Operation {
    Acknowledgment { advance: u32, acked: u32, rtt_us: i32, limited: bool },
    Sent { bytes: u32 },
    Reduction { new_state: u32 },
    StateChange { new_state: u32 },
    Event(Event),
    Undo,
    InFlight { packets_out: u32, max_packets_out: u32 },
    Rate(RateSample),
}

fn operation() -> impl Strategy<Value = Operation> {
    let rtt = prop_oneof![Just(-1), Just(0), Just(i32::MAX), 1..2_000_000, any::<i32>()];
    let acked = prop_oneof![8 => 1u32..100, 1 => any::<u32>()];
    let event =
        prop::sample::select(vec![Event::TxStart, Event::CwndRestart, Event::CompleteCwr, Event::Loss]);
    prop_oneof![
        8 => (any::<u32>(), acked, rtt, any::<bool>())
            .prop_map(|(advance, acked, rtt_us, limited)| Operation::Acknowledgment { advance, acked, rtt_us, limited }),
        4 => any::<u32>().prop_map(|bytes| Operation::Sent { bytes }),
        1 => (CA_OPEN..=CA_LOSS).prop_map(|new_state| Operation::Reduction { new_state }),
        2 => (CA_OPEN..=CA_LOSS).prop_map(|new_state| Operation::StateChange { new_state }),
        1 => event.prop_map(Operation::Event),
        1 => Just(Operation::Undo),
        1 => (any::<u32>(), any::<u32>())
            .prop_map(|(packets_out, max_packets_out)| Operation::InFlight { packets_out, max_packets_out }),
        1 => rate_sample().prop_map(Operation::Rate),
    ]
}

fn rate_sample() -> impl Strategy<Value = RateSample> {
    (any::<i32>(), any::<i64>(), any::<i64>(), any::<u32>(), any::<u32>(), 0..2u32).prop_map(
        |(delivered, interval_us, rtt_us, acked_sacked, prior_in_flight, flag)| RateSample {
            prior_mstamp: 0,
            prior_delivered: 0,
            delivered,
            interval_us,
            rtt_us,
            losses: 0,
            acked_sacked,
            prior_in_flight,
            is_app_limited: flag,
            is_retrans: flag,
            is_ack_delayed: flag,
        },
    )
}

proptest! {
    #[test]
    fn the_window_stays_between_one_and_the_clamp(
        cwnd in 1u32..1000,
        clamp in 2u32..=u32::MAX,
        ssthresh in prop_oneof![Just(INFINITE_SSTHRESH), 2u32..1000],
        operations in prop::collection::vec(operation(), 0..200),
        extremes in any::<[bool; 32]>(),
    ) {
        for variant in bentpipe_congestion::variants() {
            let parameters: BTreeMap<String, i64> = variant
                .parameters
                .iter()
                .zip(extremes)
                .map(|(parameter, is_max)| (parameter.name.to_owned(), if is_max { parameter.max } else { parameter.min }))
                .collect();
            let mut control = match variant.create(&parameters) {
                // Thresholds in the wrong order are refused, which another test covers.
                Err(CongestionError::WrongOrder { .. }) => continue,
                made => made.unwrap(),
            };
            let mut state = State {
                snd_cwnd: cwnd.min(clamp),
                snd_cwnd_clamp: clamp,
                snd_ssthresh: ssthresh,
                sk_pacing_rate: u64::MAX,
                sk_max_pacing_rate: u64::MAX,
                ..State::default()
            };
            control.init(&mut state);
            for operation in &operations {
                match *operation {
                    Operation::Acknowledgment { advance, acked, rtt_us, limited } => {
                        state.snd_una = state.snd_una.wrapping_add(advance);
                        state.is_cwnd_limited = limited.into();
                        control.pkts_acked(&mut state, &AckSample { pkts_acked: acked, rtt_us, in_flight: acked });
                        let ack = state.snd_una;
                        control.cong_avoid(&mut state, ack, acked);
                    }
                    Operation::Sent { bytes } => state.snd_nxt = state.snd_nxt.wrapping_add(bytes),
                    Operation::Reduction { new_state } => {
                        state.prior_cwnd = state.snd_cwnd;
                        state.snd_ssthresh = control.ssthresh(&mut state);
                        prop_assert!(state.snd_ssthresh >= 2, "{}: ssthresh {}", variant.name, state.snd_ssthresh);
                        control.set_state(&mut state, new_state);
                        state.ca_state = new_state;
                        state.snd_cwnd = if new_state == CA_LOSS { 1 } else { state.snd_ssthresh.min(clamp) };
                    }
                    Operation::StateChange { new_state } => {
                        control.set_state(&mut state, new_state);
                        state.ca_state = new_state;
                    }
                    Operation::Event(event) => control.cwnd_event(&mut state, event),
                    Operation::Undo => state.snd_cwnd = control.undo_cwnd(&mut state),
                    Operation::InFlight { packets_out, max_packets_out } => {
                        (state.packets_out, state.max_packets_out) = (packets_out, max_packets_out);
                    }
                    Operation::Rate(ref sample) => control.cong_control(&mut state, sample),
                }
                prop_assert!(
                    (1..=clamp).contains(&state.snd_cwnd),
                    "{}: cwnd {} of at most {clamp} after {operation:?}", variant.name, state.snd_cwnd
                );
            }
        }
    }
}
