//! What the helpers that deal with acknowledgments have in common.

use super::at;
use crate::transport::tcp::segment::{Segment, SegmentFlags};
use crate::{Body, Packet};
use bentpipe_core::{Column, Report, Table};

/// What a helper did with the acknowledgments of a flow.
pub static REPORT: Table = Table {
    name: "acknowledgments",
    entity: "flow at a proxy",
    about: "at the end of the run, by each proxy that thins out or restores acknowledgments, as FLOW@PROXY",
    columns: &[
        Column::whole(
            "arrived",
            "packets",
            "acknowledgments without data that came, to be thinned out or restored",
        ),
        Column::whole("removed", "packets", "those of them that were taken out, as later ones say more"),
        Column::whole("made", "packets", "acknowledgments that were made to stand for those taken out"),
    ],
};

/// See [`REPORT`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Acknowledgments that came.
    pub arrived: u64,
    /// Those taken out.
    pub removed: u64,
    /// Those made.
    pub made: u64,
}

impl Counters {
    /// Writes the row.
    pub fn report(&self, flow: &str, proxy: &str, report: &mut Report) {
        let values = [self.arrived, self.removed, self.made].map(|count| count as f64);
        report.row(&REPORT, &at(flow, proxy), &values);
    }
}

/// The segment of a packet that says nothing but how far its sender has received: no data, no flag but ACK, no selective
/// acknowledgments, which tell of losses.
#[inline]
pub fn pure(packet: &Packet) -> Option<&Segment> {
    match &packet.body {
        Body::Segment(segment) if acknowledges(packet) && segment.options.is_none() => Some(segment),
        _ => None,
    }
}

/// Whether a packet is an acknowledgment without data, with or without selective ones.
#[inline]
pub fn acknowledges(packet: &Packet) -> bool {
    matches!(&packet.body, Body::Segment(segment) if segment.payload == 0 && segment.flags == SegmentFlags::ACK)
}

/// Whether two packets are of the same connection and direction.
#[inline]
pub fn alike(one: &Packet, two: &Packet) -> bool {
    (one.flow, one.connection, one.source) == (two.flow, two.connection, two.source)
}

/// By how much one acknowledgment number is ahead of another; negative when behind.
#[inline]
pub fn ahead(one: u32, of: u32) -> i32 {
    one.wrapping_sub(of) as i32
}
