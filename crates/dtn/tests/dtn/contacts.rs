//! Tests contact plans and routes: published cases, comparison with an exhaustive search, and
//! refused plans.

use bentpipe_core::{Span, Time};
use bentpipe_dtn::contacts::number::BitRate;
use bentpipe_dtn::contacts::{read, Contact, Node, Plan};
use bentpipe_dtn::routing::contact_graph::{
    follow, transmission_over, Accounting, Bookings, Query, Route, Search,
};
use proptest::prelude::*;
use serde_json::Value;
use std::cmp::Reverse;

fn cases() -> Vec<Value> {
    let text = include_str!("../../../../tests/authorities/dtn/cgr_cases.json");
    serde_json::from_str(text).expect("the cases are JSON")
}

fn case(name: &str) -> (Value, Plan) {
    let case = cases().into_iter().find(|case| case["name"].as_str().unwrap().starts_with(name)).unwrap();
    let plan = read::plan(&case.to_string()).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    (case, plan)
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

fn best(plan: &Plan, query: &Query<'_>) -> Option<Route> {
    Search::default().best(plan, query, &Bookings::new(plan))
}

fn query(plan: &Plan, case: &Value, from: u64, to: u64, time: u64) -> Query<'static> {
    let node = |number: u64| plan.node(&number.to_string()).expect("the plan contains the node");
    Query::new(node(from), node(to), at(time), case["bundle_bytes"].as_u64().unwrap_or(0))
}

fn ids(plan: &Plan, route: &Route) -> Vec<u64> {
    route.transmissions.iter().map(|transmission| plan.contacts()[transmission.contact as usize].id).collect()
}

#[test]
fn the_best_route_matches_published_cases() {
    for name in [
        "HDTN contactPlan_RoutingTest 1->4",
        "HDTN contactPlan_RoutingTest 4->1",
        "HDTN cgrTutorial",
        "A-SABR accuracy 1",
        "A-SABR accuracy 2",
    ] {
        let (case, plan) = case(name);
        let number = |key: &str| case[key].as_u64().unwrap();
        let expect = &case["expect"];
        let found = best(&plan, &query(&plan, &case, number("from_"), number("to"), number("at")));
        let arrival = found.as_ref().map(|route| route.arrival.as_secs_f64());
        assert_eq!(arrival, expect["arrival_s"].as_f64(), "{name}");
        let route = found.as_ref().map(|route| ids(&plan, route));
        let expected: Option<Vec<u64>> = serde_json::from_value(expect["route"].clone()).unwrap();
        assert_eq!(route, expected, "{name}");
        if let Some(next) = expect.get("next_hop").filter(|next| !next.is_null()) {
            assert_eq!(plan.name(found.unwrap().entry), next.to_string(), "{name}");
        }
    }
}

#[test]
fn loopless_routes_are_ordered_by_arrival() {
    let (case, plan) = case("pyCGR tutorial");
    let query = query(&plan, &case, 1, 5, 0);
    let routes = Search::default().routes(&plan, &query, &Bookings::new(&plan), 100);
    let times: Vec<f64> = routes.iter().map(|route| route.arrival.as_secs_f64()).collect();
    assert_eq!(times, [3.0, 4.0, 11.0, 31.0, 31.0, 51.0, 51.0]);
    let hops: Vec<&str> = routes[..3].iter().map(|route| plan.name(route.entry)).collect();
    assert_eq!(hops, ["3", "2", "5"]);
}

#[test]
fn waiting_bundles_delay_later_bundles() {
    let (case, plan) = case("A-SABR queue");
    let mut bookings = Bookings::new(&plan);
    // Contact 0 is a queue at the source. Contact 2 is booked from its start. Contacts 1 and 3 keep
    // their default, volumes.
    bookings.account(0, Accounting::Queue);
    bookings.account(2, Accounting::Sequence);
    for (index, bundle) in case["bundles"].as_array().unwrap().iter().enumerate() {
        if index == 3 {
            bookings.release(0, 20, 1);
        }
        let node = |number: u64| plan.node(&number.to_string()).unwrap();
        let to = bundle["to"].as_u64().unwrap();
        let query = Query::new(node(0), node(to), at(15), bundle["bytes"].as_u64().unwrap());
        let route = Search::default().best(&plan, &query, &bookings);
        let expected = bundle["expect"].get("node_times");
        assert_eq!(route.is_some(), expected.is_some(), "{index}");
        for transmission in route.iter().flat_map(|route| &route.transmissions) {
            let receiver = plan.name(plan.contacts()[transmission.contact as usize].to);
            let expected = expected.unwrap()[receiver].as_f64().unwrap();
            assert_eq!(transmission.arrival.as_secs_f64(), expected, "bundle {index} at {receiver}");
            bookings.book(transmission.contact, query.bytes, query.priority);
        }
    }
}

