/*
 * The end of slow start before packets are lost, for variants that use it: HyStart and HyStart++.
 *
 * HyStart: S. Ha and I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9),
 * 2011. From a window of 16 on, two signs end slow start and set ssthresh to cwnd:
 *
 * - ACK train: consecutive acknowledgments since the start of the round, less than 2 ms apart, span
 *   half of the smallest round-trip time (the packets of a train take as long as the forward path),
 *   plus half a millisecond for acknowledgments that the receiver delays.
 * - Delay increase: the smallest of at least 8 round-trip times of a round exceeds the connection's
 *   smallest by an eighth of it, at least 4 ms and at most 16 ms.
 *
 * The numbers are those of Linux, where HyStart is off after it has ended a slow start, until a
 * time-out. A paced connection spreads its window over half a round-trip time, so its ACK train
 * must span a whole one (Linux's commit "tcp_cubic: make Hystart aware of pacing", 2019).
 *
 * HyStart++: RFC 9406, section 4.2, constants of section 4.3. Only the delay counts, compared with
 * the smallest of the previous round. Conservative Slow Start follows, for five rounds at a quarter
 * of the speed. Slow start resumes if the delay falls below its value at the start of that phase.
 */
#pragma once

#include "reno.h"

enum bp_hystart_kind { BP_HYSTART_OFF, BP_HYSTART, BP_HYSTART_PLUS_PLUS };

#define HYSTART_LOW_WINDOW 16
#define HYSTART_TRAIN_GAP_US 2000
#define HYSTART_ACK_DELAY_US 1000
#define HYSTART_SAMPLES 8           /* RFC 9406: N_RTT_SAMPLE */
#define HYSTART_MIN_RISE_US 4000  /* MIN_RTT_THRESH */
#define HYSTART_MAX_RISE_US 16000  /* MAX_RTT_THRESH */
#define HYSTART_RISE_SHIFT 3        /* MIN_RTT_DIVISOR 8 */
#define HYSTART_CSS_DIVISOR 4       /* CSS_GROWTH_DIVISOR */
#define HYSTART_CSS_ROUNDS 5        /* CSS_ROUNDS */
#define HYSTART_LIMIT 8             /* L, segments, when not paced */
#define HYSTART_NO_RTT 0xffffffffu

struct bp_hystart {
	u32 round_end;   /* the round ends when data after this sequence number is acknowledged */
	u32 round_start; /* microseconds, modulo 2^32, as all times here */
	u32 train_end;   /* last acknowledgment of the train */
	u32 round_rtt;   /* smallest of this round, microseconds */
	u32 base_rtt;    /* smallest of the connection (HyStart) or of the previous round (HyStart++) */
	u32 css_rtt;     /* HyStart++: cssBaselineMinRtt */
	u8 samples;      /* number of samples in this round, up to HYSTART_SAMPLES */
	u8 css_rounds;   /* rounds started in Conservative Slow Start; 0: not in that phase */
	u8 is_over;      /* 1 after the end of a slow start; HyStart is reset by a time-out */
};

static inline void bp_hystart_begin_round(struct bp_tcp *tp, struct bp_hystart *hystart)
{
	hystart->round_end = tp->snd_nxt;
	hystart->round_start = (u32)tp->tcp_mstamp;
	hystart->train_end = (u32)tp->tcp_mstamp;
	hystart->round_rtt = HYSTART_NO_RTT;
	hystart->samples = 0;
}

/* Called by init, and after a time-out, because the path may have changed. */
static inline void bp_hystart_reset(struct bp_tcp *tp, struct bp_hystart *hystart, u32 kind)
{
	hystart->base_rtt = HYSTART_NO_RTT;
	hystart->css_rounds = 0;
	if (kind == BP_HYSTART)
		hystart->is_over = 0;
	bp_hystart_begin_round(tp, hystart);
}

static inline void bp_hystart_end(struct bp_tcp *tp, struct bp_hystart *hystart)
{
	tp->snd_ssthresh = tp->snd_cwnd;
	hystart->css_rounds = 0;
	hystart->is_over = 1;
}

