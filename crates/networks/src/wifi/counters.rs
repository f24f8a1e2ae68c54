//! The rows of a Wi-Fi station's report and of its trace.

use bentpipe_core::{Column, Span, Table};

/// Counters of a station over a run.
pub static REPORT: Table = Table {
    name: "wifi",
    entity: "station",
    about: "at the end of the run, for each station of a Wi-Fi network",
    columns: &[
        Column::whole(
            "transmissions",
            "frames",
            "transmissions of data, retransmissions included; an aggregate counts once",
        ),
        Column::whole("frames", "frames", "data frames in these transmissions"),
        Column::whole("collisions", "frames", "transmissions that overlapped with another at their receiver"),
        Column::whole("corrupted", "frames", "data frames that the channel corrupted"),
        Column::whole(
            "acknowledgments_lost",
            "frames",
            "acknowledgments for this station that did not reach it",
        ),
        Column::whole("rts_failures", "frames", "RTS frames of this station without an answer"),
        Column::whole("duplicates", "frames", "frames that this station received a second time and ignored"),
        Column::whole("given_up", "packets", "packets given up after the last retransmission"),
        Column::whole("queue_drops", "packets", "packets dropped by the queues"),
        Column::real("airtime", "1", "fraction of the run in which the station was transmitting"),
        Column::real("access_mean", "s", "mean time from the arrival of a packet until it is received"),
    ],
};

/// Trace of a station: its transmissions of data.
pub static TRACE: Table = Table {
    name: "wifi",
    entity: "station",
    about: "when a transmission of data is over",
    columns: &[
        Column::whole("receiver", "1", "number of the receiving station, in the order of the report, from 0"),
        Column::real("rate", "bit/s", "rate at which data frames are sent"),
        Column::whole("attempt", "1", "earlier transmissions of the (first) frame"),
        Column::whole("sent", "frames", "frames in the transmission"),
        Column::whole("acknowledged", "frames", "frames that were acknowledged"),
        Column::whole("collided", "1", "1 if it overlapped with another transmission at the receiver"),
    ],
};

/// Counters of a station so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Number of transmissions of data.
    pub transmissions: u64,
    /// Number of data frames in these transmissions.
    pub frames: u64,
    /// Transmissions that overlapped with others at their receiver.
    pub collisions: u64,
    /// Data frames that the channel corrupted.
    pub corrupted: u64,
    /// Acknowledgments for this station that did not reach it.
    pub acknowledgments_lost: u64,
    /// Number of RTS frames without an answer.
    pub rts_failures: u64,
    /// Number of frames that were received more than once.
    pub duplicates: u64,
    /// Packets given up after the last retransmission.
    pub given_up: u64,
    /// Sum of the times of all transmissions.
    pub airtime: Span,
}

impl Counters {
    /// Returns the station's row of [`REPORT`] for a run of `length`: its queues have dropped
    /// `queue_drops` packets, and packets took `access_mean` seconds from their arrival until they
    /// were received, NaN if unknown.
    pub fn row(&self, length: Span, queue_drops: u64, access_mean: f64) -> [f64; 11] {
        let count = |count: u64| count as f64;
        [
            count(self.transmissions),
            count(self.frames),
            count(self.collisions),
            count(self.corrupted),
            count(self.acknowledgments_lost),
            count(self.rts_failures),
            count(self.duplicates),
            count(self.given_up),
            count(queue_drops),
            self.airtime.as_secs_f64() / length.as_secs_f64(),
            access_mean,
        ]
    }
}