#[test]
fn a_node_without_storage_forwards_immediately_or_never() {
    let (case, plan) = case("A-SABR no storage");
    let with = query(&plan, &case, 0, 2, 0);
    assert_eq!(best(&plan, &with).unwrap().arrival, at(11));
    let relay = [plan.node("1").unwrap()];
    assert_eq!(best(&plan, &Query { without_storage: &relay, ..with }), None);
}

#[test]
fn a_route_whose_later_contact_has_ended_is_not_followed() {
    let (case, plan) = case("ION cgr recompute");
    for time in [5, 30, 35, 65] {
        let query = query(&plan, &case, 1, 4, time);
        let expect = &case["expect"][format!("at_{time}")];
        let route = best(&plan, &query).unwrap();
        assert_eq!(Some(route.arrival.as_secs_f64()), expect["arrival_s"].as_f64(), "at {time}");
        assert_eq!(plan.name(route.entry), expect["next_hop"].to_string(), "at {time}");
    }
    let early = best(&plan, &query(&plan, &case, 1, 4, 5)).unwrap();
    let bookings = Bookings::new(&plan);
    assert_eq!(follow(&plan, &early, &query(&plan, &case, 1, 4, 35), &bookings), None);
    assert!(follow(&plan, &early, &query(&plan, &case, 1, 4, 20), &bookings).is_some());
}

#[test]
fn a_contact_is_not_usable_at_its_end() {
    let (case, plan) = case("HDTN issue 71");
    assert_eq!(best(&plan, &query(&plan, &case, 1, 3, 197)), None);
    assert_eq!(best(&plan, &query(&plan, &case, 1, 3, 196)).unwrap().arrival, at(202));
}

#[test]
fn a_bundle_must_be_sent_before_the_contact_ends() {
    let plan = "src,dst,start,end,rate_bps,owlt_s\n1,2,100,110,8000,300\n";
    let plan = read::plan(plan).unwrap();
    let [from, to] = ["1", "2"].map(|name| plan.node(name).unwrap());
    // Transmission of 10 000 bytes takes the complete contact. They arrive long after its end.
    assert_eq!(best(&plan, &Query::new(from, to, at(0), 10_000)).unwrap().arrival, at(410));
    assert_eq!(best(&plan, &Query::new(from, to, at(0), 10_001)), None);
    // At the middle of the contact, half of its volume is left.
    assert_eq!(best(&plan, &Query::new(from, to, at(105), 5_000)).unwrap().arrival, at(410));
    assert_eq!(best(&plan, &Query::new(from, to, at(105), 5_001)), None);
}

