/*
 * Illinois: loss determines the direction of a change, delay its speed.
 *
 * Source:     S. Liu, T. Basar, R. Srikant, "TCP-Illinois: A loss- and delay-based congestion
 *             control algorithm for high-speed networks", Performance Evaluation 65(6-7), pages
 *             417-440, 2008, section 3.
 *                 d_a: mean queueing delay of a round; d_m: largest queueing delay
 *                 d_1 = 0.01 d_m, d_2 = 0.1 d_m, d_3 = 0.8 d_m
 *                 alpha = alpha_max for d_a <= d_1, else kappa_1 / (kappa_2 + d_a),
 *                         continuous at d_1 and alpha_min at d_m: alpha_min alpha_max (d_m - d_1) /
 *                         (alpha_min (d_m - d_1) + (alpha_max - alpha_min) (d_a - d_1))
 *                 beta  = beta_min for d_a <= d_2, beta_max for d_a >= d_3, linear between
 *                 cwnd += alpha / cwnd per acknowledged segment; cwnd -= beta cwnd on loss
 *             After a delay above d_1, alpha returns to alpha_max only after theta rounds below
 *             d_1.
 * Constants:  alpha 0.3 to 10, beta 1/8 to 1/2, W_thresh 10 segments, below which Illinois behaves
 *             as Reno, theta 5 (section 3).
 * Deviations: only those of Linux (windows in segments; see reno.c). After a time-out the delays
 *             are measured again.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(alpha_min, 30, 1, 10000, "increase at the largest delay, in hundredths of a segment per round trip") \
	PARAMETER(alpha_max, 1000, 1, 100000, "increase without delay, in hundredths of a segment per round trip") \
	PARAMETER(window_threshold, 10, 1, 1000000, "window in segments below which it behaves as Reno")       \
	PARAMETER(theta, 5, 1, 1000, "rounds of small delay after which alpha returns to alpha_max")

#include "reno.h"

#define ILLINOIS_BETA_MIN 128  /* 1024ths */
#define ILLINOIS_BETA_MAX 512
#define ILLINOIS_ONE 100u
#define ILLINOIS_NO_RTT 0x7fffffffu

struct illinois {
	u64 sum_rtt;   /* of this round, microseconds */
	u64 credit;    /* growth of less than a segment, hundredths times the window */
	u32 samples;
	u32 base_rtt;
	u32 max_rtt;
	u32 round_end;
	u32 alpha;     /* hundredths */
	u32 beta;      /* 1024ths */
	u32 low;       /* consecutive rounds with a small delay */
	u32 was_high;
};
BP_PRIVATE(struct illinois)

static inline void illinois_reset(struct bp_tcp *tp, struct illinois *illinois)
{
	illinois->base_rtt = ILLINOIS_NO_RTT;
	illinois->max_rtt = 0;
	illinois->alpha = ILLINOIS_ONE;
	illinois->beta = ILLINOIS_BETA_MAX;
	illinois->low = 0;
	illinois->was_high = 0;
	illinois->sum_rtt = 0;
	illinois->samples = 0;
	illinois->round_end = tp->snd_nxt;
}

/* At the end of a round. */
static inline void illinois_decide(struct bp_tcp *tp, struct illinois *illinois)
{
	u32 mean = (u32)bp_divide(illinois->sum_rtt, illinois->samples);
	u64 da = mean > illinois->base_rtt ? mean - illinois->base_rtt : 0;
	u64 dm = illinois->max_rtt > illinois->base_rtt ? illinois->max_rtt - illinois->base_rtt : 0;
	u64 d1 = dm / 100;
	u64 d2 = dm / 10;
	u64 d3 = dm * 8 / 10;
	u64 min = alpha_min(tp);
	u64 max = bp_max(alpha_max(tp), alpha_min(tp));

	if (da <= d1) {
		illinois->low++;
		if (!illinois->was_high || illinois->low >= theta(tp)) {
			illinois->was_high = 0;
			illinois->alpha = (u32)max;
		}
	} else {
		illinois->low = 0;
		illinois->was_high = 1;
		illinois->alpha = (u32)bp_divide(min * max * (dm - d1),
						 min * (dm - d1) + (max - min) * (da - d1));
		illinois->alpha = bp_max(illinois->alpha, (u32)min);
	}
	if (da <= d2)
		illinois->beta = ILLINOIS_BETA_MIN;
	else if (da >= d3)
		illinois->beta = ILLINOIS_BETA_MAX;
	else
		illinois->beta =
			ILLINOIS_BETA_MIN +
			(u32)bp_divide((ILLINOIS_BETA_MAX - ILLINOIS_BETA_MIN) * (da - d2), d3 - d2);
	if (tp->snd_cwnd < window_threshold(tp)) {
		illinois->alpha = ILLINOIS_ONE;
		illinois->beta = ILLINOIS_BETA_MAX;
	}
}

BP_OP(void, init, struct bp_tcp *tp)
{
	illinois_reset(tp, bp_private(tp));
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct illinois *illinois = bp_private(tp);
	u64 window, steps;

	if (bp_after(ack, illinois->round_end)) {
		if (illinois->samples)
			illinois_decide(tp, illinois);
		illinois->sum_rtt = 0;
		illinois->samples = 0;
		illinois->round_end = tp->snd_nxt;
	}
	if (!bp_is_cwnd_limited(tp))
		return;
	if (bp_in_slow_start(tp)) {
		acked = bp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	acked = bp_min(acked, bp_min(tp->snd_cwnd, 1 << 20));
	window = (u64)tp->snd_cwnd * ILLINOIS_ONE;
	steps = bp_divide(illinois->credit + (u64)acked * illinois->alpha, window);
	illinois->credit += (u64)acked * illinois->alpha - steps * window;
	bp_set_cwnd(tp, tp->snd_cwnd + (u32)steps, 1);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	u64 cwnd = tp->snd_cwnd;

	return bp_max((u32)(cwnd - (cwnd * bp_private(tp)->beta >> 10)), BP_RENO_MIN_SSTHRESH);
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		illinois_reset(tp, bp_private(tp));
}

BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	struct illinois *illinois = bp_private(tp);

	if (sample->rtt_us <= 0)
		return;
	illinois->base_rtt = bp_min(illinois->base_rtt, (u32)sample->rtt_us);
	illinois->max_rtt = bp_max(illinois->max_rtt, (u32)sample->rtt_us);
	illinois->sum_rtt += (u32)sample->rtt_us;
	illinois->samples++;
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(illinois, "Loss-based, with increase and decrease that depend on the queueing delay",
	   "Liu, Basar and Srikant, TCP-Illinois, Performance Evaluation 65, 2008", init, cong_avoid, ssthresh, set_state,
	   pkts_acked, undo_cwnd)