static inline bool bp_hystart_rose(const struct bp_hystart *hystart)
{
	u32 rise = hystart->base_rtt >> HYSTART_RISE_SHIFT;

	rise = bp_min(bp_max(rise, HYSTART_MIN_RISE_US), HYSTART_MAX_RISE_US);
	return hystart->samples >= HYSTART_SAMPLES && hystart->base_rtt != HYSTART_NO_RTT &&
	       hystart->round_rtt != HYSTART_NO_RTT && hystart->round_rtt - rise >= hystart->base_rtt &&
	       hystart->round_rtt >= rise;
}

/* Returns true if data sent after the start of the round has been acknowledged. */
static inline bool bp_hystart_round_is_over(const struct bp_tcp *tp, const struct bp_hystart *hystart)
{
	return bp_after(tp->snd_una, hystart->round_end);
}

static inline void bp_hystart_count(struct bp_hystart *hystart, u32 rtt)
{
	hystart->round_rtt = bp_min(hystart->round_rtt, rtt);
	if (hystart->samples < HYSTART_SAMPLES)
		hystart->samples++;
}

static inline void bp_hystart_sample(struct bp_tcp *tp, struct bp_hystart *hystart, u32 rtt)
{
	u32 now = (u32)tp->tcp_mstamp;
	bool enough;

	hystart->base_rtt = bp_min(hystart->base_rtt, rtt);
	if (!bp_in_slow_start(tp) || hystart->is_over)
		return;
	if (bp_hystart_round_is_over(tp, hystart))
		bp_hystart_begin_round(tp, hystart);
	if (tp->snd_cwnd < HYSTART_LOW_WINDOW)
		return;
	if (now - hystart->train_end <= HYSTART_TRAIN_GAP_US) {
		u32 span = hystart->base_rtt + HYSTART_ACK_DELAY_US;

		hystart->train_end = now;
		if (now - hystart->round_start > span >> (bp_is_paced(tp) ? 0 : 1)) {
			bp_hystart_end(tp, hystart);
			return;
		}
	}
	enough = hystart->samples >= HYSTART_SAMPLES;
	bp_hystart_count(hystart, rtt);
	if (enough && bp_hystart_rose(hystart))
		bp_hystart_end(tp, hystart);
}

static inline void bp_hystart_plus_plus_sample(struct bp_tcp *tp, struct bp_hystart *hystart, u32 rtt)
{
	if (!bp_in_slow_start(tp) || hystart->is_over)
		return;
	if (bp_hystart_round_is_over(tp, hystart)) {
		hystart->base_rtt = hystart->round_rtt;
		if (hystart->css_rounds && ++hystart->css_rounds > HYSTART_CSS_ROUNDS) {
			bp_hystart_end(tp, hystart);
			return;
		}
		bp_hystart_begin_round(tp, hystart);
	}
	bp_hystart_count(hystart, rtt);
	if (!hystart->css_rounds) {
		if (bp_hystart_rose(hystart)) {
			hystart->css_rtt = hystart->round_rtt;
			hystart->css_rounds = 1;
		}
	} else if (hystart->samples >= HYSTART_SAMPLES && hystart->round_rtt < hystart->css_rtt) {
		hystart->css_rounds = 0;
	}
}

/* Handles a sample of the round-trip time, from pkts_acked. */
static inline void bp_hystart_take(struct bp_tcp *tp, struct bp_hystart *hystart, u32 kind, u32 rtt)
{
	if (kind == BP_HYSTART)
		bp_hystart_sample(tp, hystart, rtt);
	else if (kind == BP_HYSTART_PLUS_PLUS)
		bp_hystart_plus_plus_sample(tp, hystart, rtt);
}

/*
 * Grows the window of slow start with HyStart of this kind. Returns the acknowledged segments that
 * remain for congestion avoidance.
 */
static inline u32 bp_hystart_slow_start(struct bp_tcp *tp, struct bp_hystart *hystart, u32 kind, u32 acked)
{
	if (kind == BP_HYSTART_PLUS_PLUS && !bp_is_paced(tp))
		acked = bp_min(acked, HYSTART_LIMIT);
	if (hystart->css_rounds) {
		u32 credit = tp->snd_cwnd_cnt + acked;

		acked = credit / HYSTART_CSS_DIVISOR;
		tp->snd_cwnd_cnt = credit % HYSTART_CSS_DIVISOR;
	}
	return bp_slow_start(tp, acked);
}
