/*
 * BBR, version 1: paces at the bottleneck's measured rate and keeps two of its bandwidth-delay products in flight at
 * most; loss is no signal.
 *
 * Source:     N. Cardwell, Y. Cheng, S. Hassas Yeganeh, V. Jacobson, "BBR Congestion Control",
 *             draft-cardwell-iccrg-bbr-congestion-control-00, 2017, section 4, whose functions carry their names here;
 *             delivery rates by draft-cheng-iccrg-delivery-rate-estimation. The draft numbers no equations:
 *                 BtlBw   largest delivery rate of the last 10 round trips            (4.1.1)
 *                 RTprop  smallest round-trip time of the last 10 s                   (4.1.2)
 *                 pacing_rate = pacing_gain BtlBw                                     (4.2.1)
 *                 BBRInflight(gain) = gain BtlBw RTprop + 3 send_quantum              (4.2.3.2)
 *             Startup, with gain 2/ln 2, until BtlBw has not grown by a quarter in three round trips; Drain, with its
 *             inverse, until what is in flight fits; ProbeBW, in a cycle of gains 5/4, 3/4 and six times 1, each for
 *             RTprop; ProbeRTT, every 10 s without a smaller round-trip time, four segments for 200 ms (4.3).
 * Constants:  those of the draft: BBRHighGain 2.89, cwnd_gain 2, BtlBwFilterLen 10, RTpropFilterLen 10 s,
 *             BBRMinPipeCwnd 4, ProbeRTTDuration 200 ms; a rate 1 % below the measured one
 *             (draft-ietf-ccwg-bbr, BBR.PacingMarginPercent); aggregation over 5 to 10 round trips.
 * Deviations: those of Linux. Rates are in segments, not bytes. cwnd allows for acknowledgments that come in lumps by
 *             the largest excess over BtlBw (`aggregation`; draft-cardwell-iccrg-bbr-congestion-control-02, section
 *             4.5.5). While ProbeBW probes with 5/4 two segments are added, so that small pipes are probed too
 *             (there, section 4.6.4.2). After a time-out Startup's search for a full pipe begins anew. Not included: Linux'
 *             guess of a policer's rate (the draft does not have it).
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(cwnd_gain, 200, 100, 1000, "percent of the bandwidth-delay product in flight in ProbeBW")    \
	PARAMETER(rtprop_length, 10000, 100, 600000, "milliseconds after which a round-trip time is too old")  \
	PARAMETER(probe_rtt, 200, 1, 10000, "milliseconds that ProbeRTT lasts")                                \
	PARAMETER(margin, 1, 0, 50, "percent below the measured rate at which is sent")                        \
	PARAMETER(aggregation, 1, 0, 1, "1: cwnd allows for acknowledgments that come in lumps")

#include "bbr.h"

#define BBR_HIGH_GAIN 740 /* 2.89 */
#define BBR_DRAIN_GAIN 89 /* 1 / 2.89 */
#define BBR_ROUNDS 10     /* BtlBwFilterLen */
#define BBR_CYCLE 8
#define BBR_MIN_PIPE_CWND 4
#define BBR_AGGREGATION_ROUNDS 5
#define BBR_FULL_ROUNDS 3

enum bbr_state { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_BW, BBR_PROBE_RTT };

struct bbr {
	u32 rates[BBR_ROUNDS]; /* largest rate of this round trip, of the one before, ... */
	u32 older;             /* largest of all but the first */
	u32 rtprop;            /* microseconds */
	u32 rtprop_stamp;      /* milliseconds, as all moments but where said */
	u32 done_stamp;        /* of ProbeRTT; 0: not known yet */
	u32 prior_cwnd;
	u32 next_round;        /* `delivered` at which the round trip is over */
	u32 full_bw;
	u32 cycle_stamp;       /* microseconds */
	u32 extra_start;       /* microseconds */
	u32 extra_delivered;
	u16 extra[2];          /* largest excess of this and of the last window of rounds */
	u8 extra_rounds;
	u8 state;
	u8 full_count;
	u8 cycle_index;
	u8 ca_state;           /* at the acknowledgment before */
	u8 round_start : 1;
	u8 filled_pipe : 1;
	u8 packet_conservation : 1;
	u8 idle_restart : 1;
	u8 probe_rtt_round_done : 1;
};
BP_PRIVATE(struct bbr)

static inline u32 bbr_now(const struct bp_tcp *tp)
{
	return (u32)(tp->tcp_mstamp / 1000);
}

static inline u32 bbr_btlbw(const struct bbr *bbr)
{
	return bp_max(bbr->rates[0], bbr->older);
}

