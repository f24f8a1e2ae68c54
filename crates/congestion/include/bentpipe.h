/*
 * The connection as a congestion control sees it: the one header of every variant in this folder.
 *
 * A variant is one C file that runs in two places. The C compiler builds it into the engine, where
 * it controls simulated connections (home/engine.h). clang -target bpf builds the same file into a
 * BPF struct_ops object, which runs in a stock Linux kernel under the name bp_NAME (home/kernel.h).
 * A file has this form:
 *
 *      #define BP_PARAMETERS(PARAMETER)     // optional, before the include
 *          PARAMETER(alpha, 2, 1, 1000, "segments: ...")    // name, default, min, max, about
 *      #include "bentpipe.h"
 *
 *      struct vegas { u32 base_rtt; };      // optional
 *      BP_PRIVATE(struct vegas)             // at most 104 bytes, initially zero
 *
 *      BP_OP(u32, ssthresh, struct bp_tcp *tp) { return ...; }
 *
 *      BP_VARIANT(vegas, "description in one line", "publication", ssthresh, cong_avoid, undo_cwnd)
 *
 * The operations are those of Linux's tcp_congestion_ops and are called at the same events
 * (described at the trait Congestion in crates/congestion/src/interface.rs):
 *
 *      void init(struct bp_tcp *tp)
 *      u32  ssthresh(struct bp_tcp *tp)                                        required
 *      void cong_avoid(struct bp_tcp *tp, u32 ack, u32 acked)                  either this
 *      void cong_control(struct bp_tcp *tp, const struct rate_sample *sample)  or this
 *      void set_state(struct bp_tcp *tp, u8 new_state)
 *      void cwnd_event(struct bp_tcp *tp, enum tcp_ca_event event)
 *      void pkts_acked(struct bp_tcp *tp, const struct ack_sample *sample)
 *      u32  undo_cwnd(struct bp_tcp *tp)                                       required
 *
 * In both places a variant may read tp->snd_cwnd, snd_cwnd_cnt, snd_cwnd_clamp, snd_ssthresh,
 * prior_cwnd, prior_ssthresh, snd_una, snd_nxt, mss_cache, packets_out, sacked_out, lost_out,
 * retrans_out, max_packets_out, delivered, delivered_ce, lost, srtt_us, mdev_us, app_limited,
 * tcp_mstamp, tcp_clock_cache and tcp_wstamp_ns, and write snd_cwnd, snd_cwnd_cnt, snd_ssthresh and
 * app_limited. It accesses all other state by the functions below. A parameter is also a function
 * of the connection: alpha(tp).
 *
 * The kernel's verifier accepts integers, unsigned division by a nonzero number, loops without
 * branches if they are long, and no writable globals.
 */
#pragma once

#include <stdbool.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

/* Linux's icsk_ca_state (enum tcp_ca_state). */
enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

/* Linux's enum tcp_ca_event. */
enum tcp_ca_event {
	CA_EVENT_TX_START,     /* first transmission when nothing was in flight */
	CA_EVENT_CWND_RESTART, /* window restart after idle */
	CA_EVENT_COMPLETE_CWR, /* end of a window reduction */
	CA_EVENT_LOSS,         /* loss time-out */
	CA_EVENT_ECN_NO_CE,    /* data arrived without a congestion mark */
	CA_EVENT_ECN_IS_CE,    /* data arrived with a congestion mark */
};

/* snd_ssthresh before any loss (Linux's TCP_INFINITE_SSTHRESH). */
#define BP_INFINITE_SSTHRESH 0x7fffffffu

/* Size in bytes of a congestion control's private state in Linux (icsk_ca_priv). */
#define BP_PRIVATE_SIZE 104

/* Maximum number of parameters of a variant; MAX_PARAMETERS in Rust. */
#define BP_MAX_PARAMETERS 32

