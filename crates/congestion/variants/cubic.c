/*
 * CUBIC: after a loss, the window grows by a cubic function of time, which is flat around the
 * window at which the loss occurred.
 *
 * Source:     RFC 9438, CUBIC for Fast and Long-Distance Networks, as computed by Linux: S. Ha, I.
 *             Rhee, L. Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", ACM SIGOPS Operating
 *             Systems Review 42(5), 2008, Algorithm 1 (its names in brackets below).
 *                 (1)  W_cubic(t) = C (t - K)^3 + W_max    t: time in the avoidance stage
 *                 (2)  K = cube root of ((W_max - cwnd_epoch) / C)
 *                      target = W_cubic(t + RTT), within cwnd and 1.5 cwnd
 *                      cwnd += (target - cwnd) / cwnd per acknowledged segment (4.2, 4.4, 4.5)
 *                 (4)  W_est += alpha segments_acked / cwnd: the estimate of Reno's window (4.3)
 *                      alpha = 3 (1 - beta) / (1 + beta)
 *                      with `fast_reno` = 1, from W_est = cwnd_prior on: alpha = 1
 *                      while cwnd < W_est: cwnd += (W_est - cwnd) / cwnd, if that is more
 *                      on loss: ssthresh = beta cwnd; W_max = cwnd (4.6)
 *                      with fast convergence, if cwnd < W_max: W_max = cwnd (1 + beta) / 2 (4.7)
 *             After a time-out, and after a slow start that HyStart ended, W_max = cwnd_epoch and K
 *             = 0 (4.8, 4.10). Slow start: hystart.h (HyStart, or HyStart++ of RFC 9406).
 * Constants:  C 0.4, beta 0.7 (section 5); HyStart's in hystart.h.
 * Deviations: those of Linux 6.12. docs/notes/linux-tcp.md lists those found by comparing packets.
 *             - All windows are whole segments: W_cubic(t) is rounded towards W_max; W_max, W_est
 *               and ssthresh are rounded down. Growth is one segment per cnt acknowledged segments.
 *               cnt is a whole number, which is recomputed when cwnd has changed or 1/32 s has
 *               passed. On short paths with high loss, where windows have about a dozen segments,
 *               the effect is a few percent.
 *             - Time is in jiffies. W_cubic(t) is computed at most once per jiffy, W_est with every
 *               acknowledgment.
 *             - RTT in t + RTT is the smallest round-trip time of the connection (dMin), in
 *               jiffies, rounded up, not the smoothed one. Samples of the first second of a stage
 *               are ignored (this affects no run).
 *             - t and K are in 1024ths of a second; C and beta are rounded to 1024ths: 410 and 717.
 *             - While the target is at most cwnd, cwnd grows by 1 % per round trip (100 cwnd in
 *               Algorithm 1).
 *             - Before the first loss, or since a time-out, cwnd grows by at least 5 % per round
 *               trip (documented in ns-3's manual, TcpCubic's attribute CntClamp, 20).
 *             - ssthresh is beta times cwnd, not FlightSize.
 *             - t excludes only time in which nothing was in flight, counted from the last
 *               transmission (section 5.8).
 *             - A spurious reduction is undone, but W_max, K, W_est and the epoch keep the values
 *               that it set (section 4.9).
 *             - HyStart is the default, as in Linux; RFC 9438 recommends HyStart++ (hystart = 2).
 *             - Linux's estimate of Reno is that of RFC 8312, whose alpha never becomes 1. It is
 *               the default. By RFC 9438 alpha SHOULD become 1 (fast_reno = 1).
 *             The cube root of equation (2) is exact here; Linux's differs by about 0.1 %.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(c, 400, 1, 10000, "constant C, in thousandths of a segment per second cubed")                \
	PARAMETER(beta, 700, 100, 950, "factor of the window on loss, in thousandths")                         \
	PARAMETER(fast_convergence, 1, 0, 1, "1: a flow that lost below its last maximum reduces further")     \
	PARAMETER(reno_friendly, 1, 0, 1, "1: grows at least as fast as Reno")                                 \
	PARAMETER(fast_reno, 0, 0, 1, "1: the estimate of Reno grows by a segment above the last maximum (RFC 9438)") \
	PARAMETER(hystart, 1, 0, 2, "end of slow start by delay: 0 off, 1 HyStart, 2 HyStart++")

#include "hystart.h"

#define CUBIC_SHIFT 10              /* fractions are 1024ths */
#define CUBIC_MAX_DISTANCE (1u << 20) /* of t from K, so that the cube fits */
#define CUBIC_MAX_WINDOW 10000000u
#define CUBIC_PLATEAU_ROUNDS 100             /* round trips for a segment where the target is not above cwnd */
#define CUBIC_FIRST_GROWTH 20       /* segments acknowledged for one more, while W_max is not known */
#define CUBIC_MIN_COUNT 2             /* the target is at most 1.5 cwnd */

