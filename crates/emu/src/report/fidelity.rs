//! A comparison of an emulation with its scenario, and the verdict on its results.
//!
//! Lateness is the time from the release of a packet by the model to its arrival at the host: delay
//! and jitter that no model produced. Likewise, a packet lost outside of the models is a loss that
//! no model produced. The rates and losses of links are those of the models; comparing them shows
//! that the emulated network was the intended one.

use crate::bridge::Bridge;
use crate::clock::attendance::Attendance;
use crate::clock::lateness::Lateness;
use crate::report::tcp_memory::TcpMemory;
use bentpipe_core::{Report, Span, Time};
use bentpipe_engine::scenario::{self, Scenario};
use bentpipe_engine::Host;
use bentpipe_networks::RatedLink;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Multiple of a tolerance from which a run is void.
const VOID: f64 = 10.0;

/// The verdict on the results of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The run imposed the scenario within the tolerances.
    Valid,
    /// The run exceeded a tolerance; its results are usable with care.
    Degraded,
    /// The run did not impose the scenario; its results cannot be used.
    Void,
}

/// A distribution of times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Number of samples in the distribution.
    pub count: u64,
    /// Median of the samples in seconds.
    pub p50_s: f64,
    /// 99th percentile of the samples in seconds.
    pub p99_s: f64,
    /// Largest sample in seconds.
    pub max_s: f64,
}

impl From<&Lateness> for Percentiles {
    fn from(lateness: &Lateness) -> Percentiles {
        Percentiles {
            count: lateness.count(),
            p50_s: lateness.percentile(50.0).as_secs_f64(),
            p99_s: lateness.percentile(99.0).as_secs_f64(),
            max_s: lateness.max().as_secs_f64(),
        }
    }
}

/// One direction of a link, as configured and as measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Name of the link in the results.
    pub name: String,
    /// Configured rate in bit/s.
    pub rate: f64,
    /// Rate while the link transmitted, in bit/s; `None` if it never did, or if the rate varies or
    /// has been changed.
    pub achieved_rate: Option<f64>,
    /// Configured propagation delay in seconds.
    pub delay_s: f64,
    /// Configured delay plus the median lateness of the run, in seconds.
    pub achieved_delay_s: f64,
    /// Configured probability that a packet of mean size is corrupted.
    pub loss: f64,
    /// Share of the transmitted packets that were corrupted; `None` if there were none, or if the
    /// probability varies or has been changed.
    pub achieved_loss: Option<f64>,
}

/// The path to a host on another machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tunnel {
    /// Estimated one-way delay in seconds, by which the delays at the host were shortened at the
    /// end.
    pub one_way_s: f64,
    /// Round-trip times of the probes.
    pub rtt: Percentiles,
    /// Time by which the round trips exceeded the estimate: jitter that no model produced.
    pub excess: Percentiles,
    /// Part of the one-way delay by which the delays at the host could not be shortened: delay that
    /// no model produced.
    pub remaining: Percentiles,
    /// Number of unanswered probes.
    pub probes_lost: u64,
}

/// Datagrams between the applications of flows and the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Time from the moment at which the application wanted to send a datagram to its acceptance by
    /// the kernel.
    pub late: Percentiles,
    /// Number of datagrams that the kernel refused, or that arrived at a socket without room.
    pub lost: u64,
}

/// Facts about the flows over the kernel's sockets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    /// Datagrams of these flows: lateness and losses.
    pub datagrams: Datagrams,
    /// Keys of the scenario that the kernel did not apply, a sentence each.
    pub unapplied: Vec<String>,
    /// Runs of bentpipe's congestion controls that the kernel skipped.
    pub skipped: Programs,
}

/// Runs of bentpipe's programs that the kernel skipped. Some kernels skip programs while process 1
/// is the current one, and take the content of the stack for the result (docs/measured-linux.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    /// Operations whose value was computed at the next acknowledgment instead.
    pub repaired: u64,
    /// Connections that began without the parameters and the start of their congestion control.
    pub begun: u64,
    /// Rows of the trace `tcp` with an impossible threshold or window that no acknowledgment had
    /// corrected.
    pub absurd: u64,
}

