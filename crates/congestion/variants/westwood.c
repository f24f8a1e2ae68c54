/*
 * Westwood+: after a loss, the window becomes the bandwidth-delay product of the measured rate,
 * instead of half its size.
 *
 * Source:     L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New
 *             Reno, and Vegas TCP congestion control", ACM SIGCOMM Computer Communication Review
 *             34(2), pages 25-38, 2004, section 2; the idea is that of C. Casetti et al., "TCP
 *             Westwood", ACM MobiCom 2001.
 *                 b_k = segments delivered in the last round-trip time / that time
 *                 B_k = 0.9 B_(k-1) + 0.1 b_k           low-pass filter, once per round-trip time
 *                 ssthresh = max(2, B RTTmin)           after three duplicate ACKs or a time-out
 *             The rest is Reno. One sample per round trip, instead of one per acknowledgment as in
 *             the first Westwood, prevents compressed acknowledgments from raising the estimate.
 * Constants:  filter 0.9 (the paper's alpha). A sample spans at least 50 ms, because round trips of
 *             a few milliseconds would measure the spacing of acknowledgments (the choice of the
 *             Linux implementation, by the paper's authors). Linux's module has a filter of 875,
 *             order = 2 and late = 1.
 * Deviations: `order` = 2 filters the result a second time, as in Linux's module, which gives less
 *             weight to the rates of slow start. Delivered segments are those acknowledged
 *             cumulatively or selectively, an exact count of the segments that the paper estimates
 *             from duplicate acknowledgments. The first sample starts with the first
 *             acknowledgment, because nothing is delivered before, and initializes the filter.
 * Licence:    Dual MIT/GPL
 */
#define BP_PARAMETERS(PARAMETER)                                                                               \
	PARAMETER(filter, 900, 0, 999, "weight of the old estimate of the rate, in thousandths")               \
	PARAMETER(order, 1, 1, 2, "number of times that a sample of the rate is filtered")                     \
	PARAMETER(late, 0, 0, 1, "1: a loss halves the window, and the estimate applies once it is repaired")  \
	PARAMETER(min_sample, 50, 1, 10000, "minimum span of a sample of the rate, in milliseconds")

#include "rate.h"
#include "reno.h"

#define WESTWOOD_NO_RTT 0xffffffffu

struct westwood {
	u32 rate;      /* B, as rate.h has it; 0: no sample yet */
	u32 once;      /* filtered once, where `order` is 2 */
	u32 rtt;       /* last sample, microseconds */
	u32 rtt_min;
	u32 start;     /* of the present sample, microseconds; 0: before the first acknowledgment */
	u32 delivered; /* at the start of the present sample */
};
BP_PRIVATE(struct westwood)

BP_OP(void, init, struct bp_tcp *tp)
{
	struct westwood *westwood = bp_private(tp);

	westwood->rtt_min = WESTWOOD_NO_RTT;
}

BP_OP(void, cong_avoid, struct bp_tcp *tp, u32 ack, u32 acked)
{
	bp_reno_cong_avoid(tp, acked);
}

/* The first sample initializes the filter. */
static inline u32 westwood_filter(const struct bp_tcp *tp, u32 old, u32 sample)
{
	u64 weight = filter(tp);

	return old ? (u32)((weight * old + (1000 - weight) * sample) / 1000) : sample;
}

BP_OP(void, pkts_acked, struct bp_tcp *tp, const struct ack_sample *sample)
{
	struct westwood *westwood = bp_private(tp);
	u32 elapsed, rate;

	if (sample->rtt_us > 0) {
		westwood->rtt = (u32)sample->rtt_us;
		westwood->rtt_min = bp_min(westwood->rtt_min, westwood->rtt);
	}
	if (!westwood->start) {
		westwood->start = bp_max((u32)tp->tcp_mstamp, 1);
		westwood->delivered = tp->delivered;
	}
	elapsed = (u32)tp->tcp_mstamp - westwood->start;
	if (!westwood->rtt || elapsed < bp_max(westwood->rtt, min_sample(tp) * 1000))
		return;
	rate = bp_rate(tp->delivered - westwood->delivered, elapsed);
	westwood->once = westwood_filter(tp, westwood->once, rate);
	westwood->rate = order(tp) > 1 ? westwood_filter(tp, westwood->rate, westwood->once) : westwood->once;
	westwood->start = (u32)tp->tcp_mstamp;
	westwood->delivered = tp->delivered;
}

/* Returns B RTTmin; before the first sample, Reno's ssthresh. */
static inline u32 westwood_window(struct bp_tcp *tp)
{
	const struct westwood *westwood = bp_private(tp);

	if (!westwood->rate || westwood->rtt_min == WESTWOOD_NO_RTT)
		return bp_reno_ssthresh(tp);
	return bp_max(bp_rate_segments(westwood->rate, westwood->rtt_min), BP_RENO_MIN_SSTHRESH);
}

BP_OP(u32, ssthresh, struct bp_tcp *tp)
{
	return late(tp) ? bp_reno_ssthresh(tp) : westwood_window(tp);
}

BP_OP(void, cwnd_event, struct bp_tcp *tp, enum tcp_ca_event event)
{
	if (!late(tp) || (event != CA_EVENT_COMPLETE_CWR && event != CA_EVENT_LOSS))
		return;
	tp->snd_ssthresh = westwood_window(tp);
	if (event == CA_EVENT_COMPLETE_CWR)
		bp_set_cwnd(tp, tp->snd_ssthresh, 1);
}

BP_OP(u32, undo_cwnd, struct bp_tcp *tp)
{
	return bp_reno_undo_cwnd(tp);
}

BP_VARIANT(westwood, "Westwood+: after a loss the window is the measured rate times the smallest round-trip time",
	   "Grieco and Mascolo, Westwood+, ACM CCR 34(2), 2004", init, cong_avoid, pkts_acked, ssthresh, cwnd_event, undo_cwnd)