static inline u32 bbr_pacing_gain(const struct bbr *bbr)
{
	if (bbr->state == BBR_STARTUP)
		return BBR_HIGH_GAIN;
	if (bbr->state == BBR_DRAIN)
		return BBR_DRAIN_GAIN;
	if (bbr->state == BBR_PROBE_BW && bbr->cycle_index < 2)
		return bbr->cycle_index ? BBR_ONE * 3 / 4 : BBR_ONE * 5 / 4;
	return BBR_ONE;
}

/* BBRInflight */
static inline u32 bbr_inflight(struct bp_tcp *tp, const struct bbr *bbr, u32 gain)
{
	if (bbr->rtprop == BBR_NO_RTT || !bbr_btlbw(bbr))
		return tp->snd_cwnd;
	return bbr_segments(bbr_btlbw(bbr), bbr->rtprop, gain) + 3 * bbr_send_quantum(tp) +
	       (bbr->state == BBR_PROBE_BW && !bbr->cycle_index ? 2 : 0);
}

/* BBRUpdateRound and BBRUpdateBtlBw */
static inline void bbr_update_rate(struct bp_tcp *tp, struct bbr *bbr, const struct rate_sample *sample)
{
	u32 rate;

	bbr->round_start = 0;
	if (sample->delivered < 0 || sample->interval_us <= 0)
		return;
	if (!bp_after(bbr->next_round, sample->prior_delivered)) {
		u32 older = 0;

		bbr->next_round = tp->delivered;
		bbr->round_start = 1;
		bbr->packet_conservation = 0;
		for (u32 round = BBR_ROUNDS - 1; round; round--) {
			bbr->rates[round] = bbr->rates[round - 1];
			older = bp_max(older, bbr->rates[round]);
		}
		bbr->rates[0] = 0;
		bbr->older = older;
	}
	rate = bp_rate((u64)sample->delivered, (u64)sample->interval_us);
	if (!sample->is_app_limited || rate >= bbr_btlbw(bbr))
		bbr->rates[0] = bp_max(bbr->rates[0], rate);
}

/* BBRUpdateACKAggregation of the draft's version 02. */
static inline void bbr_update_aggregation(struct bp_tcp *tp, struct bbr *bbr, const struct rate_sample *sample)
{
	u32 now = (u32)tp->tcp_mstamp;
	u32 expected = bbr_segments(bbr_btlbw(bbr), now - bbr->extra_start, BBR_ONE);
	u32 extra;

	if (!aggregation(tp) || sample->delivered < 0 || sample->interval_us <= 0 || !sample->acked_sacked)
		return;
	if (bbr->round_start && ++bbr->extra_rounds >= BBR_AGGREGATION_ROUNDS) {
		bbr->extra_rounds = 0;
		bbr->extra[1] = bbr->extra[0];
		bbr->extra[0] = 0;
	}
	if (bbr->extra_delivered <= expected) {
		bbr->extra_delivered = 0;
		bbr->extra_start = now;
		expected = 0;
	}
	bbr->extra_delivered = bp_min(bbr->extra_delivered + bp_min(sample->acked_sacked, 1 << 20), 1 << 20);
	extra = bbr->extra_delivered > expected ? bbr->extra_delivered - expected : 0;
	extra = bp_min(bp_min(extra, tp->snd_cwnd), 0xffff);
	bbr->extra[0] = (u16)bp_max(bbr->extra[0], extra);
}

static inline void bbr_enter_probe_bw(struct bp_tcp *tp, struct bbr *bbr)
{
	bbr->state = BBR_PROBE_BW;
	/* Any phase but that of 3/4. */
	bbr->cycle_index = (u8)((BBR_CYCLE - bp_random(tp) % (BBR_CYCLE - 1)) % BBR_CYCLE);
	bbr->cycle_stamp = (u32)tp->tcp_mstamp;
}

/* BBRCheckCyclePhase */
static inline void bbr_check_cycle(struct bp_tcp *tp, struct bbr *bbr, const struct rate_sample *sample)
{
	u32 gain = bbr_pacing_gain(bbr);
	bool is_full_length = (u32)tp->tcp_mstamp - bbr->cycle_stamp > bbr->rtprop;
	bool is_next = is_full_length;

	if (bbr->state != BBR_PROBE_BW)
		return;
	if (gain > BBR_ONE)
		is_next = is_full_length &&
			  (sample->losses > 0 || sample->prior_in_flight >= bbr_inflight(tp, bbr, gain));
	else if (gain < BBR_ONE)
		is_next = is_full_length || sample->prior_in_flight <= bbr_inflight(tp, bbr, BBR_ONE);
	if (is_next) {
		bbr->cycle_index = (bbr->cycle_index + 1) % BBR_CYCLE;
		bbr->cycle_stamp = (u32)tp->tcp_mstamp;
	}
}

