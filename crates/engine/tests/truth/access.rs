//! Golden tables of the access layer: request schemes with allocators and loads, the cost of lost
//! signalling, and paths of requests.

use crate::golden::check;
use crate::run::{report, untraced};
use bentpipe_core::Report;
use std::fmt::Write as _;

/// Number of terminals. The first two terminals each offer three times the load of another
/// terminal.
const TERMINALS: usize = 8;

/// Returns a scenario with the preset's network and an on/off flow from each terminal. `load` is
/// the total offered load as a fraction of the return link's rate.
fn network(dama: &str, load: f64) -> String {
    let mut text = format!(
        "name = \"access\"\nduration = \"90 s\"\npreset = \"dvb-rcs\"\n\
         network.sat.terminals = [{{ name = \"st\", count = {TERMINALS} }}]\n\
         network.sat.return.dama = {{ {dama} }}\n"
    );
    for terminal in 1..=TERMINALS {
        let share = if terminal <= 2 { 3.0 } else { 1.0 } / 12.0;
        // A flow sends half of the time, at twice its mean rate. A payload of 500 bytes has 528
        // bytes with headers.
        let rate = (load * share * 2_048_000.0 * 2.0 * 500.0 / 528.0) as u64;
        let _ = write!(
            text,
            "[[flow]]\nname = \"f{terminal}\"\nfrom = \"st{terminal}\"\nto = \"gw\"\ntransport = \"udp\"\n\
             app = {{ kind = \"cbr\", rate = \"{rate} bit/s\", datagram = \"500 B\", on = \"2 s\", off = \"2 s\", \
             distribution = \"exponential\" }}\n"
        );
    }
    text
}

struct Sums {
    sent: f64,
    delivered: f64,
    /// Mean delay over all packets, in ms.
    delay: f64,
    /// Maximum over the flows of the 95th percentile of the delay, in ms.
    p95: f64,
    efficiency: f64,
    /// Jain's index over the flows' delivered fractions.
    fairness: f64,
}

fn sums(report: &Report) -> Sums {
    let flow =
        |table, column, number: usize| report.value(table, &format!("f{number}"), column).unwrap_or(0.0);
    let all = |table, column| (1..=TERMINALS).map(|number| flow(table, column, number)).collect::<Vec<_>>();
    let (sent, delivered) =
        (all("flow_source", "sent_packets"), all("flow_destination", "delivered_packets"));
    let delays = all("flow_destination", "delay_mean");
    let terminal = |column| -> f64 {
        (1..=TERMINALS).filter_map(|number| report.value("terminal", &format!("st{number}"), column)).sum()
    };
    let shares: Vec<f64> = delivered.iter().zip(&sent).map(|(delivered, sent)| delivered / sent).collect();
    let total: f64 = delivered.iter().sum();
    Sums {
        sent: sent.iter().sum(),
        delivered: total,
        delay: 1e3 * delays.iter().zip(&delivered).map(|(delay, packets)| delay * packets).sum::<f64>()
            / total,
        p95: 1e3 * all("flow_destination", "delay_p95").into_iter().fold(0.0, f64::max),
        efficiency: terminal("used_bytes") / terminal("capacity_bytes"),
        fairness: shares.iter().sum::<f64>().powi(2)
            / shares.iter().map(|share| share * share).sum::<f64>()
            / shares.len() as f64,
    }
}

