/*
 * Veno: Reno that uses the queue length, estimated as in Vegas, to distinguish random losses from
 * congestion.
 *
 * Source:     C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission Over Wireless
 *             Access Networks", IEEE Journal on Selected Areas in Communications 21(2), pages
 *             216-228, 2003, sections II.B and II.C.
 *                 N = Actual (RTT - BaseRTT), Actual = cwnd / RTT       segments queued
 *                 N < beta:  cwnd += 1 each round trip
 *                            a loss is random: ssthresh = 4/5 cwnd
 *                 N >= beta: cwnd += 1 every other round trip
 *                            a loss is congestion: ssthresh = cwnd / 2
 * Constants:  beta 3 (section II.B), 4/5 (section II.C).
 * Deviations: RTT is the smallest sample of the present round, not the last sample, so that delayed
 *             acknowledgments do not count as a queue. Before the first sample of a round it is
 *             that of the previous round. After a time-out BaseRTT is measured again (the paper
 *             does so after every loss detected by time-out).
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(beta, 3, 1, 65535, "number of queued segments from which a loss counts as congestion")

#include "reno.h"

#define VENO_NO_RTT 0x7fffffffu

struct veno {
	u32 base_rtt;  /* microseconds */
	u32 round_rtt; /* smallest of this round */
	u32 last_rtt;  /* of the previous round */
	u32 round_end;
};
BP_PRIVATE(struct veno)

static inline u32 veno_queued(struct bp_tcp *tp)
{
	const struct veno *veno = bp_private(tp);
	u32 rtt = veno->round_rtt != VENO_NO_RTT ? veno->round_rtt : veno->last_rtt;

	if (rtt == VENO_NO_RTT || veno->base_rtt > rtt)
		return 0;
	return (u32)bp_divide((u64)tp->snd_cwnd * (rtt - veno->base_rtt), rtt);
}

BP_OP(void, init, struct bp_tcp *tp)
{
	struct veno *veno = bp_private(tp);

	veno->base_rtt = VENO_NO_RTT;
	veno->round_rtt = VENO_NO_RTT;
	veno->last_rtt = VENO_NO_RTT;
	veno->round_end = tp->snd_nxt;
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct veno *veno = bp_private(tp);

	if (bp_after(ack, veno->round_end)) {
		veno->last_rtt = veno->round_rtt != VENO_NO_RTT ? veno->round_rtt : veno->last_rtt;
		veno->round_rtt = VENO_NO_RTT;
		veno->round_end = tp->snd_nxt;
	}
	if (!bp_is_cwnd_limited(tp))
		return;
	if (bp_in_slow_start(tp)) {
		acked = bp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	bp_cong_avoid_ai(tp, veno_queued(tp) < beta(tp) ? tp->snd_cwnd : bp_min(tp->snd_cwnd, 1 << 30) * 2, acked);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	if (veno_queued(tp) < beta(tp))
		return bp_max((u32)((u64)tp->snd_cwnd * 4 / 5), BP_RENO_MIN_SSTHRESH);
	return bp_reno_ssthresh(tp);
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		bp_private(tp)->base_rtt = VENO_NO_RTT;
}

BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	struct veno *veno = bp_private(tp);

	if (sample->rtt_us <= 0)
		return;
	veno->base_rtt = bp_min(veno->base_rtt, (u32)sample->rtt_us);
	veno->round_rtt = bp_min(veno->round_rtt, (u32)sample->rtt_us);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(veno, "Reno that distinguishes random losses from congestion by the queue",
	   "Fu and Liew, TCP Veno, IEEE JSAC 21(2), 2003", init, cong_avoid, ssthresh, set_state, pkts_acked, undo_cwnd)
