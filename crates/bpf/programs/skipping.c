/*
 * Reno, in a kernel that leaves out its operation ssthresh twice of three times, for the test of what repairs that
 * (crates/congestion/include/home/guard.h).
 */
#define BP_SKIPPED(tp, value)                                                                                  \
	if ((tp)->snd_una % 3)                                                                                 \
		return value;
#include "../../congestion/variants/reno.c"
