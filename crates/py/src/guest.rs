//! Runs in a guest, a kernel in virtual time.

use crate::follow::Follower;
use crate::{error, from_json, RunOptions};
use bentpipe_emu::guest::machine::{self, Error, Start};
use bentpipe_emu::guest::{inside, parameters, protocol::Job};
use bentpipe_emu::report::memory::Need;
use bentpipe_engine::presets;
use bentpipe_engine::scenario::Scenario;
use bentpipe_results::Provenance;
use bentpipe_scenario::{load as load_scenario, Source};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The caller's description of the guest.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Guest {
    kernel: PathBuf,
    init: Vec<String>,
    files: BTreeMap<String, PathBuf>,
    memory_mb: u64,
    /// Parameters on the kernel's command line that this kernel needs.
    parameters: Vec<String>,
    epoch: u64,
    path: String,
    /// The guest's kernel and configuration, recorded in the provenance.
    about: Value,
}

/// Runs a scenario in a guest and writes the run folder, without the GIL.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they are the arguments of the Python function")]
pub fn emulate_in_guest(
    py: Python<'_>,
    scenario: PyRef<'_, crate::scenario::Scenario>,
    run: u64,
    out: PathBuf,
    options_json: &str,
    guest_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let loaded = scenario.to_run(py)?;
    scenario.refused(py, loaded.value.check_emulated(false))?;
    let options = from_json::<RunOptions>("options", options_json)?.of(run);
    let guest: Guest = from_json("guest", guest_json)?;
    let need = Need::of(&loaded.value);
    need.check().map_err(|lacking| PyOSError::new_err(lacking.to_string()))?;
    let parameters = parameters::of(&loaded.value).map_err(|failed| error::input(py, &failed.to_string()))?;
    let start = Start {
        kernel: guest.kernel,
        init: guest.init,
        files: guest.files,
        // The data in flight, and as much again for the kernel's TCP.
        memory_mb: guest.memory_mb + need.bytes / 500_000,
        epoch: guest.epoch,
        parameters: [guest.parameters, parameters].concat(),
    };
    let out = std::path::absolute(out)?;
    let job = Job {
        scenario: loaded.to_toml(),
        out: out.clone(),
        run,
        command: options.command,
        allow_commands: options.allow_commands,
        started: options.started,
        path: guest.path,
    };
    let mut follower = Follower::new(progress, None);
    let took = py.detach(|| machine::run(&start, &job, &mut |fraction| follower.progress(fraction)));
    follower.finish()?;
    let took = took.map_err(|failed| match failed {
        Error::Failed { bad_input: true, message } => error::input(py, &message),
        failed => PyOSError::new_err(failed.to_string()),
    })?;
    let amended = Provenance::amend(&out, |provenance| {
        provenance.wall_seconds = Some(took.wall_seconds);
        provenance.cpu_seconds = Some(took.cpu_seconds);
        provenance.notes.insert("guest".to_owned(), guest.about);
    });
    amended.map_err(|failed| PyOSError::new_err(failed.to_string()))?;
    Ok(std::fs::read_to_string(out.join("summary.json"))?)
}

/// Acts as the first process of a guest. Does not return.
#[pyfunction]
pub fn live_in_guest(py: Python<'_>) {
    let load = |text: &str| -> Result<Scenario, String> {
        let source = Source::Text { name: "scenario", text };
        load_scenario(source, &presets::all(), &[])
            .map(|loaded| loaded.value)
            .map_err(|refused| refused.to_string())
    };
    py.detach(|| inside::live(&load))
}

/// Returns the bytes of a processor's state beyond its general registers, as this one's kernel
/// saves it: CPUID leaf 0xD, EBX.
#[pyfunction]
pub fn processor_state_bytes() -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__cpuid, __cpuid_count};
        // Before Rust 1.94 these are unsafe.
        #[allow(unused_unsafe)]
        // SAFETY: every x86-64 processor has CPUID, and a leaf is asked for only where the highest
        // is no lower.
        return unsafe { (__cpuid(0).eax >= 0xd).then(|| __cpuid_count(0xd, 0).ebx) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}