/// The measurements of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Lateness of packets at their hosts.
    pub lateness: Percentiles,
    /// Lateness for each host, by node.
    pub lateness_by_host: BTreeMap<String, Percentiles>,
    /// Upper bound of the time for which packets from hosts may have waited in the kernel for the
    /// engine.
    pub reading: Percentiles,
    /// Time by which the engine's thread was woken late by its timer.
    pub wakeups: Percentiles,
    /// Number of packets lost between hosts and engine, outside of any model.
    pub lost: u64,
    /// Number of malformed packets, and of packets to an address that no node of the network has.
    pub strays: u64,
    /// Links between two nodes, and forward links.
    pub links: Vec<Link>,
    /// Paths to hosts on other machines, by node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tunnels: BTreeMap<String, Tunnel>,
    /// Processor time and interruptions of the engine's thread.
    pub engine: Attendance,
    /// The datagrams of the flows at their sockets, if there were flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// Keys of the flows that the kernel did not apply, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unapplied: Vec<String>,
    /// Runs of bentpipe's congestion controls that the kernel skipped, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Programs>,
    /// The memory of the kernel's TCP, if it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_memory: Option<TcpMemory>,
}

/// The accuracy of a run, as measured by the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// The verdict on the run's results.
    pub verdict: Verdict,
    /// Reasons for a verdict other than valid, each with the measured and the tolerated value.
    pub reasons: Vec<String>,
    /// The quantities from which the verdict follows.
    #[serde(flatten)]
    pub measured: Measured,
    /// The tolerances of the scenario, on which the verdict is based.
    pub tolerances: scenario::Fidelity,
}

impl Fidelity {
    /// Judges the run of `scenario` by `bridge` until `end`. Call this function in the engine's
    /// thread, or after the engine has ended.
    pub fn of(bridge: &mut Bridge, scenario: &Scenario, end: Time) -> Fidelity {
        let report = bridge.network().report(end);
        let lateness = bridge.lateness();
        let measured = Measured {
            duration_s: end.as_secs_f64(),
            lateness: (&lateness).into(),
            lateness_by_host: bridge
                .lateness_by_host()
                .map(|(host, lateness)| (host.name.clone(), lateness.into()))
                .collect(),
            reading: bridge.readings().into(),
            wakeups: bridge.wakeups().into(),
            lost: bridge.lost(),
            strays: bridge.strays(),
            links: links(scenario, bridge.network().changed(), &report, end, lateness.percentile(50.0)),
            tunnels: tunnels(bridge),
            engine: bridge.attendance(),
            datagrams: None,
            unapplied: Vec::new(),
            skipped: None,
            tcp_memory: None,
        };
        Fidelity::judge(measured, scenario.fidelity.clone())
    }

    /// Judges the run again, including the memory of the kernel's TCP.
    pub fn with_tcp_memory(mut self, memory: TcpMemory) -> Fidelity {
        self.measured.tcp_memory = Some(memory);
        Fidelity::judge(self.measured, self.tolerances)
    }

    /// Judges the run again, including the facts about the flows.
    pub fn with_flows(mut self, flows: Flows) -> Fidelity {
        self.measured.datagrams = Some(flows.datagrams);
        self.measured.unapplied = flows.unapplied;
        self.measured.skipped = Some(flows.skipped).filter(|skipped| *skipped != Programs::default());
        Fidelity::judge(self.measured, self.tolerances)
    }

    /// Compares the measurements with the tolerances and returns the verdict.
    pub fn judge(measured: Measured, tolerances: scenario::Fidelity) -> Fidelity {
        let mut judgment = Judgment { verdict: Verdict::Valid, reasons: Vec::new() };
        judgment.times(&measured, &tolerances);
        judgment.shares(&measured, &tolerances);
        judgment.losses(&measured, tolerances.lost.value());
        judgment.probes(&measured, tolerances.lost.value());
        judgment.degrade(measured.unapplied.iter().cloned());
        judgment.programs(&measured);
        let Judgment { verdict, reasons } = judgment;
        Fidelity { verdict, reasons, measured, tolerances }
    }

    /// Writes `fidelity.json` into the folder of a run.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self).expect("it is plain data");
        std::fs::write(folder.join("fidelity.json"), text + "\n")
    }
}

/// The verdict so far, with the reasons that lower it.
struct Judgment {
    verdict: Verdict,
    reasons: Vec<String>,
}

impl Judgment {
    fn void(&mut self, reason: String) {
        self.verdict = Verdict::Void;
        self.reasons.push(reason);
    }

    fn degrade(&mut self, reasons: impl IntoIterator<Item = String>) {
        for reason in reasons {
            self.verdict = self.verdict.max(Verdict::Degraded);
            self.reasons.push(reason);
        }
    }

