//! Emulated networks, for Python.

use crate::scenario::Scenario;
use crate::{error, from_json};
use bentpipe_core::Recorder;
use bentpipe_emu::host::port::tunnel;
use bentpipe_emu::host::process::{exit_code, Guest};
use bentpipe_emu::host::{internet, user};
use bentpipe_emu::report::fidelity;
use bentpipe_emu::{Clock, Live, Prepared, Setup};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{PoisonError, RwLock};

fn trouble(error: impl std::fmt::Display) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// Python's options of a network.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkOptions {
    /// The nodes that have a host; if absent, all.
    hosts: Option<Vec<String>>,
    /// Hosts on other machines, with their addresses.
    #[serde(default)]
    elsewhere: BTreeMap<String, String>,
    /// The host behind which this machine's own network begins, and the name of the rules that lead
    /// there.
    internet: Option<String>,
    rules: Option<String>,
    /// The largest packet of the hosts' interfaces, in bytes.
    #[serde(default = "ethernet")]
    mtu: u32,
}

fn ethernet() -> u32 {
    1500
}

/// A network that runs until it is stopped or this process ends.
#[pyclass(frozen)]
pub struct Network {
    live: RwLock<Option<Live>>,
    names: Vec<String>,
}

impl Network {
    fn with<R>(&self, py: Python<'_>, task: impl FnOnce(&Live) -> R + Send) -> PyResult<R>
    where
        R: Send,
    {
        py.detach(|| {
            let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
            live.as_ref().map(task).ok_or_else(|| trouble("the network has ended"))
        })
    }
}

#[pymethods]
impl Network {
    /// Creates the hosts and starts the clock.
    #[new]
    fn new(py: Python<'_>, scenario: PyRef<'_, Scenario>, options_json: &str) -> PyResult<Network> {
        scenario.refused(py, scenario.loaded.value.check_emulated(true))?;
        let options: NetworkOptions = from_json("options", options_json)?;
        let scenario = &scenario.loaded.value;
        let names = options.hosts.unwrap_or_else(|| scenario.nodes());
        let elsewhere = elsewhere(&options.elsewhere, &names)?;
        let internet = options.internet.as_deref().zip(options.rules.as_deref());
        let live = py.detach(|| {
            let prepared = Prepared::new(Setup {
                scenario,
                seed: (scenario.seed.value(), 0),
                hosts: &names,
                recorder: Recorder::default(),
                capture: None,
                mtu: options.mtu,
                internet,
                radios: None,
                elsewhere: &elsewhere,
            })?;
            prepared.start(Clock::start(), None)
        });
        let live = Some(live.map_err(trouble)?);
        Ok(Network { live: live.into(), names })
    }

    /// Returns the names of the hosts.
    #[getter]
    fn hosts(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Returns the information with which others can reach the hosts, as JSON.
    fn describe(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |live| {
            let hosts: serde_json::Map<String, Value> = live
                .hosts()
                .iter()
                .map(|host| {
                    let about = json!({
                        "ipv4": host.ipv4,
                        "ipv6": host.ipv6,
                        "namespace": host.namespace.path(),
                        "inode": host.namespace.inode(),
                    });
                    (host.name.clone(), about)
                })
                .collect();
            let elsewhere: serde_json::Map<String, Value> = live
                .elsewhere()
                .iter()
                .map(|host| {
                    let about = json!({
                        "ipv4": host.ipv4,
                        "ipv6": host.ipv6,
                        "machine": host.machine,
                        "join": host.join,
                    });
                    (host.name.clone(), about)
                })
                .collect();
            json!({
                "hosts": hosts,
                "elsewhere": elsewhere,
                "scheduling": format!("{:?}", live.scheduling()),
                "interface": live.internet().map(|internet| internet.interface().to_owned()),
                "switched_forwarding": live.internet().is_some_and(|internet| internet.switched_forwarding()),
            })
            .to_string()
        })
    }

    /// Runs a program in a host, waits, and returns its exit code. The program sees `files` in
    /// place of others; `started` is called with its process number.
    fn run(
        &self,
        py: Python<'_>,
        host: &str,
        argv: Vec<String>,
        files: Vec<(PathBuf, PathBuf)>,
        environment: Vec<(String, String)>,
        started: Option<Py<PyAny>>,
    ) -> PyResult<i32> {
        let mut command = program(&argv)?;
        command.envs(environment);
        let status = self.with(py, |live| {
            let host = live.host(host).ok_or_else(|| trouble(format!("there is no host {host}")))?;
            Guest { command, files }
                .run(&host.namespace, |child| {
                    if let Some(started) = started {
                        Python::attach(|py| started.call1(py, (child.id(),)).map(drop).unwrap_or(()));
                    }
                })
                .map_err(|error| not_started(&argv, error))
        })??;
        Ok(exit_code(status))
    }

