/*
 * Vegas: keeps a few segments queued at the bottleneck, estimated from the round-trip time.
 *
 * Source:     L. S. Brakmo and L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a
 *             Global Internet", IEEE Journal on Selected Areas in Communications 13(8), pages
 *             1465-1480, 1995, sections III.B and III.C (the paper numbers no equations).
 *                 Expected = cwnd / BaseRTT     BaseRTT: smallest RTT of the connection
 *                 Actual   = cwnd / RTT
 *                 Diff     = Expected - Actual  in segments: times BaseRTT (paper), RTT (here)
 *                 once per round-trip time: cwnd + 1 while Diff < alpha, cwnd - 1 while Diff > beta
 *                 slow start ends when Diff > gamma
 * Constants:  alpha 2, beta 4, gamma 1 segments (the paper's Vegas-2,4 and its gamma of one buffer;
 *             Linux's defaults). A round needs at least 3 samples of the round-trip time; with
 *             fewer, Reno's increase is used (Linux: a single sample could be that of a delayed
 *             ACK).
 * Deviations: those of Linux from the paper.
 *             - Diff is the rate difference times RTT, cwnd (RTT - BaseRTT) / BaseRTT, not times
 *               BaseRTT. For q queued segments it is q (1 + q / (bandwidth x BaseRTT)), so the
 *               queue is slightly shorter if few segments are in flight.
 *             - RTT is the smallest of a round, not the mean.
 *             - Slow start doubles the window every round, not every other round. At its end, cwnd
 *               becomes the window that would have filled the path without a queue, plus one,
 *               instead of shrinking by an eighth.
 *             - Loss detection by fine-grained time-outs, and the smaller reduction after it
 *               (section III.A), are not included: the endpoint detects loss, and the window is
 *               halved as Reno's.
 *             - Outside the Open state, Reno's increase is used. After idle time, BaseRTT is
 *               measured again.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(alpha, 2, 1, 65535, "queued segments below which cwnd grows by one per round-trip time")     \
	PARAMETER(beta, 4, 1, 65535, "queued segments above which cwnd shrinks by one per round-trip time")    \
	PARAMETER(gamma, 1, 1, 65535, "queued segments above which slow start ends")

#include "reno.h"

#define VEGAS_MIN_SAMPLES 3
#define VEGAS_MIN_CWND 2
#define VEGAS_NO_RTT 0x7fffffffu

struct vegas {
	u32 round_end;     /* the round ends when data after this sequence number is acknowledged */
	u32 samples;       /* round-trip times measured in this round */
	u32 min_rtt;       /* smallest of this round, microseconds */
	u32 base_rtt;      /* smallest of the connection, microseconds */
	u32 is_active;   /* 0 outside the Open state, where Reno's increase is used */
};
BP_PRIVATE(struct vegas)

static inline void vegas_begin_round(struct vegas *vegas, u32 round_end)
{
	vegas->round_end = round_end;
	vegas->samples = 0;
	vegas->min_rtt = VEGAS_NO_RTT;
}

static inline void vegas_activate(struct bp_tcp *tp)
{
	struct vegas *vegas = bp_private(tp);

	vegas->is_active = 1;
	vegas_begin_round(vegas, tp->snd_nxt);
}

static inline void vegas_start(struct bp_tcp *tp)
{
	bp_private(tp)->base_rtt = VEGAS_NO_RTT;
	vegas_activate(tp);
}

/*
 * After a decision, cwnd is the operating point, and slow start is over. ssthresh is therefore at
 * most cwnd and, outside a reduction, at least three quarters of cwnd (Linux's
 * tcp_current_ssthresh), the window at which sending restarts after idle time.
 */
static inline void vegas_raise_ssthresh(struct bp_tcp *tp)
{
	u8 state = bp_ca_state(tp);

	if (state != TCP_CA_CWR && state != TCP_CA_Recovery)
		tp->snd_ssthresh = bp_max(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}

/* Limits ssthresh to cwnd: the connection is not in slow start. */
static inline void vegas_end_slow_start(struct bp_tcp *tp)
{
	tp->snd_ssthresh = bp_min(tp->snd_ssthresh, tp->snd_cwnd);
}

static inline void vegas_decide(struct bp_tcp *tp, const struct vegas *vegas, u32 acked)
{
	u64 cwnd = tp->snd_cwnd;
	u32 rtt = vegas->min_rtt;
	u32 base = vegas->base_rtt;
	u64 diff = bp_divide(cwnd * (rtt - base), base);

	if (bp_in_slow_start(tp)) {
		if (diff > gamma(tp)) {
			u64 target = bp_divide(cwnd * base, rtt) + 1;

			tp->snd_cwnd = target < cwnd ? (u32)target : (u32)cwnd;
			vegas_end_slow_start(tp);
		} else {
			bp_slow_start(tp, acked);
		}
	} else if (diff > beta(tp)) {
		tp->snd_cwnd = (u32)cwnd - 1;
		vegas_end_slow_start(tp);
	} else if (diff < alpha(tp)) {
		tp->snd_cwnd = (u32)cwnd + 1;
	}
	bp_set_cwnd(tp, tp->snd_cwnd, VEGAS_MIN_CWND);
	vegas_raise_ssthresh(tp);
}

BP_OP(void, init, struct bp_tcp *tp)
{
	vegas_start(tp);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	return bp_reno_ssthresh(tp);
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct vegas *vegas = bp_private(tp);

	if (!vegas->is_active) {
		bp_reno_cong_avoid(tp, acked);
	} else if (bp_after(ack, vegas->round_end)) {
		if (vegas->samples >= VEGAS_MIN_SAMPLES)
			vegas_decide(tp, vegas, acked);
		else
			bp_reno_cong_avoid(tp, acked);
		vegas_begin_round(vegas, tp->snd_nxt);
	} else if (bp_in_slow_start(tp)) {
		bp_slow_start(tp, acked);
	}
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	if (new_state == TCP_CA_Open)
		vegas_activate(tp);
	else
		bp_private(tp)->is_active = 0;
}

BP_OP(void, cwnd_event, struct bp_tcp *tp, enum tcp_ca_event event)
{
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		vegas_start(tp);
}

/* Adds one microsecond, as in Linux, so that a round-trip time is never 0. */
BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	struct vegas *vegas = bp_private(tp);
	u32 rtt;

	if (sample->rtt_us < 0)
		return;
	rtt = (u32)sample->rtt_us + 1;
	vegas->base_rtt = bp_min(vegas->base_rtt, rtt);
	vegas->min_rtt = bp_min(vegas->min_rtt, rtt);
	vegas->samples++;
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(vegas, "Keeps a few segments queued, judged by the round-trip time",
	   "Brakmo and Peterson, TCP Vegas, IEEE JSAC 13(8), 1995", init, ssthresh, cong_avoid, set_state, cwnd_event,
	   pkts_acked, undo_cwnd)
