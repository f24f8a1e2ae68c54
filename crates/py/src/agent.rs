//! The bundle agent for real hosts.

use crate::error;
use bentpipe_agent::client::{self, BundleOptions};
use bentpipe_agent::config::Layer;
use bentpipe_agent::security::Keys;
use bentpipe_agent::{Config, Node};
use bentpipe_dtn::convergence::{mtcp, stcp};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

fn raised(py: Python<'_>, error: &io::Error) -> PyErr {
    match error.kind() {
        io::ErrorKind::InvalidInput => error::input(py, &error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// Runs an agent until `stopped()` is true, and returns its counts as JSON. Calls `ready` with the
/// addresses on which it listens, TCP first.
#[pyfunction]
#[allow(clippy::disallowed_methods, reason = "an agent runs in real time")]
pub fn run_agent(
    py: Python<'_>,
    config_json: &str,
    ready: &Bound<'_, PyAny>,
    stopped: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let config: Config = serde_json::from_str(config_json)
        .map_err(|error| PyValueError::new_err(format!("config: {error}")))?;
    let mut node = Node::new(config).map_err(|error| raised(py, &error))?;
    let addresses = node.addresses().map_err(|error| raised(py, &error))?;
    ready.call1((addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),))?;
    while !stopped.call0()?.is_truthy()? {
        // Signals are checked ten times a second, not after every step.
        py.detach(|| {
            let started = std::time::Instant::now();
            while started.elapsed() < Duration::from_millis(100) {
                node.step(Duration::from_millis(100))?;
            }
            Ok(())
        })
        .map_err(|error: io::Error| raised(py, &error))?;
        py.check_signals()?;
    }
    let counters = node.finish().map_err(|error| raised(py, &error))?;
    Ok(serde_json::to_string(&counters).expect("counts are plain data"))
}

/// Creates `copies` bundles of each of `payloads` and sends them to an agent. Returns the number
/// that it has accepted (TCPCL), or the number sent.
#[pyfunction]
#[pyo3(signature = (layer, address, source, destination, payloads, copies, lifetime, hops, report, patience, keys_json))]
#[allow(clippy::too_many_arguments, reason = "they are named in Python")]
pub fn send_bundles(
    py: Python<'_>,
    layer: &str,
    address: &str,
    source: String,
    destination: String,
    payloads: Vec<Vec<u8>>,
    copies: u64,
    lifetime: f64,
    hops: Option<u8>,
    report: Option<String>,
    patience: f64,
    keys_json: &str,
) -> PyResult<u64> {
    let address: SocketAddr =
        address.parse().map_err(|_| error::input(py, &format!("\"{address}\" is no address")))?;
    let layer: Layer = serde_json::from_value(layer.into())
        .map_err(|error| PyValueError::new_err(format!("layer: {error}")))?;
    let keys: Keys =
        serde_json::from_str(keys_json).map_err(|wrong| error::input(py, &format!("keys: {wrong}")))?;
    let lifetime = Duration::from_secs_f64(lifetime);
    let options = BundleOptions { from: source, to: destination, report, lifetime, hops, keys };
    let node = bentpipe_agent::config::endpoint(&options.from).map_err(|wrong| error::input(py, &wrong))?;
    let node = node.node_id().unwrap_or_default();
    // Detects bundles that cannot be created before any bundle is sent.
    client::build_bundle(&options, 0, Vec::new()).map_err(|wrong| error::input(py, &wrong))?;
    let patience = Duration::from_secs_f64(patience);
    py.detach(|| {
        let all = payloads.iter().flat_map(|payload| (0..copies).map(move |_| payload));
        let mut bundles = (1..).zip(all).map(|(number, payload)| {
            client::build_bundle(&options, number, payload.clone()).expect("the first one could be made")
        });
        match layer {
            Layer::Tcpcl => client::send_tcpcl(address, &node, &mut bundles, patience),
            Layer::Mtcp => client::send_stream(address, mtcp::FRAMING, &mut bundles, patience),
            Layer::Stcp => client::send_stream(address, stcp::FRAMING, &mut bundles, patience),
            Layer::Udp => client::send_udp(address, &mut bundles),
            Layer::Ltp => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "LTP is spoken between agents; allowed: tcpcl, mtcp, stcp or udp",
            )),
        }
    })
    .map_err(|error| raised(py, &error))
}
