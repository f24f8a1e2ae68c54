//! Tests of names, parameters and errors, and of the layout that C and Rust share.

use std::ffi::{c_char, CStr};
use std::mem::{offset_of, size_of};

use crate::interface::{AckSample, Event, RateSample, State, CA_RECOVERY, INFINITE_SSTHRESH};

use super::*;
use crate::raw::RawParameter;

/// `struct bp_member` of layout.c. The last member of an array has no name; its offset is the
/// structure's size.
#[repr(C)]
struct Member {
    name: *const c_char,
    offset: u64,
    size: u64,
}

unsafe extern "C" {
    static bp_layout_tcp: Member;
    static bp_layout_ack_sample: Member;
    static bp_layout_rate_sample: Member;
    static bp_layout_parameter: Member;
    static bp_layout_variant: Member;
    static bp_variant_probe: RawVariant;
    static bp_variant_aimd: RawVariant;
}

/// Returns the members of a structure as C lays it out (name, offset, size), and the structure's
/// size.
///
/// # Safety
///
/// `member` must point to one of layout.c's arrays.
unsafe fn layout_in_c(mut member: *const Member) -> (Vec<(String, usize, usize)>, usize) {
    let mut members = Vec::new();
    loop {
        // SAFETY: the array continues until a member without a name.
        let Member { name, offset, size } = unsafe { &*member };
        if name.is_null() {
            return (members, *offset as usize);
        }
        // SAFETY: a string literal of layout.c.
        let name = unsafe { CStr::from_ptr(*name) }.to_str().unwrap().to_owned();
        members.push((name, *offset as usize, *size as usize));
        // SAFETY: this is not the last member yet.
        member = unsafe { member.add(1) };
    }
}

fn size_of_member<S, M>(_: fn(&S) -> &M) -> usize {
    size_of::<M>()
}

macro_rules! assert_layout {
    ($array:ident, $type:ty, $($member:ident),+) => {{
        let rust = vec![$((
            stringify!($member).to_owned(),
            offset_of!($type, $member),
            size_of_member(|whole: &$type| &whole.$member),
        )),+];
        // SAFETY: one of layout.c's arrays.
        assert_eq!(unsafe { layout_in_c(&raw const $array) }, (rust, size_of::<$type>()));
    }};
}

#[test]
fn shared_structures_have_the_same_layout_in_c_and_rust() {
    assert_layout!(
        bp_layout_tcp,
        State,
        snd_cwnd,
        snd_cwnd_cnt,
        snd_cwnd_clamp,
        snd_ssthresh,
        prior_cwnd,
        prior_ssthresh,
        snd_una,
        snd_nxt,
        mss_cache,
        packets_out,
        sacked_out,
        lost_out,
        retrans_out,
        max_packets_out,
        delivered,
        delivered_ce,
        lost,
        srtt_us,
        mdev_us,
        rtt_min_us,
        ca_state,
        is_cwnd_limited,
        app_limited,
        rcv_tsval,
        rcv_tsecr,
        jiffy_us,
        tcp_mstamp,
        tcp_clock_cache,
        tcp_wstamp_ns,
        lsndtime,
        sk_pacing_rate,
        sk_max_pacing_rate,
        sk_pacing_status,
        random,
        accurate_ecn,
        icsk_ca_priv,
        parameters
    );
    assert_layout!(bp_layout_ack_sample, AckSample, pkts_acked, rtt_us, in_flight);
    assert_layout!(
        bp_layout_rate_sample,
        RateSample,
        prior_mstamp,
        prior_delivered,
        delivered,
        interval_us,
        rtt_us,
        losses,
        acked_sacked,
        prior_in_flight,
        is_app_limited,
        is_retrans,
        is_ack_delayed
    );
    assert_layout!(bp_layout_parameter, RawParameter, name, about, initial, min, max);
    assert_layout!(
        bp_layout_variant,
        RawVariant,
        name,
        about,
        source,
        parameters,
        parameter_count,
        init,
        ssthresh,
        cong_avoid,
        cong_control,
        set_state,
        cwnd_event,
        pkts_acked,
        undo_cwnd,
        is_scalable
    );
}

