/*
 * What both versions of BBR share. A gain is in 256ths.
 */
#pragma once

#include "rate.h"

#define BBR_GAIN_SHIFT 8
#define BBR_ONE (1u << BBR_GAIN_SHIFT)
#define BBR_NO_RTT 0xffffffffu

/* Segments that a rate delivers in so many microseconds, times the gain; rounded up. */
static inline u32 bbr_segments(u32 rate, u32 microseconds, u32 gain)
{
	u64 whole = ((u64)rate * microseconds >> BBR_GAIN_SHIFT) * gain;
	u64 segments = (whole + (1u << BP_RATE_SHIFT) - 1) >> BP_RATE_SHIFT;

	return segments < 0x7fffffffu ? (u32)segments : 0x7fffffffu;
}

/* Bytes per second of a rate, times the gain, less the percentage that keeps the queue from growing. */
static inline u64 bbr_bytes(const struct bp_tcp *tp, u32 rate, u32 gain, u32 margin)
{
	u64 bytes = (u64)rate * tp->mss_cache >> BBR_GAIN_SHIFT;

	return (bytes * gain >> 12) * (100 - margin) / 100 * 1000000 >> (BP_RATE_SHIFT - 12);
}

/* Segments that leave at once: BBR.send_quantum, 1 ms of the pacing rate, at most 64 KiB. */
static inline u32 bbr_send_quantum(const struct bp_tcp *tp)
{
	u64 rate = bp_pacing_rate(tp);
	u64 least = rate < 1200000 / 8 ? 1 : 2;
	u64 millisecond = bp_divide(rate < 65536000 ? rate / 1000 : 65536, tp->mss_cache);

	return (u32)(millisecond > least ? millisecond : least);
}