    fn limit(&mut self, value: f64, tolerance: f64, reason: impl FnOnce() -> String) {
        if value > tolerance {
            let verdict = if value > VOID * tolerance { Verdict::Void } else { Verdict::Degraded };
            self.verdict = self.verdict.max(verdict);
            self.reasons.push(reason());
        }
    }

    fn late(&mut self, value: f64, tolerance: Span, what: &str) {
        self.limit(value, tolerance.as_secs_f64(), || {
            format!("{what} {}, tolerated: {tolerance}", time(value))
        });
    }

    fn share(&mut self, value: f64, tolerance: f64, what: &str) {
        let percent = |share: f64| format!("{:.2} %", 100.0 * share);
        self.limit(value, tolerance, || {
            format!("{what} {}, tolerated: {}", percent(value), percent(tolerance))
        });
    }

    /// Judges lateness: of packets, of datagrams, and on the paths to other machines.
    fn times(&mut self, measured: &Measured, tolerances: &scenario::Fidelity) {
        let (p99, max) = (tolerances.lateness_p99, tolerances.lateness_max);
        self.late(measured.lateness.p99_s, p99, "1 % of the packets were late by more than");
        self.late(measured.lateness.max_s, max, "a packet was late by");
        let what = "1 % of the packets from hosts may have waited for the engine for more than";
        self.late(measured.reading.p99_s, tolerances.reading_p99, what);
        for (host, tunnel) in &measured.tunnels {
            let jitter = format!(
                "1 % of the round trips to the machine of {host} took longer than estimated by more than"
            );
            self.late(tunnel.excess.p99_s, p99, &jitter);
            let delay = format!("the path to the machine of {host} is longer than the delay of its link, by");
            self.late(tunnel.remaining.p99_s, p99, &delay);
        }
        if let Some(datagrams) = &measured.datagrams {
            // The delay of datagrams is counted from their sending time, so lateness only distorts
            // their sending times.
            let what = "1 % of the datagrams were sent later than their application wanted by more than";
            self.late(datagrams.late.p99_s, max, what);
        }
    }

    /// Judges missed rates, and processor time that the engine did not get.
    fn shares(&mut self, measured: &Measured, tolerances: &scenario::Fidelity) {
        for link in &measured.links {
            if let Some(achieved) = link.achieved_rate {
                let what =
                    format!("the rate of {} was {achieved:.0} bit/s, off {} bit/s by", link.name, link.rate);
                self.share((achieved / link.rate - 1.0).abs(), tolerances.rate.value(), &what);
            }
        }
        let waited = measured.engine.waited_s / measured.duration_s.max(f64::MIN_POSITIVE);
        self.share(waited, tolerances.starved.value(), "the engine waited for a processor for a share of");
        let what = "the machine itself did not run for a share of";
        self.share(measured.engine.steal, tolerances.steal.value(), what);
    }

    /// Judges losses that no model produced.
    fn losses(&mut self, measured: &Measured, tolerance: u64) {
        if measured.lost > tolerance {
            let lost = measured.lost;
            self.void(format!("{lost} packets were lost that no model dropped, tolerated: {tolerance}"));
        }
        if let Some(lost) = measured.datagrams.as_ref().map(|all| all.lost).filter(|lost| *lost > tolerance) {
            self.void(format!(
                "{lost} datagrams were lost between the kernel and the applications, tolerated: {tolerance}"
            ));
        }
        self.degrade(measured.tcp_memory.as_ref().and_then(TcpMemory::reason));
    }

    /// Judges runs of congestion controls that the kernel skipped.
    fn programs(&mut self, measured: &Measured) {
        let Some(Programs { repaired, begun, absurd }) = measured.skipped else { return };
        const KERNEL: &str =
            "this kernel skips BPF programs while process 1 runs (linux-NAME is not concerned)";
        if begun > 0 {
            self.void(format!(
                "{begun} connections began without their congestion control's start: {KERNEL}"
            ));
        }
        if absurd > 0 {
            self.void(format!(
                "{absurd} rows of the trace tcp have a threshold or window that is none: {KERNEL}"
            ));
        }
        self.degrade((repaired > 0).then(|| {
            format!("{repaired} results of congestion controls came one acknowledgment late: {KERNEL}")
        }));
    }

    /// Judges unanswered probes to other machines.
    fn probes(&mut self, measured: &Measured, tolerance: u64) {
        for (host, tunnel) in &measured.tunnels {
            let (lost, answered) = (tunnel.probes_lost, tunnel.rtt.count);
            if answered == 0 {
                self.void(format!("the machine of {host} answered no probe: it has not joined"));
            } else if lost > tolerance {
                let probes = lost + answered;
                self.void(format!("{lost} of {probes} probes to the machine of {host} were lost"));
            }
        }
    }
}

