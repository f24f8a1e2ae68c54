/*
 * Compound TCP: Reno's window plus a second window that grows while the queue is short.
 *
 * Source:     M. Sridharan, K. Tan, D. Bansal, D. Thaler, "Compound TCP: A New TCP Congestion
 *             Control for High-Speed and Long Distance Networks", draft-sridharan-tcpm-ctcp-02,
 *             2008.
 *                 (1)  wnd = cwnd + dwnd                                this is tp->snd_cwnd
 *                 (2)  cwnd += 1 / wnd                                  per acknowledged segment
 *                      diff = wnd (1 - basertt / srtt)                  segments queued
 *                 (3)  dwnd += alpha wnd^k - 1     while diff < gamma   once per round
 *                 (4)  dwnd -= eta diff            otherwise
 *                 (5)  dwnd (1 - beta)             on loss
 *             gamma follows the queue that Reno alone would have had (section 5): after a loss it
 *             moves halfway towards 3/4 diff_reno, diff_reno = cwnd (1 - basertt / srtt), within
 *             gamma_low and gamma_high. Below Low_Window, in slow start and in recovery the window
 *             is Reno's. After a time-out, dwnd = 0 and basertt is measured again.
 * Constants:  alpha 1/8, beta 1/2, eta 1, k 0.75, Low_Window 38 (sections 2, 3); gamma 5 to 30,
 *             initially 30 (section 5).
 * Deviations: the draft's equation (3) has dwnd^k, with which dwnd could never rise from 0. Here it
 *             is wnd^k, as in K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for
 *             High-Speed and Long Distance Networks", IEEE INFOCOM 2006, equation (4), from which
 *             the draft's response function follows. The draft gives no value for lambda, the
 *             weight of gamma's new sample; it is 1/2 here.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(gamma_low, 5, 1, 1000000, "lower limit of gamma, the backlog that counts as congestion, in segments") \
	PARAMETER(gamma_high, 30, 1, 1000000, "upper limit and initial value of gamma, in segments")           \
	PARAMETER(low_window, 38, 2, 1000000, "window in segments below which it behaves as Reno")

#include "power.h"
#include "reno.h"

#define COMPOUND_K 750             /* thousandths */
#define COMPOUND_ALPHA_SHIFT 3     /* 1/8 */
#define COMPOUND_NO_RTT 0x7fffffffu
#define COMPOUND_NO_DIFF 0xffffffffu

struct compound {
	u64 dwnd;         /* 65536ths of a segment */
	u32 gamma;        /* segments */
	u32 diff_reno;    /* segments, of the last round; COMPOUND_NO_DIFF: none */
	u32 base_rtt;     /* microseconds */
	u32 round_end;
	u32 is_active;  /* 0 outside the Open state */
};
BP_PRIVATE(struct compound)

static inline u32 compound_dwnd(const struct bp_tcp *tp, const struct compound *compound)
{
	u64 dwnd = compound->dwnd >> 16;

	return dwnd < tp->snd_cwnd ? (u32)dwnd : tp->snd_cwnd - 1;
}

/* At the end of a round: equations (3) and (4). */
static inline void compound_decide(struct bp_tcp *tp, struct compound *compound)
{
	u32 rtt = bp_max(tp->srtt_us >> 3, compound->base_rtt);
	u32 dwnd = compound_dwnd(tp, compound);
	u32 cwnd = tp->snd_cwnd - dwnd;
	u64 queue = rtt - compound->base_rtt;
	u64 diff = bp_divide(tp->snd_cwnd * queue, rtt);

	compound->diff_reno = (u32)bp_divide(cwnd * queue, rtt);
	compound->dwnd = ((u64)dwnd << 16) + (compound->dwnd & 0xffff);
	if (tp->snd_cwnd < low_window(tp))
		return;
	if (diff < compound->gamma) {
		u64 growth = bp_power(tp->snd_cwnd, COMPOUND_K) >> COMPOUND_ALPHA_SHIFT;

		compound->dwnd += growth > BP_ONE ? growth - BP_ONE : 0;
	} else {
		compound->dwnd = dwnd > diff ? (u64)(dwnd - diff) << 16 : 0;
	}
	dwnd = (u32)(compound->dwnd >> 16);
	bp_set_cwnd(tp, cwnd + bp_min(dwnd, 0x7fffffff), 2);
	/* The window has decreased without a loss: slow start must not follow. */
	tp->snd_ssthresh = bp_min(tp->snd_ssthresh, tp->snd_cwnd);
}

BP_OP(void, init, struct bp_tcp *tp)
{
	struct compound *compound = bp_private(tp);

	compound->gamma = gamma_high(tp);
	compound->diff_reno = COMPOUND_NO_DIFF;
	compound->base_rtt = COMPOUND_NO_RTT;
	compound->round_end = tp->snd_nxt;
	compound->is_active = 1;
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct compound *compound = bp_private(tp);
	bool is_round = bp_after(ack, compound->round_end);

	if (is_round)
		compound->round_end = tp->snd_nxt;
	/* Equation (2), as snd_cwnd is the whole window. */
	bp_reno_cong_avoid(tp, acked);
	if (is_round && compound->is_active && !bp_in_slow_start(tp) && compound->base_rtt != COMPOUND_NO_RTT &&
	    bp_is_cwnd_limited(tp))
		compound_decide(tp, compound);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	struct compound *compound = bp_private(tp);

	if (compound->diff_reno != COMPOUND_NO_DIFF) {
		u32 gamma = compound->gamma / 2 + compound->diff_reno / 8 * 3;

		compound->gamma = bp_min(bp_max(gamma, gamma_low(tp)), gamma_high(tp));
		compound->diff_reno = COMPOUND_NO_DIFF;
	}
	/* Equation (5); Reno's part is halved too. */
	compound->dwnd = (u64)compound_dwnd(tp, compound) << 15;
	return bp_reno_ssthresh(tp);
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	struct compound *compound = bp_private(tp);

	compound->is_active = new_state == TCP_CA_Open;
	if (new_state == TCP_CA_Open)
		compound->round_end = tp->snd_nxt;
	if (new_state == TCP_CA_Loss) {
		compound->dwnd = 0;
		compound->base_rtt = COMPOUND_NO_RTT;
	}
}

BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	struct compound *compound = bp_private(tp);

	if (sample->rtt_us > 0)
		compound->base_rtt = bp_min(compound->base_rtt, (u32)sample->rtt_us);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(compound, "Reno's window plus one that grows while no queue is seen (CTCP)",
	   "draft-sridharan-tcpm-ctcp-02, 2008", init, cong_avoid, ssthresh, set_state, pkts_acked, undo_cwnd)