#[test]
fn every_operation_reaches_c_with_its_arguments() {
    // SAFETY: a constant of tests/probe.c.
    let probe: &'static Variant =
        Box::leak(Box::new(Variant::new(unsafe { &bp_variant_probe }, String::new())));
    assert_eq!(
        probe.parameters,
        [Parameter {
            name: "weight",
            default: 3,
            min: 1,
            max: 1000,
            about: "segments: the growth of each call",
        }]
    );
    let mut control = probe.create(&BTreeMap::from([("weight".to_owned(), 5)])).unwrap();
    assert!(control.has_cong_control() && control.has_pkts_acked());

    let mut state = State {
        snd_cwnd: 8,
        snd_cwnd_clamp: 100,
        snd_cwnd_cnt: 7,
        is_cwnd_limited: 1,
        app_limited: 9,
        prior_cwnd: 50,
        snd_nxt: 1,
        sk_pacing_rate: u64::MAX,
        sk_max_pacing_rate: 100_000,
        icsk_ca_priv: [u64::MAX; 13],
        ..State::default()
    };
    control.init(&mut state);
    assert_eq!((state.sk_pacing_rate, state.sk_pacing_status), (100_000, 1));
    assert_eq!(control.ssthresh(&mut state), 6);
    control.cong_avoid(&mut state, 1000, 2);
    assert_eq!(state.snd_cwnd, 13);
    let sample =
        RateSample { delivered: 10, interval_us: -1, rtt_us: -1, acked_sacked: 4, ..Default::default() };
    control.cong_control(&mut state, &sample);
    assert_eq!((state.snd_cwnd, state.app_limited), (18, 0));
    control.set_state(&mut state, CA_RECOVERY);
    assert_eq!(state.snd_cwnd_cnt, 0);
    control.cwnd_event(&mut state, Event::Loss);
    assert_eq!(state.snd_ssthresh, INFINITE_SSTHRESH);
    control.pkts_acked(&mut state, &AckSample { pkts_acked: 3, rtt_us: 20, in_flight: 100 });
    assert_eq!(control.undo_cwnd(&mut state), 50);

    let calls: Vec<u64> =
        state.icsk_ca_priv[..4].iter().flat_map(|pair| [pair & 0xffff_ffff, pair >> 32]).collect();
    assert_eq!(calls, [1, 1, 1, 3, 1, 1, 1, 2]);
    let pacing = 100_000 + 100_000;
    assert_eq!(state.icsk_ca_priv[4], 1002 + 8 + 4 + 3 + 3 + 123 + pacing);
    assert_eq!(state.icsk_ca_priv[12] >> 56, 8, "the last byte of the private state");
}

#[test]
fn a_connection_has_its_own_parameters() {
    let beta = |value| create("vegas", &BTreeMap::from([("beta".to_owned(), value)])).unwrap();
    let mut states = [State::default(), State::default()];
    beta(9).init(&mut states[0]);
    beta(5).init(&mut states[1]);
    assert_eq!(states.map(|state| state.parameters[..4].to_vec()), [[2, 9, 1, 0], [2, 5, 1, 0]]);
}

#[test]
fn the_list_is_sorted_and_has_descriptions_and_sources() {
    let names: Vec<_> = variants().iter().map(|variant| variant.name).collect();
    assert!(names.is_sorted() && names.contains(&"reno") && names.contains(&"vegas"), "{names:?}");
    for variant in variants() {
        assert!(!variant.about.is_empty() && !variant.source.is_empty());
        for part in ["Source:", "Constants:", "Deviations:", "Licence:    Dual MIT/GPL"] {
            assert!(variant.head.contains(part), "{} says no {part}", variant.name);
        }
        assert!(variant.head.starts_with(char::is_alphabetic), "{}", variant.head);
        assert!(variant.name.len() < 16 - "bp_".len(), "{} is too long for the kernel", variant.name);
        let control = variant.create(&BTreeMap::new()).unwrap();
        assert_eq!(control.name(), variant.name);
        assert!(control.has_cong_control() || variant.raw.cong_avoid.is_some());
    }
}

#[test]
fn errors_list_the_known_names() {
    let error = |name: &str, parameters: &[(&str, i64)]| {
        let parameters = parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        create(name, &parameters).err().unwrap().to_string()
    };
    let names = variants().iter().map(|variant| variant.name).collect::<Vec<_>>().join(", ");
    assert_eq!(
        error("reon", &[]),
        format!("there is no congestion control \"reon\", did you mean \"reno\"? allowed: {names}")
    );
    assert_eq!(error("", &[]), format!("there is no congestion control \"\"; allowed: {names}"));
    assert_eq!(
        error("vegas", &[("aplha", 2)]),
        "vegas has no parameter \"aplha\", did you mean \"alpha\"? allowed: alpha, beta, gamma"
    );
    assert_eq!(error("reno", &[("alpha", 2)]), "reno has no parameter \"alpha\"; allowed: none");
    for variant in ["vegas", "vegas95"] {
        assert_eq!(
            error(variant, &[("alpha", 5), ("beta", 4)]),
            format!("{variant}'s parameter alpha is 5 and beta is 4; allowed: alpha of at most beta")
        );
    }
    for value in [0, -1, 65536, i64::MIN, i64::MAX] {
        assert_eq!(
            error("vegas", &[("beta", value)]),
            format!("vegas's parameter beta is {value}; allowed: 1 to 65535")
        );
    }
}

/// The worked example of docs/congestion-recipe.md, extracted by build.rs, passes its own test.
mod recipe {
    use crate::interface::State;
    use std::collections::BTreeMap;

    /// The names of this crate that the page's lines use, with the example instead of the list of
    /// variants.
    mod bentpipe_congestion {
        use super::super::*;

        pub fn create(
            name: &str,
            parameters: &BTreeMap<String, i64>,
        ) -> Result<Box<dyn Congestion>, CongestionError> {
            // SAFETY: the table of a C file, of the type that layout.c shows; a constant.
            let aimd = Box::leak(Box::new(Variant::new(unsafe { &bp_variant_aimd }, String::new())));
            assert_eq!(aimd.name, name);
            aimd.create(parameters)
        }
    }

    #[test]
    fn the_recipes_example_compiles_and_passes_its_test() {
        include!(concat!(env!("OUT_DIR"), "/recipe.rs"))
    }
}
