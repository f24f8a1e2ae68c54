//! Groups: a table with a count or a pattern is equivalent to separate tables of its members.

use bentpipe_core::Span;
use bentpipe_engine::facts::facts;
use bentpipe_engine::presets;
use bentpipe_engine::scenario::Scenario;
use bentpipe_scenario::{load, Loaded, Source};

const HEAD: &str =
    "name = \"hub\"\nduration = \"10 s\"\n[network.sat]\nkind = \"dvb-rcs\"\nforward.rate = \"10 Mbit/s\"\n\
                    return = { rate = \"2048 kbit/s\", dama = { scheme = \"rbdc\", cra = \"64 kbit/s\" } }\n\
                    terminals = [{ name = \"st\", count = 12 }]\ngateway = \"gw\"\n";

fn loaded(text: &str) -> Loaded<Scenario> {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

fn read(text: &str) -> Result<Loaded<Scenario>, String> {
    let text = format!("{HEAD}{text}");
    load(Source::Text { name: "hub.toml", text: &text }, &presets::all(), &[])
        .map_err(|error| error.to_string())
}

fn flow(keys: &str) -> String {
    format!("[[flow]]\n{keys}\napp = {{ kind = \"cbr\", rate = \"8 kbit/s\" }}\ntransport = \"udp\"\n")
}

fn ends(scenario: &Scenario) -> Vec<String> {
    scenario.flow.iter().map(|flow| format!("{} {} {}", flow.name, flow.from, flow.to)).collect()
}

#[test]
fn a_pattern_gives_each_node_a_flow_and_a_count_assigns_nodes_in_turn() {
    let one_each = loaded(&flow("name = \"web\"\nfrom = \"st*\"\nto = \"gw\"")).value;
    assert_eq!(one_each.flow.len(), 12);
    // Numbers in names are compared by value: st2 comes before st10.
    assert_eq!(ends(&one_each)[1..3], ["web2 st2 gw", "web3 st3 gw"]);
    assert!(one_each.flow.iter().all(|flow| flow.group.as_deref() == Some("web") && flow.count.is_none()));

    let spread = loaded(&flow("name = \"call-{}\"\nfrom = \"gw\"\nto = \"st?\"\ncount = 11")).value;
    assert_eq!(ends(&spread)[8..], ["call-9 gw st9", "call-10 gw st1", "call-11 gw st2"]);
    assert_eq!(spread.flow[0].group.as_deref(), Some("call"));
}

#[test]
fn a_group_equals_the_same_flows_written_out() {
    let group = loaded(&(flow("name = \"a\"\nfrom = \"st1*\"\nto = \"gw\"\ngroup = \"g\"\nstart = \"2 s\"")));
    let by_hand: String = [(1, "st1"), (2, "st10"), (3, "st11"), (4, "st12")]
        .map(|(number, from)| {
            flow(&format!(
                "name = \"a{number}\"\nfrom = \"{from}\"\nto = \"gw\"\ngroup = \"g\"\nstart = \"2 s\""
            ))
        })
        .concat();
    assert_eq!(group.value, loaded(&by_hand).value);
    // The resolved text keeps the group, and loads to the same members.
    let text = group.to_toml();
    assert_eq!(text.matches("[[flow]]").count(), 1, "{text}");
    let again = load::<Scenario>(Source::Text { name: "again", text: &text }, &presets::all(), &[]).unwrap();
    assert_eq!(again.to_toml(), text);
    assert_eq!(again.value, group.value);
}

#[test]
fn links_and_sites_are_numbered_too() {
    let lans = loaded(
        "[[link]]\nname = \"lan-{}\"\nfrom = \"st{}\"\nto = \"pc{}\"\ncount = 3\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n\
         [[change]]\nat = \"1 s\"\nset.link.lan.rate = \"1 Mbit/s\"\n\
         [[flow]]\nname = \"up\"\nfrom = \"pc*\"\nto = \"gw\"\napp = \"bulk\"\ntransport = \"tcp\"\n",
    );
    let scenario = &lans.value;
    let links: Vec<_> =
        scenario.link.iter().map(|link| [&*link.name, &*link.from, &*link.to].join(" ")).collect();
    assert_eq!(links, ["lan-1 st1 pc1", "lan-2 st2 pc2", "lan-3 st3 pc3"]);
    assert_eq!(ends(scenario), ["up1 pc1 gw", "up2 pc2 gw", "up3 pc3 gw"]);
    let changed: Vec<_> = scenario.change[0].set["link"].as_object().unwrap().keys().collect();
    assert_eq!(changed, ["lan-1", "lan-2", "lan-3"]);
    // The paths also contain the members.
    let known = facts(scenario);
    assert!(known.flows.iter().all(|flow| flow.there.as_ref().is_some_and(|hops| hops.len() == 2)));

    let sites = "name = \"sky\"\nduration = \"1 s\"\n[network.sky]\nkind = \"constellation\"\n\
                 gsl = { up = \"2 Mbit/s\", down = \"4 Mbit/s\" }\nshell = [{ kind = \"geo\", longitudes = [\"0 deg\"] }]\n\
                 [network.sky.sites]\nuser = { latitude = \"47 deg\", longitude = \"8 deg\", count = 30, spread = \"500 km\" }\n\
                 hub = { latitude = \"33 deg\", longitude = \"12 deg\" }\n\
                 [[flow]]\nname = \"up\"\nfrom = \"user*\"\nto = \"hub\"\napp = \"bulk\"\ntransport = \"tcp\"\n";
    let sky = load::<Scenario>(Source::Text { name: "sky", text: sites }, &presets::all(), &[]);
    let sky = sky.unwrap_or_else(|error| panic!("{error}")).value;
    assert_eq!(sky.flow.len(), 30);
    assert_eq!(ends(&sky)[29], "up30 user30 hub");
}

#[test]
fn a_reference_to_a_group_refers_to_its_members() {
    let scenario = loaded(&format!(
        "{}{}[[edge.gw]]\nflow = [\"voice\"]\nto = [\"st1?\"]\n",
        flow("name = \"voice\"\nfrom = \"gw\"\nto = \"st*\"\ncount = 3"),
        flow("name = \"other\"\nfrom = \"gw\"\nto = \"st9\"\ngroup = \"voice\"")
    ))
    .value;
    let rule = &scenario.edge["gw"][0];
    assert_eq!(rule.flow, ["voice1", "voice2", "voice3", "other"]);
    assert_eq!(rule.to, ["st10", "st11", "st12"]);
}

#[test]
fn starts_are_drawn_per_replication_and_depend_only_on_their_group() {
    let group = |starts: &str, more: &str| {
        let keys = format!(
            "name = \"web\"\nfrom = \"st*\"\nto = \"gw\"\ncount = 400\nstart = \"1 s\"\nstarts = {starts}"
        );
        loaded(&(flow(&keys) + more)).value
    };
    let starts = |scenario: &Scenario, seed, run| {
        let started = scenario.started(seed, run);
        started.flow.iter().take(400).map(|flow| flow.start.as_secs_f64()).collect::<Vec<f64>>()
    };
    let even = starts(&group("{ kind = \"even\", over = \"8 s\" }", ""), 1, 0);
    assert_eq!((even[0], even[1], even[399]), (1.0, 1.02, 8.98));

    let poisson = group("{ kind = \"poisson\", mean = \"10 ms\" }", "");
    let times = starts(&poisson, 1, 0);
    assert!(times.is_sorted() && times[0] > 1.0);
    // The sum of 400 exponential intervals of 10 ms has a standard deviation of 10 ms x sqrt(400).
    assert!((times[399] - 1.0 - 4.0).abs() < 4.0 * 0.2, "{}", times[399]);
    assert_eq!(times, starts(&poisson, 1, 0));
    assert_ne!(times, starts(&poisson, 1, 1));
    let beside = group(
        "{ kind = \"poisson\", mean = \"10 ms\" }",
        &flow("name = \"one\"\nfrom = \"gw\"\nto = \"st1\""),
    );
    assert_eq!(times, starts(&beside, 1, 0));

    let uniform = starts(&group("{ kind = \"uniform\", over = \"4 s\" }", ""), 3, 0);
    assert!(uniform.iter().all(|start| (1.0..5.0).contains(start)));
    let mean = uniform.iter().sum::<f64>() / 400.0;
    // The standard error of the mean is 4 s / sqrt(12 x 400).
    assert!((mean - 3.0).abs() < 4.0 * 0.058, "{mean}");
    assert!(poisson.flow.iter().all(|flow| flow.start == Span::from_secs(1)));
}

#[test]
fn problems_of_a_group_are_reported_once_at_its_table() {
    for (text, expected) in [
        (
            flow("name = \"web\"\nfrom = \"st*\"\nto = \"gv\""),
            "hub.toml:12:6: flow.web.to = \"gv\": is not a node of any link or network; allowed: gw, st1, st10, st11, \
             st12, st2, st3, st4, st5, st6, st7, st8, ... (13 nodes)",
        ),
        (
            flow("name = \"web\"\nfrom = \"ut*\"\nto = \"gw\""),
            "hub.toml:11:8: flow.web.from = \"ut*\": no node has a name like \"ut*\"; nodes: gw, st1, st2, st3, st4, st5, st6, \
             st7, st8, st9, st10, st11, ... (13 nodes)",
        ),
        (
            flow("name = \"web\"\nfrom = \"st1\"\nto = \"gw\"\nstarts = { kind = \"even\", over = \"1 s\" }"),
            "flow.web.starts",
        ),
        (
            flow("name = \"web\"\nfrom = \"st*\"\nto = \"gw\"\nstarts = { kind = \"poisson\", mean = \"0 s\" }"),
            "flow.web.starts.mean = \"0 s\": must be longer than 0 s",
        ),
        (
            "[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\ncount = 2\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n".to_owned(),
            "link.l.count = 2: a group of links needs a node of its own for each",
        ),
        (
            flow("name = \"w\"\nfrom = \"st*\"\nto = \"gw\"") + &flow("name = \"w7\"\nfrom = \"st1\"\nto = \"gw\""),
            "is also the name of",
        ),
    ] {
        let error = read(&text).map(|_| ()).unwrap_err();
        assert!(error.contains(expected), "{error}\nwithout\n{expected}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
