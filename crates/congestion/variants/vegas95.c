/*
 * Vegas as published in 1995: uses the mean round-trip time of a round, and doubles the window of
 * slow start every other round.
 *
 * Source:     L. S. Brakmo and L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a
 *             Global Internet", IEEE Journal on Selected Areas in Communications 13(8), pages
 *             1465-1480, 1995, sections III.B and III.C (the paper numbers no equations).
 *                 Expected = cwnd / BaseRTT     BaseRTT: smallest RTT of the connection
 *                 Actual   = cwnd / RTT         cwnd: segments sent in a round (full window)
 *                 Diff     = Expected - Actual  times BaseRTT: cwnd (RTT - BaseRTT) / RTT segments
 *                 once per round-trip time: cwnd + 1 while Diff < alpha, cwnd - 1 while Diff > beta
 *             Slow start doubles the window every other round. It keeps the window constant in
 *             between, so that both rates are compared at the same window. It ends when Diff >
 *             gamma.
 * Use:        the "Vegas" of simulations from around 2000. Linux's version is vegas.c. It takes the
 *             smallest round-trip time of a round, so it ignores queues and access delays that
 *             affect only part of a window. On a path whose delay varies within a round, the two
 *             are different algorithms.
 * Constants:  alpha 1, beta 3 (the paper's Vegas-1,3), gamma 1 segment; the window shrinks by an
 *             eighth at the end of slow start. `mean` selects RTT: the mean of the round's samples
 *             (1), or the sample of one segment (0), the paper's "distinguished segment". Later
 *             descriptions and simulators use the mean.
 * Deviations: loss detection by fine-grained time-outs, and the smaller reduction after it (section
 *             III.A), are not included: the endpoint detects loss, and the window is halved as
 *             Reno's. Outside the Open state, Reno's increase is used, as in vegas.c.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(alpha, 1, 0, 65535, "queued segments below which cwnd grows by one per round-trip time")     \
	PARAMETER(beta, 3, 0, 65535, "queued segments above which cwnd shrinks by one per round-trip time")    \
	PARAMETER(gamma, 1, 0, 65535, "queued segments above which slow start ends")                           \
	PARAMETER(mean, 1, 0, 1, "1: the mean round-trip time of a round decides; 0: that of one of its segments")

#include "reno.h"

#define VEGAS95_MIN_CWND 2
#define VEGAS95_NO_RTT 0x7fffffffu

struct vegas95 {
	u64 sum_rtt;       /* of this round's samples, microseconds */
	u32 samples;       /* their number */
	u32 last_rtt;      /* the last of them */
	u32 base_rtt;      /* smallest of the connection */
	u32 round_end;     /* the round ends when data after this sequence number is acknowledged */
	u32 is_active;   /* 0 outside the Open state, where Reno's increase is used */
	u32 is_holding;    /* 1 in the rounds of slow start with a constant window */
};
BP_PRIVATE(struct vegas95)

static inline void vegas95_begin_round(struct bp_tcp *tp, struct vegas95 *vegas)
{
	vegas->round_end = tp->snd_nxt;
	vegas->sum_rtt = 0;
	vegas->samples = 0;
}

static inline void vegas95_activate(struct bp_tcp *tp)
{
	struct vegas95 *vegas = bp_private(tp);

	vegas->is_active = 1;
	vegas95_begin_round(tp, vegas);
}

static inline void vegas95_decide(struct bp_tcp *tp, struct vegas95 *vegas)
{
	u64 cwnd = tp->snd_cwnd;
	u64 rtt = mean(tp) ? bp_divide(vegas->sum_rtt, vegas->samples) : vegas->last_rtt;
	/* Diff times RTT, so that nothing is rounded. */
	u64 diff = cwnd * (rtt - vegas->base_rtt);

	if (bp_in_slow_start(tp)) {
		vegas->is_holding = !vegas->is_holding;
		if (diff > gamma(tp) * rtt) {
			bp_set_cwnd(tp, (u32)(cwnd - cwnd / 8), VEGAS95_MIN_CWND);
			tp->snd_ssthresh = tp->snd_cwnd;
		}
	} else if (diff > beta(tp) * rtt) {
		bp_set_cwnd(tp, (u32)cwnd - 1, VEGAS95_MIN_CWND);
		/* A window below ssthresh would mean slow start again. */
		tp->snd_ssthresh = bp_min(tp->snd_ssthresh, tp->snd_cwnd);
	} else if (diff < alpha(tp) * rtt) {
		bp_set_cwnd(tp, (u32)cwnd + 1, VEGAS95_MIN_CWND);
	}
}

BP_OP(void, init, struct bp_tcp *tp)
{
	bp_private(tp)->base_rtt = VEGAS95_NO_RTT;
	vegas95_activate(tp);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	return bp_reno_ssthresh(tp);
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct vegas95 *vegas = bp_private(tp);

	if (!vegas->is_active) {
		bp_reno_cong_avoid(tp, acked);
		return;
	}
	if (bp_in_slow_start(tp) && !vegas->is_holding)
		bp_slow_start(tp, acked);
	if (bp_after(ack, vegas->round_end)) {
		if (vegas->samples)
			vegas95_decide(tp, vegas);
		vegas95_begin_round(tp, vegas);
	}
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	if (new_state == TCP_CA_Open)
		vegas95_activate(tp);
	else
		bp_private(tp)->is_active = 0;
}

/* Adds one microsecond, so that a round-trip time is never 0. */
BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	struct vegas95 *vegas = bp_private(tp);
	u32 rtt;

	if (sample->rtt_us < 0)
		return;
	rtt = (u32)sample->rtt_us + 1;
	vegas->base_rtt = bp_min(vegas->base_rtt, rtt);
	vegas->sum_rtt += rtt;
	vegas->last_rtt = rtt;
	vegas->samples++;
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(vegas95, "Vegas as published in 1995: judges by the mean round-trip time of a round",
	   "Brakmo and Peterson, TCP Vegas, IEEE JSAC 13(8), 1995", init, ssthresh, cong_avoid, set_state, pkts_acked,
	   undo_cwnd)
