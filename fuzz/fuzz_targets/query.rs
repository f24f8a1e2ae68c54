//! Parses arbitrary text as a query of a sensor network. A query must either be refused with a
//! message that names the allowed input, or its plan must run and conserve messages.
#![no_main]

use bentpipe_core::{Span, Streams, Time};
use bentpipe_sensors::field::{Field, Streams as Draws};
use bentpipe_sensors::ieee802154::Rules;
use bentpipe_sensors::plan::{place, Network, Placement};
use bentpipe_sensors::query::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let motes: Vec<String> = ["m1", "m2", "m3"].map(str::to_owned).to_vec();
    let query = match parse(text, &motes) {
        Ok(query) => query,
        Err(wrong) => return assert!(wrong.contains("allowed: "), "{wrong}"),
    };
    let (period, wait) = (Span::from_millis(500), Span::from_secs(1));
    let network = Network { motes, parents: vec![2, 3, 3], period, wait };
    for placement in [Placement::Nodes, Placement::Sink] {
        let plan = place(&query, &network, placement);
        if plan.check().is_err() {
            continue;
        }
        let streams = Streams::new(1, 0);
        let motes = (0..3).map(|mote| streams.stream(&format!("mote {mote}"))).collect();
        let draws = Draws { motes, medium: streams.stream("medium") };
        let hears = vec![vec![true; 4]; 4];
        let mut field = Field::new(network.clone(), plan, Rules::default(), hears, Time::ZERO, draws);
        let mut rows = Vec::new();
        field.wake(Time::ZERO + Span::from_secs(5), &mut (), &mut rows);
        field.end();
        field.wake(Time::MAX, &mut (), &mut rows);
        let totals = field.totals();
        let lost = totals.channel_access + totals.no_acknowledgment + totals.queue_full;
        assert_eq!((totals.messages, totals.rows), (totals.arrived + lost, rows.len() as u64));
    }
});
