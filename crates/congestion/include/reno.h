/*
 * Parts of Reno that most variants share: slow start, linear increase, halving, undo. Windows are
 * counted in segments, as in Linux.
 *
 * Sources: RFC 5681, TCP Congestion Control; RFC 3465, appropriate byte counting.
 */
#pragma once

#include "bentpipe.h"

/* RFC 5681, equation (4): at least two segments. */
#define BP_RENO_MIN_SSTHRESH 2

/*
 * Slow start: RFC 5681, equation (2), cwnd += min(N, SMSS) for each ACK of N bytes, but without the
 * limit L of RFC 3465, as in Linux, so that delayed and stretched ACKs open the window as fast as
 * others. Growth ends at ssthresh. Returns the acknowledged segments that remain for congestion
 * avoidance.
 */
static inline u32 bp_slow_start(struct bp_tcp *tp, u32 acked)
{
	u32 cwnd = tp->snd_cwnd;
	u32 room = tp->snd_ssthresh > cwnd ? tp->snd_ssthresh - cwnd : 0;
	u32 growth = bp_min(acked, room);

	bp_set_cwnd(tp, cwnd + growth, 1);
	return acked - growth;
}

/*
 * Congestion avoidance: cwnd grows by one segment per `window` acknowledged segments. With `window`
 * = cwnd this is RFC 5681, equation (3), one segment per round-trip time, counted in snd_cwnd_cnt
 * as section 3.1 recommends (appropriate byte counting). If `window` has shrunk, the credit from
 * the larger window yields one segment, not a burst.
 */
static inline void bp_cong_avoid_ai(struct bp_tcp *tp, u32 window, u32 acked)
{
	u32 cwnd = tp->snd_cwnd;
	u32 credit = tp->snd_cwnd_cnt;

	window = bp_max(window, 1);
	if (credit >= window) {
		credit = 0;
		cwnd++;
	}
	credit += acked;
	if (credit >= window) {
		u32 steps = credit / window;

		credit -= steps * window;
		cwnd += steps;
	}
	tp->snd_cwnd_cnt = credit;
	bp_set_cwnd(tp, cwnd, 1);
}

/*
 * Reno's increase: slow start, then congestion avoidance with the remaining segments; none if cwnd
 * does not limit sending.
 */
static inline void bp_reno_cong_avoid(struct bp_tcp *tp, u32 acked)
{
	if (!bp_is_cwnd_limited(tp))
		return;
	if (bp_in_slow_start(tp)) {
		acked = bp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	bp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

/* Returns ssthresh by RFC 5681, equation (4), with cwnd instead of FlightSize, as in Linux. */
static inline u32 bp_reno_ssthresh(const struct bp_tcp *tp)
{
	return bp_max(tp->snd_cwnd >> 1, BP_RENO_MIN_SSTHRESH);
}

/*
 * Returns the window before a spurious reduction (RFC 4015, section 3.2, as implemented in Linux).
 */
static inline u32 bp_reno_undo_cwnd(const struct bp_tcp *tp)
{
	return bp_max(tp->snd_cwnd, tp->prior_cwnd);
}
