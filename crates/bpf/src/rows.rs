//! Converts the kernel's events into rows of the simulation's trace `tcp` (crates/transport,
//! tcp/endpoint.rs).
//!
//! The simulation writes a row once the sender has responded to an acknowledgment (while data is
//! outstanding) or to a time-out. The kernel's trace points fire before the response, so an event
//! shows the effects of earlier events only. A row therefore takes its time from one event and its
//! values from the connection's next event. The last row of a connection is complete when the
//! connection closes, at the latest.
//!
//! Meanings that differ from the kernel's own fields:
//! - `rtt` is the sample that updated `srtt`. The kernel does not keep the sample, but its
//!   estimator (srtt + (sample - srtt) / 8, in eighths of a microsecond) can be inverted exactly.
//!   `rtt` is absent if neither srtt nor its deviation changed.
//! - `rttvar` is mdev_us / 4, as in TCP_INFO. (The kernel's own rttvar never falls below the
//!   minimum time-out.)
//! - `acknowledged` and `sent` are payload, without SYN, FIN and retransmissions.
//! - `retransmissions` and `timeouts` exclude the handshake.
//!
//! Deviations:
//! - If a time-out follows an acknowledgment, the kernel changes window and threshold before it
//!   reports the time-out. The acknowledgment's row then has the `cwnd`, `ssthresh` and `inflight`
//!   from before the acknowledgment.
//! - If two time-outs follow each other without an acknowledgment, the `inflight` of the first
//!   lacks its retransmissions.
//! - Before Linux 6.7 `timeouts` counts entries into the state Loss, which also occur when a
//!   receiver reneges on selectively acknowledged data or the path MTU decreases.
//! - Acknowledgments after the sender's FIN are seen only if
//!   [`Log::sees_closing`](crate::Log::sees_closing) is true.

use std::collections::BTreeMap;

use crate::{Event, Kind};

const LOSS: u8 = 4;
const SYN_SENT: u8 = 2;
const SYN_RECEIVED: u8 = 3;
const ESTABLISHED: u8 = 1;
const FIN_WAIT_1: u8 = 4;
const CLOSED: u8 = 7;
const LAST_ACK: u8 = 9;
const CLOSING: u8 = 11;

/// Initial slow-start threshold in segments (Linux's TCP_INFINITE_SSTHRESH).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// A row of a connection's trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Time of the row by CLOCK_MONOTONIC, in nanoseconds.
    pub time: u64,
    /// The socket, as in [`Event::socket`].
    pub socket: u64,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments; `None` while infinite.
    pub ssthresh: Option<u32>,
    /// Round-trip time sample of this acknowledgment in microseconds.
    pub rtt: Option<u32>,
    /// Smoothed round-trip time in microseconds; `None` before the first sample.
    pub srtt: Option<f64>,
    /// Mean deviation of the round-trip time in microseconds; `None` before the first sample.
    pub rttvar: Option<f64>,
    /// Retransmission time-out in microseconds, back-off included.
    pub rto: u64,
    /// Segments considered in the network.
    pub inflight: u32,
    /// Payload acknowledged so far, in bytes.
    pub acknowledged: u64,
    /// Payload sent so far in bytes, each byte counted once.
    pub sent: u64,
    /// Data segments retransmitted so far.
    pub retransmissions: u32,
    /// Retransmission time-outs so far.
    pub timeouts: u32,
    /// State of the congestion control: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
    pub ca_state: u8,
}

impl Row {
    /// The columns, with their names in the trace.
    pub const COLUMNS: [&'static str; 12] = [
        "cwnd",
        "ssthresh",
        "rtt",
        "srtt",
        "rttvar",
        "rto",
        "inflight",
        "acknowledged",
        "sent",
        "retransmissions",
        "timeouts",
        "ca_state",
    ];

    /// Returns the values in the units of the trace (seconds, segments, bytes); NaN for null.
    pub fn values(&self) -> [f64; 12] {
        const SECOND: f64 = 1e6;
        [
            self.cwnd.into(),
            self.ssthresh.map_or(f64::NAN, f64::from),
            self.rtt.map_or(f64::NAN, |rtt| f64::from(rtt) / SECOND),
            self.srtt.map_or(f64::NAN, |srtt| srtt / SECOND),
            self.rttvar.map_or(f64::NAN, |rttvar| rttvar / SECOND),
            self.rto as f64 / SECOND,
            self.inflight.into(),
            self.acknowledged as f64,
            self.sent as f64,
            self.retransmissions.into(),
            self.timeouts.into(),
            self.ca_state.into(),
        ]
    }
}

