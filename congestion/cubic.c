/*
 * CUBIC: after a loss the window grows by a cubic function of time, flat around where the loss was.
 *
 * Source:     RFC 9438, CUBIC for Fast and Long-Distance Networks.
 *                 (1)  W_cubic(t) = C (t - K)^3 + W_max               t: since the avoidance stage began
 *                 (2)  K = cubic root of ((W_max - cwnd_epoch) / C)
 *                      target = W_cubic(t + RTT), within cwnd and 1.5 cwnd; cwnd += (target - cwnd) / cwnd for
 *                      each segment acknowledged (sections 4.2, 4.4, 4.5)
 *                 (4)  W_est += alpha segments_acked / cwnd: what Reno would have. Where W_cubic(t) < W_est,
 *                      cwnd = W_est (section 4.3); alpha = 3 (1 - beta) / (1 + beta), and with
 *                      `fast_reno` 1 from W_est = cwnd_prior on
 *                      ssthresh = beta cwnd; W_max = cwnd, or with fast convergence, when cwnd < W_max,
 *                      cwnd (1 + beta) / 2 (sections 4.6, 4.7)
 *             After a time-out, and after a slow start that HyStart ended, W_max = cwnd_epoch and K = 0 (4.8, 4.10).
 *             A reduction that was spurious is taken back with W_max, K, W_est and the epoch (4.9).
 *             Slow start: hystart.h (HyStart, or HyStart++ of RFC 9406).
 * Constants:  C 0.4, beta 0.7 (section 5); HyStart's in hystart.h.
 * Deviations: those of Linux. Windows count segments, and ssthresh is beta times cwnd, not FlightSize. The time in
 *             which cwnd is not what limits sending does not count for t (section 5.8), from acknowledgment to
 *             acknowledgment. HyStart is Linux' default and here too; RFC 9438 recommends HyStart++ (hystart = 2).
 *             Linux' estimate of Reno is that of RFC 8312, whose alpha does not become 1, so that is the default; RFC 9438
 *             says that it SHOULD (fast_reno = 1).
 *             Times are in milliseconds, windows in 1024ths of a segment: K is right to 1 ms.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(c, 400, 1, 10000, "thousandths: C, segments per second cubed")                               \
	PARAMETER(beta, 700, 100, 950, "thousandths: the part of the window that a loss leaves")               \
	PARAMETER(fast_convergence, 1, 0, 1, "1: a flow that lost before its last maximum gives more room")    \
	PARAMETER(reno_friendly, 1, 0, 1, "1: never slower than Reno")                                         \
	PARAMETER(fast_reno, 0, 0, 1, "1: that Reno adds a whole segment above the last maximum (RFC 9438)")   \
	PARAMETER(hystart, 1, 0, 2, "end of slow start by delay: 0 off, 1 HyStart, 2 HyStart++")

#include "hystart.h"

#define CUBIC_ONE 1024ull          /* a segment, of windows */
#define CUBIC_EST_SHIFT 32         /* of W_est, which grows by tiny parts */
#define CUBIC_MOST_MS 1000000u     /* t - K at most, so that its cube fits */
#define CUBIC_MOST_WINDOW 10000000u

struct cubic {
	u64 credit;      /* growth not yet a segment: acknowledged segments times (target - cwnd) */
	u64 w_max;       /* 0: not known */
	u64 w_est;
	u64 undo_w_max;
	u64 undo_w_est;
	u32 undo_k;
	u32 undo_epoch;
	u32 epoch;       /* when the stage began, milliseconds; 0: it has not begun */
	u32 last;        /* last acknowledgment, milliseconds */
	u32 k;           /* milliseconds */
	u32 cwnd_prior;  /* before the last reduction */
	struct bp_hystart hystart;
};
BP_PRIVATE(struct cubic)

static inline u32 cubic_now(const struct bp_tcp *tp)
{
	return (u32)(tp->tcp_mstamp / 1000);
}

/* Equation (1), `elapsed` milliseconds after the stage began. */
static inline u64 cubic_window(const struct bp_tcp *tp, const struct cubic *cubic, u32 elapsed)
{
	bool before = elapsed < cubic->k;
	u64 distance = bp_min(before ? cubic->k - elapsed : elapsed - cubic->k, CUBIC_MOST_MS);
	/* C in thousandths and milliseconds cubed: 10^12. */
	u64 difference = distance * distance * distance / 1000000 * CUBIC_ONE / 1000 * c(tp) / 1000;

	if (!before)
		return cubic->w_max + difference;
	return cubic->w_max > difference ? cubic->w_max - difference : 0;
}

/* A congestion avoidance stage begins. */
static inline void cubic_begin(struct bp_tcp *tp, struct cubic *cubic)
{
	u64 cwnd = bp_min(tp->snd_cwnd, CUBIC_MOST_WINDOW) * CUBIC_ONE;

	cubic->epoch = bp_max(cubic_now(tp), 1);
	cubic->credit = 0;
	cubic->w_est = (u64)bp_min(tp->snd_cwnd, CUBIC_MOST_WINDOW) << CUBIC_EST_SHIFT;
	if (!cubic->w_max)
		cubic->cwnd_prior = tp->snd_cwnd;
	if (cubic->w_max > cwnd) {
		/* Equation (2); 10^12 / 1024 = 976562500. */
		cubic->k = bp_cube_root(bp_divide((cubic->w_max - cwnd) * 976562500, c(tp)));
	} else {
		cubic->w_max = cwnd;
		cubic->k = 0;
	}
}

