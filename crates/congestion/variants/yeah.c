/*
 * YeAH: Scalable TCP while the queue is short, Reno that empties the queue otherwise.
 *
 * Source:     A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP",
 *             PFLDnet 2007, section 3.
 *                 RTT_queue = RTT_min of the round - RTT_base
 *                 Q = RTT_queue cwnd / RTT_min; L = RTT_queue / RTT_base
 *                 fast mode, Q < Q_max and L < 1 / phi: cwnd grows as Scalable TCP's (scalable.c)
 *                 slow mode, otherwise: cwnd grows as Reno's
 *                 slow mode with Q > Q_max: cwnd -= Q, once a round, at least cwnd_reno;
 *                     ssthresh = cwnd ("precautionary decongestion")
 *                 cwnd_reno: the window that Reno would have
 *                 on loss: cwnd -= max(Q, cwnd / 8), at most half
 *                 on loss after more than rho rounds of slow mode: cwnd / 2
 *                     (competing flows are as greedy)
 * Constants:  Q_max 80, phi 8, rho 16 (section 3; the paper's alpha, and those of its Linux
 *             implementation); Scalable's 0.01 and 16.
 * Deviations: a round starts at the end of a repair: earlier samples measure the queue of the
 *             previous window, which the loss has already reduced. Q of the last round applies
 *             until the next round is evaluated, after its last acknowledgment has let the window
 *             grow. The paper specifies neither; both are as in Linux (docs/notes/linux-tcp.md).
 *             The others are those of Linux (windows in segments; see reno.c). Linux's module also
 *             empties the queue in slow start, by at most half of the window (`early`).
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(q_max, 80, 1, 1000000, "maximum number of queued segments in fast mode")                     \
	PARAMETER(phi, 8, 1, 1000, "divisor of the round-trip time, which gives the maximum queueing delay in fast mode") \
	PARAMETER(rho, 16, 1, 1000, "rounds of slow mode after which competing flows are assumed to be greedy") \
	PARAMETER(early, 0, 0, 1, "1: the queue is also emptied in slow start, by at most half of the window")

#include "reno.h"

#define YEAH_NO_RTT 0x7fffffffu
#define YEAH_SCALABLE 100 /* acknowledged segments per increase of cwnd by one */

struct yeah {
	u32 base_rtt;    /* microseconds */
	u32 round_rtt;   /* smallest of this round */
	u32 round_end;
	u32 queue;       /* Q of the last round */
	u32 is_fast;
	u32 slow_rounds; /* consecutive rounds of slow mode */
	u32 cwnd_reno;
};
BP_PRIVATE(struct yeah)

/* At the end of a round. */
static inline void yeah_decide(struct bp_tcp *tp, struct yeah *yeah)
{
	u32 delay = yeah->round_rtt - yeah->base_rtt;

	yeah->queue = (u32)bp_divide((u64)delay * tp->snd_cwnd, yeah->round_rtt);
	yeah->is_fast = yeah->queue < q_max(tp) && (u64)delay * phi(tp) < yeah->base_rtt;
	if (yeah->is_fast) {
		yeah->slow_rounds = 0;
		yeah->cwnd_reno = bp_max(tp->snd_cwnd / 2, 2);
		return;
	}
	yeah->slow_rounds++;
	yeah->cwnd_reno++;
	if (yeah->queue > q_max(tp) && tp->snd_cwnd > yeah->cwnd_reno) {
		u32 limit = early(tp) ? tp->snd_cwnd / 2 : tp->snd_cwnd;
		u32 left = tp->snd_cwnd - bp_min(yeah->queue, limit);

		bp_set_cwnd(tp, bp_max(left, yeah->cwnd_reno), 2);
		tp->snd_ssthresh = tp->snd_cwnd;
	}
}

static inline void yeah_begin_round(const struct bp_tcp *tp, struct yeah *yeah)
{
	yeah->round_rtt = YEAH_NO_RTT;
	yeah->round_end = tp->snd_nxt;
}

BP_OP(void, init, struct bp_tcp *tp)
{
	struct yeah *yeah = bp_private(tp);

	yeah->base_rtt = YEAH_NO_RTT;
	yeah_begin_round(tp, yeah);
	yeah->is_fast = 1;
	yeah->cwnd_reno = 2;
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct yeah *yeah = bp_private(tp);

	if (bp_is_cwnd_limited(tp)) {
		if (bp_in_slow_start(tp))
			acked = bp_slow_start(tp, acked);
		if (acked)
			bp_cong_avoid_ai(tp, yeah->is_fast ? bp_min(tp->snd_cwnd, YEAH_SCALABLE) : tp->snd_cwnd, acked);
	}
	if (bp_after(ack, yeah->round_end)) {
		if (yeah->round_rtt != YEAH_NO_RTT && (early(tp) || !bp_in_slow_start(tp)))
			yeah_decide(tp, yeah);
		yeah_begin_round(tp, yeah);
	}
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	struct yeah *yeah = bp_private(tp);
	u32 less = bp_max(yeah->queue, tp->snd_cwnd / 8);

	if (yeah->slow_rounds > rho(tp))
		less = tp->snd_cwnd / 2;
	less = bp_min(less, tp->snd_cwnd / 2);
	yeah->cwnd_reno = bp_max(yeah->cwnd_reno / 2, 2);
	yeah->slow_rounds = 0;
	return bp_max(tp->snd_cwnd - less, BP_RENO_MIN_SSTHRESH);
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	if (new_state == TCP_CA_Open)
		yeah_begin_round(tp, bp_private(tp));
}

BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	struct yeah *yeah = bp_private(tp);

	if (sample->rtt_us <= 0)
		return;
	yeah->base_rtt = bp_min(yeah->base_rtt, (u32)sample->rtt_us);
	yeah->round_rtt = bp_min(yeah->round_rtt, (u32)sample->rtt_us);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(yeah, "Scalable TCP while the queue is short, otherwise Reno that empties it",
	   "Baiocchi, Castellani and Vacirca, YeAH-TCP, PFLDnet 2007", init, cong_avoid, ssthresh, set_state, pkts_acked,
	   undo_cwnd)
