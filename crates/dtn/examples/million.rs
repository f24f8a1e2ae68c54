//! Sends a million bundles of 1 kB over three hops by contact graph routing. Run it with `cargo run
//! --release --example million`.

use bentpipe_core::{Span, Time};
use bentpipe_dtn::contacts::{read, Node};
use bentpipe_dtn::network::routing::contact_graph::ContactGraph;
use bentpipe_dtn::network::{Bundle, Config, Convergence, Discard, Network};
use std::fmt::Write;
use std::sync::Arc;

fn main() {
    // A relay in orbit has a contact of ten minutes in each hour, with one of two ground stations
    // alternately.
    let mut text = String::from("src,dst,start,end,rate_bps,owlt_s\n");
    for hour in 0..200 {
        let (start, station) = (hour * 3600, 3 + hour % 2);
        writeln!(text, "1,2,{start},{},30000000,0.01", start + 600).expect("writing to a string succeeds");
        writeln!(text, "2,{station},{},{},30000000,0.2", start + 600, start + 1200)
            .expect("writing to a string succeeds");
        writeln!(text, "{station},5,{},{},100000000,0.05", start, start + 3600)
            .expect("writing to a string succeeds");
    }
    let plan = read::plan(&text).expect("the plan is valid");
    let config = Config {
        convergence: Convergence::Udp,
        routing: Arc::new(ContactGraph),
        storage: u64::MAX,
        discard: Discard::Newest,
    };
    let mut network = Network::new(plan.clone(), plan.clone(), config, Box::new(|_, _| false));
    let [from, to] = ["1", "5"].map(|name| plan.node(name).expect("the plan contains the node"));
    let [from, to] = [from, to].map(|Node(node)| Node(node));
    let bundle = Bundle { from, to, payload: 1000, lifetime: Span::from_secs(400_000), priority: 1 };
    for number in 0..1_000_000_u64 {
        network.insert(Time::from_nanos(number * 100_000_000), bundle);
        while network.next_outcome().is_some() {}
    }
    while let Some(wake) = network.next_wake() {
        network.advance(wake);
        while network.next_outcome().is_some() {}
    }
    println!("{:#?}", network.counters());
}