fn refusals(text: &str) -> Vec<String> {
    read::plan(text).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn contradictory_plans_are_refused_with_line_numbers() {
    let json = |contacts: &str| refusals(&format!("{{\"contacts\": [\n{contacts}\n]}}"));
    let row = |id: u64, start: &str, end: &str, rate: &str, owlt: &str| {
        format!("{{\"id\": {id}, \"src\": 1, \"dst\": 2, \"start\": {start}, \"end\": {end}, \"rate_bps\": {rate}, \"owlt_s\": {owlt}}}")
    };
    let good = row(1, "0", "10", "1000", "1");
    for (other, expected) in [
        (row(2, "5", "15", "2000", "1"), "line 3: overlaps the contact in line 2"),
        (row(2, "5", "15", "1000", "2"), "line 3: overlaps the contact in line 2"),
        (row(2, "20", "15", "1000", "1"), "line 3: the contact ends at 15 s and starts at 20 s"),
        (row(2, "20", "20", "1000", "1"), "line 3: the contact ends at 20 s and starts at 20 s"),
        (row(2, "20", "30", "-5", "1"), "line 3: rate_bps is -5"),
        (row(2, "20", "30", "0", "1"), "line 3: rate_bps is 0"),
        (row(2, "20", "30", "NaN", "1"), "line 3: "),
        (row(2, "20", "30", "1e999", "1"), "line 3: rate_bps is 1e999"),
        (row(2, "-1", "30", "1000", "1"), "line 3: start is -1"),
        (row(2, "20", "30", "1000", "-1"), "line 3: owlt_s is -1"),
        (row(1, "20", "30", "1000", "1"), "line 3: contact 1 is also in line 2"),
    ] {
        let found = json(&format!("{good},\n{other}"));
        assert!(found.len() == 1 && found[0].starts_with(expected), "{other}: {found:?}");
    }
    assert!(json(&format!("{good},\n{}", row(2, "5", "15", "1000", "1"))).is_empty(), "they agree");
    let unknown = format!("{{\"nodes\": [1, 3],\n\"contacts\": [\n{good}]}}");
    assert_eq!(refusals(&unknown), ["line 3: unknown node \"2\"; allowed: 1, 3"]);
    let loops = "a contact +0 +10 1 1 100\na range +0 +10 1 1 1\n";
    assert_eq!(refusals(loops), ["line 1: the contact leads from node 1 to itself; allowed: two nodes"]);
    let unranged = "# two nodes\na contact +0 +10 1 2 100\na range +0 +5 1 2 1\n";
    assert!(refusals(unranged)[0].starts_with("line 2: no range gives the light time from 1 to 2 at 5 s"));
    let nan = "src,dst,start,end,rate_bps,owlt_s\n1,2,0,nan,1000,1\n";
    assert_eq!(refusals(nan), ["line 2: end is nan; allowed: a number of seconds from 0"]);
    let table = "[[contact]]\nfrom = \"a\"\nto = \"b\"\nstart = \"0 s\"\nend = \"1 h\"\nrate = \"-64 kbit/s\"\ndelay = \"1 s\"\n";
    assert!(refusals(table)[0].starts_with("line 6: "), "{:?}", refusals(table));
}

#[test]
fn all_formats_read_to_the_same_plan() {
    let json = r#"{"contacts": [{"id": 1, "src": 1, "dst": 2, "start": 0, "end": 60, "rate_bps": 64000, "owlt_s": 1.5},
        {"id": 2, "src": 2, "dst": 10, "start": 30.5, "end": 90, "rate_bytes_s": 8000, "owlt_s": 2}]}"#;
    let plan = read::plan(json).unwrap();
    assert_eq!(plan.nodes(), ["1", "2", "10"]);
    for other in [
        r#"{"contacts": [{"contact": 1, "source": 1, "dest": 2, "startTime": 0, "endTime": 60, "rateBitsPerSec": 64000, "owlt": 1.5},
            {"contact": 2, "source": 2, "dest": 10, "startTime": 30.5, "endTime": 90, "rateBitsPerSec": 64000, "owlt": 2}]}"#,
        "1 1 ''\na contact +0 +60 1 2 8000\na contact +30.5 +90 2 10 8000 1.0\na range +0 +90 1 2 1.5\na range +0 +90 2 10 2\ns\n",
        "# a plan\nsrc,dst,start,end,rate_bps,owlt_s\n1,2,0,60,64000,1.5\n2,10,30.5,90,64000,2\n",
        "[[contact]]\nfrom = \"1\"\nto = \"2\"\nstart = \"0 s\"\nend = \"1 min\"\nrate = \"64 kbit/s\"\ndelay = \"1500 ms\"\n\
         [[contact]]\nfrom = \"2\"\nto = \"10\"\nstart = \"30.5 s\"\nend = \"90 s\"\nrate = \"64 kbit/s\"\ndelay = \"2 s\"\n",
    ] {
        assert_eq!(read::plan(other).as_ref(), Ok(&plan), "{other}");
    }
    let dates = "a contact 2024/02/28-23:59:00 2024/03/01-00:00:00 2 1 10\na range 2024/02/28-00:00:00 2024/03/02-00:00:00 1 2 3\n";
    let plan = read::plan(dates).unwrap();
    assert_eq!((plan.contacts()[0].start, plan.contacts()[0].end), (at(86_340), at(2 * 86_400)));
    // The light time changes in the middle, and one direction has its own.
    let moving = "a contact +0 +20 1 2 10\na contact +0 +20 2 1 10\na range +0 +10 1 2 3\na range +10 +20 1 2 4\na range +0 +20 2 1 9\n";
    let plan = read::plan(moving).unwrap();
    let delays: Vec<u64> =
        plan.contacts().iter().map(|contact| contact.delay.as_nanos() / 1_000_000_000).collect();
    assert_eq!(delays, [3, 4, 9]);
}

