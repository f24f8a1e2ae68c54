//! The trace `tcp` by queries of TCP_INFO at intervals, for connections that the kernel's log does
//! not follow.

use super::info::Info;
use super::rows::Rows;
use bentpipe_core::{Probe, Span, Time};
use bentpipe_transport::flow::SourceCounters;

/// Minimum interval of the queries.
const INTERVAL: Span = Span::from_millis(10);
/// Additional interval per connection, so that queries take a few percent of the time.
const EACH: Span = Span::from_micros(50);

/// Returns the interval of the queries of this many connections.
pub fn interval(connections: u64) -> Span {
    INTERVAL.max(EACH * connections)
}

/// A sender that is queried at intervals.
#[derive(Default)]
pub struct Polled {
    /// Acknowledged bytes and time-outs in the last row.
    last: [f64; 2],
}

impl Polled {
    /// Adds a row after an acknowledgment or a time-out, as the log does, and counts the smoothed
    /// round-trip time. `opened` is true if the connection was opened from here.
    pub fn look(
        &mut self,
        info: &Info,
        opened: bool,
        (now, probe): (Time, Option<Probe>),
        rows: &mut Rows,
        sent: &mut SourceCounters,
    ) {
        if info.data_segments_out() == 0 {
            return;
        }
        let row = info.row(opened);
        let [.., acknowledged, _, _, timeouts, _] = row;
        let [last_acknowledged, last_timeouts] = self.last;
        if acknowledged > last_acknowledged {
            sent.rtt.add(Span::from_micros(info.srtt().into()));
        }
        if acknowledged > last_acknowledged || timeouts > last_timeouts {
            self.last = [acknowledged, timeouts];
            rows.add(probe, now, &row);
        }
    }
}
