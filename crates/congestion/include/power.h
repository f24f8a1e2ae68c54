/*
 * Logarithms and powers in integers, with 16 binary places before and 16 after the point. The
 * fractions are polynomials with an error of at most 0.00015, from weighted least squares with
 * exact values at both ends.
 */
#pragma once

#include "bentpipe.h"

#define BP_ONE 65536ull

/* Returns log2(x), x >= 1. */
static inline u32 bp_log2(u32 x)
{
	u32 bits = 0;
	u64 m;

	for (u32 step = 16; step; step >>= 1)
		bits += (x >> bits >> step) ? step : 0;
	m = ((u64)x << (31 - bits) >> 15) & 0xffff;
	return (bits << 16) + (u32)((94288 * m >> 16) + (21049 * m * m >> 32) * m / BP_ONE - (44419 * m * m >> 32) -
				    ((5382 * m * m >> 32) * m >> 16) * m / BP_ONE);
}

/* Returns 2^exponent, both with 16 binary places; exponents above 40 count as 40. */
static inline u64 bp_exp2(u32 exponent)
{
	u64 f = exponent & 0xffff;
	u32 whole = bp_min(exponent >> 16, 40);

	return (BP_ONE + (45606 * f >> 16) + (14737 * f * f >> 32) + ((5193 * f * f >> 32) * f >> 16)) << whole;
}

/* Returns x to the power of thousandths / 1000, x >= 1. */
static inline u64 bp_power(u32 x, u32 thousandths)
{
	return bp_exp2((u32)((u64)bp_log2(x) * thousandths / 1000));
}
