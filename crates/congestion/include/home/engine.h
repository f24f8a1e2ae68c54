/*
 * The engine's side of a variant. struct bp_tcp equals `State` of
 * crates/congestion/src/interface.rs, field by field (checked by src/layout.c and its test). A
 * variant is a table of its operations.
 */
#pragma once

#include <stddef.h>

struct bp_tcp {
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 prior_ssthresh;
	u32 snd_una;
	u32 snd_nxt;
	u32 mss_cache;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 srtt_us;
	u32 mdev_us;
	u32 rtt_min_us;
	u32 ca_state;
	u32 is_cwnd_limited;
	u32 app_limited;
	u32 rcv_tsval;
	u32 rcv_tsecr;
	u32 jiffy_us;
	u64 tcp_mstamp;
	u64 tcp_clock_cache;
	u64 tcp_wstamp_ns;
	u64 lsndtime;
	u64 sk_pacing_rate;
	u64 sk_max_pacing_rate;
	u32 sk_pacing_status;
	u32 random;
	u32 accurate_ecn;
	u64 icsk_ca_priv[BP_PRIVATE_SIZE / sizeof(u64)];
	u32 parameters[BP_MAX_PARAMETERS];
};

/* `AckSample` in Rust. */
struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

/* `RateSample` in Rust. */
struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	s32 delivered;
	s64 interval_us;
	s64 rtt_us;
	s32 losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 is_app_limited;
	u32 is_retrans;
	u32 is_ack_delayed;
};

static inline u8 bp_ca_state(const struct bp_tcp *tp)
{
	return (u8)tp->ca_state;
}

static inline bool bp_is_cwnd_limited_flag(const struct bp_tcp *tp)
{
	return tp->is_cwnd_limited != 0;
}

static inline u32 bp_rtt_min_us(const struct bp_tcp *tp)
{
	return tp->rtt_min_us;
}

/* TSval and TSecr (RFC 7323) of the last segment, milliseconds; 0 without timestamps. */
static inline u32 bp_rcv_tsval(const struct bp_tcp *tp)
{
	return tp->rcv_tsval;
}

static inline u32 bp_rcv_tsecr(const struct bp_tcp *tp)
{
	return tp->rcv_tsecr;
}

/* Returns the period of the host's jiffies in microseconds; 1000 on a host without jiffies. */
static inline u32 bp_jiffy_us(const struct bp_tcp *tp)
{
	return tp->jiffy_us ? tp->jiffy_us : 1000;
}

/* Returns the number of jiffies since data was last sent. */
static inline u32 bp_jiffies_idle(const struct bp_tcp *tp)
{
	return (u32)(tp->tcp_mstamp / bp_jiffy_us(tp) - tp->lsndtime / bp_jiffy_us(tp));
}

static inline u64 bp_pacing_rate(const struct bp_tcp *tp)
{
	return tp->sk_pacing_rate;
}

static inline u64 bp_max_pacing_rate(const struct bp_tcp *tp)
{
	return tp->sk_max_pacing_rate;
}

/*
 * Requests pacing (Linux's SK_PACING_NEEDED), unless the connection is already paced (in Linux by
 * the fq queue).
 */
static inline void bp_need_pacing(struct bp_tcp *tp)
{
	if (tp->sk_pacing_status == 0)
		tp->sk_pacing_status = 1;
}

static inline bool bp_is_paced(const struct bp_tcp *tp)
{
	return tp->sk_pacing_status != 0;
}

static inline void bp_set_pacing_rate(struct bp_tcp *tp, u64 bytes_per_second)
{
	tp->sk_pacing_rate = bytes_per_second < tp->sk_max_pacing_rate ? bytes_per_second : tp->sk_max_pacing_rate;
}

static inline u32 bp_random(const struct bp_tcp *tp)
{
	return tp->random;
}

/*
 * Returns true if delivered_ce counts every marked segment (AccECN, RFC 9768), false if a mark is
 * reported once per round trip.
 */
static inline bool bp_has_accurate_ecn(const struct bp_tcp *tp)
{
	return tp->accurate_ecn != 0;
}

#define BP_PRIVATE(type)                                                                                       \
	_Static_assert(sizeof(type) <= BP_PRIVATE_SIZE, "private state is larger than Linux gives");           \
	static inline type *bp_private(struct bp_tcp *tp)                                                      \
	{                                                                                                      \
		return (type *)tp->icsk_ca_priv;                                                               \
	}

/* `RawParameter` in Rust. */
struct bp_parameter {
	const char *name;
	const char *about;
	u32 initial;
	u32 min;
	u32 max;
};

/* `RawVariant` in Rust. */
struct bp_variant {
	const char *name;
	const char *about;
	const char *source;
	const struct bp_parameter *parameters;
	u64 parameter_count;
	void (*init)(struct bp_tcp *tp);
	u32 (*ssthresh)(struct bp_tcp *tp);
	void (*cong_avoid)(struct bp_tcp *tp, u32 ack, u32 acked);
	void (*cong_control)(struct bp_tcp *tp, const struct rate_sample *sample);
	void (*set_state)(struct bp_tcp *tp, u8 new_state);
	void (*cwnd_event)(struct bp_tcp *tp, enum tcp_ca_event event);
	void (*pkts_acked)(struct bp_tcp *tp, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct bp_tcp *tp);
	u32 is_scalable;
};

#ifdef BP_PARAMETERS
#define BP_PARAMETER_INDEX(name, initial, min, max, about) bp_index_##name,
#define BP_PARAMETER_ENTRY(name, initial, min, max, about) {#name, about, initial, min, max},
#define BP_PARAMETER_CHECK(name, initial, min, max, about)                                                  \
	_Static_assert((min) <= (initial) && (initial) <= (max), #name ": the default is out of its range");
#define BP_PARAMETER_VALUE(name, initial, min, max, about)                                                  \
	static inline u32 name(const struct bp_tcp *tp)                                                        \
	{                                                                                                      \
		return tp->parameters[bp_index_##name];                                                        \
	}
enum { BP_PARAMETERS(BP_PARAMETER_INDEX) bp_parameter_count };
_Static_assert(bp_parameter_count <= BP_MAX_PARAMETERS, "more parameters than a connection has room for");
BP_PARAMETERS(BP_PARAMETER_CHECK)
BP_PARAMETERS(BP_PARAMETER_VALUE)
static const struct bp_parameter bp_parameters[] = {BP_PARAMETERS(BP_PARAMETER_ENTRY)};
#else
enum { bp_parameter_count };
#define bp_parameters NULL
#endif

#define BP_OP(type, operation, ...) static type op_##operation(__VA_ARGS__)

/*
 * A file with `#define BP_SCALABLE 1` before the include is a scalable congestion control (RFC
 * 9331): it evaluates the number of marked segments in delivered_ce. With accurate feedback, its
 * data is sent with ECT(1).
 */
#ifndef BP_SCALABLE
#define BP_SCALABLE 0
#endif

#define BP_OPERATION(operation) .operation = op_##operation,
#define BP_VARIANT(NAME, ABOUT, SOURCE, ...)                                                                   \
	const struct bp_variant bp_variant_##NAME = {                                                          \
		.name = #NAME,                                                                                 \
		.about = ABOUT,                                                                                \
		.source = SOURCE,                                                                              \
		.parameters = bp_parameters,                                                                   \
		.parameter_count = bp_parameter_count,                                                         \
		BP_EACH(BP_OPERATION, __VA_ARGS__).is_scalable = BP_SCALABLE};