/* BBRCheckFullPipe and BBRCheckDrain */
static inline void bbr_check_full_pipe(struct bp_tcp *tp, struct bbr *bbr, const struct rate_sample *sample)
{
	if (!bbr->filled_pipe && bbr->round_start && !sample->is_app_limited) {
		if (bbr_btlbw(bbr) >= bbr->full_bw + bbr->full_bw / 4) {
			bbr->full_bw = bbr_btlbw(bbr);
			bbr->full_count = 0;
		} else if (++bbr->full_count >= BBR_FULL_ROUNDS) {
			bbr->filled_pipe = 1;
		}
	}
	if (bbr->state == BBR_STARTUP && bbr->filled_pipe) {
		bbr->state = BBR_DRAIN;
		tp->snd_ssthresh = bbr_inflight(tp, bbr, BBR_ONE);
	}
	if (bbr->state == BBR_DRAIN && bp_packets_in_flight(tp) <= bbr_inflight(tp, bbr, BBR_ONE))
		bbr_enter_probe_bw(tp, bbr);
}

/* BBRSaveCwnd */
static inline void bbr_save_cwnd(struct bp_tcp *tp, struct bbr *bbr)
{
	if (bbr->ca_state < TCP_CA_Recovery && bbr->state != BBR_PROBE_RTT)
		bbr->prior_cwnd = tp->snd_cwnd;
	else
		bbr->prior_cwnd = bp_max(bbr->prior_cwnd, tp->snd_cwnd);
}

/* BBRUpdateRTprop and BBRCheckProbeRTT */
static inline void bbr_update_rtprop(struct bp_tcp *tp, struct bbr *bbr, const struct rate_sample *sample)
{
	u32 now = bbr_now(tp);
	bool expired = (s32)(now - (bbr->rtprop_stamp + rtprop_length(tp))) > 0;

	if (sample->rtt_us >= 0 &&
	    ((u64)sample->rtt_us <= bbr->rtprop || (expired && !sample->is_ack_delayed))) {
		bbr->rtprop = (u32)sample->rtt_us;
		bbr->rtprop_stamp = now;
	}
	if (expired && !bbr->idle_restart && bbr->state != BBR_PROBE_RTT) {
		bbr_save_cwnd(tp, bbr);
		bbr->state = BBR_PROBE_RTT;
		bbr->done_stamp = 0;
	}
	if (bbr->state == BBR_PROBE_RTT) {
		u32 flight = bp_packets_in_flight(tp);

		/* What is measured now is not the path's rate. */
		tp->app_limited = bp_max(tp->delivered + flight, 1);
		if (!bbr->done_stamp && flight <= BBR_MIN_PIPE_CWND) {
			bbr->done_stamp = bp_max(now + probe_rtt(tp), 1);
			bbr->probe_rtt_round_done = 0;
			bbr->next_round = tp->delivered;
		} else if (bbr->done_stamp) {
			if (bbr->round_start)
				bbr->probe_rtt_round_done = 1;
			if (bbr->probe_rtt_round_done && (s32)(now - bbr->done_stamp) > 0) {
				bbr->rtprop_stamp = now;
				bp_set_cwnd(tp, bp_max(tp->snd_cwnd, bbr->prior_cwnd), 1);
				if (bbr->filled_pipe)
					bbr_enter_probe_bw(tp, bbr);
				else
					bbr->state = BBR_STARTUP;
			}
		}
	}
	if (sample->delivered > 0)
		bbr->idle_restart = 0;
}

/* BBRSetPacingRate */
static inline void bbr_set_pacing_rate(struct bp_tcp *tp, const struct bbr *bbr, u32 gain)
{
	u64 rate = bbr_bytes(tp, bbr_btlbw(bbr), gain, margin(tp));

	if (bbr_btlbw(bbr) && (bbr->filled_pipe || rate > bp_pacing_rate(tp)))
		bp_set_pacing_rate(tp, rate);
}

