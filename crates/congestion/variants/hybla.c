/*
 * Hybla: the window grows per second as that of a connection with a round-trip time of 25 ms,
 * independent of its own round-trip time.
 *
 * Source:     C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks",
 *             International Journal of Satellite Communications and Networking 22(5), pages
 *             547-566, 2004.
 *                 rho = RTT / RTT0, at least 1; initially W = rho
 *                 W += 2^rho - 1       per acknowledged segment, in slow start
 *                 W += rho^2 / W       in congestion avoidance
 *             The rate W / RTT then follows the curve of the reference connection. The paper's
 *             further parts are switches here:
 *             - `hoe`: the initial ssthresh is the bandwidth-delay product by packet pairs (J. C.
 *               Hoe, "Improving the start-up behavior of a congestion control scheme for TCP", ACM
 *               SIGCOMM 1996, section 3.2): the segments acknowledged between the first and the
 *               third of closely spaced acknowledgments, divided by the time between them, times
 *               the smallest round-trip time.
 *             - `spacing`: segments are paced, because a window that grows by 2^rho would leave in
 *               bursts.
 * Constants:  RTT0 25 ms (the paper's). Acknowledgments less than a quarter of a round trip apart
 *             are closely spaced. cwnd is at most 65535 segments in slow start, because 2^rho is
 *             unlimited if Hoe's estimate is wrong (the limit of the Linux implementation, by the
 *             same authors). Linux's module has hoe = 0, spacing = 0, coarse = 1, per_ack = 1 and
 *             from_rho = 1.
 * Deviations:
 *             - rho follows the smallest measured round-trip time, so that a queue does not
 *               accelerate the window.
 *             - The initial window is rho, or the connection's own if that is larger.
 *             - The pacing rate follows the window (200 and 120 % of cwnd / SRTT), instead of one
 *               segment every RTT / cwnd.
 *             - Slow start counts acknowledged segments, not acknowledgments, so that delayed
 *               acknowledgments do not halve its speed; with `per_ack` both phases count
 *               acknowledgments.
 *             - Slow start is Reno's until Hoe's estimate is made: with a large rho a single
 *               acknowledgment would open the window too far.
 *             - With `coarse`, rho follows the smallest smoothed round-trip time, and the window
 *               grows as Reno's while rho^2 / W is less than 1/128.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(rtt0, 25, 1, 10000, "reference round-trip time in milliseconds, that of the connection to match") \
	PARAMETER(hoe, 1, 0, 1, "1: the initial ssthresh is estimated by packet pairs")                        \
	PARAMETER(spacing, 1, 0, 1, "1: segments are spaced by pacing")                                        \
	PARAMETER(coarse, 0, 0, 1, "1: rho is in eighths and growth in 128ths of a segment, rounded down")     \
	PARAMETER(per_ack, 0, 0, 1, "1: an acknowledgment of several segments counts once")                    \
	PARAMETER(from_rho, 0, 0, 1, "1: starts with a window of rho even if the initial window is larger")    \
	PARAMETER(max_cwnd, 65535, 2, 100000000, "maximum cwnd in slow start, in segments")

#include "power.h"
#include "rate.h"
#include "reno.h"

#define HYBLA_MAX_RHO (2048 * BP_ONE)
#define HYBLA_MAX_ACKED 4096
#define HYBLA_PAIR_ACKS 3
/* Steps of rho and of the growth if `coarse` is 1, in 65536ths. */
#define HYBLA_RHO_STEP (BP_ONE / 8)
#define HYBLA_GROWTH_STEP (BP_ONE / 128)

struct hybla {
	u64 credit;        /* growth of less than a segment, 65536ths */
	u32 rho;           /* 65536ths */
	u32 min_rtt;       /* microseconds; 0: none yet */
	u32 pair_start;    /* first of the closely spaced acknowledgments, microseconds */
	u32 pair_last;
	u32 pair_segments; /* acknowledged after the first */
	u32 pair_acks;     /* their number; HYBLA_PAIR_ACKS: done */
};
BP_PRIVATE(struct hybla)

