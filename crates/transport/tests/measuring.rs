//! Tests an application that measures, defined in this file: its information about datagrams, and
//! its tables.

mod common;

use bentpipe_core::{Column, Report, Span, Stream, Table, Time};
use bentpipe_stage::{Body, Corrupted, Packet, Port, Supply};
use bentpipe_testing::bench::{packet, stream, Bench, Supplies};
use bentpipe_transport::app::{Actions, App, Arrival, End, Event};
use bentpipe_transport::datagrams::Probes;
use bentpipe_transport::hosting::Site;
use bentpipe_transport::udp::Endpoint;
use common::site;

/// An application that measures: a row for each datagram and a count at the end.
#[derive(Default)]
struct Meter {
    arrivals: Vec<Arrival<'static>>,
}

static ROWS: Table = Table {
    name: "meter",
    entity: "flow",
    about: "when a datagram arrives",
    columns: &[
        Column::whole("number", "1", "its number"),
        Column::real("age", "s", "time since it was sent"),
    ],
};

static COUNT: Table = Table {
    name: "flow_meter",
    entity: "flow",
    about: "at the end of the run",
    columns: &[Column::whole("corrupted", "packets", "datagrams with wrong bytes")],
};

impl App for Meter {
    fn on(&mut self, _: Time, _: u16, event: Event, _: &mut Stream, _: &mut Actions) {
        panic!("an application that measures hears {event:?} as an arrival");
    }

    fn arrived(
        &mut self,
        now: Time,
        _: u16,
        arrival: &Arrival<'_>,
        row: &mut Vec<f64>,
        _: &mut Stream,
        _: &mut Actions,
    ) {
        self.arrivals.push(Arrival { content: &[], ..*arrival });
        if let Some(stamp) = arrival.stamp {
            row.extend([f64::from(stamp.number), now.since(stamp.sent).as_secs_f64()]);
        }
    }

    fn report(&self, flow: &str, _: Span, report: &mut Report) {
        let corrupted = self.arrivals.iter().filter(|arrival| !arrival.intact).count();
        report.row(&COUNT, flow, &[corrupted as f64]);
    }
}

#[test]
fn a_measurer_receives_number_time_and_state_and_writes_rows() {
    let mut supplies = Supplies::traced();
    let probes = Probes { measures: supplies.probe(&ROWS, "voice"), ..Probes::default() };
    let site = Site { name: "voice".to_owned(), ..site(End::Destination) };
    let destination = Endpoint::new(site, Box::new(Meter::default()), stream("test"), probes);
    let mut bench = Bench::supplied(destination, supplies);
    let now = Time::ZERO + Span::from_millis(300);
    for (number, size, valid) in [(4, 60, None), (2, 60, Some(true)), (3, 60, Some(false)), (5, 43, None)] {
        let birth = Time::ZERO + Span::from_millis(u64::from(number) * 10);
        let body = match valid {
            None => Body::Datagram,
            Some(valid) => Body::Corrupted(Box::new(Corrupted { body: Body::Datagram, valid })),
        };
        bench.offer(now, 0, Port(0), Packet { birth, body, ..packet(number, size) });
    }
    let report = bench.report();
    // Number 3 did not pass its checksum, and number 5 has no room for a stamp.
    assert_eq!(report.value("flow_meter", "voice", "corrupted"), Some(1.0));
    assert_eq!(report.value("flow_destination", "voice", "delivered_packets"), Some(3.0));
    let written = [[4.0, 0.26], [2.0, 0.28]].map(|row| ("voice".to_owned(), row.to_vec()));
    assert_eq!(bench.rows("meter"), written);
}
