/*
 * LEDBAT: background traffic that keeps the queueing delay at a target. The window grows below the
 * target delay and shrinks above it.
 *
 * Source:     RFC 6817, Low Extra Delay Background Transport, section 2.4.2.
 *                 queuing_delay = FILTER(current_delays) - MIN(base_delays)
 *                 off_target = (TARGET - queuing_delay) / TARGET
 *                 cwnd += GAIN off_target bytes_newly_acked MSS / cwnd
 *                 cwnd at most flightsize + ALLOWED_INCREASE MSS, at least MIN_CWND
 *             On loss cwnd is halved, once per round-trip time (ensured by the endpoint's
 *             recovery).
 * Constants:  TARGET 100 ms (the maximum of section 3.3), GAIN 1, BASE_HISTORY 10 minutes,
 *             CURRENT_FILTER the smallest of 4 samples, ALLOWED_INCREASE 1, MIN_CWND 2 (section
 *             2.5).
 * Deviations: windows count segments. delay.h describes the measurement of delays. There is no slow
 *             start, which the RFC leaves open, unless slow_start = 1 or the scenario sets an
 *             initial ssthresh: then Reno's, until a quarter of the target is queued.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(target, 100, 1, 100, "target queueing delay in milliseconds")                                \
	PARAMETER(gain, 1000, 1, 10000, "gain of the window on the offset from the target (GAIN), in thousandths") \
	PARAMETER(slow_start, 0, 0, 1, "1: uses slow start until a quarter of the target is queued")

#include "delay.h"
#include "reno.h"

#define LEDBAT_HISTORY 10
#define LEDBAT_FILTER 4
#define LEDBAT_MINUTE 60000
#define LEDBAT_MIN_CWND 2
#define LEDBAT_ALLOWED_INCREASE 1

struct ledbat {
	u32 base[LEDBAT_HISTORY];   /* smallest delays of the present minute, the previous one, ... */
	u32 current[LEDBAT_FILTER]; /* last samples */
	u64 up;                     /* growth and decrease of less than a segment, thousandths of milliseconds times cwnd */
	u64 down;
	u32 minute;                 /* start, milliseconds */
	u32 has_delay;
};
BP_PRIVATE(struct ledbat)

static inline u32 ledbat_now(const struct bp_tcp *tp)
{
	return (u32)(tp->tcp_mstamp / 1000);
}

static inline u32 ledbat_less(u32 a, u32 b)
{
	return bp_delay_less(a, b) ? a : b;
}

BP_OP(void, init, struct bp_tcp *tp)
{
	bp_private(tp)->minute = ledbat_now(tp);
	if (!slow_start(tp) && tp->snd_ssthresh >= BP_INFINITE_SSTHRESH)
		tp->snd_ssthresh = bp_max(tp->snd_cwnd, BP_RENO_MIN_SSTHRESH);
}

BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	struct ledbat *ledbat = bp_private(tp);
	u32 delay = bp_delay(tp, sample);

	if (delay == BP_NO_DELAY)
		return;
	if (!ledbat->has_delay) {
		ledbat->has_delay = 1;
		for (u32 i = 0; i < LEDBAT_HISTORY; i++)
			ledbat->base[i] = delay;
		for (u32 i = 0; i < LEDBAT_FILTER; i++)
			ledbat->current[i] = delay;
	}
	if (ledbat_now(tp) - ledbat->minute >= LEDBAT_MINUTE) {
		ledbat->minute = ledbat_now(tp);
		for (u32 i = LEDBAT_HISTORY - 1; i; i--)
			ledbat->base[i] = ledbat->base[i - 1];
		ledbat->base[0] = delay;
	}
	ledbat->base[0] = ledbat_less(ledbat->base[0], delay);
	for (u32 i = LEDBAT_FILTER - 1; i; i--)
		ledbat->current[i] = ledbat->current[i - 1];
	ledbat->current[0] = delay;
}

/* Milliseconds. */
static inline u32 ledbat_queueing_delay(const struct ledbat *ledbat)
{
	u32 base = ledbat->base[0];
	u32 current = ledbat->current[0];

	for (u32 i = 1; i < LEDBAT_HISTORY; i++)
		base = ledbat_less(base, ledbat->base[i]);
	for (u32 i = 1; i < LEDBAT_FILTER; i++)
		current = ledbat_less(current, ledbat->current[i]);
	return bp_delay_less(base, current) ? bp_min(current - base, 1 << 20) : 0;
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	struct ledbat *ledbat = bp_private(tp);
	u32 queued = ledbat_queueing_delay(ledbat);
	u64 step = (u64)tp->snd_cwnd * target(tp) * 1000;
	u32 cwnd = tp->snd_cwnd;
	u64 whole;

	if (bp_in_slow_start(tp)) {
		if (queued < target(tp) / 4) {
			if (bp_is_cwnd_limited(tp))
				bp_slow_start(tp, acked);
			return;
		}
		tp->snd_ssthresh = bp_max(cwnd, BP_RENO_MIN_SSTHRESH);
	}
	acked = bp_min(acked, bp_min(cwnd, 1 << 16));
	if (queued <= target(tp)) {
		ledbat->up += (u64)(target(tp) - queued) * gain(tp) * acked;
		whole = bp_divide(ledbat->up, step);
		ledbat->up -= whole * step;
		cwnd = bp_min(cwnd + (u32)whole,
			      bp_max(bp_packets_in_flight(tp) + acked + LEDBAT_ALLOWED_INCREASE, cwnd));
	} else {
		ledbat->down += (u64)(queued - target(tp)) * gain(tp) * acked;
		whole = bp_divide(ledbat->down, step);
		ledbat->down -= whole * step;
		cwnd = whole < cwnd ? cwnd - (u32)whole : LEDBAT_MIN_CWND;
	}
	bp_set_cwnd(tp, cwnd, LEDBAT_MIN_CWND);
	tp->snd_ssthresh = bp_max(bp_min(tp->snd_ssthresh, tp->snd_cwnd), BP_RENO_MIN_SSTHRESH);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	return bp_reno_ssthresh(tp);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(ledbat, "Background traffic: keeps a queueing delay of 100 ms and yields to others",
	   "RFC 6817, LEDBAT, 2012", init, cong_avoid, pkts_acked, ssthresh, undo_cwnd)
