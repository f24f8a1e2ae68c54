/*
 * BBR, version 3: a model of the path by rate and by volume, limited by loss.
 *
 * Source:     N. Cardwell, I. Swett, J. Beshay (eds.), "BBR Congestion Control",
 *             draft-ietf-ccwg-bbr, the working group's text of 2025/26, sections "Detailed
 *             Algorithm" to "Updating Control Parameters". Functions here have the names of the
 *             draft's functions. The draft numbers no equations:
 *                 bw = min(max_bw, bw_shortterm)
 *                 max_bw: largest rate of the last two ProbeBW cycles
 *                 pacing_rate = pacing_gain bw 99 %
 *                 max_inflight = cwnd_gain bw min_rtt + extra_acked, at least 3 send_quantum
 *                 cwnd <= inflight_longterm (15 % less in CRUISE and ProbeRTT)
 *                 cwnd <= inflight_shortterm
 *                 after a round trip with loss, not probing:
 *                     bw_shortterm = max(bw_latest, 0.7 bw_shortterm)
 *                     inflight_shortterm = max(inflight_latest, 0.7 inflight_shortterm)
 *                 loss above 2 % while probing:
 *                     inflight_longterm = max(data in flight, 0.7 min(bdp, cwnd))
 *             States: Startup, Drain, ProbeBW with the phases DOWN, CRUISE, REFILL and UP, and
 *             ProbeRTT.
 * Constants:  those of the draft's table: pacing gains 2.77, 0.5, 0.90, 1, 1, 1.25; cwnd gains 2,
 *             2.25 in UP, 0.5 in ProbeRTT; LossThresh 2 %, Beta 0.7, Headroom 0.15,
 *             BBRStartupFullLossCnt 6, full pipe after 3 rounds with less than 25 % growth,
 *             ExtraAckedFilterLen 10, MinRTTFilterLen and ProbeRTTInterval 10 s, ProbeRTTDuration
 *             200 ms, MinPipeCwnd 4, time between probes 2 to 3 s or 63 round trips,
 *             PacingMarginPercent 1.
 * Deviations:
 *             - Linux's operations report acknowledgments, not packets. RS.lost is the loss since
 *               the start of the present round trip. RS.tx_in_flight and InflightAtLoss() are
 *               RS.delivered + RS.lost, because every segment in flight when a packet was sent has
 *               been delivered or lost when the packet is acknowledged.
 *             - Losses found by one acknowledgment count as one sequence range.
 *             - extra_acked is the maximum of 5 to 10 round trips.
 *             - When a loss recovery is undone, the short-term model is reset instead of restored,
 *               because Linux gives a congestion control only 104 bytes of state.
 *             - No ECN, as in the draft.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(loss_threshold, 20, 1, 500, "loss that counts as too much in flight, in thousandths of a round trip's segments") \
	PARAMETER(beta, 700, 100, 950, "factor by which loss reduces a bound, in thousandths")                 \
	PARAMETER(headroom, 150, 0, 500, "part of inflight_longterm left to others in CRUISE, in thousandths") \
	PARAMETER(min_rtt_length, 10000, 100, 600000, "milliseconds after which the smallest round-trip time expires") \
	PARAMETER(probe_rtt, 200, 1, 10000, "duration of ProbeRTT in milliseconds")                            \
	PARAMETER(margin, 1, 0, 50, "pacing rate, in percent below the model's rate")

#include "bbr3.h"

#define BBR3_STARTUP_GAIN 709 /* 2.77 */
#define BBR3_DOWN_GAIN 230    /* 0.90 */
#define BBR3_STARTUP_LOSSES 6
#define BBR3_RENO_ROUNDS 63

static inline u32 bbr3_pacing_gain(const struct bbr3 *bbr)
{
	if (bbr->common.state == BBR_STARTUP)
		return BBR3_STARTUP_GAIN;
	if (bbr->common.state == BBR_DRAIN)
		return BBR_ONE / 2;
	if (bbr->common.state == BBR3_DOWN)
		return BBR3_DOWN_GAIN;
	return bbr->common.state == BBR3_UP ? BBR_ONE * 5 / 4 : BBR_ONE;
}