/// Converts events into rows.
#[derive(Debug, Default)]
pub struct Rows {
    connections: BTreeMap<u64, Connection>,
}

/// The state of a connection.
#[derive(Debug, Default)]
struct Connection {
    /// Retransmissions and time-outs of the handshake.
    handshake: (u32, u32),
    /// Entries into the state Loss.
    losses: u32,
    /// The event whose row is not complete yet.
    waiting: Option<Event>,
}

impl Rows {
    /// Creates a converter without connections.
    pub fn new() -> Rows {
        Rows::default()
    }

    /// Processes the next event of any connection. Returns the row that the event completes, if
    /// any.
    pub fn add(&mut self, event: &Event) -> Option<Row> {
        let connection = self.connections.entry(event.socket).or_default();
        match event.kind {
            Kind::Ack => connection.next(event, true),
            Kind::State(LOSS) if !matches!(event.phase, SYN_SENT | SYN_RECEIVED) => {
                let row = connection.next(event, true);
                connection.losses += 1;
                row
            }
            Kind::State(_) | Kind::Retransmit => None,
            Kind::Phase(CLOSED) => self.connections.remove(&event.socket)?.next(event, false),
            Kind::Phase(next) => {
                if next == ESTABLISHED {
                    connection.handshake = (event.total_retrans, event.total_rto.unwrap_or(0));
                }
                connection.next(event, false)
            }
        }
    }
}

impl Connection {
    /// Returns the row that `event` completes, if any. If `waits`, `event` starts a new row.
    fn next(&mut self, event: &Event, waits: bool) -> Option<Row> {
        let cause = std::mem::replace(&mut self.waiting, waits.then(|| event.clone()))?;
        Some(self.row(&cause, event))
    }

    fn row(&self, cause: &Event, after: &Event) -> Row {
        let is_cut_short = cause.kind == Kind::Ack && matches!(after.kind, Kind::State(LOSS));
        let window = if is_cut_short { cause } else { after };
        let has_srtt = after.srtt_us != 0;
        let (retransmissions, timeouts) = self.handshake;
        Row {
            time: cause.time,
            socket: cause.socket,
            cwnd: window.snd_cwnd,
            ssthresh: (window.snd_ssthresh < INFINITE_SSTHRESH).then_some(window.snd_ssthresh),
            rtt: if cause.kind == Kind::Ack { sample(cause, after) } else { None },
            srtt: has_srtt.then(|| f64::from(after.srtt_us) / 8.0),
            rttvar: has_srtt.then(|| f64::from(after.mdev_us) / 4.0),
            rto: after.rto_us,
            inflight: window.in_flight,
            acknowledged: sent(after) - outstanding(after),
            sent: sent(after),
            retransmissions: after.total_retrans.wrapping_sub(retransmissions),
            timeouts: after.total_rto.map_or(self.losses, |all| all.wrapping_sub(timeouts) & 0xffff),
            ca_state: after.ca_state,
        }
    }
}

/// Returns the sample that changed the estimator from `before` to `after`, in microseconds.
fn sample(before: &Event, after: &Event) -> Option<u32> {
    if (before.srtt_us, before.mdev_us) == (after.srtt_us, after.mdev_us) {
        return None;
    }
    if before.srtt_us == 0 {
        return Some(after.srtt_us / 8);
    }
    (after.srtt_us + before.srtt_us / 8).checked_sub(before.srtt_us)
}

/// Returns the payload sent, each byte counted once.
fn sent(event: &Event) -> u64 {
    event.bytes_sent.saturating_sub(event.bytes_retrans)
}

