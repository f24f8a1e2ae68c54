/*
 * Rates in integers: segments per microsecond times 2^24. The range includes 1 bit/s and terabits
 * per second.
 */
#pragma once

#include "bentpipe.h"

#define BP_RATE_SHIFT 24

/* Returns the rate of segments per time, at most the maximum of 32 bits. */
static inline u32 bp_rate(u64 segments, u64 microseconds)
{
	u64 rate = bp_divide(segments << BP_RATE_SHIFT, microseconds);

	return rate < 0xffffffffu ? (u32)rate : 0xffffffffu;
}

/* Returns the segments that a rate delivers in a time, rounded down. */
static inline u32 bp_rate_segments(u32 rate, u32 microseconds)
{
	u64 segments = (u64)rate * microseconds >> BP_RATE_SHIFT;

	return segments < 0x7fffffffu ? (u32)segments : 0x7fffffffu;
}