static inline void bbr3_reset_full_bw(struct bbr3 *bbr, u32 rate)
{
	bbr->common.full_bw = rate;
	bbr->common.full_count = 0;
	bbr->full_bw_now = 0;
}

/* RaiseInflightLongtermSlope */
static inline void bbr3_raise_slope(const struct bp_tcp *tp, struct bbr3 *bbr)
{
	bbr->up_per_inc = bp_max(tp->snd_cwnd >> bp_min(bbr->up_rounds, 30), 1);
	bbr->up_rounds = (u8)bp_min(bbr->up_rounds + 1, 30);
}

/* StartProbeBW_DOWN, with PickProbeWait */
static inline void bbr3_start_down(const struct bp_tcp *tp, struct bbr3 *bbr)
{
	u32 random = bp_random(tp);

	bbr->is_loss_in_round = 0;
	bbr->bw_latest = 0;
	bbr->inflight_latest = 0;
	bbr->up_per_inc = BBR3_INFINITE;
	bbr->rounds_since_probe = random & 1;
	bbr->probe_wait = (u16)(2000 + (random >> 1) % 1000);
	bbr->cycle_stamp = bbr_now(tp);
	bbr->ack_phase = BBR3_ACKS_STOPPING;
	bbr->common.next_round = tp->delivered;
	bbr->common.state = BBR3_DOWN;
}

/* StartProbeBW_REFILL */
static inline void bbr3_start_refill(const struct bp_tcp *tp, struct bbr3 *bbr)
{
	bbr3_reset_shortterm(bbr);
	bbr->up_rounds = 0;
	bbr->up_acked = 0;
	bbr->prev_precautionary = 0;
	bbr->ack_phase = BBR3_ACKS_REFILLING;
	bbr->common.next_round = tp->delivered;
	bbr->common.state = BBR3_REFILL;
}

/* StartProbeBW_UP */
static inline void bbr3_start_up(const struct bp_tcp *tp, struct bbr3 *bbr, u32 rate)
{
	bbr->ack_phase = BBR3_ACKS_STARTING;
	bbr->common.next_round = tp->delivered;
	bbr3_reset_full_bw(bbr, rate);
	bbr->common.state = BBR3_UP;
	bbr3_raise_slope(tp, bbr);
}

/* HandleLostPacket, with NoteLoss, SaveStateUponLoss and HandleInflightTooHigh */
static inline void bbr3_handle_loss(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample)
{
	if (sample->losses <= 0)
		return;
	bbr->loss_events = bp_min(bbr->loss_events + 1, 7);
	if (!bbr->is_loss_in_round) {
		bbr->loss_round = tp->delivered;
		bbr_save_cwnd(tp, &bbr->common);
		bbr->undo_state = BBR_PROBE_RTT;
		bbr->undo_longterm = bbr->inflight_longterm;
	}
	bbr->is_loss_in_round = 1;
	if (!bbr->is_bw_probe_sample || !bbr3_is_too_high(tp, bbr, sample))
		return;
	bbr->prev_too_high = 1;
	bbr->is_bw_probe_sample = 0;
	if (!sample->is_app_limited)
		bbr->inflight_longterm = bp_max(bbr3_tx_in_flight(tp, bbr, sample),
						(u32)((u64)bbr3_target(tp, bbr) * beta(tp) / 1000));
	if (bbr->common.state == BBR3_UP) {
		bbr->undo_state = BBR3_UP;
		bbr3_start_down(tp, bbr);
	}
}

/* The windows of rounds of UpdateACKAggregation, which in Startup have one round trip. */
static inline void bbr3_update_excess(const struct bp_tcp *tp, struct bbr_common *common, u32 bw,
				      const struct rate_sample *sample)
{
	if (common->round_start && (!common->filled_pipe || ++common->extra_rounds >= BBR_AGGREGATION_ROUNDS))
		bbr_start_aggregation(common, common->filled_pipe ? common->extra[0] : 0);
	/* Rounded up, so that acknowledgments at the expected rate are no excess. */
	bbr_update_aggregation(tp, common, bbr_segments(bw, bbr_extra_time(tp, common), BBR_ONE),
			       sample->acked_sacked);
}

