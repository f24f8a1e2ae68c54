/*
 * Fixed rate: sends at a configured rate that the path can carry, regardless of losses.
 *
 * Source:     CCSDS 714.0-B-2, Space Communications Protocol Specification (SCPS) - Transport
 *             Protocol, 2006: rate control without congestion control, for paths whose capacity is
 *             reserved and whose losses are corruption.
 *                 pacing rate = rate, cwnd = window
 * Constants:  none; the operator sets rate and window.
 * Deviations: the connection's pacing, a bucket of one segment, replaces the standard's token
 *             bucket.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(rate, 1000, 1, 100000000, "sending rate in kbit/s of payload")                               \
	PARAMETER(window, 10000, 2, 100000000, "maximum number of segments in flight")

#include "reno.h"

static inline void fixed_rate_set(struct bp_tcp *tp)
{
	bp_set_pacing_rate(tp, (u64)rate(tp) * 125);
	bp_set_cwnd(tp, window(tp), 1);
}

BP_OP(void, init, struct bp_tcp *tp)
{
	bp_need_pacing(tp);
	fixed_rate_set(tp);
}

BP_OP(void, cong_control, struct bp_tcp *tp, const struct rate_sample *sample)
{
	fixed_rate_set(tp);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	return bp_max(tp->snd_cwnd, BP_RENO_MIN_SSTHRESH);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return tp->snd_cwnd;
}

BP_VARIANT(fixed_rate, "Sends at a rate that the path is known to carry: SCPS-TP's pure rate control",
	   "CCSDS 714.0-B-2, SCPS-TP, 2006", init, cong_control, ssthresh, undo_cwnd)
