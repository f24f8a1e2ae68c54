/*
 * One-way delay, for variants that yield to others: from the timestamps (RFC 7323) of an acknowledgment, the other
 * end's clock when it was sent less our clock when what it acknowledges was sent. Both count milliseconds on Linux and
 * in the engine; the clocks' difference is in it, so only differences of delays mean something. Without timestamps
 * the round-trip time is used, which includes the return path.
 */
#pragma once

#include "bentpipe.h"

#define BP_NO_DELAY 0xffffffffu

/* Milliseconds, modulo 2^32; BP_NO_DELAY when there is nothing to measure. */
static inline u32 bp_delay(const struct bp_tcp *tp, const struct ack_sample *sample)
{
	if (bp_rcv_tsval(tp) && bp_rcv_tsecr(tp))
		return bp_rcv_tsval(tp) - bp_rcv_tsecr(tp);
	return sample->rtt_us > 0 ? (u32)sample->rtt_us / 1000 : BP_NO_DELAY;
}

/* Returns true if delay a is less than b: clocks may have wrapped between. */
static inline bool bp_delay_less(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}
