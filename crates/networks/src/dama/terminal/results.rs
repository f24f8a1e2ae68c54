//! Results of a terminal: the trace of its superframes, and its counters over a run.

use super::Terminal;
use bentpipe_core::{Column, Report, Table, Time};
use bentpipe_stage::Outbox;
use bentpipe_transport::statistics::SpanStatistics;

/// Trace of a terminal's superframes.
pub static TRACE: Table = Table {
    name: "dama",
    entity: "terminal",
    about: "for each superframe in which data waited or were sent, slots were requested or assigned; its time is the \
            superframe's start",
    columns: &[
        Column::whole("superframe", "1", "number of the superframe, from 0"),
        Column::whole("queue", "bytes", "data accepted and not yet sent at the start of the superframe"),
        Column::whole("request", "slots", "slots requested at the start of the superframe; 0 also if no request was sent"),
        Column::whole("constant", "slots", "constant slots (CRA) of the terminal"),
        Column::whole("assigned", "slots", "slots assigned by the burst time plan"),
        Column::whole("capacity", "bytes", "capacity of all its slots in the superframe"),
        Column::whole("used", "bytes", "bytes that these slots carried"),
    ],
};

/// Counters of a terminal over a run.
pub static REPORT: Table = Table {
    name: "terminal",
    entity: "terminal",
    about: "at the end of the run",
    columns: &[
        Column::whole("capacity_bytes", "bytes", "capacity of the constant and assigned slots"),
        Column::whole("used_bytes", "bytes", "bytes that these slots carried"),
        Column::real("efficiency", "1", "used capacity divided by assigned capacity (eq. 15)"),
        Column::whole("packets", "packets", "packets that the terminal sent"),
        Column::whole("queue_drops", "packets", "packets dropped by the queue"),
        Column::whole("error_drops", "packets", "packets and messages corrupted on the return link"),
        Column::real("delay_mean", "s", "mean time from arrival to the end of the packet's last slot"),
        Column::real(
            "delay_p95",
            "s",
            "95th percentile of the time from arrival to the end of the last slot",
        ),
        Column::real("delay_max", "s", "longest time from arrival to the end of the last slot"),
        Column::whole("requests", "1", "number of capacity requests sent"),
        Column::whole("requested_slots", "slots", "sum of the requested slots"),
        Column::whole("assigned_slots", "slots", "sum of the assigned slots over the superframes"),
        Column::whole(
            "late_slots",
            "slots",
            "slots of plans that arrived after their superframe had started",
        ),
        Column::whole("shared_bursts", "1", "number of data bursts sent in shared mini-slots"),
    ],
};

/// Counters of a terminal since the start of the run.
#[derive(Default)]
pub(super) struct Counters {
    pub used: u64,
    pub queue_drops: u64,
    pub error_drops: u64,
    pub requests: u64,
    pub requested: u64,
    pub assigned: u64,
    /// Constant slots of previous logons.
    pub constant: u64,
    /// Slots of plans that arrived after their superframe had started.
    pub late: u64,
    /// Number of data bursts in shared mini-slots.
    pub shared_bursts: u64,
    pub delay: SpanStatistics,
}

impl Terminal {
    /// Writes the trace row of the present superframe, once.
    pub(super) fn record(&mut self, out: &mut Outbox) {
        if let (Some(probe), true) = (self.parts.probe, self.active) {
            let constant = u32::from(self.constant().count);
            let (queue, request, used) = self.row;
            let values = [
                self.slots.superframe() as f64,
                queue as f64,
                request as f64,
                f64::from(constant),
                f64::from(self.slots.count() - constant),
                self.slots.capacity() as f64,
                used as f64,
            ];
            out.record(probe, self.slots.start(), &values);
        }
    }

    /// Adds the terminal's row of [`REPORT`].
    pub(super) fn report_counters(&self, now: Time, report: &mut Report) {
        let Counters {
            used,
            queue_drops,
            error_drops,
            requests,
            requested,
            assigned,
            late,
            shared_bursts,
            delay,
            ..
        } = &self.counters;
        let capacity = self.total_capacity(now);
        let values = [
            capacity as f64,
            *used as f64,
            if capacity == 0 { f64::NAN } else { *used as f64 / capacity as f64 },
            self.counters.delay.count() as f64,
            *queue_drops as f64,
            *error_drops as f64,
            delay.mean(),
            delay.percentile(95.0),
            delay.max(),
            *requests as f64,
            *requested as f64,
            *assigned as f64,
            *late as f64,
            *shared_bursts as f64,
        ];
        report.row(&REPORT, &self.parts.name, &values);
    }
}
