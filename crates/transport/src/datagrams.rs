//! The common part of endpoints whose packets carry datagrams (UDP, TFRC and NORM): their traces.

use super::app::{Actions, End};
use super::hosting::{self, Hosted, Site};
use super::Supply;
use bentpipe_core::{Column, Probe, Table, Time};
use bentpipe_stage::Outbox;

/// Trace of a receiver of datagrams.
pub static TRACE: Table = Table {
    name: "datagram",
    entity: "flow",
    about: "when a datagram arrives",
    columns: &[
        Column::whole(
            "number",
            "1",
            "number of the datagram in sending order, from 0; missing numbers were lost",
        ),
        Column::real("delay", "s", "one-way delay of the datagram"),
        Column::whole("payload", "bytes", "payload of the datagram"),
        Column::whole("received", "bytes", "payload received so far, in total"),
    ],
};

/// Probes of the traces of one end, for those that are recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probes {
    /// Probe of the transport's own trace of a source.
    pub sender: Option<Probe>,
    /// Probe of the trace [`TRACE`] of a destination.
    pub arrivals: Option<Probe>,
    /// Probe of the trace [`hosting::TRACE`].
    pub transactions: Option<Probe>,
    /// Probe of the application's own trace.
    pub measures: Option<Probe>,
}

impl Probes {
    /// Returns the probes of an end. `sender` is the transport's own trace of a source, if it has
    /// one.
    pub fn of(
        site: &Site,
        sender: Option<&'static Table>,
        (transactions, measures): (Option<Probe>, Option<Probe>),
        supply: &mut dyn Supply,
    ) -> Probes {
        let (sender, arrivals) = match site.end {
            End::Source => (sender.and_then(|table| supply.probe(table, &site.name)), None),
            End::Destination => (None, supply.probe(&TRACE, &site.name)),
        };
        Probes { sender, arrivals, transactions, measures }
    }

    /// Records the arrival of a datagram: its number, delay in seconds, and payload in bytes, and
    /// the payload received so far.
    #[inline]
    pub fn record_arrival(&self, now: Time, row: [f64; 4], out: &mut Outbox) {
        if let Some(probe) = self.arrivals {
            out.record(probe, now, &row);
        }
    }

    /// Records the transaction that `actions` complete, if any.
    #[inline]
    pub fn record_transaction(&self, now: Time, actions: &Actions, out: &mut Outbox) {
        if let (Some(over), Some(probe)) = (&actions.over, self.transactions) {
            out.record(probe, now, &hosting::row(now, over));
        }
    }

    /// Records the row that the application wrote about the last datagram, if any.
    #[inline]
    pub fn record_measures(&self, now: Time, hosted: &Hosted, out: &mut Outbox) {
        if let (Some(probe), row @ [_, ..]) = (self.measures, hosted.row()) {
            out.record(probe, now, row);
        }
    }
}
