/*
 * Reno: slow start, additive increase, halving on loss.
 *
 * Source:     RFC 5681, TCP Congestion Control (equation numbers in reno.h); increase by
 *             acknowledged data, RFC 3465. The endpoint selects the loss recovery: Reno's,
 *             NewReno's (RFC 6582) or SACK's (RFC 6675), as in Linux.
 * Constants:  ssthresh at least 2 segments (RFC 5681, equation 4).
 * Deviations: those of Linux. Windows count segments, not bytes. In slow start the window grows by
 *             all segments that an ACK covers (RFC 3465 without the limit L). Halving starts from
 *             cwnd, not from FlightSize. cwnd grows only while it limits sending (RFC 7661).
 * Licence:    Dual MIT/GPL
 */
#include "reno.h"

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	return bp_reno_ssthresh(tp);
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	bp_reno_cong_avoid(tp, acked);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(reno, "Slow start, one segment more per round trip, half the window on loss",
	   "RFC 5681, TCP Congestion Control, 2009", ssthresh, cong_avoid, undo_cwnd)
