/*
 * BBR, version 3: a model of the path by rate and by volume, that loss bounds from above.
 *
 * Source:     N. Cardwell, I. Swett, J. Beshay (eds.), "BBR Congestion Control", draft-ietf-ccwg-bbr, the working group's
 *             text of 2025/26, sections "Detailed Algorithm" to "Updating Control Parameters", whose functions carry
 *             their names here. It numbers no equations:
 *                 bw = min(max_bw, bw_shortterm)        max_bw: largest rate of the last two ProbeBW cycles
 *                 pacing_rate = pacing_gain bw 99 %
 *                 max_inflight = cwnd_gain bw min_rtt + extra_acked, at least 3 send_quantum
 *                 cwnd at most inflight_longterm (15 % less in CRUISE and ProbeRTT) and inflight_shortterm
 *                 after a round trip with loss, not probing: bw_shortterm = max(bw_latest, 0.7 bw_shortterm),
 *                 inflight_shortterm alike
 *                 loss above 2 % while probing: inflight_longterm = max(what was in flight, 0.7 min(bdp, cwnd))
 *             Startup, Drain, ProbeBW in phases DOWN, CRUISE, REFILL, UP, and ProbeRTT.
 * Constants:  gains 2.77, 0.5, 0.90, 1, 1, 1.25 and of cwnd 2, 2.25 in UP, 0.5 in ProbeRTT; LossThresh 2 %, Beta 0.7,
 *             Headroom 0.15, BBRStartupFullLossCnt 6, full pipe after 3 rounds below 25 % growth, ExtraAckedFilterLen 10,
 *             MinRTTFilterLen and ProbeRTTInterval 10 s, ProbeRTTDuration 200 ms, MinPipeCwnd 4, time between probes 2
 *             to 3 s or 63 round trips, PacingMarginPercent 1 (the draft's table of constants).
 * Deviations: Linux' operations tell of acknowledgments and not of packets: RS.lost is what was lost since the present
 *             round trip began, RS.tx_in_flight is RS.delivered + RS.lost (what was in flight when a packet was sent is
 *             delivered or lost when it is acknowledged), and InflightAtLoss() is that. Losses count as one sequence
 *             range per acknowledgment that finds some. extra_acked is the largest of 5 to 10 round trips. An undone
 *             loss recovery forgets the short-term model instead of restoring it, for want of room in Linux' 104 bytes.
 *             No ECN, as in the draft.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(loss_threshold, 20, 1, 500, "thousandths of a round trip's segments lost: too much in flight") \
	PARAMETER(beta, 700, 100, 950, "thousandths that loss leaves of a bound")                              \
	PARAMETER(headroom, 150, 0, 500, "thousandths of inflight_longterm left to others in CRUISE")          \
	PARAMETER(min_rtt_length, 10000, 100, 600000, "milliseconds after which a round-trip time is too old") \
	PARAMETER(probe_rtt, 200, 1, 10000, "milliseconds that ProbeRTT lasts")                                \
	PARAMETER(margin, 1, 0, 50, "percent below the model's rate at which is sent")

#include "bbr.h"

#define BBR3_STARTUP_GAIN 709 /* 2.77 */
#define BBR3_DOWN_GAIN 230    /* 0.90 */
#define BBR3_CWND_GAIN (2 * BBR_ONE)
#define BBR3_UP_CWND_GAIN (9 * BBR_ONE / 4)
#define BBR3_MIN_PIPE_CWND 4
#define BBR3_INFINITE 0x7fffffffu
#define BBR3_NO_RATE 0xffffffffu
#define BBR3_AGGREGATION_ROUNDS 5
#define BBR3_STARTUP_LOSSES 6
#define BBR3_RENO_ROUNDS 63

enum bbr3_state { BBR3_STARTUP, BBR3_DRAIN, BBR3_DOWN, BBR3_CRUISE, BBR3_REFILL, BBR3_UP, BBR3_PROBE_RTT };
enum bbr3_acks { BBR3_ACKS_INIT, BBR3_ACKS_REFILLING, BBR3_ACKS_STARTING, BBR3_ACKS_FEEDBACK, BBR3_ACKS_STOPPING };