static inline void hybla_measure(struct bp_tcp *tp, struct hybla *hybla, u32 rtt)
{
	u64 rho;

	if (!rtt || (hybla->min_rtt && rtt >= hybla->min_rtt))
		return;
	hybla->min_rtt = rtt;
	rho = bp_divide((u64)rtt * BP_ONE, (u64)rtt0(tp) * 1000);
	rho = rho > BP_ONE ? rho : BP_ONE;
	if (coarse(tp))
		rho -= rho % HYBLA_RHO_STEP;
	hybla->rho = (u32)(rho < HYBLA_MAX_RHO ? rho : HYBLA_MAX_RHO);
}

/*
 * Makes Hoe's estimate while ssthresh is unknown. Returns true if the estimate needs more
 * acknowledgments.
 */
static inline bool hybla_pair(struct bp_tcp *tp, struct hybla *hybla, u32 acked)
{
	u32 now = (u32)tp->tcp_mstamp;
	u32 rate;

	if (!hoe(tp) || hybla->pair_acks >= HYBLA_PAIR_ACKS || tp->snd_ssthresh < BP_INFINITE_SSTHRESH)
		return false;
	if (!hybla->pair_acks || now - hybla->pair_last > hybla->min_rtt / 4) {
		hybla->pair_acks = 1;
		hybla->pair_start = now;
		hybla->pair_segments = 0;
	} else if (now != hybla->pair_start) {
		hybla->pair_acks++;
		hybla->pair_segments += acked;
	}
	hybla->pair_last = now;
	if (hybla->pair_acks < HYBLA_PAIR_ACKS)
		return true;
	rate = bp_rate(hybla->pair_segments, now - hybla->pair_start);
	tp->snd_ssthresh = bp_max(bp_rate_segments(rate, hybla->min_rtt), BP_RENO_MIN_SSTHRESH);
	return false;
}

BP_OP(void, init, struct bp_tcp *tp)
{
	struct hybla *hybla = bp_private(tp);

	hybla->rho = BP_ONE;
	hybla_measure(tp, hybla, tp->srtt_us >> 3);
	bp_set_cwnd(tp, bp_max(from_rho(tp) ? 1 : tp->snd_cwnd, hybla->rho >> 16), 1);
	if (spacing(tp))
		bp_need_pacing(tp);
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct hybla *hybla = bp_private(tp);
	bool waits = hybla_pair(tp, hybla, acked);
	u64 rho = hybla->rho;
	u64 growth;

	if (!bp_is_cwnd_limited(tp))
		return;
	acked = per_ack(tp) ? 1 : bp_min(acked, HYBLA_MAX_ACKED);
	if (waits) {
		bp_slow_start(tp, acked);
	} else if (bp_in_slow_start(tp)) {
		u32 limit = bp_max(bp_min(tp->snd_ssthresh, max_cwnd(tp)), tp->snd_cwnd);

		growth = bp_exp2((u32)rho) - BP_ONE;
		if (coarse(tp))
			growth -= growth % HYBLA_GROWTH_STEP;
		growth = hybla->credit + acked * growth;
		hybla->credit = growth & 0xffff;
		growth >>= 16;
		bp_set_cwnd(tp, growth < limit - tp->snd_cwnd ? tp->snd_cwnd + (u32)growth : limit, 1);
	} else {
		growth = bp_divide(acked * (rho * rho >> 16), tp->snd_cwnd);
		if (coarse(tp))
			growth -= growth % HYBLA_GROWTH_STEP;
		if (coarse(tp) && !growth) {
			bp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
			return;
		}
		growth += hybla->credit;
		hybla->credit = growth & 0xffff;
		growth = growth >> 16 < tp->snd_cwnd ? growth >> 16 : tp->snd_cwnd;
		bp_set_cwnd(tp, tp->snd_cwnd + (u32)growth, 1);
	}
}

BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	if (sample->rtt_us > 0)
		hybla_measure(tp, bp_private(tp), coarse(tp) ? tp->srtt_us >> 3 : (u32)sample->rtt_us);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	return bp_reno_ssthresh(tp);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(hybla, "Grows as if the round-trip time were 25 ms: for satellites",
	   "Caini and Firrincieli, TCP Hybla, IJSCN 22(5), 2004", init, cong_avoid, pkts_acked, ssthresh, undo_cwnd)
