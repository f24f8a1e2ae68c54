/*
 * TCP-LP: uses the capacity that other flows leave, by backing off when the one-way delay rises.
 *
 * Source:     A. Kuzmanovic, E. W. Knightly, "TCP-LP: Low-Priority Service via End-Point Congestion
 *             Control", IEEE/ACM Transactions on Networking 14(4), pages 739-752, 2006, section III
 *             (the paper numbers no equations there).
 *                 sd = (1 - gamma) sd + gamma d                         smoothed one-way delay
 *                 sd > d_min + (d_max - d_min) delta                    early congestion
 *             At the first early congestion cwnd is halved, and an inference phase of one
 *             round-trip time starts, in which cwnd does not grow. If congestion persists at its
 *             end, cwnd = 1. Otherwise the window grows as Reno's.
 * Constants:  delta 0.15, gamma 1/8 (section III.B).
 * Deviations: delay.h describes the measurement of delays.
 *             - d_max starts with the first sample. The first slow start continues until a loss, so
 *               that d_max is the delay of a full queue; otherwise the spacing of two segments
 *               would count as congestion.
 *             - cwnd falls to 2 instead of 1: the acknowledgment of a single segment waits for the
 *               receiver's timer, which would count as congestion and keep the window at 1.
 *             - Persisting congestion is checked at the end of the phase, because earlier
 *               acknowledgments are for segments sent before the window was halved.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(delta, 150, 1, 999, "delay above the smallest that is early congestion, in thousandths of the range")

#include "delay.h"
#include "reno.h"

#define LP_GAMMA_SHIFT 3
#define LP_MIN_CWND 2

struct lp {
	u32 min;          /* one-way delays, milliseconds of both clocks */
	u32 max;
	u32 smoothed;     /* above the smallest, 256ths of a millisecond */
	u32 inference;    /* the phase ends when data after this sequence number is acknowledged */
	u32 in_inference;
	u32 has_delay;
};
BP_PRIVATE(struct lp)

static inline bool lp_is_early(const struct bp_tcp *tp, const struct lp *lp)
{
	u64 range = (u64)(lp->max - lp->min) << 8;

	/* A range of up to two milliseconds may come from the clocks' ticks. */
	return lp->has_delay && lp->max - lp->min > 2 && lp->smoothed > range * delta(tp) / 1000;
}

BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	struct lp *lp = bp_private(tp);
	u32 delay = bp_delay(tp, sample);
	u32 above;

	if (delay == BP_NO_DELAY)
		return;
	if (!lp->has_delay) {
		lp->has_delay = 1;
		lp->min = delay;
		lp->max = delay;
	}
	if (bp_delay_less(delay, lp->min)) {
		lp->smoothed += bp_min(lp->min - delay, 1 << 20) << 8;
		lp->min = delay;
	}
	if (bp_delay_less(lp->max, delay))
		lp->max = delay;
	above = bp_min(delay - lp->min, 1 << 20) << 8;
	lp->smoothed += (above >> LP_GAMMA_SHIFT) - (lp->smoothed >> LP_GAMMA_SHIFT);
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct lp *lp = bp_private(tp);
	bool ends = lp->in_inference && bp_after(ack, lp->inference);

	/* The first slow start measures the largest delay. */
	if (tp->snd_ssthresh >= BP_INFINITE_SSTHRESH) {
		bp_reno_cong_avoid(tp, acked);
		return;
	}
	/* Delays of segments sent before the window was halved do not show its effect. */
	if (lp->in_inference && !ends)
		return;
	lp->in_inference = lp_is_early(tp, lp);
	if (!lp->in_inference) {
		bp_reno_cong_avoid(tp, acked);
		return;
	}
	bp_set_cwnd(tp, ends ? LP_MIN_CWND : tp->snd_cwnd / 2, LP_MIN_CWND);
	tp->snd_ssthresh = bp_max(bp_min(tp->snd_ssthresh, tp->snd_cwnd), BP_RENO_MIN_SSTHRESH);
	lp->inference = tp->snd_nxt;
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	return bp_reno_ssthresh(tp);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(lp, "Low priority: uses the capacity that others leave, judged by the one-way delay",
	   "Kuzmanovic and Knightly, TCP-LP, IEEE/ACM ToN 14(4), 2006", cong_avoid, ssthresh, pkts_acked, undo_cwnd)
