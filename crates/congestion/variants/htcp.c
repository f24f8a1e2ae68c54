/*
 * H-TCP: the increase grows with the time since the last loss; the decrease empties the queue.
 *
 * Source:     D. Leith, R. Shorten, Y. Lee, "H-TCP: A framework for congestion control in
 *             high-speed and long-distance networks", and D. Leith, R. Shorten,
 *             draft-leith-tcp-htcp-06, 2008, section 2.
 *                 D: time since the last backoff; D_L = 1 s
 *                 alpha(D) = 1 for D <= D_L, else 1 + 10 (D - D_L) + ((D - D_L) / 2)^2
 *                 alpha = 2 (1 - beta) alpha(D)
 *                 cwnd += alpha / cwnd per acknowledged segment; cwnd = beta cwnd on loss
 *                 beta = RTT_min / RTT_max, within 0.5 and 0.8
 *                 beta = 0.5 if the rate before this loss differs from that before the
 *                        previous one by more than 1/5
 * Constants:  D_L 1 s, the polynomial, beta 0.5 to 0.8, 0.2 (section 2). Linux's module has coarse
 *             = 1, from_repair = 1 and rtt_reference = 100.
 * Deviations: the rate before a loss is the largest rate of a round trip since the repair of the
 *             last loss. The draft leaves open a scaling of alpha with the round-trip time. It is
 *             off by default; with `rtt_reference`, alpha is multiplied by RTT_min / rtt_reference,
 *             within 0.1 and 2. At each loss RTT_max moves towards RTT_min by a twentieth of the
 *             distance, so that a single long sample has no lasting effect.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(delta_low, 1000, 0, 60000, "milliseconds after a loss in which it behaves as Reno")          \
	PARAMETER(from_repair, 0, 0, 1, "1: the time since a loss starts at the end of its repair")            \
	PARAMETER(coarse, 0, 0, 1, "1: cwnd grows by at most one segment per two acknowledgments")             \
	PARAMETER(rtt_reference, 0, 0, 10000, "round-trip time in milliseconds at which alpha is not scaled; 0: never scaled") \
	PARAMETER(beta_min, 500, 100, 900, "minimum factor of the window on loss, in thousandths")             \
	PARAMETER(beta_max, 800, 100, 900, "maximum factor of the window on loss, in thousandths")

#include "rate.h"
#include "reno.h"

#define HTCP_ONE 1000u
#define HTCP_MAX_MS 1000000u
#define HTCP_MIN_SCALE (HTCP_ONE / 10)
#define HTCP_MAX_SCALE (2 * HTCP_ONE)

struct htcp {
	u64 credit;        /* growth of less than a segment, thousandths times the window; segments if `coarse` is 1 */
	u32 last_loss;     /* milliseconds */
	u32 min_rtt;       /* microseconds; 0: none yet */
	u32 max_rtt;
	u32 beta;          /* thousandths */
	u32 rate;          /* largest since the last loss */
	u32 old_rate;      /* before it */
	u32 round_start;   /* microseconds */
	u32 round_delivered;
	u32 is_repairing;
};
BP_PRIVATE(struct htcp)

static inline u32 htcp_now(const struct bp_tcp *tp)
{
	return (u32)(tp->tcp_mstamp / 1000);
}

/* alpha, thousandths. */
static inline u64 htcp_alpha(const struct bp_tcp *tp, const struct htcp *htcp)
{
	u64 since = bp_min(htcp_now(tp) - htcp->last_loss, HTCP_MAX_MS);
	u64 over = since > delta_low(tp) ? since - delta_low(tp) : 0;
	u64 alpha = HTCP_ONE + 10 * over + over * over / 4000;

	if (rtt_reference(tp)) {
		u64 scale = bp_divide((u64)htcp->min_rtt, rtt_reference(tp));

		alpha = alpha * bp_max(bp_min((u32)scale, HTCP_MAX_SCALE), HTCP_MIN_SCALE) / HTCP_ONE;
	}
	alpha = 2 * (HTCP_ONE - htcp->beta) * alpha / HTCP_ONE;
	return alpha > HTCP_ONE ? alpha : HTCP_ONE;
}

