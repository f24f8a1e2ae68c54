/*
 * What the kernel's TCP does, event by event, for the connections of chosen network namespaces: the "Multi-TCP log".
 *
 * Four trace points of the kernel and, where it may be attached to, one of its functions:
 *
 *     tcp_probe             a segment has come for an established connection; nothing is done with it yet
 *     tcp_rcv_state_process the same for a connection that is closing (one of its ends has said FIN)
 *     tcp_retransmit_skb    a segment was sent again
 *     tcp_cong_state_set    icsk_ca_state is about to change
 *     inet_sock_set_state   the connection's own state is about to change
 *
 * A record is the connection as it stands at that moment, so what a segment led to is in the next record of its
 * connection (src/rows.rs puts the two together). Segments are recorded only where something is unacknowledged: that
 * leaves out pure receivers.
 *
 * Types: as in crates/congestion/include/home/kernel.h, only the members used; the loader finds them in the running kernel's types.
 * Licence: Dual MIT/GPL
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

/* What libbpf's headers expect from vmlinux.h. */
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
enum bpf_map_type { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_RINGBUF = 27 };

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
};

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	volatile u8 skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u32 icsk_rto;
	u8 icsk_ca_state : 5;
};

struct tcp_rack {
	u32 rtt_us;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 bytes_acked;
	u64 bytes_sent;
	u64 bytes_retrans;
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 srtt_us;
	u32 mdev_us;
	u32 rttvar_us;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 delivered;
	u32 lost;
	u32 total_retrans;
	u16 total_rto;
	struct tcp_rack rack;
};

#pragma clang attribute pop

/* From the kernel's user-space interface. */
enum { AF_INET = 2, IPPROTO_TCP = 6, BPF_RB_AVAIL_DATA = 0, BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };

/* Kind of a record. `Kind` in src/event.rs. */
enum { ACK, RETRANSMIT, STATE, PHASE };

/* The connection states up to here come before data; those above it, after a FIN (include/net/tcp_states.h). */
enum { TCP_SYN_RECV = 3 };

/* A record: `Event` in src/event.rs reads it, member for member. */
struct record {
	u64 time;   /* CLOCK_MONOTONIC, nanoseconds */
	u64 socket; /* what SO_COOKIE says */
	u64 bytes_acked;
	u64 bytes_sent;
	u64 bytes_retrans;
	u32 namespace;
	u32 tag;
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 srtt_us;
	u32 mdev_us;
	u32 rttvar_us;
	u32 rtt_us;
	u32 rto;
	u32 packets_out;
	u32 in_flight;
	u32 delivered;
	u32 lost;
	u32 total_retrans;
	u32 total_rto;
	u16 family;
	u16 local_port;
	u16 remote_port;
	u8 kind;
	u8 ca_state;
	u8 phase;
	u8 next;
	u8 unused[6];
	u8 local[16];
	u8 remote[16];
};
_Static_assert(sizeof(struct record) == 160, "RECORD in src/event.rs");

/* Namespaces whose connections are recorded, by inode number, each with the tag that its records carry. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u32);
} namespaces SEC(".maps");

/* The loader sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} ring SEC(".maps");

/* Bytes waiting in the ring from which on the reader is woken; below, it comes by itself. */
const volatile u64 wake_above SEC(".rodata.settings") = 1 << 20;

/* Records for which the ring had no room. */
u64 lost SEC(".bss.lost");

static __noinline void record(void *any, u8 kind, u8 next)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(any);
	struct record *r;
	struct sock *sk;
	u32 namespace;
	u64 waiting;
	u32 *tag;

	if (!tp)
		return;
	sk = &tp->inet_conn.icsk_inet.sk;
	if (kind == ACK && !tp->packets_out)
		return;
	namespace = sk->__sk_common.skc_net.net->ns.inum;
	tag = bpf_map_lookup_elem(&namespaces, &namespace);
	if (!tag)
		return;
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&lost, 1);
		return;
	}
	r->time = bpf_ktime_get_ns();
	r->socket = bpf_get_socket_cookie(any);
	r->bytes_acked = tp->bytes_acked;
	r->bytes_sent = tp->bytes_sent;
	r->bytes_retrans = tp->bytes_retrans;
	r->namespace = namespace;
	r->tag = *tag;
	r->snd_una = tp->snd_una;
	r->snd_nxt = tp->snd_nxt;
	r->write_seq = tp->write_seq;
	r->snd_cwnd = tp->snd_cwnd;
	r->snd_ssthresh = tp->snd_ssthresh;
	r->srtt_us = tp->srtt_us;
	r->mdev_us = tp->mdev_us;
	r->rttvar_us = tp->rttvar_us;
	r->rtt_us = tp->rack.rtt_us;
	r->rto = tp->inet_conn.icsk_rto;
	r->packets_out = tp->packets_out;
	r->in_flight = tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	r->delivered = tp->delivered;
	r->lost = tp->lost;
	r->total_retrans = tp->total_retrans;
	/* Since Linux 6.7. */
	r->total_rto = bpf_core_field_exists(tp->total_rto) ? tp->total_rto : ~0u;
	r->family = sk->__sk_common.skc_family;
	r->local_port = sk->__sk_common.skc_num;
	r->remote_port = sk->__sk_common.skc_dport;
	r->kind = kind;
	r->ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	r->phase = sk->__sk_common.skc_state;
	r->next = next;
	__builtin_memset(r->unused, 0, sizeof(r->unused));
	__builtin_memset(r->local, 0, sizeof(r->local));
	__builtin_memset(r->remote, 0, sizeof(r->remote));
	if (r->family == AF_INET) {
		*(u32 *)r->local = sk->__sk_common.skc_rcv_saddr;
		*(u32 *)r->remote = sk->__sk_common.skc_daddr;
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		/* Absent from a kernel without IPv6. */
		bpf_core_read(r->local, sizeof(r->local), &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(r->remote, sizeof(r->remote), &sk->__sk_common.skc_v6_daddr);
	}
	waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	bpf_ringbuf_submit(r, waiting > wake_above ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/tcp_probe") int segment(u64 *ctx)
{
	record((void *)ctx[0], ACK, 0);
	return 0;
}

SEC("fentry/tcp_rcv_state_process") int segment_while_closing(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	u8 phase = sk->__sk_common.skc_state;

	if (phase > TCP_SYN_RECV)
		record(sk, ACK, 0);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb") int retransmit(u64 *ctx)
{
	record((void *)ctx[0], RETRANSMIT, 0);
	return 0;
}

SEC("tp_btf/tcp_cong_state_set") int state(u64 *ctx)
{
	record((void *)ctx[0], STATE, (u8)ctx[1]);
	return 0;
}

SEC("tp_btf/inet_sock_set_state") int phase(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];

	if (sk->sk_protocol == IPPROTO_TCP)
		record(sk, PHASE, (u8)ctx[2]);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
