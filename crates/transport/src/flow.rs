//! The report of every transport about a flow at the end of a run: one row from its source and one
//! from its destination, joined in the results by the flow's name.

use super::details::Details;
use super::statistics::SpanStatistics;
use bentpipe_core::{Column, Report, Table, Time};
use bentpipe_stage::Packet;

/// Report of a flow's source.
pub static SOURCE: Table = Table {
    name: "flow_source",
    entity: "flow",
    about: "at the end of the run, by the flow's source",
    columns: &[
        Column::real("start", "s", "when the application started"),
        Column::whole("sent_bytes", "bytes", "payload sent, without retransmissions"),
        Column::whole("sent_packets", "packets", "data packets sent, retransmissions included"),
        Column::whole("retransmissions", "packets", "retransmitted data packets"),
        Column::whole("timeouts", "1", "number of retransmission time-outs"),
        Column::real("rtt_mean", "s", "mean of the round-trip time samples"),
        Column::real("rtt_min", "s", "smallest round-trip time sample"),
        Column::real("rtt_p50", "s", "median of the round-trip time samples"),
        Column::real("rtt_p95", "s", "95th percentile of the round-trip time samples"),
        Column::real("rtt_max", "s", "largest round-trip time sample"),
        Column::real("rtt_deviation", "s", "standard deviation of the round-trip time samples"),
        Column::real("rttvar_mean", "s", "mean of the estimate RTTVAR (RFC 6298) over the samples"),
        Column::real("rto_mean", "s", "mean of the retransmission time-out over the samples"),
        Column::real(
            "completed",
            "s",
            "when the last byte was acknowledged; null for a flow that has not ended",
        ),
    ],
};

/// Report of a flow's destination.
pub static DESTINATION: Table = Table {
    name: "flow_destination",
    entity: "flow",
    about: "at the end of the run, by the flow's destination",
    columns: &[
        Column::whole("delivered_bytes", "bytes", "payload delivered in order to the application"),
        Column::whole("delivered_packets", "packets", "data packets that arrived, duplicates included"),
        Column::real("last_delivery", "s", "when the last payload was delivered"),
        Column::real("delay_mean", "s", "mean one-way delay of data packets"),
        Column::real("delay_p95", "s", "95th percentile of the one-way delay of data packets"),
        Column::real("delay_max", "s", "largest one-way delay of data packets"),
    ],
};

/// Counters of a flow's source.
#[derive(Clone, Debug, Default)]
pub struct SourceCounters {
    /// Time at which the application started.
    pub start: Option<Time>,
    /// Payload bytes sent for the first time.
    pub sent_bytes: u64,
    /// Number of data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Number of data packets that were retransmissions.
    pub retransmissions: u64,
    /// Number of retransmission time-outs.
    pub timeouts: u64,
    /// Statistics of the round-trip times that the sender measured.
    pub rtt: SpanStatistics,
    /// Sums of RTTVAR and of the time-out in seconds, and the number of samples.
    pub timer: (f64, f64, u64),
    /// Time at which everything had been acknowledged and closed.
    pub completed: Option<Time>,
}

impl SourceCounters {
    /// Adds the counters of another connection. The sum is complete if both are complete.
    pub fn merge(&mut self, other: &SourceCounters) {
        self.completed = self.completed.max(other.completed).filter(|_| {
            (self.start.is_none() || self.completed.is_some())
                && (other.start.is_none() || other.completed.is_some())
        });
        self.start = match (self.start, other.start) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        self.sent_bytes += other.sent_bytes;
        self.sent_packets += other.sent_packets;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.rtt.merge(&other.rtt);
        let ((rttvar, rto, samples), more) = (self.timer, other.timer);
        self.timer = (rttvar + more.0, rto + more.1, samples + more.2);
    }

    /// Writes the row of `flow`.
    pub fn report(&self, flow: &str, report: &mut Report) {
        let moment = |time: Option<Time>| time.map_or(f64::NAN, Time::as_secs_f64);
        let rtt = &self.rtt;
        let values = [
            moment(self.start),
            self.sent_bytes as f64,
            self.sent_packets as f64,
            self.retransmissions as f64,
            self.timeouts as f64,
            rtt.mean(),
            rtt.min(),
            rtt.percentile(50.0),
            rtt.percentile(95.0),
            rtt.max(),
            rtt.deviation(),
            self.timer.0 / self.timer.2 as f64,
            self.timer.1 / self.timer.2 as f64,
            moment(self.completed),
        ];
        report.row(&SOURCE, flow, &values);
    }
}

/// Counters of a flow's destination.
#[derive(Clone, Debug, Default)]
pub struct DestinationCounters {
    /// Payload bytes delivered in order.
    pub delivered_bytes: u64,
    /// Number of data packets that arrived.
    pub delivered_packets: u64,
    /// Time of the last delivery of payload.
    pub last_delivery: Option<Time>,
    /// One-way delays of data packets.
    pub delay: SpanStatistics,
    /// Further measurements, if the scenario requests them.
    pub details: Option<Box<Details>>,
}

impl DestinationCounters {
    /// Creates empty counters. With `details`, details are measured.
    pub fn new(details: bool) -> DestinationCounters {
        DestinationCounters { details: details.then(Box::default), ..DestinationCounters::default() }
    }

    /// Counts an arriving data packet.
    #[inline]
    pub fn arrive(&mut self, now: Time, packet: &Packet) {
        let delay = packet.age(now);
        self.delay.add(delay);
        if let Some(details) = &mut self.details {
            details.add(packet, delay);
        }
    }

    /// Writes the row of `flow`.
    pub fn report(&self, flow: &str, report: &mut Report) {
        let values = [
            self.delivered_bytes as f64,
            self.delivered_packets as f64,
            self.last_delivery.map_or(f64::NAN, Time::as_secs_f64),
            self.delay.mean(),
            self.delay.percentile(95.0),
            self.delay.max(),
        ];
        report.row(&DESTINATION, flow, &values);
        if let Some(details) = &self.details {
            details.report(flow, &self.delay, report);
        }
    }
}