    /// Returns the current state of the network as JSON: report rows, totals, lateness.
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        let handle = self.with(py, |live| live.handle().clone())?;
        let answer = py.detach(|| {
            handle.ask(|bridge, now| {
                let network = bridge.network();
                let held = network.held().packets;
                let mut report = network.report(now);
                bridge.streams().report(&mut report);
                let rows: Vec<Value> = report
                    .rows()
                    .iter()
                    .map(|(table, entity, values)| {
                        let columns = table.columns.iter().zip(values);
                        let values: serde_json::Map<String, Value> =
                            columns.map(|(column, value)| (column.name.to_owned(), json!(value))).collect();
                        json!({"table": table.name, "entity": entity, "values": values})
                    })
                    .collect();
                let totals = bridge.network().out().totals();
                let dropped: u64 = totals.dropped.values().map(|held| held.packets).sum();
                let packets = json!({
                    "created": totals.created.packets,
                    "consumed": totals.consumed.packets,
                    "dropped": dropped,
                    "held": held,
                });
                let late = bridge.lateness();
                json!({
                    "time": now.as_secs_f64(),
                    "rows": rows,
                    "packets": packets,
                    "lost": bridge.lost(),
                    "tunnels": fidelity::tunnels(bridge),
                    "late": {
                        "p50": late.percentile(50.0).as_secs_f64(),
                        "p99": late.percentile(99.0).as_secs_f64(),
                        "max": late.max().as_secs_f64(),
                    },
                })
                .to_string()
            })
        });
        answer.map_err(trouble)
    }

    /// Sets a key of the scenario to another value from now on, both in the form of an override.
    fn change(&self, py: Python<'_>, key: String, value: String) -> PyResult<()> {
        let handle = self.with(py, |live| live.handle().clone())?;
        let changed = py.detach(|| handle.ask(move |bridge, now| bridge.network().change(now, &key, &value)));
        changed.map_err(trouble)?.map_err(|refused| error::refused(py, &refused))
    }

    /// Ends the network. Programs in its hosts lose their connection.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let live = self.live.write().unwrap_or_else(PoisonError::into_inner).take();
            live.map(Live::finish).transpose().map(drop).map_err(trouble)
        })
    }
}

/// Returns the hosts among `names` that are on other machines: name and address of each, with a UDP
/// port if the port differs from the default, which counts up from the port of VXLAN.
fn elsewhere(option: &BTreeMap<String, String>, names: &[String]) -> PyResult<Vec<(String, SocketAddr)>> {
    let wrong = |message: String| Err(PyValueError::new_err(message));
    let mut found: Vec<(String, SocketAddr)> = Vec::new();
    for ((name, address), port) in option.iter().zip(tunnel::PORT..) {
        let Some(machine) = tunnel::machine(address, port) else {
            return wrong(format!(
                "{name} is at \"{address}\"; allowed: an address, as 192.0.2.1 or 192.0.2.1:4790"
            ));
        };
        if !names.contains(name) {
            return wrong(format!("there is no host {name}; allowed: {}", names.join(", ")));
        }
        if let Some((other, _)) = found.iter().find(|(_, other)| other.port() == machine.port()) {
            return wrong(format!("{other} and {name} have UDP port {}; each needs its own", machine.port()));
        }
        found.push((name.clone(), machine));
    }
    Ok(found)
}

fn program(argv: &[String]) -> PyResult<Command> {
    let (name, arguments) = argv.split_first().ok_or_else(|| PyValueError::new_err("no command"))?;
    let mut command = Command::new(name);
    command.args(arguments);
    Ok(command)
}

fn not_started(argv: &[String], error: std::io::Error) -> PyErr {
    PyErr::from(std::io::Error::new(error.kind(), format!("{}: {error}", argv[0])))
}

/// Replaces this process by a program in a host of a network that another process runs. Returns
/// only with an error.
#[pyfunction]
pub fn exec_in_host(
    owner: u32,
    namespace: &str,
    argv: Vec<String>,
    files: Vec<(PathBuf, PathBuf)>,
    environment: Vec<(String, String)>,
) -> PyResult<()> {
    let mut command = program(&argv)?;
    command.envs(environment);
    Err(not_started(&argv, Guest { command, files }.exec(owner, namespace)))
}

/// Enters a user namespace if this process cannot create networks otherwise. Returns true if it
/// did.
#[pyfunction]
pub fn enter_user_namespace() -> PyResult<bool> {
    Ok(user::enter()?)
}

/// Removes the rules that access to the Internet has left behind.
#[pyfunction]
pub fn remove_internet_rules(py: Python<'_>, table: &str, switched_forwarding: bool) -> PyResult<()> {
    py.detach(|| internet::remove_rules(table, switched_forwarding)).map_err(trouble)
}