struct cubic {
	u32 w_max;       /* [W_last_max] 0: not known */
	u32 origin;      /* [origin_point] W_max of equation (1) */
	u32 w_est;       /* [W_tcp] */
	u32 k;           /* 1024ths of a second */
	u32 epoch;       /* start of the avoidance stage, jiffies; 0: not started */
	u32 count;       /* [cnt] acknowledged segments per increase of cwnd by one */
	u32 acked;       /* [ack_cnt] acknowledged segments not yet counted in w_est */
	u32 computed;    /* jiffy and window of the last computation of `count` */
	u32 computed_for;
	u32 min_rtt;   /* [dMin] microseconds; 0: not known */
	u32 cwnd_prior;  /* window before the last reduction */
	struct bp_hystart hystart;
};
BP_PRIVATE(struct cubic)

/* Returns the present jiffy, at least 1. */
static inline u32 cubic_now(const struct bp_tcp *tp)
{
	return bp_max(bp_jiffies(tp), 1);
}

/* Returns the number of jiffies in a second. */
static inline u32 cubic_second(const struct bp_tcp *tp)
{
	return bp_divide(1000000, bp_jiffy_us(tp));
}

/* Converts a parameter from thousandths to 1024ths. */
static inline u64 cubic_fraction(u32 thousandths)
{
	return (((u64)thousandths << CUBIC_SHIFT) + 500) / 1000;
}

/* Equation (1), `elapsed` jiffies after the start of the stage. */
static inline u32 cubic_window(const struct bp_tcp *tp, const struct cubic *cubic, u32 elapsed)
{
	u64 t = ((u64)elapsed * bp_jiffy_us(tp) << CUBIC_SHIFT) / 1000000;
	u64 distance = bp_min(t < cubic->k ? cubic->k - t : t - cubic->k, CUBIC_MAX_DISTANCE);
	u64 cube = distance * distance * distance;
	/* C distance^3 with 4 * CUBIC_SHIFT binary places, in two parts that fit into 64 bits. */
	u64 high = (cube >> 2 * CUBIC_SHIFT) * cubic_fraction(c(tp));
	u64 low = (cube & ((1u << 2 * CUBIC_SHIFT) - 1)) * cubic_fraction(c(tp));
	u32 difference = bp_min((high + (low >> 2 * CUBIC_SHIFT)) >> 2 * CUBIC_SHIFT, CUBIC_MAX_WINDOW);

	if (t >= cubic->k)
		return cubic->origin + difference;
	return cubic->origin > difference ? cubic->origin - difference : 0;
}

/* Starts a congestion avoidance stage. */
static inline void cubic_begin(struct bp_tcp *tp, struct cubic *cubic, u32 now, u32 cwnd, u32 acked)
{
	cubic->epoch = now;
	cubic->acked = acked;
	cubic->w_est = cwnd;
	cubic->origin = bp_max(cubic->w_max, cwnd);
	if (!cubic->w_max)
		cubic->cwnd_prior = cwnd;
	/* Equation (2). */
	cubic->k = bp_cube_root(bp_divide(1ull << 4 * CUBIC_SHIFT, cubic_fraction(c(tp))) * (cubic->origin - cwnd));
}

/* Equation (4). */
static inline void cubic_reno(struct bp_tcp *tp, struct cubic *cubic, u32 cwnd)
{
	bool whole = fast_reno(tp) && cubic->w_est >= cubic->cwnd_prior;
	/* 1 / alpha in eighths, as Linux rounds it. */
	u32 inverse = bp_divide(8 * (1000 + beta(tp)), 3 * (1000 - beta(tp)));
	u32 each = whole ? cwnd : bp_max((u64)cwnd * inverse / 8, 1);
	u32 steps = cubic->acked ? bp_divide(cubic->acked - 1, each) : 0;

	cubic->acked -= steps * each;
	cubic->w_est = bp_min(cubic->w_est + steps, CUBIC_MAX_WINDOW);
	if (cubic->w_est > cwnd)
		cubic->count = bp_min(cubic->count, bp_divide(cwnd, cubic->w_est - cwnd));
}

