/*
 * Scalable TCP: grows by a hundredth of the acknowledged data, so that recovery takes the same
 * number of round trips for all windows.
 *
 * Source:     T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM
 *             SIGCOMM Computer Communication Review 33(2), pages 83-91, 2003, section 3.
 *                 cwnd += a            per acknowledged segment, above the legacy window
 *                 cwnd -= b cwnd       on loss
 * Constants:  a 0.01, b 0.125, legacy window 16 segments, up to which it behaves as Reno (the
 *             paper's choice).
 * Deviations: only those of Linux (windows in segments, halving from cwnd; see reno.c).
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(a, 10, 1, 1000, "increase per acknowledged segment, in thousandths of a segment")            \
	PARAMETER(b, 125, 1, 900, "reduction of the window on loss, in thousandths")                           \
	PARAMETER(legacy_window, 16, 1, 1000000, "window in segments up to which it behaves as Reno")

#include "reno.h"

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	if (tp->snd_cwnd <= legacy_window(tp))
		return bp_reno_ssthresh(tp);
	return bp_max(tp->snd_cwnd - (u32)((u64)tp->snd_cwnd * b(tp) / 1000), BP_RENO_MIN_SSTHRESH);
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	if (!bp_is_cwnd_limited(tp))
		return;
	if (bp_in_slow_start(tp)) {
		acked = bp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	if (tp->snd_cwnd <= legacy_window(tp))
		bp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
	else
		bp_cong_avoid_ai(tp, bp_min(tp->snd_cwnd, (u32)bp_divide(1000, a(tp))), acked);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(scalable, "Grows by a hundredth of what is acknowledged, shrinks by an eighth on loss",
	   "Kelly, Scalable TCP, ACM CCR 33(2), 2003", ssthresh, cong_avoid, undo_cwnd)
