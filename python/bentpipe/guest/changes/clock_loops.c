/*
 * loops that read the clock end
 *
 * why:      Reading the clock advances it by 256 ns, so that a loop that reads the clock ends. But
 *           iperf3 waits for its server in such a loop: a round trip over a satellite would take a
 *           million readings, and ten seconds of a processor. So after each 2^14 readings without a
 *           pause, a reading takes twice as long, up to 256 ns times 2^12, a millisecond. A program
 *           that waits in a loop notices the end of its wait late by at most 1/16384 of the wait.
 *           Only two system calls of programs count: clock_gettime (228) and gettimeofday (96). The
 *           kernel's own readings, such as TCP's reading for each segment, do not count, since they
 *           are not waits.
 * licence:  Dual MIT/GPL
 */

/*
 * file:     arch/um/kernel/time.c
 * replaces: void time_travel_sleep(void)
 */
static unsigned int time_travel_readings;

static unsigned int time_travel_doublings(void)
{
	long call = UPT_SYSCALL_NR(&current->thread.regs.regs);

	if (call != 228 && call != 96)
		return 0;
	return min(time_travel_readings++ >> 14, 12U);
}

void time_travel_sleep(void)

/*
 * file:     arch/um/kernel/time.c
 * replaces: time_travel_update_time(next, true);
 */
	time_travel_readings = 0;
	time_travel_update_time(next, true);

/*
 * file:     arch/um/kernel/time.c
 * replaces: time_travel_update_time_rel(TIMER_MULTIPLIER);
 */
			time_travel_update_time_rel(TIMER_MULTIPLIER << time_travel_doublings());
