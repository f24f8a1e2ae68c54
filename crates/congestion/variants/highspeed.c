/*
 * HighSpeed TCP: increase and decrease depend on the window, so that large windows are possible at
 * higher loss rates.
 *
 * Source:     RFC 3649, HighSpeed TCP for Large Congestion Windows, section 5.
 *                 w <= Low_Window: Reno. Above:
 *                 b(w) = (High_Decrease - 0.5) (log w - log Low_Window)
 *                        / (log High_Window - log Low_Window) + 0.5
 *                 p(w) = 0.078 / w^1.2
 *                 a(w) = w^2 p(w) 2 b(w) / (2 - b(w))
 *                 cwnd += a(w) / w per acknowledged segment; cwnd = (1 - b(w)) cwnd on loss
 * Constants:  Low_Window 38, High_Window 83000, High_Decrease 0.1 (section 5).
 * Deviations: a(w) is computed as a fraction of at least 1, as Reno's, with powers from power.h
 *             (error at most 0.02 %). RFC 3649's table (appendix B) has whole segments.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(low_window, 38, 2, 10000, "window in segments up to which it behaves as Reno")               \
	PARAMETER(high_window, 83000, 10001, 10000000, "window in segments at which the decrease is high_decrease") \
	PARAMETER(high_decrease, 100, 10, 500, "reduction on loss at high_window, in thousandths of the window")

#include "power.h"
#include "reno.h"

struct highspeed {
	u64 credit; /* growth of less than a segment, 65536ths times the window */
};
BP_PRIVATE(struct highspeed)

/* b(w), 65536ths. */
static inline u32 highspeed_b(const struct bp_tcp *tp)
{
	u32 low = bp_log2(low_window(tp));
	u32 high = bp_log2(high_window(tp));
	u32 w = bp_min(bp_max(bp_log2(bp_max(tp->snd_cwnd, 1)), low), high);
	u64 span = (u64)(500 - high_decrease(tp)) * 65536 / 1000;

	return 32768 - (u32)bp_divide(span * (w - low), high - low);
}

/* a(w), 65536ths of a segment: 0.156 w^0.8 b / (2 - b). */
static inline u32 highspeed_a(const struct bp_tcp *tp)
{
	u64 b = highspeed_b(tp);
	u64 power = bp_power(bp_min(tp->snd_cwnd, 10000000), 800);
	u64 a = bp_divide(power * 156 / 1000 * b, 2 * BP_ONE - b);

	return (u32)(a > BP_ONE ? a : BP_ONE);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	if (tp->snd_cwnd <= low_window(tp))
		return bp_reno_ssthresh(tp);
	return bp_max(tp->snd_cwnd - (u32)((u64)tp->snd_cwnd * highspeed_b(tp) >> 16), BP_RENO_MIN_SSTHRESH);
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct highspeed *highspeed = bp_private(tp);
	u64 window, steps;

	if (!bp_is_cwnd_limited(tp))
		return;
	if (bp_in_slow_start(tp)) {
		acked = bp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	if (tp->snd_cwnd <= low_window(tp)) {
		bp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
		return;
	}
	acked = bp_min(acked, bp_min(tp->snd_cwnd, 1 << 20));
	window = tp->snd_cwnd * BP_ONE;
	steps = bp_divide(highspeed->credit + (u64)acked * highspeed_a(tp), window);
	highspeed->credit += (u64)acked * highspeed_a(tp) - steps * window;
	bp_set_cwnd(tp, tp->snd_cwnd + (u32)steps, 1);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(highspeed, "Increase and decrease depend on the window, for very large windows",
	   "RFC 3649, HighSpeed TCP, 2003", ssthresh, cong_avoid, undo_cwnd)