/* CheckFullBWReached, CheckStartupDone with CheckStartupHighLoss, CheckDrainDone */
static inline void bbr3_check_full(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample, u32 rate)
{
	if (!bbr->full_bw_now && bbr->common.round_start && !sample->is_app_limited) {
		bbr->full_bw_now = bbr_is_full(&bbr->common, rate);
		bbr->common.filled_pipe |= bbr->full_bw_now;
	}
	if (bbr->common.state == BBR_STARTUP && bbr->loss_round_start && bbr->common.ca_state == TCP_CA_Recovery &&
	    bbr->loss_events >= BBR3_STARTUP_LOSSES && bbr3_is_too_high(tp, bbr, sample)) {
		bbr->undo_state = BBR_STARTUP;
		bbr->common.filled_pipe = 1;
		bbr->inflight_longterm = bp_max(bbr3_bdp(tp, bbr, BBR_ONE), bbr->inflight_latest);
	}
	if (bbr->common.state == BBR_STARTUP && bbr->common.filled_pipe) {
		bbr->common.state = BBR_DRAIN;
		bbr->drain_rounds = 0;
		tp->snd_ssthresh = bbr3_inflight(tp, bbr, BBR_ONE);
	}
	if (bbr->common.state == BBR_DRAIN &&
	    (bp_packets_in_flight(tp) <= bbr3_inflight(tp, bbr, BBR_ONE) || bbr->drain_rounds > 3))
		bbr3_start_down(tp, bbr);
}

/* AdaptLongTermModel with ProbeInflightLongtermUpward. Returns true if it has set the state. */
static inline bool bbr3_adapt(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample)
{
	u32 tx_in_flight = bbr3_tx_in_flight(tp, bbr, sample);

	if (bbr->ack_phase == BBR3_ACKS_STARTING && bbr->common.round_start)
		bbr->ack_phase = BBR3_ACKS_FEEDBACK;
	if (bbr->ack_phase == BBR3_ACKS_STOPPING && bbr->common.round_start) {
		bbr->is_bw_probe_sample = 0;
		bbr->ack_phase = BBR3_ACKS_INIT;
		if (bbr3_is_probe_bw(bbr) && !sample->is_app_limited) {
			/* AdvanceMaxBwFilter */
			bbr->max_bw[1] = bbr->max_bw[0];
			bbr->max_bw[0] = 0;
		}
		if (bbr3_is_probe_bw(bbr) && bbr->prev_precautionary && !bbr->prev_too_high) {
			bbr3_start_refill(tp, bbr);
			return true;
		}
	}
	if (bbr3_is_too_high(tp, bbr, sample) || bbr->inflight_longterm == BBR3_INFINITE)
		return false;
	bbr->inflight_longterm = bp_max(bbr->inflight_longterm, tx_in_flight);
	if (bbr->common.state == BBR3_UP && bp_is_cwnd_limited_flag(tp) && tp->snd_cwnd >= bbr->inflight_longterm) {
		u32 steps;

		bbr->up_acked = bp_min(bbr->up_acked + bp_min(sample->acked_sacked, 1 << 20), 1 << 30);
		steps = (u32)bp_divide(bbr->up_acked, bbr->up_per_inc);
		bbr->up_acked -= steps * bbr->up_per_inc;
		bbr->inflight_longterm = bp_min(bbr->inflight_longterm + steps, BBR3_INFINITE - 1);
		if (bbr->common.round_start)
			bbr3_raise_slope(tp, bbr);
	}
	return false;
}

/* IsTimeToProbeBW */
static inline bool bbr3_is_time_to_probe(const struct bp_tcp *tp, const struct bbr3 *bbr)
{
	return bbr_now(tp) - bbr->cycle_stamp > bbr->probe_wait ||
	       bbr->rounds_since_probe >= bp_min(bbr3_target(tp, bbr), BBR3_RENO_ROUNDS);
}

