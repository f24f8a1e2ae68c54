/*
 * Parts that both versions of BBR share, under the names of their drafts, and their common state.
 * Gains are in 256ths. A version has a member `struct bbr_common common` in its state. Its
 * parameters, which come before the include, contain margin (pacing rate, in percent below the
 * model's rate) and probe_rtt (duration in milliseconds).
 */
#pragma once

#include "rate.h"

#define BBR_GAIN_SHIFT 8
#define BBR_ONE (1u << BBR_GAIN_SHIFT)
#define BBR_NO_RTT 0xffffffffu
#define BBR_MIN_PIPE_CWND 4
#define BBR_AGGREGATION_ROUNDS 5
#define BBR_FULL_ROUNDS 3

/* The phases of ProbeBW, if a version distinguishes them, follow BBR_PROBE_BW. */
enum bbr_state { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_RTT, BBR_PROBE_BW };

struct bbr_common {
	u32 min_rtt;         /* microseconds; RTprop in version 1 */
	u32 min_rtt_stamp;   /* jiffies */
	u32 done_stamp;      /* end of ProbeRTT, jiffies; 0: not known yet */
	u32 prior_cwnd;
	u32 next_round;      /* value of `delivered` at the end of the round trip */
	u32 full_bw;
	u32 extra_start;     /* microseconds */
	u32 extra_delivered;
	u16 extra[2];        /* largest excess of the present and the last window of rounds */
	u32 state : 3;
	u32 ca_state : 3;    /* at the previous acknowledgment */
	u32 extra_rounds : 3;
	u32 full_count : 2;
	u32 round_start : 1;
	u32 filled_pipe : 1; /* full_bw_reached in version 3 */
	u32 idle_restart : 1;
	u32 probe_rtt_round_done : 1;
};

static inline u32 bbr_now(const struct bp_tcp *tp)
{
	return (u32)(tp->tcp_mstamp / 1000);
}

/* Converts milliseconds to jiffies. */
static inline u32 bbr_jiffies(const struct bp_tcp *tp, u32 milliseconds)
{
	u32 jiffy = bp_jiffy_us(tp);

	return (milliseconds * 1000 + jiffy - 1) / jiffy;
}

/* Returns the segments that a rate delivers in a time, times the gain, rounded up. */
static inline u32 bbr_segments(u32 rate, u32 microseconds, u32 gain)
{
	u64 whole = (u64)rate * microseconds * gain >> BBR_GAIN_SHIFT;
	u64 segments = (whole + (1u << BP_RATE_SHIFT) - 1) >> BP_RATE_SHIFT;

	return segments < 0x7fffffffu ? (u32)segments : 0x7fffffffu;
}

/*
 * Returns a rate in bytes per second, times the gain, minus the margin that keeps the queue from
 * growing.
 */
static inline u64 bbr_bytes(const struct bp_tcp *tp, u32 rate, u32 gain)
{
	u64 bytes = (u64)rate * tp->mss_cache * gain >> BBR_GAIN_SHIFT;

	return bytes * (10000 * (100 - margin(tp))) >> BP_RATE_SHIFT;
}

/*
 * Returns the size of a burst in segments: BBR.send_quantum, 1/1024 s of the pacing rate, at most
 * 64 KiB.
 */
static inline u32 bbr_send_quantum(const struct bp_tcp *tp)
{
	u64 rate = bp_pacing_rate(tp);
	u64 min = rate < 1200000 / 8 ? 1 : 2;
	u64 millisecond = bp_divide(rate >> 10 < 65215 ? rate >> 10 : 65215, tp->mss_cache);

	return (u32)(millisecond > min ? millisecond : min);
}

static inline void bbr_init(struct bp_tcp *tp, struct bbr_common *common, u32 startup_gain)
{
	u32 rtt = bp_max(tp->srtt_us ? tp->srtt_us >> 3 : 1000, 1);

	common->min_rtt = tp->srtt_us ? rtt : BBR_NO_RTT;
	common->min_rtt_stamp = bp_jiffies(tp);
	common->next_round = tp->delivered;
	common->extra_start = (u32)tp->tcp_mstamp;
	bp_need_pacing(tp);
	/* InitPacingRate */
	bp_set_pacing_rate(tp, bbr_bytes(tp, bp_rate(tp->snd_cwnd, rtt), startup_gain));
}

/* Returns true if the sample contains a rate. */
static inline bool bbr_has_rate(const struct rate_sample *sample)
{
	return sample->delivered >= 0 && sample->interval_us > 0;
}

static inline u32 bbr_sample_rate(const struct rate_sample *sample)
{
	return bp_rate((u64)sample->delivered, (u64)sample->interval_us);
}

/* UpdateRound */
static inline void bbr_update_round(const struct bp_tcp *tp, struct bbr_common *common,
				    const struct rate_sample *sample)
{
	common->round_start = !bp_after(common->next_round, sample->prior_delivered);
	if (common->round_start)
		common->next_round = tp->delivered;
}

/*
 * Starts a window of rounds for the maximum excess. The maximum of the last window applies for one
 * more window.
 */
static inline void bbr_start_aggregation(struct bbr_common *common, u16 last)
{
	common->extra_rounds = 0;
	common->extra[1] = last;
	common->extra[0] = 0;
}

/* Returns the microseconds for which UpdateACKAggregation has counted delivered segments. */
static inline u32 bbr_extra_time(const struct bp_tcp *tp, const struct bbr_common *common)
{
	return (u32)tp->tcp_mstamp - common->extra_start;
}

/*
 * UpdateACKAggregation without the windows of rounds. `expected` is the number of segments that the
 * rate would have delivered in that time.
 */
