/*
 * BBR, version 1: paces at the measured rate of the bottleneck and keeps at most two
 * bandwidth-delay products in flight. Loss is not a signal.
 *
 * Source:     N. Cardwell, Y. Cheng, S. Hassas Yeganeh, V. Jacobson, "BBR Congestion Control",
 *             draft-cardwell-iccrg-bbr-congestion-control-00, 2017, section 4. Functions here have
 *             the names of the draft's functions. Delivery rates:
 *             draft-cheng-iccrg-delivery-rate-estimation. The draft numbers no equations:
 *                 BtlBw   largest delivery rate of the last 10 round trips            (4.1.1)
 *                 RTprop  smallest round-trip time of the last 10 s                   (4.1.2)
 *                 pacing_rate = pacing_gain BtlBw                                     (4.2.1)
 *                 BBRInflight(gain) = gain BtlBw RTprop + 3 send_quantum              (4.2.3.2)
 *             States (4.3):
 *             - Startup, with gain 2/ln 2, until BtlBw has grown by less than a quarter in three
 *               round trips.
 *             - Drain, with the inverse gain, until the data in flight fits the path.
 *             - ProbeBW, a cycle of the gains 5/4, 3/4 and six times 1, each for RTprop.
 *             - ProbeRTT, after 10 s without a smaller round-trip time: four segments in flight for
 *               200 ms.
 * Constants:  those of the draft: BBRHighGain 2/ln 2 (739 and 88 256ths), cwnd_gain 2,
 *             BtlBwFilterLen 10, RTpropFilterLen 10 s, BBRMinPipeCwnd 4, ProbeRTTDuration 200 ms.
 *             The pacing rate is 1 % below the measured rate (draft-ietf-ccwg-bbr,
 *             BBR.PacingMarginPercent). Aggregation is measured over 5 to 10 round trips.
 * Deviations: those of Linux.
 *             - Rates are in segments, not bytes.
 *             - BBRInflight is rounded up to an even number, so that fewer acknowledgments are
 *               delayed.
 *             - A round-trip time equal to RTprop does not renew RTprop (the draft: "<="; Linux and
 *               draft-ietf-ccwg-bbr: "<").
 *             - cwnd is increased by the largest excess of delivered data over BtlBw, for paths
 *               that deliver acknowledgments in groups (`aggregation`;
 *               draft-cardwell-iccrg-bbr-congestion-control-02, section 4.5.5).
 *             - While ProbeBW probes with gain 5/4, two segments are added, so that short paths are
 *               probed too (the same draft, section 4.6.4.2).
 *             - After a time-out, Startup's search for a full pipe restarts.
 *             - BBRInflight is compared with the data that will be in flight when the next segment
 *               may leave (`bbr_in_network`; message of the commit "tcp_bbr: adjust TCP BBR for
 *               departure time pacing", 2018).
 *             - `aggregation` counts whole expected segments. RTprop's age and ProbeRTT are counted
 *               in jiffies (docs/notes/linux-tcp.md).
 *             - Linux's estimate of a policer's rate is not included; the draft has none.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(cwnd_gain, 200, 100, 1000, "cwnd in ProbeBW, in percent of the bandwidth-delay product")     \
	PARAMETER(rtprop_length, 10000, 100, 600000, "milliseconds after which the smallest round-trip time expires") \
	PARAMETER(probe_rtt, 200, 1, 10000, "duration of ProbeRTT in milliseconds")                            \
	PARAMETER(margin, 1, 0, 50, "pacing rate, in percent below the measured rate")                         \
	PARAMETER(aggregation, 1, 0, 1, "1: cwnd allows for acknowledgments that arrive in lumps")

#include "bbr.h"

#define BBR_HIGH_GAIN 739 /* 2.885 */
#define BBR_DRAIN_GAIN 88 /* 1 / 2.885 */
#define BBR_ROUNDS 10     /* BtlBwFilterLen */
#define BBR_CYCLE 8