struct bbr3 {
	u32 max_bw[2];        /* of this ProbeBW cycle and the one before */
	u32 bw_latest;        /* of this round trip */
	u32 inflight_latest;
	u32 bw_shortterm;
	u32 inflight_shortterm;
	u32 inflight_longterm;
	u32 undo_longterm;
	u32 min_rtt;          /* microseconds */
	u32 min_rtt_stamp;    /* milliseconds, as all moments but where said */
	u32 done_stamp;       /* of ProbeRTT; 0: not known yet */
	u32 probe_rtt_cwnd;
	u32 prior_cwnd;
	u32 next_round;       /* `delivered` at which the round trip is over */
	u32 loss_round;       /* the same for the round trip after a loss */
	u32 round_lost;       /* `lost` when the round trip began */
	u32 full_bw;
	u32 cycle_stamp;
	u32 up_acked;         /* bw_probe_up_acked */
	u32 up_per_inc;       /* probe_up_acked_per_inc */
	u32 extra_start;      /* microseconds */
	u32 extra_delivered;
	u16 extra[2];
	u16 probe_wait;
	u8 rounds_since_probe;
	u8 up_rounds;
	u32 state : 3;
	u32 ack_phase : 3;
	u32 ca_state : 3;
	u32 full_count : 2;
	u32 full_bw_now : 1;
	u32 full_bw_reached : 1;
	u32 drain_rounds : 3;
	u32 extra_rounds : 3;
	u32 loss_events : 3;
	u32 undo_state : 3;
	u32 round_start : 1;
	u32 loss_round_start : 1;
	u32 is_loss_in_round : 1;
	u32 idle_restart : 1;
	u32 probe_rtt_round_done : 1;
	u32 is_bw_probe_sample : 1;
	u32 prev_too_high : 1;
	u32 prev_precautionary : 1;
};
BP_PRIVATE(struct bbr3)

static inline u32 bbr3_now(const struct bp_tcp *tp)
{
	return (u32)(tp->tcp_mstamp / 1000);
}

static inline u32 bbr3_max_bw(const struct bbr3 *bbr)
{
	return bp_max(bbr->max_bw[0], bbr->max_bw[1]);
}

static inline u32 bbr3_bw(const struct bbr3 *bbr)
{
	return bp_min(bbr3_max_bw(bbr), bbr->bw_shortterm);
}

static inline bool bbr3_is_probe_bw(const struct bbr3 *bbr)
{
	return bbr->state >= BBR3_DOWN && bbr->state <= BBR3_UP;
}

static inline u32 bbr3_pacing_gain(const struct bbr3 *bbr)
{
	if (bbr->state == BBR3_STARTUP)
		return BBR3_STARTUP_GAIN;
	if (bbr->state == BBR3_DRAIN)
		return BBR_ONE / 2;
	if (bbr->state == BBR3_DOWN)
		return BBR3_DOWN_GAIN;
	return bbr->state == BBR3_UP ? BBR_ONE * 5 / 4 : BBR_ONE;
}

static inline u32 bbr3_cwnd_gain(const struct bbr3 *bbr)
{
	if (bbr->state == BBR3_PROBE_RTT)
		return BBR_ONE / 2;
	return bbr->state == BBR3_UP ? BBR3_UP_CWND_GAIN : BBR3_CWND_GAIN;
}

/* BDPMultiple */
static inline u32 bbr3_bdp(const struct bp_tcp *tp, const struct bbr3 *bbr, u32 gain)
{
	if (bbr->min_rtt == BBR_NO_RTT || !bbr3_max_bw(bbr))
		return tp->snd_cwnd;
	return bbr_segments(bbr3_bw(bbr), bbr->min_rtt, gain);
}

/* QuantizationBudget */
static inline u32 bbr3_quantized(const struct bp_tcp *tp, const struct bbr3 *bbr, u32 inflight)
{
	inflight = bp_max(bp_max(inflight, 3 * bbr_send_quantum(tp)), BBR3_MIN_PIPE_CWND);
	return bp_min(inflight, BBR3_INFINITE) + (bbr->state == BBR3_UP ? 2 : 0);
}

