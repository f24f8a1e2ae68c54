//! Tables for Wi-Fi stations in results: a report and a trace.

use bentpipe_core::{Column, Span, Table};

/// Counters of a station over a run.
pub static REPORT: Table = Table {
    name: "wifi",
    entity: "station",
    about: "at the end of the run, for each station of a Wi-Fi network",
    columns: COLUMNS,
};

/// Trace of a station, with one row per transmission of data.
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

/// Counters of a station since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Number of transmissions of data.
    pub transmissions: u64,
    /// Number of data frames in these transmissions.
    pub frames: u64,
    /// Number of transmissions that overlapped with others at their receiver.
    pub collisions: u64,
    /// Number of data frames that the channel corrupted.
    pub corrupted: u64,
    /// Number of acknowledgments for this station that did not reach it.
    pub acknowledgments_lost: u64,
    /// Number of RTS frames without an answer.
    pub rts_failures: u64,
    /// Number of frames that were received more than once.
    pub duplicates: u64,
    /// Number of packets given up after the last retransmission.
    pub given_up: u64,
    /// Total airtime of the station's transmissions.
    pub airtime: Span,
}

/// Defines the columns of [`REPORT`] and the function that computes a row, both from one list.
macro_rules! report {
    ($(#[$meta:meta])* pub fn $row:ident($($parameter:tt)+); $($column:expr => $value:expr,)+) => {
        const COLUMNS: &[Column] = &[$($column),+];

        impl Counters {
            $(#[$meta])*
            pub fn $row($($parameter)+) -> [f64; COLUMNS.len()] {
                [$($value),+]
            }
        }
    };
}

report! {
    /// Returns the station's row of [`REPORT`] for a run of `length`. `queue_drops` is the number
    /// of packets that the station's queues have dropped. `access_mean` is the mean time in seconds
    /// from the arrival of a packet until it is received; NaN if unknown.
    pub fn row(&self, length: Span, queue_drops: u64, access_mean: f64);

    Column::whole(
        "transmissions", "frames", "transmissions of data, retransmissions included; an aggregate counts once"
    ) => self.transmissions as f64,
    Column::whole("frames", "frames", "data frames in these transmissions") => self.frames as f64,
    Column::whole(
        "collisions", "frames", "transmissions that overlapped with another at their receiver"
    ) => self.collisions as f64,
    Column::whole("corrupted", "frames", "data frames that the channel corrupted") => self.corrupted as f64,
    Column::whole(
        "acknowledgments_lost", "frames", "acknowledgments for this station that did not reach it"
    ) => self.acknowledgments_lost as f64,
    Column::whole(
        "rts_failures", "frames", "RTS frames of this station without an answer"
    ) => self.rts_failures as f64,
    Column::whole(
        "duplicates", "frames", "frames that this station received a second time and ignored"
    ) => self.duplicates as f64,
    Column::whole(
        "given_up", "packets", "packets given up after the last retransmission"
    ) => self.given_up as f64,
    Column::whole("queue_drops", "packets", "packets dropped by the queues") => queue_drops as f64,
    Column::real(
        "airtime", "1", "fraction of the run in which the station was transmitting"
    ) => self.airtime.as_secs_f64() / length.as_secs_f64(),
    Column::real(
        "access_mean", "s", "mean time from the arrival of a packet until it is received"
    ) => access_mean,
}
