/*
 * Repairs the state after a kernel has skipped a variant's program.
 *
 * Some kernels skip BPF programs of trampolines while process 1 is the current one, without
 * counting this. Their type bpf_prog_aux has a member init_owned. A skipped operation that returns
 * a value returns garbage from the stack, for example a slow-start threshold of 667073216 segments.
 * The last computed values are therefore stored with the connection and compared at the next
 * operation. On other kernels the verifier removes all of this as dead code.
 *
 * Between two operations the kernel itself sets snd_ssthresh only in two cases: to prior_ssthresh,
 * when a reduction is undone, and to 3/4 of cwnd, if that is larger, after a time in which the
 * window was not used (tcp_current_ssthresh). Any other value means that ssthresh was skipped; it
 * is then called with the stored window. The kernel restores prior_ssthresh together with the
 * window from undo_cwnd. If undo_cwnd was not called, it was skipped. If a second reduction begins
 * before the next operation, prior_ssthresh is garbage too; impossible values of it are not
 * restored.
 *
 * Limits:     smaller garbage is restored as a threshold, and garbage between ssthresh and cwnd
 *             counts as a threshold. The effect of skipped operations without a value (cong_avoid,
 *             pkts_acked) is missing, as if the acknowledgment had not arrived.
 */
#pragma once

/* A window or threshold that no connection reaches, in segments. */
#define BP_IMPOSSIBLE_WINDOW (1u << 24)

struct bp_saved {
	u32 ssthresh;
	u32 cwnd;
	u32 is_undone; /* undo_cwnd was called since the last check */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bp_saved);
} bp_saved SEC(".maps");

/* The number of operations found to have been skipped. The loader reads it. */
struct {
	u64 repaired;      /* operations whose value was computed later */
	u64 uninitialized;    /* connections that began without init; their state cannot be repaired */
} bp_skipped SEC(".bss.skipped");

/* A test that skips operations defines BP_SKIPPED (crates/bpf/programs/skipping.c). */
#ifdef BP_SKIPPED
#define BP_IS_GUARDED true
#else
#define BP_SKIPPED(tp, value)
#define BP_IS_GUARDED bpf_core_field_exists(((struct bpf_prog_aux *)0)->init_owned)
#endif

static __always_inline u32 own_ssthresh(struct bp_tcp *tp);
static __always_inline u32 own_undo_cwnd(struct bp_tcp *tp);

static __always_inline struct bp_saved *bp_saved_of(struct bp_tcp *tp)
{
	return BP_IS_GUARDED ? bpf_sk_storage_get(&bp_saved, tp, 0, 0) : 0;
}

/* Stores the values for the check at the next operation. */
static __always_inline void bp_save(struct bp_tcp *tp)
{
	struct bp_saved *saved = bp_saved_of(tp);

	if (saved) {
		saved->ssthresh = tp->snd_ssthresh;
		saved->cwnd = tp->snd_cwnd;
	}
}

/* Stores the first values, when the variant starts. */
static __always_inline void bp_save_first(struct bp_tcp *tp)
{
	if (BP_IS_GUARDED)
		bpf_sk_storage_get(&bp_saved, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
	bp_save(tp);
}

static __noinline void bp_repair(struct bp_tcp *tp, struct bp_saved *saved)
{
	u32 threshold = tp->snd_ssthresh, cwnd = tp->snd_cwnd;
	bool is_plausible = threshold < BP_IMPOSSIBLE_WINDOW || threshold == BP_INFINITE_SSTHRESH;
	bool is_restored = threshold == tp->prior_ssthresh && is_plausible;
	bool is_decayed = threshold > saved->ssthresh && threshold <= saved->cwnd;

	if (threshold != saved->ssthresh && !is_restored && !is_decayed) {
		tp->snd_cwnd = saved->cwnd;
		tp->snd_ssthresh = own_ssthresh(tp);
		/* At the end of a reduction the window becomes the threshold. */
		tp->snd_cwnd = cwnd == threshold || cwnd >= BP_IMPOSSIBLE_WINDOW ? tp->snd_ssthresh : cwnd;
	} else if (is_restored && threshold > saved->ssthresh && !saved->is_undone) {
		tp->snd_cwnd = saved->cwnd;
		tp->snd_cwnd = own_undo_cwnd(tp);
	} else if (cwnd >= BP_IMPOSSIBLE_WINDOW && saved->cwnd < BP_IMPOSSIBLE_WINDOW) {
		tp->snd_cwnd = saved->cwnd;
	} else {
		return;
	}
	__sync_fetch_and_add(&bp_skipped.repaired, 1);
}

/* Checks the state before an operation of the variant. */
static __always_inline void bp_check(struct bp_tcp *tp)
{
	struct bp_saved *saved = bp_saved_of(tp);

	if (saved) {
		bp_repair(tp, saved);
		saved->is_undone = 0;
	} else if (BP_IS_GUARDED && tp->data_segs_out) {
		bp_save_first(tp);
		__sync_fetch_and_add(&bp_skipped.uninitialized, 1);
	}
}

static __always_inline void bp_save_threshold(struct bp_tcp *tp, u32 threshold)
{
	struct bp_saved *saved = bp_saved_of(tp);

	if (saved) {
		saved->ssthresh = threshold;
		saved->cwnd = tp->snd_cwnd;
	}
}

static __always_inline void bp_save_undone(struct bp_tcp *tp, u32 cwnd)
{
	struct bp_saved *saved = bp_saved_of(tp);

	if (saved) {
		saved->cwnd = cwnd;
		saved->is_undone = 1;
	}
}