/* Inflight */
static inline u32 bbr3_inflight(const struct bp_tcp *tp, const struct bbr3 *bbr, u32 gain)
{
	return bbr3_quantized(tp, bbr, bbr3_bdp(tp, bbr, gain));
}

/* InflightWithHeadroom */
static inline u32 bbr3_with_headroom(const struct bp_tcp *tp, const struct bbr3 *bbr)
{
	u32 room;

	if (bbr->inflight_longterm == BBR3_INFINITE)
		return BBR3_INFINITE;
	room = bp_max((u32)((u64)bbr->inflight_longterm * headroom(tp) / 1000), 1);
	return bp_max(bbr->inflight_longterm > room ? bbr->inflight_longterm - room : 0, BBR3_MIN_PIPE_CWND);
}

/* TargetInflight */
static inline u32 bbr3_target(const struct bp_tcp *tp, const struct bbr3 *bbr)
{
	return bp_min(bbr3_bdp(tp, bbr, BBR_ONE), tp->snd_cwnd);
}

static inline void bbr3_save_cwnd(const struct bp_tcp *tp, struct bbr3 *bbr)
{
	if (bbr->ca_state < TCP_CA_Recovery && bbr->state != BBR3_PROBE_RTT)
		bbr->prior_cwnd = tp->snd_cwnd;
	else
		bbr->prior_cwnd = bp_max(bbr->prior_cwnd, tp->snd_cwnd);
}

static inline void bbr3_reset_full_bw(struct bbr3 *bbr, u32 rate)
{
	bbr->full_bw = rate;
	bbr->full_count = 0;
	bbr->full_bw_now = 0;
}

static inline void bbr3_reset_shortterm(struct bbr3 *bbr)
{
	bbr->bw_shortterm = BBR3_NO_RATE;
	bbr->inflight_shortterm = BBR3_INFINITE;
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
	bbr->cycle_stamp = bbr3_now(tp);
	bbr->ack_phase = BBR3_ACKS_STOPPING;
	bbr->next_round = tp->delivered;
	bbr->state = BBR3_DOWN;
}

/* StartProbeBW_REFILL */
static inline void bbr3_start_refill(const struct bp_tcp *tp, struct bbr3 *bbr)
{
	bbr3_reset_shortterm(bbr);
	bbr->up_rounds = 0;
	bbr->up_acked = 0;
	bbr->prev_precautionary = 0;
	bbr->ack_phase = BBR3_ACKS_REFILLING;
	bbr->next_round = tp->delivered;
	bbr->state = BBR3_REFILL;
}

/* StartProbeBW_UP */
static inline void bbr3_start_up(const struct bp_tcp *tp, struct bbr3 *bbr, u32 rate)
{
	bbr->ack_phase = BBR3_ACKS_STARTING;
	bbr->next_round = tp->delivered;
	bbr3_reset_full_bw(bbr, rate);
	bbr->state = BBR3_UP;
	bbr3_raise_slope(tp, bbr);
}

/* RS.lost, of the present round trip. */
static inline u32 bbr3_lost(const struct bp_tcp *tp, const struct bbr3 *bbr)
{
	return tp->lost - bbr->round_lost;
}

static inline u32 bbr3_tx_in_flight(const struct bp_tcp *tp, const struct bbr3 *bbr, const struct rate_sample *sample)
{
	u32 delivered = sample->delivered > 0 ? (u32)sample->delivered : 0;

	return bp_min(delivered, BBR3_INFINITE / 2) + bp_min(bbr3_lost(tp, bbr), BBR3_INFINITE / 2);
}

/* IsInflightTooHigh */
static inline bool bbr3_is_too_high(const struct bp_tcp *tp, const struct bbr3 *bbr, const struct rate_sample *sample)
{
	return (u64)bbr3_lost(tp, bbr) * 1000 > (u64)bbr3_tx_in_flight(tp, bbr, sample) * loss_threshold(tp);
}

