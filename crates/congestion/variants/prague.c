/*
 * Prague: a scalable congestion control for low latency (L4S). It reduces the window in proportion
 * to the fraction of marked segments, so that a short queue keeps the link busy.
 *
 * Source:     K. De Schepper, O. Tilmans, B. Briscoe, V. Goel, "Prague Congestion Control",
 *             draft-briscoe-iccrg-prague-congestion-control-04, 2024, section 2; RFC 9331, section
 *             4 (the Prague L4S requirements); RFC 8257, section 3 (DCTCP). With R = SRTT and the
 *             virtual round-trip time V = max(R, 25 ms):
 *                 alpha += g (frac - alpha)                 every V                 (2.3.2)
 *                 W = (1 - alpha / 2) W                     on a mark, once per V   (2.4.2)
 *                 W += unmarked (R / V)^2 / W               per acknowledgment      (2.4.3, 2.4.4)
 *                 rate = W / R, doubled while W < ssthresh / 2                      (2.5)
 *             frac is the fraction of marked segments in the last V, `unmarked` the number of
 *             acknowledged segments without a mark. The increase also applies while a reduction is
 *             recent. It gives a flow with a short round-trip time the rate of one with V.
 *             On a loss: half of the window, as Reno (2.4.1).
 * Constants:  g 1/16 (2.3.2), V of at least 25 ms (2.4.4), alpha 1 at the start (RFC 8257, section
 *             3.3).
 * Deviations: - Segments are counted, not bytes.
 *             - V applies from the start, not after a number of round trips.
 *             - A loss soon after a reduction by marks leaves half of the window before that
 *               reduction, which 2.4.1 permits.
 *             - In the kernel, bursts are those of its endpoint (1/1024 s), not of 250 us, and the
 *               first ten segments are not paced.
 *             - No detection of a bottleneck with classic ECN (RFC 9331, section 4.3.1), and no
 *               windows below two segments.
 *             - Without accurate feedback (AccECN), also in the kernel: Reno with half of the
 *               window on a mark, and no ECT(1).
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(gain, 16, 1, 1024, "the moving average of marks changes by one part in this many per round trip") \
	PARAMETER(rtt_virtual, 25000, 0, 1000000, "microseconds: smallest virtual round-trip time")

#define BP_SCALABLE 1
#include "reno.h"

/* Fractions of alpha and of the increase. */
#define PRAGUE_SHIFT 20
#define PRAGUE_ONE (1u << PRAGUE_SHIFT)

/* Fractions of a segment in `part`. */
#define PRAGUE_PART 32

struct prague {
	u64 alpha_stamp; /* microseconds; 0 before the first acknowledgment */
	u64 cut_stamp;   /* time of the last reduction by marks; 0 for none */
	u64 alpha;       /* moving average of marks, times PRAGUE_ONE and the reciprocal of the gain */
	u32 part;        /* the fraction of a segment above snd_cwnd */
	u32 delivered;   /* values of the connection at alpha_stamp */
	u32 delivered_ce;
	u32 seen_ce;     /* delivered_ce at the last acknowledgment */
	u32 ssthresh;    /* before the present reduction */
};
BP_PRIVATE(struct prague)

/* R in microseconds. */
static inline u32 prague_rtt(const struct bp_tcp *tp)
{
	return bp_max(tp->srtt_us >> 3, 1);
}

/* V in microseconds. */
static inline u32 prague_virtual_rtt(const struct bp_tcp *tp)
{
	return bp_max(prague_rtt(tp), rtt_virtual(tp));
}

static inline u32 prague_alpha(struct bp_tcp *tp, const struct prague *prague)
{
	return (u32)bp_divide(prague->alpha, gain(tp));
}

/* Counts marks until V is over, and then updates alpha. */
static inline void prague_update_alpha(struct bp_tcp *tp, struct prague *prague)
{
	u32 delivered = tp->delivered - prague->delivered;
	u32 marked = bp_min(tp->delivered_ce - prague->delivered_ce, delivered);

	if (!prague->alpha_stamp)
		prague->alpha_stamp = tp->tcp_mstamp;
	if (!delivered || tp->tcp_mstamp - prague->alpha_stamp < prague_virtual_rtt(tp))
		return;
	prague->alpha -= prague_alpha(tp, prague);
	prague->alpha += bp_divide((u64)marked << PRAGUE_SHIFT, delivered);
	prague->alpha_stamp = tp->tcp_mstamp;
	prague->delivered = tp->delivered;
	prague->delivered_ce = tp->delivered_ce;
}

