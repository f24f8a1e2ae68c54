/* The C layout of the structures that Rust and C share, for the test that compares both. */
#include "bentpipe.h"

struct bp_member {
	const char *name;
	u64 offset;
	u64 size;
};

#define MEMBER(type, member) {#member, offsetof(struct type, member), sizeof(((struct type *)0)->member)},
#define END(type) {NULL, sizeof(struct type), 0}

const struct bp_member bp_layout_tcp[] = {
	MEMBER(bp_tcp, snd_cwnd)
	MEMBER(bp_tcp, snd_cwnd_cnt)
	MEMBER(bp_tcp, snd_cwnd_clamp)
	MEMBER(bp_tcp, snd_ssthresh)
	MEMBER(bp_tcp, prior_cwnd)
	MEMBER(bp_tcp, prior_ssthresh)
	MEMBER(bp_tcp, snd_una)
	MEMBER(bp_tcp, snd_nxt)
	MEMBER(bp_tcp, mss_cache)
	MEMBER(bp_tcp, packets_out)
	MEMBER(bp_tcp, sacked_out)
	MEMBER(bp_tcp, lost_out)
	MEMBER(bp_tcp, retrans_out)
	MEMBER(bp_tcp, max_packets_out)
	MEMBER(bp_tcp, delivered)
	MEMBER(bp_tcp, delivered_ce)
	MEMBER(bp_tcp, lost)
	MEMBER(bp_tcp, srtt_us)
	MEMBER(bp_tcp, mdev_us)
	MEMBER(bp_tcp, rtt_min_us)
	MEMBER(bp_tcp, ca_state)
	MEMBER(bp_tcp, is_cwnd_limited)
	MEMBER(bp_tcp, app_limited)
	MEMBER(bp_tcp, rcv_tsval)
	MEMBER(bp_tcp, rcv_tsecr)
	MEMBER(bp_tcp, jiffy_us)
	MEMBER(bp_tcp, tcp_mstamp)
	MEMBER(bp_tcp, tcp_clock_cache)
	MEMBER(bp_tcp, tcp_wstamp_ns)
	MEMBER(bp_tcp, lsndtime)
	MEMBER(bp_tcp, sk_pacing_rate)
	MEMBER(bp_tcp, sk_max_pacing_rate)
	MEMBER(bp_tcp, sk_pacing_status)
	MEMBER(bp_tcp, random)
	MEMBER(bp_tcp, accurate_ecn)
	MEMBER(bp_tcp, icsk_ca_priv)
	MEMBER(bp_tcp, parameters)
	END(bp_tcp),
};

const struct bp_member bp_layout_ack_sample[] = {
	MEMBER(ack_sample, pkts_acked)
	MEMBER(ack_sample, rtt_us)
	MEMBER(ack_sample, in_flight)
	END(ack_sample),
};

const struct bp_member bp_layout_rate_sample[] = {
	MEMBER(rate_sample, prior_mstamp)
	MEMBER(rate_sample, prior_delivered)
	MEMBER(rate_sample, delivered)
	MEMBER(rate_sample, interval_us)
	MEMBER(rate_sample, rtt_us)
	MEMBER(rate_sample, losses)
	MEMBER(rate_sample, acked_sacked)
	MEMBER(rate_sample, prior_in_flight)
	MEMBER(rate_sample, is_app_limited)
	MEMBER(rate_sample, is_retrans)
	MEMBER(rate_sample, is_ack_delayed)
	END(rate_sample),
};

const struct bp_member bp_layout_parameter[] = {
	MEMBER(bp_parameter, name)
	MEMBER(bp_parameter, about)
	MEMBER(bp_parameter, initial)
	MEMBER(bp_parameter, min)
	MEMBER(bp_parameter, max)
	END(bp_parameter),
};

const struct bp_member bp_layout_variant[] = {
	MEMBER(bp_variant, name)
	MEMBER(bp_variant, about)
	MEMBER(bp_variant, source)
	MEMBER(bp_variant, parameters)
	MEMBER(bp_variant, parameter_count)
	MEMBER(bp_variant, init)
	MEMBER(bp_variant, ssthresh)
	MEMBER(bp_variant, cong_avoid)
	MEMBER(bp_variant, cong_control)
	MEMBER(bp_variant, set_state)
	MEMBER(bp_variant, cwnd_event)
	MEMBER(bp_variant, pkts_acked)
	MEMBER(bp_variant, undo_cwnd)
	MEMBER(bp_variant, is_scalable)
	END(bp_variant),
};