struct bbr {
	struct bbr_common common;
	u32 rates[BBR_ROUNDS]; /* largest rates of the present round trip, the previous one, ... */
	u32 older;             /* largest of the previous round trips */
	u32 cycle_stamp;       /* microseconds */
	u8 cycle_index;
	u8 packet_conservation;
	u8 rounds; /* round trips since the filter's last sample, at most BBR_ROUNDS */
};
BP_PRIVATE(struct bbr)

static inline u32 bbr_btlbw(const struct bbr *bbr)
{
	return bp_max(bbr->rates[0], bbr->older);
}

static inline u32 bbr_pacing_gain(const struct bbr *bbr)
{
	if (bbr->common.state == BBR_STARTUP)
		return BBR_HIGH_GAIN;
	if (bbr->common.state == BBR_DRAIN)
		return BBR_DRAIN_GAIN;
	if (bbr->common.state == BBR_PROBE_BW && bbr->cycle_index < 2)
		return bbr->cycle_index ? BBR_ONE * 3 / 4 : BBR_ONE * 5 / 4;
	return BBR_ONE;
}

/* BBRInflight */
static inline u32 bbr_inflight(struct bp_tcp *tp, const struct bbr *bbr, u32 gain)
{
	u32 whole;

	if (bbr->common.min_rtt == BBR_NO_RTT || !bbr_btlbw(bbr))
		return tp->snd_cwnd;
	whole = bbr_segments(bbr_btlbw(bbr), bbr->common.min_rtt, gain) + 3 * bbr_send_quantum(tp);
	whole += whole % 2;
	return whole + (bbr->common.state == BBR_PROBE_BW && !bbr->cycle_index ? 2 : 0);
}

/*

 * Returns the segments that will be in the network when the next segment may leave. Until then
 * segments are delivered at BtlBw. While the gain is above 1, the next burst is included.

 */
static inline u32 bbr_in_network(struct bp_tcp *tp, const struct bbr *bbr, u32 flight)
{
	u64 delivered = (u64)bbr_btlbw(bbr) * bp_wait_us(tp) >> BP_RATE_SHIFT;

	if (bbr_pacing_gain(bbr) > BBR_ONE)
		flight += bbr_send_quantum(tp);
	return delivered < flight ? flight - (u32)delivered : 0;
}

/*

 * Removes rates that are too old. This happens only when the filter takes a sample (4.1.1.3):
 * ProbeRTT, whose samples are limited by its window, does not change BtlBw, even over many round
 * trips.

 */
static inline void bbr_age_rates(struct bbr *bbr)
{
	u32 older = 0;

	for (u32 step = 0; step < BBR_ROUNDS; step++) {
		if (step >= bbr->rounds)
			break;
		for (u32 round = BBR_ROUNDS - 1; round; round--)
			bbr->rates[round] = bbr->rates[round - 1];
		bbr->rates[0] = 0;
	}
	for (u32 round = 1; round < BBR_ROUNDS; round++)
		older = bp_max(older, bbr->rates[round]);
	bbr->older = older;
	bbr->rounds = 0;
}

/* BBRUpdateBtlBw */
static inline void bbr_update_btlbw(struct bp_tcp *tp, struct bbr *bbr, const struct rate_sample *sample)
{
	u32 rate;

	bbr->common.round_start = 0;
	if (!bbr_has_rate(sample))
		return;
	bbr_update_round(tp, &bbr->common, sample);
	if (bbr->common.round_start) {
		bbr->packet_conservation = 0;
		bbr->rounds += bbr->rounds < BBR_ROUNDS;
	}
	rate = bbr_sample_rate(sample);
	if (sample->is_app_limited && rate < bbr_btlbw(bbr))
		return;
	if (bbr->rounds)
		bbr_age_rates(bbr);
	bbr->rates[0] = bp_max(bbr->rates[0], rate);
}