/* BP_EACH(M, a, b, ...) expands to M(a) M(b) ..., for up to nine arguments. */
#define BP_EACH(M, ...) BP_EACH_(__VA_ARGS__, 9, 8, 7, 6, 5, 4, 3, 2, 1)(M, __VA_ARGS__)
#define BP_EACH_(a, b, c, d, e, f, g, h, i, count, ...) BP_EACH_##count
#define BP_EACH_1(M, a) M(a)
#define BP_EACH_2(M, a, ...) M(a) BP_EACH_1(M, __VA_ARGS__)
#define BP_EACH_3(M, a, ...) M(a) BP_EACH_2(M, __VA_ARGS__)
#define BP_EACH_4(M, a, ...) M(a) BP_EACH_3(M, __VA_ARGS__)
#define BP_EACH_5(M, a, ...) M(a) BP_EACH_4(M, __VA_ARGS__)
#define BP_EACH_6(M, a, ...) M(a) BP_EACH_5(M, __VA_ARGS__)
#define BP_EACH_7(M, a, ...) M(a) BP_EACH_6(M, __VA_ARGS__)
#define BP_EACH_8(M, a, ...) M(a) BP_EACH_7(M, __VA_ARGS__)
#define BP_EACH_9(M, a, ...) M(a) BP_EACH_8(M, __VA_ARGS__)

#ifdef __bpf__
#include "home/kernel.h"
#else
#include "home/engine.h"
#endif

/* Returns the present time in jiffies, the unit of Linux's congestion controls, modulo 2^32. */
static inline u32 bp_jiffies(const struct bp_tcp *tp)
{
	return (u32)(tp->tcp_mstamp / bp_jiffy_us(tp));
}

/* Returns the microseconds until the pacing rate permits the next segment. */
static inline u64 bp_wait_us(const struct bp_tcp *tp)
{
	u64 now = tp->tcp_clock_cache;

	return tp->tcp_wstamp_ns > now ? (tp->tcp_wstamp_ns - now) / 1000 : 0;
}

static inline u32 bp_min(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u32 bp_max(u32 a, u32 b)
{
	return a > b ? a : b;
}

/* Returns a / b; 0 if b is 0, as in BPF. */
static inline u64 bp_divide(u64 a, u64 b)
{
	return b ? a / b : 0;
}

/*
 * Returns the cube root, rounded down, with an error of at most one, by Newton's method from
 * above: y - (y^3 - x) / (3 y^2). The first value is at most four times too large, and each step
 * squares an error that is small, so ten steps always suffice. No branch, for the verifier.
 */
static inline u32 bp_cube_root(u64 x)
{
	u64 y = 1;
	u32 bits = 0;

	for (u32 step = 32; step; step >>= 1)
		bits += (x >> bits >> step) ? step : 0;
	/* x < 2^(bits + 1) */
	y <<= bits / 3 + 1;
	for (u32 step = 0; step < 10; step++)
		y = (2 * y + bp_divide(x, y * y)) / 3;
	return (u32)y;
}

/* Returns true if sequence number a comes after b, modulo 2^32 (RFC 9293, section 3.4). */
static inline bool bp_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

/* RFC 5681, section 3.1: slow start is used while cwnd < ssthresh. */
static inline bool bp_in_slow_start(const struct bp_tcp *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/*
 * Returns the number of segments in the network (RFC 6675's pipe, as counted by Linux).
 */
static inline u32 bp_packets_in_flight(const struct bp_tcp *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/*
 * Returns true if cwnd limits sending, not the application or the receiver: only then may cwnd grow
 * (RFC 7661, section 4.3, as implemented in Linux). In slow start this is true while cwnd is below
 * twice the data in flight, so an application that sends in bursts can still double its window in a
 * round trip.
 */
static inline bool bp_is_cwnd_limited(const struct bp_tcp *tp)
{
	if (bp_is_cwnd_limited_flag(tp))
		return true;
	return bp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/*
 * Sets cwnd to at least `min` and at most the connection's clamp, the limits of every variant.
 */
static inline void bp_set_cwnd(struct bp_tcp *tp, u32 cwnd, u32 min)
{
	tp->snd_cwnd = bp_min(bp_max(cwnd, min), tp->snd_cwnd_clamp);
}
