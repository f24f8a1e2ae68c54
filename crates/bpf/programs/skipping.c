/*
 * Reno, in a kernel that leaves out its operation ssthresh twice of three times, for the test of what repairs that
 * (congestion/home/guard.h).
 */
#define BP_SKIPPED(tp, value)                                                                                  \
	if ((tp)->snd_una % 3)                                                                                 \
		return value;
#include "../../../congestion/reno.c"