#[test]
fn impossible_contacts_are_refused_or_skipped() {
    // The second contact ends before its start, and the third ends at its start. Node 3 has only
    // these contacts.
    let plans = [
        r#"{"contacts": [{"contact": 0, "source": 1, "dest": 2, "finalDestination": 2, "startTime": 0, "endTime": 60, "rate": 8, "owlt": 1},
            {"contact": 1, "source": 2, "dest": 3, "startTime": 90, "endTime": 30, "rate": 8, "owlt": 1},
            {"contact": 2, "source": 3, "dest": 1, "startTime": 30, "endTime": 30, "rate": 8, "owlt": 1},
            {"contact": 3, "source": 2, "dest": 1, "startTime": 5, "endTime": 60, "rate": 8, "owlt": 1}]}"#,
        "id,src,dst,start,end,rate_bps,owlt_s\n0,1,2,0,60,8000000,1\n1,2,3,90,30,8000000,1\n2,3,1,30,30,8000000,1\n3,2,1,5,60,8000000,1\n",
    ];
    let ion = "a contact +0 +60 1 2 1000000\na contact +90 +30 2 3 1000000\na contact +30 +30 3 1 1000000\n\
               a contact +5 +60 2 1 1000000\na range +0 +60 1 2 1\n";
    for (plan, first) in [(plans[0], 0), (plans[1], 0), (ion, 1)] {
        let refused = read::plan(plan).unwrap_err();
        assert_eq!(refused.len(), 2, "{refused:?}");
        assert!(refused[0].message.starts_with("the contact ends at 30 s and starts at 90 s"));
        let (possible, skipped) = read::plan_skipping_impossible(plan).unwrap();
        assert_eq!(skipped, refused);
        assert_eq!(possible.nodes(), ["1", "2", "3"]);
        let kept: Vec<u64> = possible.contacts().iter().map(|contact| contact.id).collect();
        assert_eq!(kept, [first, first + 3]);
    }
    // Other errors are still refused, and a plan needs at least one possible contact.
    let twice = plans[0].replace("\"contact\": 3", "\"contact\": 0");
    assert!(read::plan_skipping_impossible(&twice).is_err());
    let other = plans[0].replace("\"finalDestination\": 2", "\"finalDestination\": 3");
    assert_eq!(refusals(&other)[0], "line 1: finalDestination is 3; allowed: the node 2, which receives");
    assert!(read::plan_skipping_impossible("src,dst,start,end,rate_bps,owlt_s\n1,2,9,8,1000,1\n").is_err());
}

fn plans() -> impl Strategy<Value = Plan> {
    let contact = (0..5_u32, 0..5_u32, 0..40_u64, 1..40_u64, 1..4_u64, 0..3_u64);
    prop::collection::vec(contact, 1..14).prop_map(|rows| {
        let contacts = rows.into_iter().enumerate().filter(|(_, row)| row.0 != row.1);
        let contacts = contacts.map(|(id, (from, to, start, length, rate, delay))| Contact {
            id: id as u64,
            from: Node(from),
            to: Node(to),
            start: at(start),
            end: at(start + length),
            rate: BitRate::from_millibits(rate * 8_000).unwrap(),
            delay: Span::from_secs(delay),
        });
        Plan::of((0..5).map(|node| node.to_string()).collect(), contacts.collect())
    })
}

type Rank = (Time, usize, Reverse<Time>, Node);

/// Adds the rank of every continuation of `path` to the destination that visits no node twice.
fn every(
    plan: &Plan,
    query: &Query<'_>,
    bookings: &Bookings,
    found: &mut Vec<Rank>,
    path: &mut Vec<u32>,
    at: Time,
) {
    let contact = |index: u32| plan.contacts()[index as usize];
    let node = path.last().map_or(query.from, |last| contact(*last).to);
    if node == query.to {
        let ends = path.iter().map(|index| contact(*index).end).min().unwrap();
        found.push((at, path.len(), Reverse(ends), contact(path[0]).to));
        return;
    }
    for index in 0..plan.contacts().len() as u32 {
        let next = contact(index);
        if next.from != node || next.to == query.from || path.iter().any(|used| contact(*used).to == next.to)
        {
            continue;
        }
        if let Some(transmission) = transmission_over(index, &next, at, query, bookings) {
            path.push(index);
            every(plan, query, bookings, found, path, transmission.arrival);
            path.pop();
        }
    }
}

proptest! {
    #[test]
    fn the_search_finds_the_best_of_all_paths(plan in plans(), from in 0..5_u32, to in 0..5_u32, time in 0..30_u64, bytes in 0..12_u64, booked in prop::collection::vec((0..14_u32, 0..20_u64), 0..5)) {
        prop_assume!(from != to);
        let mut bookings = Bookings::new(&plan);
        bookings.set_view(&plan, Node(from));
        for (contact, bytes) in booked {
            if (contact as usize) < plan.contacts().len() {
                bookings.book(contact, bytes, 1);
            }
        }
        let query = Query::new(Node(from), Node(to), at(time), bytes);
        let mut found = Vec::new();
        every(&plan, &query, &bookings, &mut found, &mut Vec::new(), query.at);
        found.sort();
        let rank = |route: &Route| (route.arrival, route.transmissions.len(), Reverse(route.ends), route.entry);
        let best = Search::default().best(&plan, &query, &bookings);
        prop_assert_eq!(best.as_ref().map(rank), found.first().copied());
        // Yen's algorithm finds all routes, in order.
        let routes = Search::default().routes(&plan, &query, &bookings, 200);
        let times: Vec<Time> = routes.iter().map(|route| route.arrival).collect();
        let expected: Vec<Time> = found.iter().take(200).map(|rank| rank.0).collect();
        prop_assert_eq!(times, expected);
        if let Some(best) = best {
            prop_assert_eq!(follow(&plan, &best, &query, &bookings), Some(best));
        }
    }
}
