/*
 * One-way delay, for variants that yield to other flows, from the timestamps of an acknowledgment
 * (RFC 7323): the other end's clock when the acknowledgment was sent, minus our clock when the
 * acknowledged segment was sent. Both clocks count milliseconds on Linux and in the engine. The
 * delay contains the difference of the clocks, so only differences of delays are meaningful.
 * Without timestamps the round-trip time is used, which includes the return path.
 */
#pragma once

#include "bentpipe.h"

#define BP_NO_DELAY 0xffffffffu

/* Returns the delay in milliseconds, modulo 2^32; BP_NO_DELAY if there is no sample. */
static inline u32 bp_delay(const struct bp_tcp *tp, const struct ack_sample *sample)
{
	if (bp_rcv_tsval(tp) && bp_rcv_tsecr(tp))
		return bp_rcv_tsval(tp) - bp_rcv_tsecr(tp);
	return sample->rtt_us > 0 ? (u32)sample->rtt_us / 1000 : BP_NO_DELAY;
}

/* Returns true if delay a is less than b, even if a clock has wrapped around in between. */
static inline bool bp_delay_less(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}
