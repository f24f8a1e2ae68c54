/*
 * Probe: a test variant, not a congestion control. It contains every operation and every accessor
 * of the header once, so that the engine's and the kernel's side are tested completely. Each
 * operation counts its calls and adds its arguments to the private state.
 *
 * Source:  this project's tests
 * Licence: Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER) PARAMETER(weight, 3, 1, 1000, "segments: the growth of each call")

#include "bentpipe.h"

struct probe {
	u32 calls[8];
	u64 sum;
	u8 rest[64];
};
BP_PRIVATE(struct probe)
_Static_assert(sizeof(struct probe) == BP_PRIVATE_SIZE, "the probe fills the private state");

static inline void note(struct bp_tcp *tp, u32 operation, u64 value)
{
	struct probe *probe = bp_private(tp);

	probe->calls[operation]++;
	probe->sum += value;
	probe->rest[63] = (u8)(operation + 1);
}

BP_OP(void, init, struct bp_tcp *tp)
{
	note(tp, 0, bp_ca_state(tp));
	bp_need_pacing(tp);
	bp_set_pacing_rate(tp, 125000);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	note(tp, 1, tp->packets_out + bp_packets_in_flight(tp));
	return bp_max(tp->snd_cwnd - (u32)bp_divide(tp->snd_cwnd, 4), 2);
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	note(tp, 2, ack + acked);
	if (bp_is_cwnd_limited(tp))
		bp_set_cwnd(tp, tp->snd_cwnd + weight(tp), 2);
}

BP_OP(void, cong_control, struct bp_tcp *tp, const struct rate_sample *sample)
{
	note(tp, 3, (u64)sample->delivered + (u64)sample->interval_us + (u64)sample->rtt_us + sample->prior_in_flight);
	if (!sample->is_app_limited && !sample->is_retrans && !sample->is_ack_delayed && sample->losses == 0)
		bp_set_cwnd(tp, tp->snd_cwnd + weight(tp), 2);
	note(tp, 3, bp_random(tp) & 1);
	note(tp, 3, sample->prior_mstamp + sample->prior_delivered + sample->acked_sacked);
	tp->app_limited = 0;
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	note(tp, 4, new_state);
	tp->snd_cwnd_cnt = 0;
}

BP_OP(void, cwnd_event, struct bp_tcp *tp, enum tcp_ca_event event)
{
	note(tp, 5, event);
	if (event == CA_EVENT_LOSS)
		tp->snd_ssthresh = BP_INFINITE_SSTHRESH;
}

BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	note(tp, 6, sample->pkts_acked + (u32)sample->rtt_us + sample->in_flight);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	note(tp, 7, bp_pacing_rate(tp) + bp_max_pacing_rate(tp) + bp_rtt_min_us(tp) + tp->srtt_us + tp->mdev_us);
	note(tp, 7, tp->tcp_mstamp + tp->delivered + tp->delivered_ce + tp->lost + tp->mss_cache + tp->prior_ssthresh +
			    bp_rcv_tsval(tp) + bp_rcv_tsecr(tp));
	return bp_after(tp->snd_nxt, tp->snd_una) ? tp->prior_cwnd : bp_min(tp->snd_cwnd, tp->prior_cwnd);
}

BP_VARIANT(probe, "Every operation and accessor once, for the tests", "this project's tests", init, ssthresh,
	   cong_avoid, cong_control, set_state, cwnd_event, pkts_acked, undo_cwnd)
