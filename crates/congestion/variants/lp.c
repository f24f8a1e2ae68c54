/*
 * TCP-LP: uses the capacity that others leave, by backing off when the one-way delay rises.
 *
 * Source:     A. Kuzmanovic, E. W. Knightly, "TCP-LP: Low-Priority Service via End-Point Congestion Control", IEEE/ACM
 *             Transactions on Networking 14(4), pages 739-752, 2006, section III (the paper numbers no equations there).
 *                 sd = (1 - gamma) sd + gamma d                         smoothed one-way delay
 *                 sd > d_min + (d_max - d_min) delta                    early congestion
 *             On the first such sign cwnd is halved and an inference phase of one round-trip time starts, in which cwnd
 *             does not grow; if the sign is still there then, cwnd = 1. Otherwise Reno's increase.
 * Constants:  delta 0.15, gamma 1/8 (section III.B).
 * Deviations: delay.h describes how delays are measured; d_max starts with the first sample. The first slow start continues to
 *             its loss, so that d_max is that of a full queue: otherwise the spacing of two segments is congestion. cwnd
 *             falls to 2 instead of 1: the acknowledgment of a single segment waits for the receiver's timer, which would
 *             be taken for congestion and hold the window there for ever. The sign that makes it fall is looked for when
 *             the phase ends, since until then acknowledgments are of what was sent before the window was halved.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(delta, 150, 1, 999, "delay above the smallest that is early congestion, in thousandths of the range")

#include "delay.h"
#include "reno.h"

#define LP_GAMMA_SHIFT 3
#define LP_LEAST_CWND 2

struct lp {
	u32 least;        /* one-way delays, milliseconds of both clocks */
	u32 most;
	u32 smoothed;     /* above the smallest, 256ths of a millisecond */
	u32 inference;    /* the phase ends when what follows this sequence number is acknowledged */
	u32 infers;
	u32 has_delay;
};
BP_PRIVATE(struct lp)

static inline bool lp_is_early(const struct bp_tcp *tp, const struct lp *lp)
{
	u64 range = (u64)(lp->most - lp->least) << 8;

	/* Two milliseconds of range are the clocks' ticks. */
	return lp->has_delay && lp->most - lp->least > 2 && lp->smoothed > range * delta(tp) / 1000;
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
		lp->least = delay;
		lp->most = delay;
	}
	if (bp_delay_less(delay, lp->least)) {
		lp->smoothed += bp_min(lp->least - delay, 1 << 20) << 8;
		lp->least = delay;
	}
	if (bp_delay_less(lp->most, delay))
		lp->most = delay;
	above = bp_min(delay - lp->least, 1 << 20) << 8;
	lp->smoothed += (above >> LP_GAMMA_SHIFT) - (lp->smoothed >> LP_GAMMA_SHIFT);
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct lp *lp = bp_private(tp);
	bool ends = lp->infers && bp_after(ack, lp->inference);

	/* The first slow start learns the largest delay. */
	if (tp->snd_ssthresh >= BP_INFINITE_SSTHRESH) {
		bp_reno_cong_avoid(tp, acked);
		return;
	}
	/* What was sent before the window was halved does not reflect it. */
	if (lp->infers && !ends)
		return;
	lp->infers = lp_is_early(tp, lp);
	if (!lp->infers) {
		bp_reno_cong_avoid(tp, acked);
		return;
	}
	bp_set_cwnd(tp, ends ? LP_LEAST_CWND : tp->snd_cwnd / 2, LP_LEAST_CWND);
	tp->snd_ssthresh = bp_max(bp_min(tp->snd_ssthresh, tp->snd_cwnd), BP_RENO_LEAST_SSTHRESH);
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