/* UpdateProbeBWCyclePhase */
static inline void bbr3_update_cycle(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample, u32 rate)
{
	u32 flight = bp_packets_in_flight(tp);

	if (!bbr->common.filled_pipe || bbr3_adapt(tp, bbr, sample) || !bbr3_is_probe_bw(bbr))
		return;
	if (bbr->common.state == BBR3_DOWN || bbr->common.state == BBR3_CRUISE) {
		if (bbr3_is_time_to_probe(tp, bbr))
			bbr3_start_refill(tp, bbr);
		else if (bbr->common.state == BBR3_DOWN && flight <= bbr3_with_headroom(tp, bbr) &&
			 flight <= bbr3_inflight(tp, bbr, BBR_ONE))
			bbr->common.state = BBR3_CRUISE;
	} else if (bbr->common.state == BBR3_REFILL) {
		if (bbr->common.round_start) {
			bbr->is_bw_probe_sample = 1;
			bbr3_start_up(tp, bbr, rate);
		}
	} else if (bbr->prev_too_high && flight >= bbr->inflight_longterm) {
		bbr->prev_precautionary = 1;
		bbr->prev_too_high = 0;
		bbr3_start_down(tp, bbr);
	} else if (bp_is_cwnd_limited_flag(tp) && tp->snd_cwnd >= bbr->inflight_longterm) {
		bbr3_reset_full_bw(bbr, rate);
	} else if (bbr->full_bw_now) {
		bbr->prev_too_high = 0;
		bbr3_start_down(tp, bbr);
	}
}

/* CheckProbeRTTDone with ExitProbeRTT */
static inline void bbr3_check_probe_rtt_done(struct bp_tcp *tp, struct bbr3 *bbr)
{
	if (!bbr_leave_probe_rtt(tp, &bbr->common))
		return;
	bbr3_reset_shortterm(bbr);
	if (bbr->common.filled_pipe) {
		bbr3_start_down(tp, bbr);
		bbr->common.state = BBR3_CRUISE;
	} else {
		bbr->common.state = BBR_STARTUP;
	}
}

/* UpdateMinRTT and CheckProbeRTT */
static inline void bbr3_update_min_rtt(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample)
{
	struct bbr_common *common = &bbr->common;
	bool is_old = bbr_is_rtt_old(tp, common, min_rtt_length(tp));

	/* SaveProbeRTTCwnd, before the old round-trip time is replaced. */
	if (is_old && common->state != BBR_PROBE_RTT)
		bbr->probe_rtt_cwnd = bp_max(bbr3_bdp(tp, bbr, BBR_ONE / 2), BBR_MIN_PIPE_CWND);
	bbr_update_min_rtt(tp, common, sample, is_old);
	if (bbr_enter_probe_rtt(tp, common, is_old)) {
		bbr->ack_phase = BBR3_ACKS_STOPPING;
		common->next_round = tp->delivered;
	}
	if (common->state == BBR_PROBE_RTT && bbr_handle_probe_rtt(tp, common, bbr->probe_rtt_cwnd))
		bbr3_check_probe_rtt_done(tp, bbr);
	if (sample->delivered > 0)
		common->idle_restart = 0;
}

/* SetCwnd, with BoundCwndForProbeRTT and BoundCwndForModel */
static inline void bbr3_set_cwnd(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample)
{
	u8 state = bp_ca_state(tp);
	u32 acked = bp_min(sample->acked_sacked, 1 << 20);
	u32 cwnd = bp_min(tp->snd_cwnd, 1 << 30);
	u32 limit = BBR3_INFINITE;
	u32 target = bp_min(bbr3_bdp(tp, bbr, bbr3_cwnd_gain(bbr)), 1 << 30) + bbr_extra(&bbr->common);

	target = bbr3_quantized(tp, bbr, target);
	if (state < TCP_CA_Recovery && bbr->common.ca_state >= TCP_CA_Recovery)
		cwnd = bp_max(cwnd, bbr->common.prior_cwnd);
	bbr->common.ca_state = state;
	cwnd = bbr_grow(tp, &bbr->common, cwnd, acked, target);
	if (bbr->common.state == BBR_PROBE_RTT)
		cwnd = bp_min(cwnd, bbr->probe_rtt_cwnd);
	if (bbr->common.state == BBR_PROBE_RTT || bbr->common.state == BBR3_CRUISE)
		limit = bbr3_with_headroom(tp, bbr);
	else if (bbr3_is_probe_bw(bbr))
		limit = bbr->inflight_longterm;
	limit = bp_max(bp_min(limit, bbr->inflight_shortterm), BBR_MIN_PIPE_CWND);
	bp_set_cwnd(tp, bp_min(cwnd, limit), 1);
}

