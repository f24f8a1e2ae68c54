/*
 * timers expire at whole steps of the clock
 *
 * why:      Unmodified, a timer expires a nanosecond later for each timer that was set before, and the clock rounds
 *           down. A run would depend on the number of timers that were set before it began.
 * licence:  Dual MIT/GPL
 */

/*
 * file:     arch/um/kernel/time.c
 * replaces: delta += 1;
 */
	delta = roundup(time_travel_time + delta + 1, TIMER_MULTIPLIER) - time_travel_time;