/// Formats seconds with a suitable unit.
fn time(seconds: f64) -> String {
    match seconds {
        below if below < 1e-3 => format!("{:.0} us", seconds * 1e6),
        below if below < 1.0 => format!("{:.3} ms", seconds * 1e3),
        _ => format!("{seconds:.3} s"),
    }
}

/// Returns the measurements of the paths to other machines so far.
pub fn tunnels(bridge: &Bridge) -> BTreeMap<String, Tunnel> {
    let tunnel = |(host, path, remaining): (&Host, &crate::Path, &Lateness)| {
        let tunnel = Tunnel {
            one_way_s: path.one_way().as_secs_f64(),
            rtt: path.rtt().into(),
            excess: path.excess().into(),
            remaining: remaining.into(),
            probes_lost: path.lost(),
        };
        (host.name.clone(), tunnel)
    };
    bridge.paths().map(tunnel).collect()
}

/// Returns the links of `scenario`, given the keys that were changed during the run.
fn links(
    scenario: &Scenario,
    changed: &Map<String, Value>,
    report: &Report,
    end: Time,
    lateness: Span,
) -> Vec<Link> {
    let of_links = scenario.link.iter().flat_map(|link| link.rated().map(|rated| (&link.name, rated)));
    let of_networks = scenario
        .network
        .iter()
        .flat_map(|(name, network)| network.rated(name).into_iter().map(move |rated| (name, rated)));
    let link = |(part, RatedLink { name, rate, delay, error, traced }): (&String, RatedLink)| {
        let value = |column| report.value("link", &name, column).unwrap_or(0.0);
        let (packets, bytes) = (value("packets"), value("bytes"));
        let busy = value("utilisation") * end.as_secs_f64();
        let constant = |key| !traced && !changes(changed, part, key);
        Link {
            rate: rate.bits_per_second() as f64,
            achieved_rate: (busy > 0.0 && packets > 0.0 && constant("rate")).then(|| bytes * 8.0 / busy),
            delay_s: delay.as_secs_f64(),
            achieved_delay_s: (delay + lateness).as_secs_f64(),
            loss: error.expected_loss(packets as u64, if packets > 0.0 { bytes / packets } else { 0.0 }),
            achieved_loss: (packets > 0.0 && constant("error")).then(|| value("error_drops") / packets),
            name,
        }
    };
    of_links.chain(of_networks).map(link).collect()
}