/* Sets the window to `whole` segments and a fraction. */
static inline void prague_set_window(struct bp_tcp *tp, struct prague *prague, u64 window)
{
	bp_set_cwnd(tp, (u32)(window >> PRAGUE_PART), BP_RENO_MIN_SSTHRESH);
	prague->part = window >> PRAGUE_PART == tp->snd_cwnd ? (u32)window : 0;
}

/* W, with its fraction. */
static inline u64 prague_window(const struct bp_tcp *tp, const struct prague *prague)
{
	return ((u64)tp->snd_cwnd << PRAGUE_PART) + prague->part;
}

/* Reduces the window for marks, at most once per V. */
static inline void prague_cut(struct bp_tcp *tp, struct prague *prague)
{
	u64 window = prague_window(tp, prague);

	if (prague->cut_stamp && tp->tcp_mstamp - prague->cut_stamp < prague_virtual_rtt(tp))
		return;
	prague_set_window(tp, prague, window - (window >> (PRAGUE_SHIFT + 1)) * prague_alpha(tp, prague));
	tp->snd_ssthresh = tp->snd_cwnd;
	prague->cut_stamp = tp->tcp_mstamp;
}

/* Increases the window for `acked` segments without a mark. */
static inline void prague_grow(struct bp_tcp *tp, struct prague *prague, u32 acked)
{
	u64 ratio = bp_divide((u64)prague_rtt(tp) << PRAGUE_SHIFT, prague_virtual_rtt(tp));
	u64 increase;

	if (!bp_is_cwnd_limited(tp))
		return;
	if (bp_in_slow_start(tp)) {
		acked = bp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	increase = (u64)bp_min(acked, tp->snd_cwnd) * (ratio * ratio >> PRAGUE_SHIFT);
	increase = bp_divide(increase << (PRAGUE_PART - PRAGUE_SHIFT), tp->snd_cwnd);
	prague_set_window(tp, prague, prague_window(tp, prague) + increase);
}

static inline void prague_pace(struct bp_tcp *tp)
{
	u64 rate = bp_divide((u64)tp->snd_cwnd * tp->mss_cache * 1000000, prague_rtt(tp));

	if (!tp->srtt_us)
		return;
	bp_set_pacing_rate(tp, tp->snd_cwnd < tp->snd_ssthresh / 2 ? 2 * rate : rate);
}

BP_OP(void, init, struct bp_tcp *tp)
{
	struct prague *prague = bp_private(tp);

	prague->alpha = (u64)gain(tp) << PRAGUE_SHIFT;
	prague->delivered = tp->delivered;
	prague->delivered_ce = tp->delivered_ce;
	prague->seen_ce = tp->delivered_ce;
	bp_need_pacing(tp);
	prague_pace(tp);
}

BP_OP(void, cong_control, struct bp_tcp *tp, const struct rate_sample *sample)
{
	struct prague *prague = bp_private(tp);
	u32 acked = sample->acked_sacked;
	u32 marked = 0;

	if (bp_has_accurate_ecn(tp)) {
		marked = tp->delivered_ce - prague->seen_ce;
		prague->seen_ce = tp->delivered_ce;
		prague_update_alpha(tp, prague);
		if (marked && bp_ca_state(tp) < TCP_CA_Recovery)
			prague_cut(tp, prague);
	}
	acked -= bp_min(marked, acked);
	if (acked && bp_ca_state(tp) != TCP_CA_Recovery &&
	    (bp_has_accurate_ecn(tp) || bp_ca_state(tp) != TCP_CA_CWR))
		prague_grow(tp, prague, acked);
	prague_pace(tp);
}

/* The threshold after a loss; set_state decides if marks were the reason. */
BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	struct prague *prague = bp_private(tp);

	prague->ssthresh = tp->snd_ssthresh;
	return bp_reno_ssthresh(tp);
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	struct prague *prague = bp_private(tp);
	u32 half = tp->snd_ssthresh;

	if (new_state == TCP_CA_CWR && bp_has_accurate_ecn(tp)) {
		/* cong_control reduces the window by alpha. */
		tp->snd_ssthresh = prague->ssthresh;
		return;
	}
	if (new_state != TCP_CA_CWR && new_state != TCP_CA_Recovery)
		return;
	if (bp_ca_state(tp) == TCP_CA_CWR)
		half = bp_max(tp->prior_cwnd >> 1, BP_RENO_MIN_SSTHRESH);
	bp_set_cwnd(tp, bp_min(tp->snd_cwnd, half), BP_RENO_MIN_SSTHRESH);
	tp->snd_ssthresh = tp->snd_cwnd;
	prague->part = 0;
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(prague, "Reduces the window in proportion to the fraction of marked segments (L4S)",
	   "De Schepper et al., draft-briscoe-iccrg-prague-congestion-control-04, 2024", init, cong_control, ssthresh,
	   set_state, undo_cwnd)