/// Returns the unacknowledged payload.
fn outstanding(event: &Event) -> u64 {
    let numbers = event.snd_nxt.wrapping_sub(event.snd_una);
    let is_fin_sent =
        matches!(event.phase, FIN_WAIT_1 | CLOSING | LAST_ACK) && event.snd_nxt == event.write_seq;
    let is_other = u32::from(is_fin_sent || event.phase == SYN_SENT);
    u64::from(numbers.saturating_sub(is_other)).min(sent(event))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn event(time: u64, kind: Kind) -> Event {
        let unspecified: SocketAddr = "0.0.0.0:0".parse().unwrap();
        Event {
            time,
            kind,
            socket: 1,
            namespace: 0,
            tag: 0,
            local: unspecified,
            remote: unspecified,
            phase: ESTABLISHED,
            ca_state: 0,
            snd_cwnd: 10,
            snd_ssthresh: INFINITE_SSTHRESH,
            srtt_us: 800,
            mdev_us: 40,
            rttvar_us: 50_000,
            rtt_us: 100,
            rto_us: 200_000,
            packets_out: 3,
            in_flight: 3,
            snd_una: u32::MAX - 99,
            snd_nxt: 2900,
            write_seq: 5000,
            bytes_acked: 1,
            bytes_sent: 3000,
            bytes_retrans: 0,
            delivered: 0,
            lost: 0,
            total_retrans: 0,
            total_rto: Some(0),
        }
    }

    #[test]
    fn columns_match_the_simulation_s_trace() {
        let columns = bentpipe_transport::tcp::endpoint::TRACE.columns;
        assert!(columns.iter().map(|column| column.name).eq(Row::COLUMNS));
    }

    #[test]
    fn a_row_has_the_acknowledgment_s_time_and_the_resulting_values() {
        let mut rows = Rows::new();
        assert_eq!(rows.add(&event(1, Kind::Ack)), None);
        let mut next = event(2, Kind::Ack);
        // Sample 180: srtt 800 + 180 - 100, mdev changes too.
        next.srtt_us = 880;
        next.mdev_us = 110;
        next.snd_cwnd = 11;
        next.snd_una = 900;
        let row = rows.add(&next).unwrap();
        assert_eq!((row.time, row.cwnd, row.ssthresh, row.rtt), (1, 11, None, Some(180)));
        assert_eq!((row.srtt, row.rttvar), (Some(110.0), Some(27.5)));
        assert_eq!((row.acknowledged, row.sent), (1000, 3000));
        // Nothing new is acknowledged, so there is no sample.
        assert_eq!(rows.add(&next).unwrap().rtt, None);
        let values = row.values();
        assert!(values[1].is_nan());
        assert_eq!((values[2], values[5]), (180e-6, 0.2));
    }

    #[test]
    fn a_time_out_starts_a_row_and_leaves_the_previous_row_unchanged() {
        let mut rows = Rows::new();
        rows.add(&event(1, Kind::Ack));
        let mut loss = event(2, Kind::State(LOSS));
        (loss.snd_cwnd, loss.snd_ssthresh, loss.in_flight) = (1, 5, 0);
        let row = rows.add(&loss).unwrap();
        assert_eq!((row.time, row.cwnd, row.ssthresh, row.inflight, row.timeouts), (1, 10, None, 3, 0));
        let mut retransmit = event(3, Kind::Retransmit);
        (retransmit.total_rto, retransmit.total_retrans, retransmit.ca_state) = (Some(1), 1, LOSS);
        assert_eq!(rows.add(&retransmit), None);
        (retransmit.kind, retransmit.time, retransmit.snd_cwnd, retransmit.snd_ssthresh) =
            (Kind::Ack, 4, 1, 5);
        (retransmit.bytes_sent, retransmit.bytes_retrans) = (4000, 1000);
        let row = rows.add(&retransmit).unwrap();
        assert_eq!((row.time, row.cwnd, row.ssthresh, row.timeouts, row.rtt), (2, 1, Some(5), 1, None));
        assert_eq!((row.retransmissions, row.ca_state, row.sent, row.acknowledged), (1, LOSS, 3000, 0));
    }

    #[test]
    fn handshake_retransmissions_and_fin_are_not_counted() {
        let mut rows = Rows::new();
        let mut lost_syn = event(1, Kind::State(LOSS));
        lost_syn.phase = SYN_SENT;
        assert_eq!(rows.add(&lost_syn), None);
        let mut open = event(1, Kind::Phase(ESTABLISHED));
        (open.total_retrans, open.total_rto) = (2, Some(2));
        assert_eq!(rows.add(&open), None);
        let mut ack = event(2, Kind::Ack);
        (ack.total_retrans, ack.total_rto) = (2, Some(2));
        assert_eq!(rows.add(&ack), None);
        (ack.kind, ack.phase, ack.write_seq) = (Kind::Phase(CLOSED), LAST_ACK, ack.snd_nxt);
        let row = rows.add(&ack).unwrap();
        assert_eq!((row.retransmissions, row.timeouts), (0, 0));
        assert_eq!((row.sent, row.acknowledged), (3000, 1));
        assert!(rows.connections.is_empty());
    }

    #[test]
    fn before_linux_6_7_timeouts_are_entries_into_loss() {
        let mut rows = Rows::new();
        for (time, kind) in [(1, Kind::Ack), (2, Kind::State(LOSS)), (3, Kind::State(LOSS)), (4, Kind::Ack)] {
            rows.add(&Event { total_rto: None, ..event(time, kind) });
        }
        assert_eq!(rows.add(&Event { total_rto: None, ..event(5, Kind::Ack) }).unwrap().timeouts, 2);
    }
}
