//! Counters and functions for the mechanisms that remove or recreate acknowledgments.

use super::at;
use super::frames::segment;
use bentpipe_core::{Column, Report, Table};
use bentpipe_stage::packet::segment::{Segment, SegmentFlags};
use bentpipe_stage::Packet;

/// Counters for the acknowledgments of a flow.
pub static REPORT: Table = Table {
    name: "acknowledgments",
    entity: "flow at a proxy",
    about: "at the end of the run, by each proxy that removes or recreates acknowledgments, as FLOW@PROXY",
    columns: &[
        Column::whole("arrived", "packets", "acknowledgments without data that arrived at the proxy"),
        Column::whole(
            "removed",
            "packets",
            "acknowledgments that were removed because later ones supersede them",
        ),
        Column::whole("made", "packets", "acknowledgments that were created in place of removed ones"),
    ],
};

/// Counters of one flow, as reported in [`REPORT`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Number of acknowledgments that arrived at the proxy.
    pub arrived: u64,
    /// Number of acknowledgments that were removed.
    pub removed: u64,
    /// Number of acknowledgments that were created.
    pub generated: u64,
}

impl Counters {
    /// Writes the row of a flow.
    pub fn report(&self, flow: &str, proxy: &str, report: &mut Report) {
        let values = [self.arrived, self.removed, self.generated].map(|count| count as f64);
        report.row(&REPORT, &at(flow, proxy), &values);
    }
}

/// Returns the segment of a packet that is a pure cumulative acknowledgment: it has no data, no
/// flag except ACK, and no selective acknowledgments.
#[inline]
pub fn pure(packet: &Packet) -> Option<&Segment> {
    segment(packet).filter(|segment| acknowledges(packet) && segment.options.is_none())
}

/// Returns true if a packet is an acknowledgment without data, with or without selective
/// acknowledgments.
#[inline]
pub fn acknowledges(packet: &Packet) -> bool {
    segment(packet).is_some_and(|segment| segment.payload == 0 && segment.flags == SegmentFlags::ACK)
}

/// Returns true if two packets belong to the same connection and direction.
#[inline]
pub fn same_acknowledgment(one: &Packet, two: &Packet) -> bool {
    (one.flow, one.connection, one.source) == (two.flow, two.connection, two.source)
}

/// Returns the difference between the acknowledgment number `one` and the number `of`; negative if
/// `one` is earlier.
#[inline]
pub fn sequence_difference(one: u32, of: u32) -> i32 {
    one.wrapping_sub(of) as i32
}