BP_OP(void, init, struct bp_tcp *tp)
{
	struct bbr3 *bbr = bp_private(tp);

	bbr->probe_rtt_cwnd = tp->snd_cwnd;
	bbr->inflight_longterm = BBR3_INFINITE;
	bbr->up_per_inc = BBR3_INFINITE;
	bbr->undo_state = BBR_PROBE_RTT;
	bbr->loss_round = tp->delivered;
	bbr->round_lost = tp->lost;
	bbr3_reset_shortterm(bbr);
	bbr_init(tp, &bbr->common, BBR3_STARTUP_GAIN);
}

BP_OP(void, cong_control, struct bp_tcp *tp, const struct rate_sample *sample)
{
	struct bbr3 *bbr = bp_private(tp);
	u32 rate = bbr_has_rate(sample) ? bbr_sample_rate(sample) : 0;

	bbr3_handle_loss(tp, bbr, sample);
	bbr3_update_model(tp, bbr, sample, rate);
	bbr3_update_excess(tp, &bbr->common, bbr3_bw(bbr), sample);
	bbr3_check_full(tp, bbr, sample, rate);
	bbr3_update_cycle(tp, bbr, sample, rate);
	bbr3_update_min_rtt(tp, bbr, sample);
	/* AdvanceLatestDeliverySignals */
	if (bbr->loss_round_start) {
		bbr->bw_latest = rate;
		bbr->inflight_latest = sample->delivered > 0 ? (u32)sample->delivered : 0;
		bbr->loss_events = 0;
	}
	if (bbr->common.round_start)
		bbr->round_lost = tp->lost;
	bbr_set_pacing_rate(tp, &bbr->common, bbr3_bw(bbr), bbr3_pacing_gain(bbr));
	bbr3_set_cwnd(tp, bbr, sample);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	struct bbr3 *bbr = bp_private(tp);

	bbr_save_cwnd(tp, &bbr->common);
	return bp_max(tp->snd_ssthresh, 2);
}

/* HandleSpuriousLossDetection */
BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	struct bbr3 *bbr = bp_private(tp);

	bbr->is_loss_in_round = 0;
	bbr3_reset_full_bw(bbr, 0);
	bbr3_reset_shortterm(bbr);
	bbr->inflight_longterm = bp_max(bbr->inflight_longterm, bbr->undo_longterm);
	if (bbr->undo_state == BBR_STARTUP && bbr->common.state != BBR_STARTUP) {
		bbr->common.filled_pipe = 0;
		if (bbr->common.state != BBR_PROBE_RTT)
			bbr->common.state = BBR_STARTUP;
	} else if (bbr->undo_state == BBR3_UP && bbr->common.state != BBR3_UP && bbr->common.state != BBR_PROBE_RTT) {
		bbr3_start_refill(tp, bbr);
	}
	bbr->undo_state = BBR_PROBE_RTT;
	return bp_min(bp_max(tp->snd_cwnd, bbr->common.prior_cwnd), tp->snd_cwnd_clamp);
}

/* OnEnterRTO */
BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	struct bbr3 *bbr = bp_private(tp);

	if (new_state == TCP_CA_Loss) {
		bbr->common.ca_state = TCP_CA_Loss;
		bbr->undo_longterm = bbr->inflight_longterm;
	}
}

/* HandleRestartFromIdle */
BP_OP(void, cwnd_event, struct bp_tcp *tp, enum tcp_ca_event event)
{
	struct bbr3 *bbr = bp_private(tp);

	if (!bbr_restart(tp, &bbr->common, event))
		return;
	if (bbr3_is_probe_bw(bbr))
		bbr_set_pacing_rate(tp, &bbr->common, bbr3_bw(bbr), BBR_ONE);
	else if (bbr->common.state == BBR_PROBE_RTT)
		bbr3_check_probe_rtt_done(tp, bbr);
}

BP_VARIANT(bbr3, "BBR version 3: models the rate and the volume of the path, bounded by loss", "draft-ietf-ccwg-bbr, 2026", init,
	   cong_control, ssthresh, undo_cwnd, set_state, cwnd_event)
