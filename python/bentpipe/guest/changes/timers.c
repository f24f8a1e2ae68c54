/*
 * timers expire at whole steps of the clock
 *
 * why:      Without this change, a timer expires a nanosecond later for each timer set before it,
 *           and the clock rounds down. A run would then depend on the number of timers that were
 *           set before the run.
 * licence:  Dual MIT/GPL
 */

/*
 * file:     arch/um/kernel/time.c
 * replaces: delta += 1;
 */
	delta = roundup(time_travel_time + delta + 1, TIMER_MULTIPLIER) - time_travel_time;