/* Equation (4). Returns W_est in whole segments. */
static inline u32 cubic_reno(struct bp_tcp *tp, struct cubic *cubic, u32 acked)
{
	u64 one = 1ull << CUBIC_EST_SHIFT;
	u64 most = (u64)CUBIC_MOST_WINDOW << CUBIC_EST_SHIFT;
	u64 alpha = fast_reno(tp) && cubic->w_est >> CUBIC_EST_SHIFT >= cubic->cwnd_prior
			    ? one
			    : bp_divide(3 * (1000 - beta(tp)) * one, 1000 + beta(tp));

	cubic->w_est += bp_divide(alpha * acked, tp->snd_cwnd);
	cubic->w_est = cubic->w_est < most ? cubic->w_est : most;
	return (u32)(cubic->w_est >> CUBIC_EST_SHIFT);
}

static inline void cubic_avoid(struct bp_tcp *tp, struct cubic *cubic, u32 acked)
{
	u64 cwnd = tp->snd_cwnd * CUBIC_ONE;
	u64 target, step;
	u32 elapsed, reno;

	if (!cubic->epoch)
		cubic_begin(tp, cubic);
	acked = bp_min(acked, bp_min(tp->snd_cwnd, 1 << 20));
	elapsed = cubic_now(tp) - cubic->epoch;
	reno = reno_friendly(tp) ? cubic_reno(tp, cubic, acked) : 0;
	if (reno && cubic_window(tp, cubic, elapsed) < reno * CUBIC_ONE) {
		bp_set_cwnd(tp, bp_max(tp->snd_cwnd, reno), 1);
		cubic->credit = 0;
		return;
	}
	target = cubic_window(tp, cubic, elapsed + (tp->srtt_us >> 3) / 1000);
	target = target < cwnd + cwnd / 2 ? target : cwnd + cwnd / 2;
	if (target <= cwnd)
		return;
	step = bp_divide(cubic->credit + acked * (target - cwnd), cwnd);
	cubic->credit += acked * (target - cwnd) - step * cwnd;
	bp_set_cwnd(tp, tp->snd_cwnd + (u32)step, 1);
}

/* The time since the last acknowledgment does not count: the window was not what limited. */
static inline void cubic_pause(struct bp_tcp *tp, struct cubic *cubic)
{
	u32 now = cubic_now(tp);

	if (cubic->epoch)
		cubic->epoch = bp_max(cubic->epoch + (now - cubic->last), 1);
	cubic->last = now;
}

BP_OP(void, init, struct bp_tcp *tp)
{
	bp_hystart_reset(tp, &bp_private(tp)->hystart);
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct cubic *cubic = bp_private(tp);

	if (!bp_is_cwnd_limited(tp)) {
		cubic_pause(tp, cubic);
		return;
	}
	cubic->last = cubic_now(tp);
	if (bp_in_slow_start(tp)) {
		acked = bp_hystart_slow_start(tp, &cubic->hystart, hystart(tp), ack, acked);
		if (!acked)
			return;
	}
	cubic_avoid(tp, cubic, acked);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	struct cubic *cubic = bp_private(tp);
	u32 cwnd = bp_min(tp->snd_cwnd, CUBIC_MOST_WINDOW);
	u64 w_max = cwnd * CUBIC_ONE;

	cubic->undo_w_max = cubic->w_max;
	cubic->undo_w_est = cubic->w_est;
	cubic->undo_k = cubic->k;
	cubic->undo_epoch = cubic->epoch;
	if (fast_convergence(tp) && w_max < cubic->w_max)
		w_max = w_max * (1000 + beta(tp)) / 2000;
	cubic->w_max = w_max;
	cubic->cwnd_prior = cwnd;
	cubic->epoch = 0;
	return bp_max((u32)((u64)tp->snd_cwnd * beta(tp) / 1000), BP_RENO_LEAST_SSTHRESH);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	struct cubic *cubic = bp_private(tp);

	cubic->w_max = cubic->undo_w_max;
	cubic->w_est = cubic->undo_w_est;
	cubic->k = cubic->undo_k;
	cubic->epoch = cubic->undo_epoch;
	return bp_reno_undo_cwnd(tp);
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	struct cubic *cubic = bp_private(tp);

	if (new_state == TCP_CA_Loss) {
		cubic->w_max = 0;
		cubic->epoch = 0;
		bp_hystart_reset(tp, &cubic->hystart);
	}
}

BP_OP(void, cwnd_event, struct bp_tcp *tp, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		cubic_pause(tp, bp_private(tp));
}

BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	if (sample->rtt_us > 0)
		bp_hystart_take(tp, &bp_private(tp)->hystart, hystart(tp), (u32)sample->rtt_us);
}

BP_VARIANT(cubic, "Grows by a cubic function of the time since the last loss; Linux' default", "RFC 9438, CUBIC, 2023",
	   init, cong_avoid, ssthresh, undo_cwnd, set_state, cwnd_event, pkts_acked)
