/*
 * The kernel's side of a variant: a BPF struct_ops object for tcp_congestion_ops, registered as
 * bp_NAME.
 *
 * struct bp_tcp is the kernel's own tcp_sock. The structures below contain only the members that
 * variants use. With preserve_access_index, the loader finds each member by name in the running
 * kernel's types (CO-RE), so order, neighbours and kernel version do not matter, and vmlinux.h is
 * not needed.
 */
#pragma once

#pragma clang diagnostic ignored "-Wunused-parameter"

/* Types that libbpf's headers expect from vmlinux.h. */
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s8 __s8;
typedef s16 __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
enum bpf_map_type { BPF_MAP_TYPE_SK_STORAGE = 24 };
enum { BPF_F_NO_PREALLOC = 1, BPF_SK_STORAGE_GET_F_CREATE = 1 };

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define bp_tcp tcp_sock

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[BP_PRIVATE_SIZE / sizeof(u64)];
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
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
	u32 data_segs_out;
	u32 srtt_us;
	u32 mdev_us;
	u32 app_limited;
	u64 tcp_mstamp;
	u64 tcp_clock_cache;
	u64 tcp_wstamp_ns;
	u64 delivered_mstamp;
	struct minmax rtt_min;
	struct tcp_options_received rx_opt;
	u8 is_cwnd_limited : 1;
};

/* A member that only some kernels have: see guard.h. */
struct bpf_prog_aux {
	bool init_owned;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
};

#pragma clang attribute pop

/* The loader matches members with the kernel's by name. */
struct tcp_congestion_ops {
	u32 flags;
	void (*init)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *sample);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
};

/* TCP_CONG_NON_RESTRICTED: a process needs no privilege to select the variant. */
#define BP_NON_RESTRICTED 1