/* HandleLostPacket, with NoteLoss, SaveStateUponLoss and HandleInflightTooHigh */
static inline void bbr3_handle_loss(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample)
{
	if (sample->losses <= 0)
		return;
	bbr->loss_events = bp_min(bbr->loss_events + 1, 7);
	if (!bbr->is_loss_in_round) {
		bbr->loss_round = tp->delivered;
		bbr3_save_cwnd(tp, bbr);
		bbr->undo_state = BBR3_PROBE_RTT;
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
	if (bbr->state == BBR3_UP) {
		bbr->undo_state = BBR3_UP;
		bbr3_start_down(tp, bbr);
	}
}

/* UpdateLatestDeliverySignals, UpdateMaxBw with UpdateRound, AdaptLowerBoundsFromCongestion */
static inline void bbr3_update_model(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample, u32 rate)
{
	u32 delivered = sample->delivered > 0 ? (u32)sample->delivered : 0;
	bool is_probing = bbr->state == BBR3_STARTUP || bbr->state == BBR3_REFILL || bbr->state == BBR3_UP;

	bbr->round_start = 0;
	bbr->loss_round_start = 0;
	if (sample->delivered < 0 || sample->interval_us <= 0)
		return;
	bbr->bw_latest = bp_max(bbr->bw_latest, rate);
	bbr->inflight_latest = bp_max(bbr->inflight_latest, delivered);
	if (!bp_after(bbr->loss_round, sample->prior_delivered)) {
		bbr->loss_round = tp->delivered;
		bbr->loss_round_start = 1;
	}
	if (!bp_after(bbr->next_round, sample->prior_delivered)) {
		bbr->next_round = tp->delivered;
		bbr->rounds_since_probe = (u8)bp_min(bbr->rounds_since_probe + 1, 255);
		bbr->drain_rounds = bp_min(bbr->drain_rounds + 1, 7);
		bbr->round_start = 1;
	}
	if (rate && (!sample->is_app_limited || rate >= bbr3_max_bw(bbr)))
		bbr->max_bw[0] = bp_max(bbr->max_bw[0], rate);
	if (!bbr->loss_round_start)
		return;
	if (bbr->is_loss_in_round && !is_probing) {
		u32 bw = bbr->bw_shortterm == BBR3_NO_RATE ? bbr3_max_bw(bbr) : bbr->bw_shortterm;
		u32 inflight = bp_min(bbr->inflight_shortterm, tp->snd_cwnd);

		bbr->bw_shortterm = bp_max(bbr->bw_latest, (u32)((u64)bw * beta(tp) / 1000));
		bbr->inflight_shortterm = bp_max(bbr->inflight_latest, (u32)((u64)inflight * beta(tp) / 1000));
	}
	bbr->is_loss_in_round = 0;
}

/* UpdateACKAggregation */
static inline void bbr3_update_aggregation(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample)
{
	u32 now = (u32)tp->tcp_mstamp;
	u32 expected = bbr_segments(bbr3_bw(bbr), now - bbr->extra_start, BBR_ONE);
	u32 extra;

	if (bbr->round_start) {
		/* In Startup only one round trip is remembered. */
		bbr->extra_rounds = bbr->full_bw_reached ? bbr->extra_rounds + 1 : BBR3_AGGREGATION_ROUNDS;
		if (bbr->extra_rounds >= BBR3_AGGREGATION_ROUNDS) {
			bbr->extra_rounds = 0;
			bbr->extra[1] = bbr->full_bw_reached ? bbr->extra[0] : 0;
			bbr->extra[0] = 0;
		}
	}
	if (bbr->extra_delivered <= expected) {
		bbr->extra_delivered = 0;
		bbr->extra_start = now;
		expected = 0;
	}
	bbr->extra_delivered = bp_min(bbr->extra_delivered + bp_min(sample->acked_sacked, 1 << 20), 1 << 20);
	extra = bbr->extra_delivered > expected ? bbr->extra_delivered - expected : 0;
	bbr->extra[0] = (u16)bp_max(bbr->extra[0], bp_min(bp_min(extra, tp->snd_cwnd), 0xffff));
}

/* CheckFullBWReached, CheckStartupDone with CheckStartupHighLoss, CheckDrainDone */
static inline void bbr3_check_full(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample, u32 rate)
{
	if (!bbr->full_bw_now && bbr->round_start && !sample->is_app_limited) {
		if (rate >= (u64)bbr->full_bw + bbr->full_bw / 4) {
			bbr3_reset_full_bw(bbr, rate);
		} else {
			bbr->full_count++;
			bbr->full_bw_now = bbr->full_count >= 3;
			bbr->full_bw_reached |= bbr->full_bw_now;
		}
	}
	if (bbr->state == BBR3_STARTUP && bbr->loss_round_start && bbr->ca_state == TCP_CA_Recovery &&
	    bbr->loss_events >= BBR3_STARTUP_LOSSES && bbr3_is_too_high(tp, bbr, sample)) {
		bbr->undo_state = BBR3_STARTUP;
		bbr->full_bw_reached = 1;
		bbr->inflight_longterm = bp_max(bbr3_bdp(tp, bbr, BBR_ONE), bbr->inflight_latest);
	}
	if (bbr->state == BBR3_STARTUP && bbr->full_bw_reached) {
		bbr->state = BBR3_DRAIN;
		bbr->drain_rounds = 0;
		tp->snd_ssthresh = bbr3_inflight(tp, bbr, BBR_ONE);
	}
	if (bbr->state == BBR3_DRAIN &&
	    (bp_packets_in_flight(tp) <= bbr3_inflight(tp, bbr, BBR_ONE) || bbr->drain_rounds > 3))
		bbr3_start_down(tp, bbr);
}

/* AdaptLongTermModel with ProbeInflightLongtermUpward; returns whether it decided on the state. */
static inline bool bbr3_adapt(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample)
{
	u32 tx_in_flight = bbr3_tx_in_flight(tp, bbr, sample);

	if (bbr->ack_phase == BBR3_ACKS_STARTING && bbr->round_start)
		bbr->ack_phase = BBR3_ACKS_FEEDBACK;
	if (bbr->ack_phase == BBR3_ACKS_STOPPING && bbr->round_start) {
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
	if (bbr->state == BBR3_UP && bp_is_cwnd_limited_flag(tp) && tp->snd_cwnd >= bbr->inflight_longterm) {
		u32 steps;

		bbr->up_acked = bp_min(bbr->up_acked + bp_min(sample->acked_sacked, 1 << 20), 1 << 30);
		steps = (u32)bp_divide(bbr->up_acked, bbr->up_per_inc);
		bbr->up_acked -= steps * bbr->up_per_inc;
		bbr->inflight_longterm = bp_min(bbr->inflight_longterm + steps, BBR3_INFINITE - 1);
		if (bbr->round_start)
			bbr3_raise_slope(tp, bbr);
	}
	return false;
}

/* IsTimeToProbeBW */
static inline bool bbr3_is_time_to_probe(const struct bp_tcp *tp, const struct bbr3 *bbr)
{
	return bbr3_now(tp) - bbr->cycle_stamp > bbr->probe_wait ||
	       bbr->rounds_since_probe >= bp_min(bbr3_target(tp, bbr), BBR3_RENO_ROUNDS);
}

/* UpdateProbeBWCyclePhase */
static inline void bbr3_update_cycle(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample, u32 rate)
{
	u32 flight = bp_packets_in_flight(tp);

	if (!bbr->full_bw_reached || bbr3_adapt(tp, bbr, sample) || !bbr3_is_probe_bw(bbr))
		return;
	if (bbr->state == BBR3_DOWN || bbr->state == BBR3_CRUISE) {
		if (bbr3_is_time_to_probe(tp, bbr))
			bbr3_start_refill(tp, bbr);
		else if (bbr->state == BBR3_DOWN && flight <= bbr3_with_headroom(tp, bbr) &&
			 flight <= bbr3_inflight(tp, bbr, BBR_ONE))
			bbr->state = BBR3_CRUISE;
	} else if (bbr->state == BBR3_REFILL) {
		if (bbr->round_start) {
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
	if (!bbr->done_stamp || (s32)(bbr3_now(tp) - bbr->done_stamp) <= 0)
		return;
	bbr->min_rtt_stamp = bbr3_now(tp);
	bp_set_cwnd(tp, bp_max(tp->snd_cwnd, bbr->prior_cwnd), 1);
	bbr3_reset_shortterm(bbr);
	if (bbr->full_bw_reached) {
		bbr3_start_down(tp, bbr);
		bbr->state = BBR3_CRUISE;
	} else {
		bbr->state = BBR3_STARTUP;
	}
}

/* UpdateMinRTT and CheckProbeRTT */
static inline void bbr3_update_min_rtt(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample)
{
	u32 now = bbr3_now(tp);
	u32 flight = bp_packets_in_flight(tp);
	bool expired = (s32)(now - (bbr->min_rtt_stamp + min_rtt_length(tp))) > 0;

	/* SaveProbeRTTCwnd, before the old round-trip time is replaced. */
	if (expired && bbr->state != BBR3_PROBE_RTT)
		bbr->probe_rtt_cwnd = bp_max(bbr3_bdp(tp, bbr, BBR_ONE / 2), BBR3_MIN_PIPE_CWND);
	if (sample->rtt_us >= 0 && ((u64)sample->rtt_us < bbr->min_rtt || (expired && !sample->is_ack_delayed))) {
		bbr->min_rtt = (u32)sample->rtt_us;
		bbr->min_rtt_stamp = now;
	}
	if (expired && !bbr->idle_restart && bbr->state != BBR3_PROBE_RTT) {
		bbr3_save_cwnd(tp, bbr);
		bbr->state = BBR3_PROBE_RTT;
		bbr->done_stamp = 0;
		bbr->ack_phase = BBR3_ACKS_STOPPING;
		bbr->next_round = tp->delivered;
	}
	if (bbr->state == BBR3_PROBE_RTT) {
		tp->app_limited = bp_max(tp->delivered + flight, 1);
		if (!bbr->done_stamp && flight <= bbr->probe_rtt_cwnd) {
			bbr->done_stamp = bp_max(now + probe_rtt(tp), 1);
			bbr->probe_rtt_round_done = 0;
			bbr->next_round = tp->delivered;
		} else if (bbr->done_stamp) {
			bbr->probe_rtt_round_done |= bbr->round_start;
			if (bbr->probe_rtt_round_done)
				bbr3_check_probe_rtt_done(tp, bbr);
		}
	}
	if (sample->delivered > 0)
		bbr->idle_restart = 0;
}

static inline void bbr3_set_pacing_rate(struct bp_tcp *tp, const struct bbr3 *bbr, u32 gain)
{
	u64 rate = bbr_bytes(tp, bbr3_bw(bbr), gain, margin(tp));

	if (bbr3_max_bw(bbr) && (bbr->full_bw_reached || rate > bp_pacing_rate(tp)))
		bp_set_pacing_rate(tp, rate);
}

/* SetCwnd, with BoundCwndForProbeRTT and BoundCwndForModel */
static inline void bbr3_set_cwnd(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample)
{
	u8 state = bp_ca_state(tp);
	u32 acked = bp_min(sample->acked_sacked, 1 << 20);
	u32 cwnd = bp_min(tp->snd_cwnd, 1 << 30);
	u32 most = BBR3_INFINITE;
	u32 target = bp_min(bbr3_bdp(tp, bbr, bbr3_cwnd_gain(bbr)), 1 << 30) + bp_max(bbr->extra[0], bbr->extra[1]);

	target = bbr3_quantized(tp, bbr, target);
	if (state < TCP_CA_Recovery && bbr->ca_state >= TCP_CA_Recovery)
		cwnd = bp_max(cwnd, bbr->prior_cwnd);
	bbr->ca_state = state;
	if (bbr->full_bw_reached)
		cwnd = bp_min(cwnd + acked, target);
	else if (cwnd < target || tp->delivered < 10)
		cwnd += acked;
	cwnd = bp_max(cwnd, BBR3_MIN_PIPE_CWND);
	if (bbr->state == BBR3_PROBE_RTT)
		cwnd = bp_min(cwnd, bbr->probe_rtt_cwnd);
	if (bbr->state == BBR3_PROBE_RTT || bbr->state == BBR3_CRUISE)
		most = bbr3_with_headroom(tp, bbr);
	else if (bbr3_is_probe_bw(bbr))
		most = bbr->inflight_longterm;
	most = bp_max(bp_min(most, bbr->inflight_shortterm), BBR3_MIN_PIPE_CWND);
	bp_set_cwnd(tp, bp_min(cwnd, most), 1);
}

BP_OP(void, init, struct bp_tcp *tp)
{
	struct bbr3 *bbr = bp_private(tp);
	u32 rtt = bp_max(tp->srtt_us ? tp->srtt_us >> 3 : 1000, 1);

	bbr->min_rtt = tp->srtt_us ? rtt : BBR_NO_RTT;
	bbr->min_rtt_stamp = bbr3_now(tp);
	bbr->probe_rtt_cwnd = tp->snd_cwnd;
	bbr->inflight_longterm = BBR3_INFINITE;
	bbr->up_per_inc = BBR3_INFINITE;
	bbr->undo_state = BBR3_PROBE_RTT;
	bbr->next_round = tp->delivered;
	bbr->loss_round = tp->delivered;
	bbr->round_lost = tp->lost;
	bbr->extra_start = (u32)tp->tcp_mstamp;
	bbr3_reset_shortterm(bbr);
	bp_need_pacing(tp);
	bp_set_pacing_rate(tp, bbr_bytes(tp, bp_rate(tp->snd_cwnd, rtt), BBR3_STARTUP_GAIN, margin(tp)));
}

BP_OP(void, cong_control, struct bp_tcp *tp, const struct rate_sample *sample)
{
	struct bbr3 *bbr = bp_private(tp);
	u32 rate = sample->delivered < 0 || sample->interval_us <= 0
			   ? 0
			   : bp_rate((u64)sample->delivered, (u64)sample->interval_us);

	bbr3_handle_loss(tp, bbr, sample);
	bbr3_update_model(tp, bbr, sample, rate);
	bbr3_update_aggregation(tp, bbr, sample);
	bbr3_check_full(tp, bbr, sample, rate);
	bbr3_update_cycle(tp, bbr, sample, rate);
	bbr3_update_min_rtt(tp, bbr, sample);
	/* AdvanceLatestDeliverySignals */
	if (bbr->loss_round_start) {
		bbr->bw_latest = rate;
		bbr->inflight_latest = sample->delivered > 0 ? (u32)sample->delivered : 0;
		bbr->loss_events = 0;
	}
	if (bbr->round_start)
		bbr->round_lost = tp->lost;
	bbr3_set_pacing_rate(tp, bbr, bbr3_pacing_gain(bbr));
	bbr3_set_cwnd(tp, bbr, sample);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	bbr3_save_cwnd(tp, bp_private(tp));
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
	if (bbr->undo_state == BBR3_STARTUP && bbr->state != BBR3_STARTUP) {
		bbr->full_bw_reached = 0;
		if (bbr->state != BBR3_PROBE_RTT)
			bbr->state = BBR3_STARTUP;
	} else if (bbr->undo_state == BBR3_UP && bbr->state != BBR3_UP && bbr->state != BBR3_PROBE_RTT) {
		bbr3_start_refill(tp, bbr);
	}
	bbr->undo_state = BBR3_PROBE_RTT;
	return bp_min(bp_max(tp->snd_cwnd, bbr->prior_cwnd), tp->snd_cwnd_clamp);
}

/* OnEnterRTO */
BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	struct bbr3 *bbr = bp_private(tp);

	if (new_state == TCP_CA_Loss) {
		bbr->ca_state = TCP_CA_Loss;
		bbr->undo_longterm = bbr->inflight_longterm;
	}
}

/* HandleRestartFromIdle */
BP_OP(void, cwnd_event, struct bp_tcp *tp, enum tcp_ca_event event)
{
	struct bbr3 *bbr = bp_private(tp);

	if (event != CA_EVENT_TX_START || !tp->app_limited)
		return;
	bbr->idle_restart = 1;
	bbr->extra_start = (u32)tp->tcp_mstamp;
	if (bbr3_is_probe_bw(bbr))
		bbr3_set_pacing_rate(tp, bbr, BBR_ONE);
	else if (bbr->state == BBR3_PROBE_RTT)
		bbr3_check_probe_rtt_done(tp, bbr);
}

BP_VARIANT(bbr3, "BBR version 3: rate and volume of the path, bounded by loss", "draft-ietf-ccwg-bbr, 2026", init,
	   cong_control, ssthresh, undo_cwnd, set_state, cwnd_event)