static inline void bbr_update_aggregation(const struct bp_tcp *tp, struct bbr_common *common, u32 expected, u32 acked)
{
	u32 extra;

	if (common->extra_delivered <= expected) {
		common->extra_delivered = 0;
		common->extra_start = (u32)tp->tcp_mstamp;
		expected = 0;
	}
	common->extra_delivered = bp_min(common->extra_delivered + bp_min(acked, 1 << 20), 1 << 20);
	extra = common->extra_delivered > expected ? common->extra_delivered - expected : 0;
	common->extra[0] = (u16)bp_max(common->extra[0], bp_min(bp_min(extra, tp->snd_cwnd), 0xffff));
}

/* extra_acked */
static inline u32 bbr_extra(const struct bbr_common *common)
{
	return bp_max(common->extra[0], common->extra[1]);
}

/*
 * CheckFullBWReached: returns true at the third consecutive round trip whose rate is less than 25 %
 * above the maximum.
 */
static inline bool bbr_is_full(struct bbr_common *common, u32 rate)
{
	if (rate >= (u64)common->full_bw + common->full_bw / 4) {
		common->full_bw = rate;
		common->full_count = 0;
		return false;
	}
	return ++common->full_count >= BBR_FULL_ROUNDS;
}

/* SaveCwnd */
static inline void bbr_save_cwnd(const struct bp_tcp *tp, struct bbr_common *common)
{
	if (common->ca_state < TCP_CA_Recovery && common->state != BBR_PROBE_RTT)
		common->prior_cwnd = tp->snd_cwnd;
	else
		common->prior_cwnd = bp_max(common->prior_cwnd, tp->snd_cwnd);
}

/* Returns true if the smallest round-trip time is older than `length` milliseconds. */
static inline bool bbr_is_rtt_old(const struct bp_tcp *tp, const struct bbr_common *common, u32 length)
{
	return (s32)(bp_jiffies(tp) - (common->min_rtt_stamp + bbr_jiffies(tp, length))) > 0;
}

/*
 * UpdateMinRTT: a smaller sample replaces the smallest round-trip time; any sample does if the
 * smallest is old. An equal sample does not renew it, because with exactly repeating round-trip
 * times it would never become old.
 */
static inline void bbr_update_min_rtt(const struct bp_tcp *tp, struct bbr_common *common,
				      const struct rate_sample *sample, bool is_old)
{
	if (sample->rtt_us >= 0 &&
	    ((u64)sample->rtt_us < common->min_rtt || (is_old && !sample->is_ack_delayed))) {
		common->min_rtt = (u32)sample->rtt_us;
		common->min_rtt_stamp = bp_jiffies(tp);
	}
}

/* The first part of CheckProbeRTT: returns true if ProbeRTT begins now. */
static inline bool bbr_enter_probe_rtt(const struct bp_tcp *tp, struct bbr_common *common, bool is_old)
{
	if (!is_old || common->idle_restart || common->state == BBR_PROBE_RTT)
		return false;
	bbr_save_cwnd(tp, common);
	common->state = BBR_PROBE_RTT;
	common->done_stamp = 0;
	return true;
}

/* HandleProbeRTT: returns true after a round trip with at most `cwnd` in flight. */
static inline bool bbr_handle_probe_rtt(struct bp_tcp *tp, struct bbr_common *common, u32 cwnd)
{
	u32 flight = bp_packets_in_flight(tp);

	/* The present rate is limited by the window, not by the path. */
	tp->app_limited = bp_max(tp->delivered + flight, 1);
	if (common->done_stamp) {
		common->probe_rtt_round_done |= common->round_start;
		return common->probe_rtt_round_done;
	}
	if (flight <= cwnd) {
		common->done_stamp = bp_max(bp_jiffies(tp) + bbr_jiffies(tp, probe_rtt(tp)), 1);
		common->probe_rtt_round_done = 0;
		common->next_round = tp->delivered;
	}
	return false;
}

/*
 * The last part of CheckProbeRTTDone: returns true if ProbeRTT is over. The caller sets the next
 * state.
 */
static inline bool bbr_leave_probe_rtt(struct bp_tcp *tp, struct bbr_common *common)
{
	if (!common->done_stamp || (s32)(bp_jiffies(tp) - common->done_stamp) <= 0)
		return false;
	common->min_rtt_stamp = bp_jiffies(tp);
	bp_set_cwnd(tp, bp_max(tp->snd_cwnd, common->prior_cwnd), 1);
	return true;
}

/* SetPacingRateWithGain: in Startup it never falls. */
static inline void bbr_set_pacing_rate(struct bp_tcp *tp, const struct bbr_common *common, u32 bw, u32 gain)
{
	u64 rate = bbr_bytes(tp, bw, gain);

	if (bw && (common->filled_pipe || rate > bp_pacing_rate(tp)))
		bp_set_pacing_rate(tp, rate);
}

/* SetCwnd's growth towards the target, which is the maximum once the pipe is full. */
static inline u32 bbr_grow(const struct bp_tcp *tp, const struct bbr_common *common, u32 cwnd, u32 acked, u32 target)
{
	if (common->filled_pipe)
		cwnd = bp_min(cwnd + acked, target);
	else if (cwnd < target || tp->delivered < 10)
		cwnd += acked;
	return bp_max(cwnd, BBR_MIN_PIPE_CWND);
}

/* The first part of HandleRestartFromIdle: returns true if the connection restarts. */
static inline bool bbr_restart(const struct bp_tcp *tp, struct bbr_common *common, enum tcp_ca_event event)
{
	if (event != CA_EVENT_TX_START || !tp->app_limited)
		return false;
	common->idle_restart = 1;
	common->extra_start = (u32)tp->tcp_mstamp;
	return true;
}