/* Computes `count`. */
static inline void cubic_update(struct bp_tcp *tp, struct cubic *cubic, u32 acked)
{
	u32 cwnd = bp_min(tp->snd_cwnd, CUBIC_MAX_WINDOW);
	u32 now = cubic_now(tp);

	cubic->acked += acked;
	if (cubic->computed_for == cwnd && now - cubic->computed <= cubic_second(tp) / 32)
		return;
	if (!cubic->epoch || cubic->computed != now) {
		u32 rtt = bp_divide(cubic->min_rtt + bp_jiffy_us(tp) - 1, bp_jiffy_us(tp));
		u32 target;

		cubic->computed_for = cwnd;
		cubic->computed = now;
		if (!cubic->epoch)
			cubic_begin(tp, cubic, now, cwnd, acked);
		target = cubic_window(tp, cubic, now - cubic->epoch + rtt);
		cubic->count = target > cwnd ? bp_divide(cwnd, target - cwnd) : CUBIC_PLATEAU_ROUNDS * cwnd;
		if (!cubic->w_max)
			cubic->count = bp_min(cubic->count, CUBIC_FIRST_GROWTH);
	}
	if (reno_friendly(tp))
		cubic_reno(tp, cubic, cwnd);
	cubic->count = bp_max(cubic->count, CUBIC_MIN_COUNT);
}

BP_OP(void, init, struct bp_tcp *tp)
{
	bp_hystart_reset(tp, &bp_private(tp)->hystart, hystart(tp));
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct cubic *cubic = bp_private(tp);

	if (!bp_is_cwnd_limited(tp))
		return;
	if (bp_in_slow_start(tp)) {
		acked = bp_hystart_slow_start(tp, &cubic->hystart, hystart(tp), acked);
		if (!acked)
			return;
	}
	cubic_update(tp, cubic, acked);
	bp_cong_avoid_ai(tp, cubic->count, acked);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	struct cubic *cubic = bp_private(tp);
	u32 cwnd = bp_min(tp->snd_cwnd, CUBIC_MAX_WINDOW);
	u64 fraction = cubic_fraction(beta(tp));
	u32 w_max = cwnd;

	if (fast_convergence(tp) && w_max < cubic->w_max)
		w_max = w_max * ((1u << CUBIC_SHIFT) + fraction) >> (CUBIC_SHIFT + 1);
	cubic->w_max = w_max;
	cubic->cwnd_prior = cwnd;
	cubic->epoch = 0;
	return bp_max((u32)(tp->snd_cwnd * fraction >> CUBIC_SHIFT), BP_RENO_MIN_SSTHRESH);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_OP(void, set_state, struct bp_tcp *tp, u8 new_state)
{
	struct cubic *cubic = bp_private(tp);

	if (new_state == TCP_CA_Loss) {
		cubic->w_max = 0;
		cubic->epoch = 0;
		cubic->computed_for = 0;
		cubic->min_rtt = 0;
		bp_hystart_reset(tp, &cubic->hystart, hystart(tp));
	}
}

/* Time without data in flight does not count. */
BP_OP(void, cwnd_event, struct bp_tcp *tp, enum tcp_ca_event event)
{
	struct cubic *cubic = bp_private(tp);

	if (event == CA_EVENT_TX_START && cubic->epoch)
		cubic->epoch = bp_min(cubic->epoch + bp_jiffies_idle(tp), cubic_now(tp));
}

BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	struct cubic *cubic = bp_private(tp);
	u32 rtt = (u32)sample->rtt_us;

	if (sample->rtt_us <= 0)
		return;
	if (cubic->epoch && cubic_now(tp) - cubic->epoch < cubic_second(tp))
		return;
	cubic->min_rtt = cubic->min_rtt ? bp_min(cubic->min_rtt, rtt) : rtt;
	bp_hystart_take(tp, &cubic->hystart, hystart(tp), rtt);
}

BP_VARIANT(cubic, "Grows by a cubic function of the time since the last loss; Linux's default", "RFC 9438, CUBIC, 2023",
	   init, cong_avoid, ssthresh, undo_cwnd, set_state, cwnd_event, pkts_acked)
