//! Parses arbitrary text as a contact plan. The parser must not panic, and the routes of a valid
//! plan must respect its contacts.
#![no_main]

use bentpipe_core::Time;
use bentpipe_dtn::contacts::{read, Node};
use bentpipe_dtn::routing::contact_graph::{Bookings, Query, Search};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(plan) = read::plan(text) else { return };
    let query = Query::new(Node(0), Node(1), Time::ZERO, 1);
    let route = Search::default().best(&plan, &query, &Bookings::new(&plan));
    let mut at = query.at;
    for passage in route.iter().flat_map(|route| &route.passages) {
        let contact = plan.contacts()[passage.contact as usize];
        assert!(at <= passage.first_bit && contact.start <= passage.first_bit && passage.last_bit <= contact.end);
        at = passage.arrival;
    }
});