static inline u8 bp_ca_state(const struct bp_tcp *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

static inline bool bp_is_cwnd_limited_flag(const struct bp_tcp *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

static inline u32 bp_rtt_min_us(const struct bp_tcp *tp)
{
	return tp->rtt_min.s[0].v;
}

static inline u32 bp_rcv_tsval(const struct bp_tcp *tp)
{
	return tp->rx_opt.rcv_tsval;
}

static inline u32 bp_rcv_tsecr(const struct bp_tcp *tp)
{
	return tp->rx_opt.rcv_tsecr;
}

/*
 * Returns 1000: the kernel's types do not contain the period of jiffies, so milliseconds are used.
 */
static inline u32 bp_jiffy_us(const struct bp_tcp *tp)
{
	return 1000;
}

/*
 * Returns the jiffies since the last delivery. The kernel counts the time of the last transmission
 * in its own jiffies; if nothing is in flight, the last delivery followed soon after.
 */
static inline u32 bp_jiffies_idle(const struct bp_tcp *tp)
{
	return (u32)((tp->tcp_mstamp - tp->delivered_mstamp) / bp_jiffy_us(tp));
}

static inline u64 bp_pacing_rate(const struct bp_tcp *tp)
{
	return tp->inet_conn.icsk_inet.sk.sk_pacing_rate;
}

static inline u64 bp_max_pacing_rate(const struct bp_tcp *tp)
{
	return tp->inet_conn.icsk_inet.sk.sk_max_pacing_rate;
}

/* Requests pacing (SK_PACING_NEEDED), unless the fq queue already paces. */
static inline void bp_need_pacing(struct bp_tcp *tp)
{
	if (tp->inet_conn.icsk_inet.sk.sk_pacing_status == 0)
		tp->inet_conn.icsk_inet.sk.sk_pacing_status = 1;
}

static inline bool bp_is_paced(const struct bp_tcp *tp)
{
	return tp->inet_conn.icsk_inet.sk.sk_pacing_status != 0;
}

static inline void bp_set_pacing_rate(struct bp_tcp *tp, u64 bytes_per_second)
{
	u64 max = tp->inet_conn.icsk_inet.sk.sk_max_pacing_rate;

	tp->inet_conn.icsk_inet.sk.sk_pacing_rate = bytes_per_second < max ? bytes_per_second : max;
}

static inline u32 bp_random(const struct bp_tcp *tp)
{
	return bpf_get_prandom_u32();
}

#define BP_PRIVATE(type)                                                                                       \
	_Static_assert(sizeof(type) <= BP_PRIVATE_SIZE, "private state is larger than Linux gives");           \
	static inline type *bp_private(struct bp_tcp *tp)                                                      \
	{                                                                                                      \
		return (type *)(void *)tp->inet_conn.icsk_ca_priv;                                             \
	}

/*
 * Values that the loader may change before it loads the object. For the verifier they are
 * constants. The loader (crates/bpf) writes this section as 32-bit numbers in this order.
 */
#ifndef BP_PARAMETERS
#define BP_PARAMETERS(PARAMETER)
#endif
#define BP_PARAMETER_MEMBER(name, initial, min, max, about) u32 name;
#define BP_PARAMETER_INITIAL(name, initial, min, max, about) .name = initial,
#define BP_PARAMETER_VALUE(name, initial, min, max, about)                                                  \
	static inline u32 name(const struct bp_tcp *tp)                                                        \
	{                                                                                                      \
		return bp_settings.name;                                                                       \
	}
const volatile struct {
	u32 initial_window;   /* segments; 0: the kernel's own */
	u32 initial_ssthresh; /* segments; 0: the kernel's own */
	BP_PARAMETERS(BP_PARAMETER_MEMBER)
} bp_settings SEC(".rodata.settings") = {BP_PARAMETERS(BP_PARAMETER_INITIAL)};
BP_PARAMETERS(BP_PARAMETER_VALUE)

/*
 * Clears the private state and sets the scenario's initial window and threshold, when the
 * connection is established and before the variant's own init, as in the engine. A variant selected
 * for a connection that has sent data keeps the connection's window and threshold.
 */
static inline void bp_start(struct bp_tcp *tp)
{
	u32 window = bp_settings.initial_window;

	/*
	 * Linux calls the variant for the SYN's acknowledgment before its init; the engine does
	 * not.
	 */
#pragma clang loop unroll(full)
	for (u32 i = 0; i < BP_PRIVATE_SIZE / sizeof(u64); i++)
		tp->inet_conn.icsk_ca_priv[i] = 0;
	if (tp->data_segs_out)
		return;
	if (window)
		tp->snd_cwnd = window < tp->snd_cwnd_clamp ? window : tp->snd_cwnd_clamp;
	if (bp_settings.initial_ssthresh)
		tp->snd_ssthresh = bp_settings.initial_ssthresh;
}

#include "guard.h"

/*
 * The kernel's operation op_NAME calls the variant's, own_NAME, between the checks of guard.h.
 */
#define BP_OP(type, operation, ...)                                                                            \
	static __always_inline type own_##operation(__VA_ARGS__);                                              \
	BP_OP_##operation                                                                                      \
	static __always_inline type own_##operation(__VA_ARGS__)
#define BP_PROGRAM(type, operation, ...)                                                                       \
	SEC("struct_ops/" #operation) type op_##operation(u64 *ctx)                                            \
	{                                                                                                      \
		struct bp_tcp *tp = (struct bp_tcp *)ctx[0];                                                   \
                                                                                                               \
		__VA_ARGS__                                                                                    \
	}
#define BP_OP_ssthresh                                                                                         \
	BP_PROGRAM(u32, ssthresh, BP_SKIPPED(tp, 667073216) u32 threshold = own_ssthresh(tp);                  \
		bp_save_threshold(tp, threshold); return threshold;)
#define BP_OP_undo_cwnd                                                                                        \
	BP_PROGRAM(u32, undo_cwnd, u32 cwnd = own_undo_cwnd(tp); bp_save_undone(tp, cwnd); return cwnd;)
#define BP_OP_cong_avoid                                                                                       \
	BP_PROGRAM(void, cong_avoid, bp_check(tp); own_cong_avoid(tp, (u32)ctx[1], (u32)ctx[2]); bp_save(tp);)
#define BP_OP_set_state BP_PROGRAM(void, set_state, bp_check(tp); own_set_state(tp, (u8)ctx[1]); bp_save(tp);)
#define BP_OP_cwnd_event                                                                                       \
	BP_PROGRAM(void, cwnd_event, bp_check(tp); own_cwnd_event(tp, (enum tcp_ca_event)ctx[1]); bp_save(tp);)
#define BP_OP_pkts_acked                                                                                       \
	BP_PROGRAM(void, pkts_acked, bp_check(tp);                                                             \
		own_pkts_acked(tp, (const struct ack_sample *)ctx[1]); bp_save(tp);)

/* bp_start precedes a variant's init; a variant without init has only bp_start. */
#define BP_OP_init                                                                                             \
	BP_PROGRAM(void, init, bp_start(tp); own_init(tp); bp_save_first(tp);)

/*
 * Since Linux 6.10, cong_control has two more arguments before the sample. For the verifier the
 * version is a constant, so it checks only the branch of the running kernel. Each load is in
 * assembly: the compiler would otherwise merge both into one load at a variable offset, which the
 * verifier refuses.
 */
extern int LINUX_KERNEL_VERSION __kconfig;
#define BP_OP_cong_control                                                                                     \
	BP_PROGRAM(void, cong_control,                                                                         \
		const struct rate_sample *sample;                                                              \
                                                                                                               \
		if (LINUX_KERNEL_VERSION >= KERNEL_VERSION(6, 10, 0))                                          \
			asm volatile("%0 = *(u64 *)(%1 + 24)" : "=r"(sample) : "r"(ctx));                      \
		else                                                                                           \
			asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(sample) : "r"(ctx));                       \
		own_cong_control(tp, sample);                                                                  \
		bp_save(tp);)

/*
 * Section .struct_ops.link ties the registration to the loader: when the loader ends for any
 * reason, the variant is unregistered. The loader may change the name, which is the last member. If
 * `init` or `pkts_acked` has two values, the last one applies; "?" prevents the program of the
 * other from being loaded.
 */
#pragma clang diagnostic ignored "-Winitializer-overrides"
#define BP_OPERATION(operation) .operation = (void *)op_##operation,
#define BP_VARIANT(NAME, ABOUT, SOURCE, ...)                                                                   \
	char _license[] SEC("license") = "Dual MIT/GPL";                                                       \
	SEC("?struct_ops/init") void op_start(u64 *ctx)                                                        \
	{                                                                                                      \
		bp_start((struct bp_tcp *)ctx[0]);                                                             \
		bp_save_first((struct bp_tcp *)ctx[0]);                                                        \
	}                                                                                                      \
	SEC("?struct_ops/pkts_acked") void op_acked(u64 *ctx)                                                  \
	{                                                                                                      \
		bp_check((struct bp_tcp *)ctx[0]);                                                             \
		bp_save((struct bp_tcp *)ctx[0]);                                                              \
	}                                                                                                      \
	SEC(".struct_ops.link")                                                                                \
	struct tcp_congestion_ops bp_##NAME = {.init = (void *)op_start, .pkts_acked = (void *)op_acked,        \
		BP_EACH(BP_OPERATION, __VA_ARGS__).flags = BP_NON_RESTRICTED, .name = "bp_" #NAME};

/* Returns false: TCP of the supported kernels has no AccECN. */
static inline bool bp_has_accurate_ecn(const struct bp_tcp *tp)
{
	return false;
}
