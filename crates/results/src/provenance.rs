//! `provenance.json`: the only file of a run folder that differs between runs with equal results.

use crate::ResultsError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of the file.
pub(crate) const FILE: &str = "provenance.json";

/// The origin of a run and its outcome.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of bentpipe. This key marks a folder as a run of bentpipe.
    pub bentpipe: String,
    /// Commit from which bentpipe was built, if the build set `BENTPIPE_COMMIT`.
    pub commit: Option<String>,
    /// The command that produced the folder: `simulate`, `emulate`, ...
    pub instrument: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Number of the run among the runs with this seed.
    pub run: u64,
    /// Status of the folder.
    pub status: Status,
    /// Reason why the folder is incomplete, if it is.
    pub reason: Option<String>,
    /// Command line, if there was one.
    pub command: Vec<String>,
    /// The machine on which the run took place.
    pub host: Host,
    /// Start of the run in UTC, in the format of RFC 3339 (see [`utc`]), if it is recorded.
    pub started: Option<String>,
    /// Simulated or real network time in seconds.
    pub simulated_seconds: Option<f64>,
    /// Number of events that the event loop processed.
    pub events: Option<u64>,
    /// Real time of the run in seconds.
    pub wall_seconds: Option<f64>,
    /// Processor time of the run in seconds.
    pub cpu_seconds: Option<f64>,
    /// Notes of an instrument: kernel settings, congestion control modules, ...
    #[serde(default)]
    pub notes: BTreeMap<String, Value>,
}

/// The status of a run folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The folder is being written, or its writer was killed.
    Running,
    /// The run ended as planned, and all files are complete.
    Complete,
    /// The run ended early. `reason` is set.
    Incomplete,
}

/// The machine on which a run took place, without its name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Host {
    /// Name and release of the kernel.
    pub kernel: String,
    /// Name of the operating system.
    pub system: String,
    /// Architecture of the processor, as Rust names it.
    pub architecture: String,
}

impl Host {
    /// Returns the present machine. Unknown strings are empty.
    pub fn here() -> Host {
        let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let system = line("/etc/os-release")
            .lines()
            .find_map(|line| line.strip_prefix("PRETTY_NAME="))
            .map(|name| name.trim_matches('"').to_owned());
        let kernel = [line("/proc/sys/kernel/ostype"), line("/proc/sys/kernel/osrelease")].join(" ");
        Host {
            kernel: kernel.trim().to_owned(),
            system: system.unwrap_or_else(|| std::env::consts::OS.to_owned()),
            architecture: std::env::consts::ARCH.to_owned(),
        }
    }
}

impl Provenance {
    /// Returns the provenance of a run that starts now on this machine, with this version.
    pub fn new(instrument: &str, seed: u64, run: u64) -> Provenance {
        Provenance {
            bentpipe: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("BENTPIPE_COMMIT").map(str::to_owned),
            instrument: instrument.to_owned(),
            seed,
            run,
            status: Status::Running,
            reason: None,
            command: Vec::new(),
            host: Host::here(),
            started: None,
            simulated_seconds: None,
            events: None,
            wall_seconds: None,
            cpu_seconds: None,
            notes: BTreeMap::new(),
        }
    }

    /// Reads the provenance of the run folder at `path`, or returns `None` if the folder has none.
    pub fn read(path: &Path) -> Option<Provenance> {
        serde_json::from_slice(&fs::read(path.join(FILE)).ok()?).ok()
    }

    /// Changes the provenance of the finished run folder at `path`. This is for programs that start
    /// runs in other processes and have further information about them.
    ///
    /// # Errors
    /// Fails if the folder has no provenance, or if it cannot be written.
    pub fn amend(path: &Path, change: impl FnOnce(&mut Provenance)) -> Result<(), ResultsError> {
        let mut provenance = Provenance::read(path).ok_or_else(|| ResultsError::NotARun(path.to_owned()))?;
        change(&mut provenance);
        provenance.write(path)
    }

    pub(crate) fn write(&self, root: &Path) -> Result<(), ResultsError> {
        write_json(root, FILE, self)
    }
}

/// Writes a JSON file by replacement: whenever the process is killed, the file is either the old or
/// the new one.
pub(crate) fn write_json(root: &Path, name: &str, value: &impl Serialize) -> Result<(), ResultsError> {
    let mut text = serde_json::to_string_pretty(value).expect("plain data is always valid JSON");
    text.push('\n');
    replace_file(root, name, text.as_bytes())
}

/// Writes a file under another name and then renames it.
pub(crate) fn replace_file(root: &Path, name: &str, content: &[u8]) -> Result<(), ResultsError> {
    let partial = root.join(partial_name(name));
    let written = fs::write(&partial, content).and_then(|()| fs::rename(&partial, root.join(name)));
    written.map_err(|error| {
        // The partial file may have filled the disk, whose last space other files need.
        let _ = fs::remove_file(&partial);
        ResultsError::write(name, error)
    })
}

/// Returns the temporary name of a file, before it is renamed.
pub(crate) fn partial_name(name: &str) -> String {
    format!(".{name}.part")
}

/// Returns a time in UTC in the format of RFC 3339, to the second.
pub fn utc(moment: SystemTime) -> String {
    let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Gregorian calendar from a day count in eras of 400 years that begin on 1 March
    // (E. G. Richards, Explanatory Supplement to the Astronomical Almanac, 3rd ed., section 15.11).
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_written_as_by_gnu_date() {
        // Expected values from GNU date -u -d @SECONDS +%FT%TZ.
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn provenance_survives_its_own_json() {
        let mut provenance = Provenance::new("simulate", u64::MAX, 3);
        provenance.notes.insert("sysctl".to_owned(), serde_json::json!({ "net.ipv4.tcp_ecn": 1 }));
        let text = serde_json::to_string(&provenance).unwrap();
        assert_eq!(serde_json::from_str::<Provenance>(&text).unwrap(), provenance);
        assert!(text.contains("\"status\":\"running\""), "{text}");
    }
}
