//! The result tables of a sensor network.

use super::Delays;
use bentpipe_core::{Column, Report, Table};
use bentpipe_sensors::field::Field;
use bentpipe_sensors::plan::Power;

/// The totals of a sensor network.
pub static FLOW: Table = Table {
    name: "flow_sensors",
    entity: "flow",
    about: "at the end of the run, by the sink of a sensor network",
    columns: &[
        Column::whole("sensor_rows", "1", "rows of results that the sink sent to the client"),
        Column::whole("sensor_messages", "1", "messages of operators to other nodes"),
        Column::whole(
            "sensor_messages_lost",
            "1",
            "messages that did not reach their node, those still on their way excluded",
        ),
        Column::whole(
            "sensor_late",
            "1",
            "measures and partial aggregates that came after the end of their window",
        ),
        Column::whole("sensor_frames", "1", "data frames on the motes' channel, retransmissions included"),
        Column::whole("sensor_bytes", "B", "bytes of these frames, headers and check sequences included"),
        Column::real(
            "sensor_energy",
            "J",
            "energy of the motes' transceivers without idle listening, the sink's excluded",
        ),
        Column::real(
            "sensor_delay_mean",
            "s",
            "mean time from the latest sample of a row to its delivery at the sink",
        ),
        Column::real("sensor_delay_max", "s", "longest such time"),
    ],
};

/// Report of each mote's totals.
pub static MOTES: Table = Table {
    name: "motes",
    entity: "mote",
    about: "at the end of the run, by each mote of a sensor network and its sink (FLOW.MOTE)",
    columns: &[
        Column::whole("samples", "1", "samples that it took"),
        Column::whole("messages", "1", "messages of its operators to other nodes"),
        Column::whole("forwarded", "1", "messages that it forwarded for others"),
        Column::whole("busy_losses", "1", "messages lost since the channel was always busy"),
        Column::whole("unacknowledged_losses", "1", "messages lost since no transmission was acknowledged"),
        Column::whole("queue_losses", "1", "messages lost since its queue was full"),
        Column::whole("frames", "1", "data frames that it transmitted, retransmissions included"),
        Column::whole("frame_bytes", "B", "bytes of these frames, headers and check sequences included"),
        Column::whole("acknowledgments", "1", "acknowledgments that it transmitted"),
        Column::whole("busy_assessments", "1", "clear channel assessments that found the channel busy"),
        Column::whole("collisions", "1", "data frames for it that overlapped with another frame"),
        Column::whole("errors", "1", "data frames for it that the channel corrupted"),
        Column::whole("duplicates", "1", "data frames for it that it had received before"),
        Column::real("transmitting", "s", "time for which it transmitted"),
        Column::real("receiving", "s", "time for which it assessed the channel, received frames for itself, and waited for acknowledgments"),
        Column::real("energy", "J", "energy of its transceiver for both"),
    ],
};

/// Writes the rows of a field.
pub(super) fn report(flow: &str, field: &Field, delays: Delays, report: &mut Report) {
    let (totals, power) = (field.totals(), Power::default());
    let nodes = field.results();
    let (mut frames, mut bytes, mut energy) = (0, 0, 0.0);
    for (place, node) in nodes.iter().enumerate() {
        let radio = &node.radio;
        let own = power.energy(radio.transmitting, radio.receiving);
        if place + 1 < nodes.len() {
            frames += radio.transmissions;
            bytes += radio.bytes;
            energy += own;
        }
        let values = [
            node.samples as f64,
            node.messages as f64,
            node.forwarded as f64,
            node.channel_access as f64,
            node.no_acknowledgment as f64,
            node.queue_full as f64,
            radio.transmissions as f64,
            radio.bytes as f64,
            radio.acknowledgments as f64,
            radio.busy as f64,
            radio.collisions as f64,
            radio.errors as f64,
            radio.duplicates as f64,
            radio.transmitting.as_secs_f64(),
            radio.receiving.as_secs_f64(),
            own,
        ];
        report.row(&MOTES, &format!("{flow}.{}", field.name(place)), &values);
    }
    let rows = delays.rows.max(1) as f64;
    let values = [
        delays.rows as f64,
        totals.messages as f64,
        (totals.channel_access + totals.no_acknowledgment + totals.queue_full) as f64,
        totals.late as f64,
        frames as f64,
        bytes as f64,
        energy,
        delays.total.as_secs_f64() / rows,
        delays.longest.as_secs_f64(),
    ];
    report.row(&FLOW, flow, &values);
}
