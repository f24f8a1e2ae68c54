/*
 * BIC: after a loss, a binary search for the window at which the loss occurred.
 *
 * Source:     L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast
 *             Long-Distance Networks", IEEE INFOCOM 2004, section III.D (the paper numbers no
 *             equations).
 *                 on loss: max_win = cwnd
 *                     with fast convergence, if cwnd < max_win: max_win = (max_win + min_win) / 2
 *                     min_win = cwnd (1 - beta)
 *                 below max_win: target = (max_win + min_win) / 2
 *                     each round trip cwnd += target - cwnd, within S_min and S_max; min_win = cwnd
 *                 above max_win: cwnd += 1, 2, 4 ... up to S_max, then S_max, each round trip
 *                     (the steps of slow start, to find a new maximum)
 * Constants:  beta 0.125, S_max 32, S_min 0.01, low window 14, below which BIC behaves as Reno
 *             (section III.D). Linux's module has beta 200, s_max 16, s_min 200, search 4.
 * Deviations: the increase of target - cwnd is spread over the acknowledgments of a round and
 *             target moves with cwnd, so the search is continuous (as in the paper's pseudo-code).
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(beta, 125, 1, 900, "reduction of the window on loss, in thousandths")                        \
	PARAMETER(s_max, 32, 1, 10000, "maximum increase in segments per round trip")                          \
	PARAMETER(s_min, 10, 1, 1000, "minimum increase in thousandths of a segment per round trip")           \
	PARAMETER(search, 2, 2, 16, "divisor of the distance to the last maximum that a round trip covers")    \
	PARAMETER(low_window, 14, 2, 1000000, "window in segments below which it behaves as Reno")             \
	PARAMETER(fast_convergence, 1, 0, 1, "1: a flow that lost below its last maximum reduces further")

#include "reno.h"

#define BIC_ONE 1000ull

struct bic {
	u64 credit;    /* growth of less than a segment, thousandths times the window */
	u64 max_win;   /* thousandths; 0: not known */
	u64 undo_max_win;
};
BP_PRIVATE(struct bic)

/* Returns the growth per round trip in thousandths of a segment. */
static inline u64 bic_growth(struct bp_tcp *tp, struct bic *bic)
{
	u64 cwnd = tp->snd_cwnd * BIC_ONE;
	u64 max = s_max(tp) * BIC_ONE;
	u64 growth;

	if (cwnd < bic->max_win)
		growth = bp_divide(bic->max_win - cwnd, search(tp));
	else
		/* Doubles the distance to max_win each round trip, if `search` is 2. */
		growth = bp_divide(cwnd - bic->max_win, search(tp) - 1) + BIC_ONE;
	growth = growth < max ? growth : max;
	return growth > s_min(tp) ? growth : s_min(tp);
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct bic *bic = bp_private(tp);
	u64 window, gained, steps;

	if (!bp_is_cwnd_limited(tp))
		return;
	if (bp_in_slow_start(tp)) {
		acked = bp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	if (tp->snd_cwnd < low_window(tp)) {
		bp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
		return;
	}
	if (!bic->max_win)
		bic->max_win = tp->snd_cwnd * BIC_ONE;
	acked = bp_min(acked, bp_min(tp->snd_cwnd, 1 << 20));
	window = tp->snd_cwnd * BIC_ONE;
	gained = bic->credit + acked * bic_growth(tp, bic);
	steps = bp_divide(gained, window);
	bic->credit = gained - steps * window;
	bp_set_cwnd(tp, tp->snd_cwnd + bp_min((u32)steps, tp->snd_cwnd), 1);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	struct bic *bic = bp_private(tp);
	u64 cwnd = tp->snd_cwnd * BIC_ONE;
	u64 left = cwnd * (1000 - beta(tp)) / 1000;

	bic->undo_max_win = bic->max_win;
	bic->credit = 0;
	if (fast_convergence(tp) && cwnd < bic->max_win)
		bic->max_win = (cwnd + left) / 2;
	else
		bic->max_win = cwnd;
	if (tp->snd_cwnd < low_window(tp))
		return bp_reno_ssthresh(tp);
	return bp_max((u32)(left / BIC_ONE), BP_RENO_MIN_SSTHRESH);
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		bp_private(tp)->max_win = 0;
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	struct bic *bic = bp_private(tp);

	bic->max_win = bic->undo_max_win;
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(bic, "Binary search for the window at which the last loss occurred",
	   "Xu, Harfoush and Rhee, BIC, IEEE INFOCOM 2004", cong_avoid, ssthresh, set_state, undo_cwnd)