/// Returns true if a key of a link or network was changed, in either direction.
fn changes(changed: &Map<String, Value>, part: &str, key: &str) -> bool {
    fn contains(keys: &Value, key: &str) -> bool {
        keys.as_object()
            .is_some_and(|keys| keys.contains_key(key) || keys.values().any(|inner| contains(inner, key)))
    }
    changed.values().any(|kind| kind.get(part).is_some_and(|keys| contains(keys, key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Measured {
        Measured {
            duration_s: 10.0,
            lateness: Percentiles { count: 1000, p50_s: 2e-6, p99_s: 40e-6, max_s: 900e-6 },
            ..Measured::default()
        }
    }

    #[test]
    fn a_run_within_the_tolerances_is_valid() {
        let fidelity = Fidelity::judge(good(), scenario::Fidelity::default());
        assert_eq!((fidelity.verdict, fidelity.reasons.len()), (Verdict::Valid, 0));
        let text = serde_json::to_string(&fidelity).unwrap();
        assert!(text.starts_with(r#"{"verdict":"valid","reasons":[],"duration_s":10.0,"#), "{text}");
        assert_eq!(serde_json::from_str::<Fidelity>(&text).unwrap(), fidelity);
    }

    #[test]
    fn lateness_degrades_and_ten_times_the_tolerance_voids() {
        let mut measured = good();
        measured.lateness.p99_s = 3.25e-3;
        let fidelity = Fidelity::judge(measured.clone(), scenario::Fidelity::default());
        assert_eq!(fidelity.verdict, Verdict::Degraded);
        assert_eq!(fidelity.reasons, ["1 % of the packets were late by more than 3.250 ms, tolerated: 1 ms"]);
        measured.lateness.max_s = 0.21;
        measured.engine.waited_s = 0.3;
        let fidelity = Fidelity::judge(measured, scenario::Fidelity::default());
        assert_eq!(fidelity.verdict, Verdict::Void);
        assert_eq!(
            fidelity.reasons[1..],
            [
                "a packet was late by 210.000 ms, tolerated: 20 ms",
                "the engine waited for a processor for a share of 3.00 %, tolerated: 1.00 %",
            ]
        );
    }

    #[test]
    fn another_machine_must_join_and_be_near_enough() {
        let judged = |tunnel: Tunnel| {
            let tunnels = BTreeMap::from([("b".to_owned(), tunnel)]);
            Fidelity::judge(Measured { tunnels, ..good() }, scenario::Fidelity::default())
        };
        let times = |p99_s| Percentiles { count: 100, p99_s, ..Percentiles::default() };
        let near = Tunnel { one_way_s: 0.02, rtt: times(0.04), ..Tunnel::default() };
        assert_eq!(judged(near.clone()).verdict, Verdict::Valid);
        let nobody = judged(Tunnel::default());
        assert_eq!(nobody.reasons, ["the machine of b answered no probe: it has not joined"]);
        let far = judged(Tunnel { remaining: times(0.005), ..near.clone() });
        assert_eq!(far.verdict, Verdict::Degraded);
        assert_eq!(
            far.reasons,
            ["the path to the machine of b is longer than the delay of its link, by 5.000 ms, tolerated: 1 ms"]
        );
        let lossy = judged(Tunnel { probes_lost: 3, ..near });
        assert_eq!(
            (lossy.verdict, &lossy.reasons[..]),
            (Verdict::Void, &["3 of 103 probes to the machine of b were lost".to_owned()][..])
        );
    }

    #[test]
    fn late_and_lost_datagrams_lower_the_verdict() {
        let judged = |late, lost| {
            let late = Percentiles { p99_s: late, ..Percentiles::default() };
            let fidelity = Fidelity::judge(good(), scenario::Fidelity::default());
            fidelity.with_flows(Flows { datagrams: Datagrams { late, lost }, ..Flows::default() })
        };
        assert_eq!(judged(0.019, 0).verdict, Verdict::Valid);
        let slow = judged(0.03, 0);
        assert_eq!(slow.verdict, Verdict::Degraded);
        assert!(slow.reasons[0].contains("sent later than their application wanted by more than 30.000 ms"));
        let lossy = judged(0.0, 3);
        assert_eq!((lossy.verdict, lossy.reasons.len()), (Verdict::Void, 1));
    }

    #[test]
    fn an_unapplied_key_degrades_the_verdict_and_is_a_reason() {
        let unapplied = vec!["flow f: undo is not applied: the kernel's is on".to_owned()];
        let fidelity = Fidelity::judge(good(), scenario::Fidelity::default());
        let fidelity = fidelity.with_flows(Flows { unapplied: unapplied.clone(), ..Flows::default() });
        assert_eq!((fidelity.verdict, fidelity.reasons), (Verdict::Degraded, unapplied));
    }

    #[test]
    fn a_late_result_degrades_and_an_impossible_threshold_voids() {
        let judged = |skipped| {
            let fidelity = Fidelity::judge(good(), scenario::Fidelity::default());
            fidelity.with_flows(Flows { skipped, ..Flows::default() })
        };
        assert_eq!(judged(Programs::default()).verdict, Verdict::Valid);
        let late = judged(Programs { repaired: 2, ..Programs::default() });
        assert_eq!((late.verdict, late.reasons.len()), (Verdict::Degraded, 1));
        let void = judged(Programs { repaired: 2, absurd: 1, begun: 0 });
        assert_eq!((void.verdict, void.reasons.len()), (Verdict::Void, 2));
        assert!(void.reasons[0].contains("1 rows of the trace tcp"), "{:?}", void.reasons);
    }

    #[test]
    fn memory_pressure_degrades() {
        let fidelity = Fidelity::judge(good(), scenario::Fidelity::default());
        let under = TcpMemory { pressures: 1, ..TcpMemory::default() };
        let fidelity = fidelity.with_tcp_memory(under);
        assert_eq!((fidelity.verdict, fidelity.reasons.len()), (Verdict::Degraded, 1));
    }

    #[test]
    fn one_unexplained_loss_voids() {
        let fidelity = Fidelity::judge(Measured { lost: 1, ..good() }, scenario::Fidelity::default());
        assert_eq!(fidelity.verdict, Verdict::Void);
        assert_eq!(fidelity.reasons, ["1 packets were lost that no model dropped, tolerated: 0"]);
    }
}