const SCHEMES: &[(&str, &str)] = &[
    ("cra", r#"scheme = "cra""#),
    ("rbdc", r#"scheme = "rbdc", cra = "64 kbit/s""#),
    ("rbdc arrival", r#"scheme = { kind = "rbdc", estimator = "arrival" }, cra = "64 kbit/s""#),
    ("rbdc predict", r#"scheme = { kind = "rbdc", estimator = "predictive" }, cra = "64 kbit/s""#),
    ("vbdc", r#"scheme = "vbdc", cra = "64 kbit/s""#),
    ("avbdc", r#"scheme = "avbdc", cra = "64 kbit/s""#),
    ("fca", r#"scheme = "fca", cra = "64 kbit/s""#),
    (
        "mix",
        r#"scheme = { kind = "mix", rbdc = { max = "256 kbit/s" }, avbdc = { max = "1024 kbit/s" }, fca = true }, cra = "64 kbit/s""#,
    ),
];

#[test]
fn schemes_under_allocators_and_loads() {
    let mut table = "\
Eight terminals on the preset dvb-rcs, L = 11; on/off datagrams for 90 s, two terminals each offer three times the load of another terminal
load: offered load divided by the return link's 2048 kbit/s; each terminal has one constant slot, or with cra an equal share
delay: mean from creation to delivery; p95: maximum of the flows' 95th percentiles
eff.: used capacity divided by assigned capacity; Jain: fairness index of the flows' delivered fractions

scheme       allocator     load  delivered   delay      p95   eff.  Jain
                                         %      ms       ms      %
"
    .to_owned();
    for (name, dama) in SCHEMES {
        for allocator in ["proportional", "round-robin", "max-min", "priority"] {
            // Without requests there is nothing to divide.
            if matches!(*name, "cra" | "fca") && allocator != "proportional" {
                continue;
            }
            for load in [0.4, 0.8, 1.2] {
                let text = network(&format!("{dama}, allocator = \"{allocator}\", response = 11"), load);
                let sums = sums(&report(&untraced(&text), 0));
                let _ = writeln!(
                    table,
                    "{name:<12} {allocator:<13} {load:>4} {:>10.1} {:>7.0} {:>8.0} {:>6.1} {:>5.3}",
                    100.0 * sums.delivered / sums.sent,
                    sums.delay,
                    sums.p95,
                    100.0 * sums.efficiency,
                    sums.fairness
                );
            }
        }
    }
    check("access.txt", &table);
}

#[test]
fn the_cost_of_lost_requests_and_plans() {
    let mut table = "\
The same at load 0.4, without constant slots; requests and plans are lost with the same probability
delay: mean from creation to delivery; penalty: increase of the delay by the losses

scheme       lost  delivered   delay  penalty   eff.
                %          %      ms       ms      %
"
    .to_owned();
    for (name, dama) in SCHEMES.iter().filter(|(name, _)| !matches!(*name, "cra" | "fca")) {
        let mut without = 0.0;
        for lost in [0, 1, 5, 20, 50] {
            let error = format!("{{ kind = \"packet\", probability = {} }}", f64::from(lost) / 100.0);
            let dama = dama.replace(r#""64 kbit/s""#, r#""0 bit/s""#);
            let text = network(
                &format!("{dama}, response = 11, request_error = {error}, plan_error = {error}"),
                0.4,
            );
            let sums = sums(&report(&untraced(&text), 0));
            if lost == 0 {
                without = sums.delay;
            }
            // The missing packets are in flight at the end. They are at most some seconds of
            // traffic.
            assert!(
                sums.delivered > 0.93 * sums.sent,
                "{name} at {lost} %: {} of {}",
                sums.delivered,
                sums.sent
            );
            let _ = writeln!(
                table,
                "{name:<12} {lost:>4} {:>10.1} {:>7.0} {:>8.0} {:>6.1}",
                100.0 * sums.delivered / sums.sent,
                sums.delay,
                sums.delay - without,
                100.0 * sums.efficiency
            );
        }
    }
    check("access-losses.txt", &table);
}

#[test]
fn requests_by_path() {
    let mut table = "\
Twelve terminals without constant slots send 300 bytes each 5 s on average, for 120 s, over the preset dvb-rcs with AVBDC
tries: bursts in shared mini-slots of a superframe; collisions: those that could not be told apart

path                            delivered   delay      p95   tries  collisions
                                        %      ms       ms
"
    .to_owned();
    for requests in [
        r#"{ kind = "dedicated" }"#,
        r#"{ kind = "dedicated", every = 12 }"#,
        r#"{ kind = "aloha", slots = 8 }"#,
        r#"{ kind = "aloha", slots = 1 }"#,
        r#"{ kind = "crdsa", slots = 8 }"#,
        r#"{ kind = "crdsa", slots = 8, data = 400 }"#,
    ] {
        let mut text = format!(
            "name = \"access\"\nduration = \"120 s\"\npreset = \"dvb-rcs\"\n\
             network.sat.terminals = [{{ name = \"st\", count = 12 }}]\n\
             network.sat.return.dama = {{ scheme = \"avbdc\", cra = \"0 bit/s\", response = 11, requests = {requests} }}\n"
        );
        for terminal in 1..=12 {
            let _ = write!(
                text,
                "[[flow]]\nname = \"f{terminal}\"\nfrom = \"st{terminal}\"\nto = \"gw\"\ntransport = \"udp\"\n\
                 app = {{ kind = \"cbr\", rate = \"48 kbit/s\", datagram = \"272 B\", on = \"45 ms\", off = \"4955 ms\", \
                 distribution = \"exponential\" }}\n"
            );
        }
        let report = report(&untraced(&text), 0);
        let flow =
            |table, column, number: usize| report.value(table, &format!("f{number}"), column).unwrap_or(0.0);
        let sum = |table, column| (1..=12).map(|number| flow(table, column, number)).sum::<f64>();
        let (sent, delivered) =
            (sum("flow_source", "sent_packets"), sum("flow_destination", "delivered_packets"));
        let weighted = |number| {
            flow("flow_destination", "delay_mean", number)
                * flow("flow_destination", "delivered_packets", number)
        };
        let delay = (1..=12).map(weighted).sum::<f64>() / delivered;
        let p95 = (1..=12).map(|number| flow("flow_destination", "delay_p95", number)).fold(0.0, f64::max);
        let ncc = |column| report.value("ncc", "sat", column).unwrap_or(0.0);
        let _ = writeln!(
            table,
            "{:<31} {:>9.1} {:>7.0} {:>8.0} {:>7} {:>11}",
            requests.replace("{ kind = ", "").replace([' ', '}', '"'], "").replace(',', " "),
            100.0 * delivered / sent,
            1e3 * delay,
            1e3 * p95,
            ncc("tries"),
            ncc("collisions")
        );
    }
    check("access-requests.txt", &table);
}