static inline void htcp_start_round(const struct bp_tcp *tp, struct htcp *htcp)
{
	htcp->round_start = (u32)tp->tcp_mstamp;
	htcp->round_delivered = tp->delivered;
}

BP_OP(void, init, struct bp_tcp *tp)
{
	struct htcp *htcp = bp_private(tp);

	htcp->beta = beta_min(tp);
	htcp->last_loss = htcp_now(tp);
	htcp_start_round(tp, htcp);
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct htcp *htcp = bp_private(tp);
	u64 window, steps, alpha;

	if (!bp_is_cwnd_limited(tp))
		return;
	if (bp_in_slow_start(tp)) {
		acked = bp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	acked = bp_min(acked, bp_min(tp->snd_cwnd, 1 << 20));
	alpha = htcp_alpha(tp, htcp);
	window = (u64)tp->snd_cwnd * HTCP_ONE;
	if (coarse(tp)) {
		/*
		 * Acknowledged segments are counted until cwnd grows by one. The segments of the
		 * acknowledgment that makes it grow are not counted.
		 */
		bool grows = htcp->credit * alpha >= window;

		htcp->credit = grows ? 0 : htcp->credit + acked;
		bp_set_cwnd(tp, tp->snd_cwnd + grows, 1);
		return;
	}
	steps = bp_divide(htcp->credit + acked * alpha, window);
	htcp->credit += acked * alpha - steps * window;
	bp_set_cwnd(tp, tp->snd_cwnd + bp_min((u32)steps, tp->snd_cwnd), 1);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	struct htcp *htcp = bp_private(tp);
	u32 difference = htcp->rate > htcp->old_rate ? htcp->rate - htcp->old_rate : htcp->old_rate - htcp->rate;

	if (difference > htcp->old_rate / 5 || !htcp->min_rtt)
		htcp->beta = beta_min(tp);
	else
		htcp->beta = bp_max(bp_min((u32)bp_divide((u64)htcp->min_rtt * HTCP_ONE, htcp->max_rtt), beta_max(tp)),
				    beta_min(tp));
	htcp->old_rate = htcp->rate;
	htcp->rate = 0;
	htcp->max_rtt -= htcp->max_rtt > htcp->min_rtt ? (htcp->max_rtt - htcp->min_rtt) / 20 : 0;
	htcp->last_loss = htcp_now(tp);
	htcp->is_repairing = 1;
	return bp_max((u32)((u64)tp->snd_cwnd * htcp->beta / HTCP_ONE), BP_RENO_MIN_SSTHRESH);
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	struct htcp *htcp = bp_private(tp);

	if (new_state != TCP_CA_Open || !htcp->is_repairing)
		return;
	htcp->is_repairing = 0;
	if (from_repair(tp))
		htcp->last_loss = htcp_now(tp);
}

BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	struct htcp *htcp = bp_private(tp);
	u32 elapsed = (u32)tp->tcp_mstamp - htcp->round_start;

	if (sample->rtt_us > 0) {
		u32 rtt = (u32)sample->rtt_us;

		htcp->min_rtt = htcp->min_rtt ? bp_min(htcp->min_rtt, rtt) : rtt;
		if (bp_ca_state(tp) == TCP_CA_Open)
			htcp->max_rtt = bp_max(htcp->max_rtt, rtt);
	}
	/* During a repair, the arriving data still belongs to the window before the loss. */
	if (htcp->is_repairing) {
		htcp_start_round(tp, htcp);
		return;
	}
	if (!htcp->min_rtt || elapsed < htcp->min_rtt)
		return;
	htcp->rate = bp_max(htcp->rate, bp_rate(tp->delivered - htcp->round_delivered, elapsed));
	htcp_start_round(tp, htcp);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(htcp, "Grows faster the longer the last loss is ago; the decrease empties the queue",
	   "Leith and Shorten, draft-leith-tcp-htcp-06, 2008", init, cong_avoid, ssthresh, set_state,
	   pkts_acked, undo_cwnd)
