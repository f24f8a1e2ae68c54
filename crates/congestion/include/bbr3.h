/*
 * BBR, version 3: the model of the path by rate and by volume, and the limits that follow from it.
 * Its states are in bbr3.c, with source and constants.
 */
#pragma once

#include "bbr.h"

#define BBR3_CWND_GAIN (2 * BBR_ONE)
#define BBR3_UP_CWND_GAIN (9 * BBR_ONE / 4)
#define BBR3_INFINITE 0x7fffffffu
#define BBR3_NO_RATE 0xffffffffu

/* The phases of ProbeBW, after those of both versions. */
enum bbr3_phase { BBR3_DOWN = BBR_PROBE_BW, BBR3_CRUISE, BBR3_REFILL, BBR3_UP };
enum bbr3_acks { BBR3_ACKS_INIT, BBR3_ACKS_REFILLING, BBR3_ACKS_STARTING, BBR3_ACKS_FEEDBACK, BBR3_ACKS_STOPPING };

struct bbr3 {
	struct bbr_common common;
	u32 max_bw[2];     /* of the present and the previous ProbeBW cycle */
	u32 bw_latest;     /* of this round trip */
	u32 inflight_latest;
	u32 bw_shortterm;
	u32 inflight_shortterm;
	u32 inflight_longterm;
	u32 undo_longterm;
	u32 probe_rtt_cwnd;
	u32 loss_round;    /* value of `delivered` at the end of the round trip after a loss */
	u32 round_lost;    /* value of `lost` at the start of the round trip */
	u32 cycle_stamp;   /* milliseconds */
	u32 up_acked;      /* bw_probe_up_acked */
	u32 up_per_inc;    /* probe_up_acked_per_inc */
	u16 probe_wait;
	u8 rounds_since_probe;
	u8 up_rounds;
	u32 ack_phase : 3;
	u32 full_bw_now : 1;
	u32 drain_rounds : 3;
	u32 loss_events : 3;
	u32 undo_state : 3;
	u32 loss_round_start : 1;
	u32 is_loss_in_round : 1;
	u32 is_bw_probe_sample : 1;
	u32 prev_too_high : 1;
	u32 prev_precautionary : 1;
};
BP_PRIVATE(struct bbr3)

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
	return bbr->common.state >= BBR_PROBE_BW;
}

static inline u32 bbr3_cwnd_gain(const struct bbr3 *bbr)
{
	if (bbr->common.state == BBR_PROBE_RTT)
		return BBR_ONE / 2;
	return bbr->common.state == BBR3_UP ? BBR3_UP_CWND_GAIN : BBR3_CWND_GAIN;
}

/* BDPMultiple */
static inline u32 bbr3_bdp(const struct bp_tcp *tp, const struct bbr3 *bbr, u32 gain)
{
	if (bbr->common.min_rtt == BBR_NO_RTT || !bbr3_max_bw(bbr))
		return tp->snd_cwnd;
	return bbr_segments(bbr3_bw(bbr), bbr->common.min_rtt, gain);
}

/* QuantizationBudget */
static inline u32 bbr3_quantized(const struct bp_tcp *tp, const struct bbr3 *bbr, u32 inflight)
{
	inflight = bp_max(bp_max(inflight, 3 * bbr_send_quantum(tp)), BBR_MIN_PIPE_CWND);
	return bp_min(inflight, BBR3_INFINITE) + (bbr->common.state == BBR3_UP ? 2 : 0);
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
	return bp_max(bbr->inflight_longterm > room ? bbr->inflight_longterm - room : 0, BBR_MIN_PIPE_CWND);
}

/* TargetInflight */
static inline u32 bbr3_target(const struct bp_tcp *tp, const struct bbr3 *bbr)
{
	return bp_min(bbr3_bdp(tp, bbr, BBR_ONE), tp->snd_cwnd);
}

static inline void bbr3_reset_shortterm(struct bbr3 *bbr)
{
	bbr->bw_shortterm = BBR3_NO_RATE;
	bbr->inflight_shortterm = BBR3_INFINITE;
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

/* UpdateLatestDeliverySignals, UpdateMaxBw, AdaptLowerBoundsFromCongestion */
static inline void bbr3_update_model(struct bp_tcp *tp, struct bbr3 *bbr, const struct rate_sample *sample, u32 rate)
{
	bool is_probing = bbr->common.state == BBR_STARTUP || bbr->common.state == BBR3_REFILL ||
			  bbr->common.state == BBR3_UP;

	bbr->common.round_start = 0;
	bbr->loss_round_start = 0;
	if (!bbr_has_rate(sample))
		return;
	bbr->bw_latest = bp_max(bbr->bw_latest, rate);
	bbr->inflight_latest = bp_max(bbr->inflight_latest, (u32)sample->delivered);
	if (!bp_after(bbr->loss_round, sample->prior_delivered)) {
		bbr->loss_round = tp->delivered;
		bbr->loss_round_start = 1;
	}
	bbr_update_round(tp, &bbr->common, sample);
	if (bbr->common.round_start) {
		bbr->rounds_since_probe = (u8)bp_min(bbr->rounds_since_probe + 1, 255);
		bbr->drain_rounds = bp_min(bbr->drain_rounds + 1, 7);
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
