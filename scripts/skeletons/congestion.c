/*
 * {Title}: the rule that sets the window, in a sentence.
 *
 * Source:     the paper or RFC that the file implements.
 * Constants:  each with its place in the source.
 * Deviations: from the source, each with its reason.
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

BP_VARIANT({snake}, "the rule that sets the window, in a line", "Author, Title, year", ssthresh, cong_avoid, undo_cwnd)