/* BBRSetCwnd, with BBRModulateCwndForRecovery and BBRModulateCwndForProbeRTT. */
static inline void bbr_set_cwnd(struct bp_tcp *tp, struct bbr *bbr, const struct rate_sample *sample)
{
	u8 state = bp_ca_state(tp);
	u32 acked = bp_min(sample->acked_sacked, 1 << 20);
	u32 flight = bp_packets_in_flight(tp);
	u32 cwnd = bp_min(tp->snd_cwnd, 1 << 30);
	u32 target;

	if (sample->losses > 0)
		cwnd = cwnd > (u32)sample->losses ? cwnd - (u32)sample->losses : 1;
	if (state == TCP_CA_Recovery && bbr->ca_state != TCP_CA_Recovery) {
		bbr->packet_conservation = 1;
		bbr->next_round = tp->delivered;
		cwnd = flight + bp_max(acked, 1);
	} else if (state < TCP_CA_Recovery && bbr->ca_state >= TCP_CA_Recovery) {
		bbr->packet_conservation = 0;
		cwnd = bp_max(cwnd, bbr->prior_cwnd);
	}
	bbr->ca_state = state;
	if (bbr->packet_conservation) {
		cwnd = bp_max(cwnd, flight + acked);
	} else if (acked) {
		target = bbr_inflight(tp, bbr,
				      bbr->state == BBR_PROBE_BW ? cwnd_gain(tp) * BBR_ONE / 100
				      : bbr->state == BBR_PROBE_RTT ? BBR_ONE : BBR_HIGH_GAIN);
		if (bbr->filled_pipe)
			target += bp_max(bbr->extra[0], bbr->extra[1]);
		if (bbr->filled_pipe)
			cwnd = bp_min(cwnd + acked, target);
		else if (cwnd < target || tp->delivered < 10)
			cwnd += acked;
		cwnd = bp_max(cwnd, BBR_MIN_PIPE_CWND);
	}
	if (bbr->state == BBR_PROBE_RTT)
		cwnd = bp_min(cwnd, BBR_MIN_PIPE_CWND);
	bp_set_cwnd(tp, cwnd, 1);
}

BP_OP(void, init, struct bp_tcp *tp)
{
	struct bbr *bbr = bp_private(tp);
	u32 rtt = bp_max(tp->srtt_us ? tp->srtt_us >> 3 : 1000, 1);

	bbr->rtprop = tp->srtt_us ? rtt : BBR_NO_RTT;
	bbr->rtprop_stamp = bbr_now(tp);
	bbr->next_round = tp->delivered;
	bbr->extra_start = (u32)tp->tcp_mstamp;
	bp_need_pacing(tp);
	/* BBRInitPacingRate */
	bp_set_pacing_rate(tp, bbr_bytes(tp, bp_rate(tp->snd_cwnd, rtt), BBR_HIGH_GAIN, margin(tp)));
}

BP_OP(void, cong_control, struct bp_tcp *tp, const struct rate_sample *sample)
{
	struct bbr *bbr = bp_private(tp);

	bbr_update_rate(tp, bbr, sample);
	bbr_update_aggregation(tp, bbr, sample);
	bbr_check_cycle(tp, bbr, sample);
	bbr_check_full_pipe(tp, bbr, sample);
	bbr_update_rtprop(tp, bbr, sample);
	bbr_set_pacing_rate(tp, bbr, bbr_pacing_gain(bbr));
	bbr_set_cwnd(tp, bbr, sample);
}

/* The window before is kept for the end of recovery; loss sets no threshold. */
BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	bbr_save_cwnd(tp, bp_private(tp));
	return bp_max(tp->snd_ssthresh, 2);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	struct bbr *bbr = bp_private(tp);

	bbr->full_bw = 0;
	bbr->full_count = 0;
	return tp->snd_cwnd;
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	struct bbr *bbr = bp_private(tp);

	if (new_state == TCP_CA_Loss) {
		bbr->ca_state = TCP_CA_Loss;
		bbr->full_bw = 0;
		bbr->round_start = 1;
		bbr->packet_conservation = 0;
	}
}

/* BBRHandleRestartFromIdle */
BP_OP(void, cwnd_event, struct bp_tcp *tp, enum tcp_ca_event event)
{
	struct bbr *bbr = bp_private(tp);

	if (event == CA_EVENT_TX_START && tp->app_limited) {
		bbr->idle_restart = 1;
		bbr->extra_start = (u32)tp->tcp_mstamp;
		bbr->extra_delivered = 0;
		if (bbr->state == BBR_PROBE_BW)
			bbr_set_pacing_rate(tp, bbr, BBR_ONE);
	}
}

BP_VARIANT(bbr, "Paces at the bottleneck's measured rate, with two bandwidth-delay products in flight (version 1)",
	   "draft-cardwell-iccrg-bbr-congestion-control-00, 2017", init, cong_control, ssthresh, undo_cwnd, set_state,
	   cwnd_event)