/* BBRUpdateACKAggregation of the draft's version 02. */
static inline void bbr_update_excess(struct bp_tcp *tp, struct bbr_common *common, u32 bw,
				     const struct rate_sample *sample)
{
	u32 expected;

	if (!aggregation(tp) || !bbr_has_rate(sample) || !sample->acked_sacked)
		return;
	if (common->round_start && ++common->extra_rounds >= BBR_AGGREGATION_ROUNDS)
		bbr_start_aggregation(common, common->extra[0]);
	/* Whole segments, as in Linux. */
	expected = (u32)((u64)bw * bbr_extra_time(tp, common) >> BP_RATE_SHIFT);
	bbr_update_aggregation(tp, common, expected, sample->acked_sacked);
}

static inline void bbr_enter_probe_bw(struct bp_tcp *tp, struct bbr *bbr)
{
	bbr->common.state = BBR_PROBE_BW;
	/* Any phase except that of gain 3/4. */
	bbr->cycle_index = (u8)((BBR_CYCLE - bp_random(tp) % (BBR_CYCLE - 1)) % BBR_CYCLE);
	bbr->cycle_stamp = (u32)tp->tcp_mstamp;
}

/* BBRCheckCyclePhase */
static inline void bbr_check_cycle(struct bp_tcp *tp, struct bbr *bbr, const struct rate_sample *sample)
{
	u32 gain = bbr_pacing_gain(bbr);
	u32 flight = bbr_in_network(tp, bbr, sample->prior_in_flight);
	bool is_full_length = (u32)tp->tcp_mstamp - bbr->cycle_stamp > bbr->common.min_rtt;
	bool is_next = is_full_length;

	if (bbr->common.state != BBR_PROBE_BW)
		return;
	if (gain > BBR_ONE)
		is_next = is_full_length &&
			  (sample->losses > 0 || flight >= bbr_inflight(tp, bbr, gain));
	else if (gain < BBR_ONE)
		is_next = is_full_length || flight <= bbr_inflight(tp, bbr, BBR_ONE);
	if (is_next) {
		bbr->cycle_index = (bbr->cycle_index + 1) % BBR_CYCLE;
		bbr->cycle_stamp = (u32)tp->tcp_mstamp;
	}
}

/* BBRCheckFullPipe and BBRCheckDrain */
static inline void bbr_check_full_pipe(struct bp_tcp *tp, struct bbr *bbr, const struct rate_sample *sample)
{
	struct bbr_common *common = &bbr->common;

	if (!common->filled_pipe && common->round_start && !sample->is_app_limited)
		common->filled_pipe = bbr_is_full(common, bbr_btlbw(bbr));
	if (common->state == BBR_STARTUP && common->filled_pipe) {
		common->state = BBR_DRAIN;
		tp->snd_ssthresh = bbr_inflight(tp, bbr, BBR_ONE);
	}
	if (common->state == BBR_DRAIN &&
	    bbr_in_network(tp, bbr, bp_packets_in_flight(tp)) <= bbr_inflight(tp, bbr, BBR_ONE))
		bbr_enter_probe_bw(tp, bbr);
}

/* BBRUpdateRTprop and BBRCheckProbeRTT */
static inline void bbr_update_rtprop(struct bp_tcp *tp, struct bbr *bbr, const struct rate_sample *sample)
{
	struct bbr_common *common = &bbr->common;
	bool is_old = bbr_is_rtt_old(tp, common, rtprop_length(tp));

	bbr_update_min_rtt(tp, common, sample, is_old);
	bbr_enter_probe_rtt(tp, common, is_old);
	if (common->state == BBR_PROBE_RTT && bbr_handle_probe_rtt(tp, common, BBR_MIN_PIPE_CWND) &&
	    bbr_leave_probe_rtt(tp, common)) {
		if (common->filled_pipe)
			bbr_enter_probe_bw(tp, bbr);
		else
			common->state = BBR_STARTUP;
	}
	if (sample->delivered > 0)
		common->idle_restart = 0;
}

