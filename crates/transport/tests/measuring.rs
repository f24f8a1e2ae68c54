//! An application that measures, added in this one file: its information about datagrams, and the
//! tables that it writes.

use bentpipe_core::{
    Column, FlowId, NodeId, Recorder, Report, Row, Sink, Span, Stream, Streams, Table, Time,
};
use bentpipe_stage::{Body, Outbox, Packet, Port, Spoiled, Stage};
use bentpipe_transport::app::{Actions, App, Arrival, End, Event};
use bentpipe_transport::hosting::Site;
use bentpipe_transport::udp::{Endpoint, Probes};

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

    fn report(&self, flow: &str, report: &mut Report) {
        let corrupted = self.arrivals.iter().filter(|arrival| !arrival.intact).count();
        report.row(&COUNT, flow, &[corrupted as f64]);
    }
}

type Written = std::sync::Arc<std::sync::Mutex<Vec<f64>>>;

struct Kept(Written);

impl Sink for Kept {
    fn rows(&mut self, table: &'static Table, entities: &[String], rows: Vec<Row>, values: Vec<f64>) {
        assert_eq!((table.name, entities[rows[0].entity as usize].as_str()), ("meter", "voice"));
        self.0.lock().unwrap().extend(values);
    }
}

#[test]
fn an_application_learns_number_time_and_state_and_writes_rows_of_its_own() {
    let written = Written::default();
    let mut recorder = Recorder::new(Box::new(Kept(written.clone())));
    let measures = Some(recorder.open(&ROWS, "voice"));
    let site = Site {
        flow: FlowId(0),
        name: "voice".to_owned(),
        node: NodeId(1),
        peer: NodeId(0),
        end: End::Destination,
        start: Time::ZERO,
        dscp: 0,
        details: false,
        capture: None,
    };
    let probes = Probes { measures, ..Probes::default() };
    let stream = Streams::new(1, 0).stream("test");
    let mut destination = Endpoint::new(site, Box::new(Meter::default()), stream, probes);
    let mut out = Outbox::new(recorder);
    let now = Time::ZERO + Span::from_millis(300);
    for (number, size, valid) in [(4, 60, None), (2, 60, Some(true)), (3, 60, Some(false)), (5, 43, None)] {
        let birth = Time::ZERO + Span::from_millis(number * 10);
        let body = match valid {
            None => Body::Datagram,
            Some(valid) => Body::Spoiled(Box::new(Spoiled { body: Body::Datagram, valid })),
        };
        let packet = Packet { birth, number: number as u32, size, body, ..Packet::default() };
        out.create(Port(0), packet);
        let packet = out.next_sent().unwrap().packet;
        destination.receive(now, Port(0), packet, &mut out);
    }
    let mut report = Report::default();
    destination.report(now, &mut report);
    // Number 3 did not pass its checksum, and number 5 has no room for a stamp.
    assert_eq!(report.value("flow_meter", "voice", "corrupted"), Some(1.0));
    assert_eq!(report.value("flow_destination", "voice", "delivered_packets"), Some(3.0));
    out.recorder().flush();
    assert_eq!(*written.lock().unwrap(), [4.0, 0.26, 2.0, 0.28]);
}
