//! Additional measurements at a destination, if a scenario requests them (`record.details`): delay
//! variation, reordering, and both by class.
//!
//! - **Jitter** is measured between consecutive packets of one connection, from the differences D
//!   of their delays: the mean of D with its sign (as in the DiffServ study), the mean of |D|, and
//!   the mean over packets of the estimate J <- J + (|D| - J) / 16 of RFC 3550, section 6.4.1. The
//!   signed mean equals the last delay minus the first, divided by the number of differences.
//! - **Reordered** packets were sent before one that has already arrived (RFC 4737, section 3).
//! - **Classes** are the code points of arriving packets.
//!
//! Percentiles are those of [`SpanStatistics`].

use super::statistics::SpanStatistics;
use bentpipe_core::{Column, Dscp, Report, Span, Table};
use bentpipe_stage::Packet;
use std::collections::BTreeMap;

/// Delay variation and reordering of a flow.
pub static FLOW: Table = Table {
    name: "flow_details",
    entity: "flow",
    about: "at the end of the run, by the flow's destination, with `record.details`",
    columns: &[
        Column::real("jitter_signed", "s", "mean difference between the delays of consecutive packets"),
        Column::real(
            "jitter_absolute",
            "s",
            "mean absolute difference between the delays of consecutive packets",
        ),
        Column::real("jitter_rfc3550", "s", "mean of the interarrival jitter of RFC 3550"),
        Column::whole(
            "reordered",
            "packets",
            "packets that arrived after one that was sent later (RFC 4737)",
        ),
        Column::real("delay_deviation", "s", "standard deviation of the one-way delay of data packets"),
    ],
};

/// The packets of a class that arrived.
pub static CLASS: Table = Table {
    name: "class",
    entity: "class",
    about: "at the end of the run, by the flow's destination, for each code point (FLOW.DSCP), with `record.details`",
    columns: &[
        Column::whole("dscp", "1", "code point (DSCP) with which the packets arrived"),
        Column::whole("packets", "packets", "data packets that arrived"),
        Column::whole("bytes", "bytes", "network-layer bytes of these packets"),
        Column::real("delay_mean", "s", "mean one-way delay of these packets"),
        Column::real("delay_p50", "s", "median of the one-way delay"),
        Column::real("delay_p95", "s", "95th percentile of the one-way delay"),
        Column::real("delay_max", "s", "largest one-way delay"),
        Column::real("jitter_absolute", "s", "mean absolute difference between the delays of consecutive packets of the class"),
    ],
};

/// Differences between consecutive delays, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Jitter {
    last: Option<f64>,
    signed: f64,
    absolute: f64,
    /// J, and its sum over packets.
    estimate: f64,
    estimates: f64,
    count: u64,
}

impl Jitter {
    #[inline]
    fn add(&mut self, delay: f64) {
        if let Some(last) = self.last.replace(delay) {
            let difference = delay - last;
            self.signed += difference;
            self.absolute += difference.abs();
            self.estimate += (difference.abs() - self.estimate) / 16.0;
            self.estimates += self.estimate;
            self.count += 1;
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Class {
    bytes: u64,
    delay: SpanStatistics,
    jitter: Jitter,
}

/// Detailed measurements of arriving packets.
#[derive(Clone, Debug, Default)]
pub struct Details {
    connections: BTreeMap<u16, Jitter>,
    classes: BTreeMap<u8, Class>,
    /// One more than the highest number that has arrived.
    next: u32,
    reordered: u64,
}

impl Details {
    /// Adds an arriving data packet.
    pub fn add(&mut self, packet: &Packet, delay: Span) {
        let seconds = delay.as_secs_f64();
        self.connections.entry(packet.connection).or_default().add(seconds);
        let class = self.classes.entry(packet.dscp).or_default();
        class.bytes += u64::from(packet.size);
        class.delay.add(delay);
        class.jitter.add(seconds);
        // Numbers wrap around after 2^32 packets.
        let ahead = packet.number.wrapping_sub(self.next).cast_signed();
        if ahead >= 0 {
            self.next = packet.number.wrapping_add(1);
        } else {
            self.reordered += 1;
        }
    }

    /// Writes the rows of `flow`, whose delays were `delay`.
    pub fn report(&self, flow: &str, delay: &SpanStatistics, report: &mut Report) {
        let all = || self.connections.values();
        let count = all().map(|jitter| jitter.count).sum::<u64>() as f64;
        let mean = |of: fn(&Jitter) -> f64| all().map(of).sum::<f64>() / count;
        let values = [
            mean(|jitter| jitter.signed),
            mean(|jitter| jitter.absolute),
            mean(|jitter| jitter.estimates),
            self.reordered as f64,
            delay.deviation(),
        ];
        report.row(&FLOW, flow, &values);
        for (dscp, class) in &self.classes {
            let name = Dscp::new(*dscp).map_or_else(|| dscp.to_string(), |dscp| dscp.to_string());
            let values = [
                f64::from(*dscp),
                class.delay.count() as f64,
                class.bytes as f64,
                class.delay.mean(),
                class.delay.percentile(50.0),
                class.delay.percentile(95.0),
                class.delay.max(),
                class.jitter.absolute / class.jitter.count as f64,
            ];
            report.row(&CLASS, &format!("{flow}.{name}"), &values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_and_reordering_are_as_defined() {
        let mut details = Details::default();
        let mut all = SpanStatistics::default();
        // Two connections whose packets alternate; the third packet of the first was sent before
        // the second.
        for (connection, number, millis, dscp) in [
            (0, 0, 100, 10),
            (1, 1, 500, 0),
            (0, 3, 110, 10),
            (1, 4, 500, 0),
            (0, 2, 104, 14),
            (0, 5, 116, 10),
        ] {
            let packet = Packet { connection, number, dscp, size: 576, ..Packet::default() };
            details.add(&packet, Span::from_millis(millis));
            all.add(Span::from_millis(millis));
        }
        let mut report = Report::default();
        details.report("f", &all, &mut report);
        let value = |column| report.value("flow_details", "f", column).unwrap() * 1e3;
        // Differences 10, -6 and 12 for the first connection, and 0 for the second.
        assert!((value("jitter_signed") - 16.0 / 4.0).abs() < 1e-9);
        assert!((value("jitter_absolute") - 28.0 / 4.0).abs() < 1e-9);
        let j1 = 10.0 / 16.0;
        let j2 = j1 + (6.0 - j1) / 16.0;
        let j3 = j2 + (12.0 - j2) / 16.0;
        assert!((value("jitter_rfc3550") - (j1 + j2 + j3) / 4.0).abs() < 1e-9);
        assert_eq!(report.value("flow_details", "f", "reordered"), Some(1.0));
        assert_eq!(report.value("class", "f.af11", "packets"), Some(3.0));
        assert_eq!(report.value("class", "f.be", "delay_mean"), Some(0.5));
        assert_eq!(report.value("class", "f.af13", "jitter_absolute"), None);
    }
}