/* BBRSetCwnd, with BBRModulateCwndForRecovery and BBRModulateCwndForProbeRTT. */
static inline void bbr_set_cwnd(struct bp_tcp *tp, struct bbr *bbr, const struct rate_sample *sample)
{
	struct bbr_common *common = &bbr->common;
	u8 state = bp_ca_state(tp);
	u32 acked = bp_min(sample->acked_sacked, 1 << 20);
	u32 flight = bp_packets_in_flight(tp);
	u32 cwnd = bp_min(tp->snd_cwnd, 1 << 30);
	u32 target;

	if (sample->losses > 0)
		cwnd = cwnd > (u32)sample->losses ? cwnd - (u32)sample->losses : 1;
	if (state == TCP_CA_Recovery && common->ca_state != TCP_CA_Recovery) {
		bbr->packet_conservation = 1;
		common->next_round = tp->delivered;
		cwnd = flight + bp_max(acked, 1);
	} else if (state < TCP_CA_Recovery && common->ca_state >= TCP_CA_Recovery) {
		bbr->packet_conservation = 0;
		cwnd = bp_max(cwnd, common->prior_cwnd);
	}
	common->ca_state = state;
	if (bbr->packet_conservation) {
		cwnd = bp_max(cwnd, flight + acked);
	} else if (acked) {
		target = bbr_inflight(tp, bbr,
				      common->state == BBR_PROBE_BW ? cwnd_gain(tp) * BBR_ONE / 100
				      : common->state == BBR_PROBE_RTT ? BBR_ONE : BBR_HIGH_GAIN);
		if (common->filled_pipe)
			target += bbr_extra(common);
		cwnd = bbr_grow(tp, common, cwnd, acked, target);
	}
	if (common->state == BBR_PROBE_RTT)
		cwnd = bp_min(cwnd, BBR_MIN_PIPE_CWND);
	bp_set_cwnd(tp, cwnd, 1);
}

BP_OP(void, init, struct bp_tcp *tp)
{
	struct bbr *bbr = bp_private(tp);

	bbr_init(tp, &bbr->common, BBR_HIGH_GAIN);
}

BP_OP(void, cong_control, struct bp_tcp *tp, const struct rate_sample *sample)
{
	struct bbr *bbr = bp_private(tp);

	bbr_update_btlbw(tp, bbr, sample);
	bbr_update_excess(tp, &bbr->common, bbr_btlbw(bbr), sample);
	bbr_check_cycle(tp, bbr, sample);
	bbr_check_full_pipe(tp, bbr, sample);
	bbr_update_rtprop(tp, bbr, sample);
	bbr_set_pacing_rate(tp, &bbr->common, bbr_btlbw(bbr), bbr_pacing_gain(bbr));
	bbr_set_cwnd(tp, bbr, sample);
}

/* The window is saved for the end of recovery. A loss sets no threshold. */
BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	struct bbr *bbr = bp_private(tp);

	bbr_save_cwnd(tp, &bbr->common);
	return bp_max(tp->snd_ssthresh, 2);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	struct bbr *bbr = bp_private(tp);

	bbr->common.full_bw = 0;
	bbr->common.full_count = 0;
	return tp->snd_cwnd;
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	struct bbr *bbr = bp_private(tp);

	if (new_state == TCP_CA_Loss) {
		bbr->common.ca_state = TCP_CA_Loss;
		bbr->common.full_bw = 0;
		bbr->common.round_start = 1;
		bbr->packet_conservation = 0;
	}
}

/* BBRHandleRestartFromIdle */
BP_OP(void, cwnd_event, struct bp_tcp *tp, enum tcp_ca_event event)
{
	struct bbr *bbr = bp_private(tp);

	if (!bbr_restart(tp, &bbr->common, event))
		return;
	bbr->common.extra_delivered = 0;
	if (bbr->common.state == BBR_PROBE_BW)
		bbr_set_pacing_rate(tp, &bbr->common, bbr_btlbw(bbr), BBR_ONE);
}

BP_VARIANT(bbr, "Paces at the bottleneck's measured rate, with two bandwidth-delay products in flight (version 1)",
	   "draft-cardwell-iccrg-bbr-congestion-control-00, 2017", init, cong_control, ssthresh, undo_cwnd, set_state,
	   cwnd_event)
