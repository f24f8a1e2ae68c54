//! The record of a proxy: its process, and the rules to remove if the process ended without
//! clean-up.
//!
//! There is one file per network namespace, in the folder `pep` next to the records of running
//! networks. It is written before the first rule is created and removed after the last one is.

use crate::error::{Context, Error};
use crate::rules::Rules;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Environment variable that overrides the folder of the records; `bentpipe net up` uses it, too.
const FOLDER_VARIABLE: &str = "BENTPIPE_STATE";
const FOLDER: &str = "/run/bentpipe";

#[derive(Deserialize, Serialize)]
struct Record {
    pid: u32,
    /// Start time of that process in the kernel's ticks, since process numbers are reused.
    started: u64,
    boot: String,
    rules: Rules,
}

/// The record of the proxy in this network namespace.
pub struct State {
    file: PathBuf,
}

/// The process of a proxy, and whether it is running.
pub struct RunningProxy {
    /// Process number (PID) of the proxy.
    pub pid: u32,
    /// True if the process is running.
    pub alive: bool,
    /// The rules that the process created or was about to create.
    pub rules: Rules,
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Returns the start time of a process (proc(5), the 22nd field of stat), if it exists and has not
/// ended.
fn started(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<_> = text.rsplit_once(')')?.1.split_whitespace().collect();
    (fields.first() != Some(&"Z")).then(|| fields.get(19)?.parse().ok())?
}

impl State {
    /// Returns the record's place for this thread's namespace.
    ///
    /// # Errors
    /// /proc is missing.
    pub fn here() -> Result<State, Error> {
        let folder = std::env::var_os(FOLDER_VARIABLE).map_or(PathBuf::from(FOLDER), PathBuf::from);
        State::below(&folder)
    }

    fn below(folder: &Path) -> Result<State, Error> {
        let folder = folder.join("pep");
        let namespace =
            fs::metadata("/proc/thread-self/ns/net").context("looking at the network namespace")?;
        Ok(State { file: folder.join(format!("{}.json", namespace.ino())) })
    }

    /// Reads the record of the proxy in this network namespace, if there is one.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn find(&self) -> Result<Option<RunningProxy>, Error> {
        let action = || format!("reading {}", self.file.display());
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context(action()),
        };
        let record: Record = serde_json::from_str(&text).context(action())?;
        let alive = record.boot == boot() && started(record.pid) == Some(record.started);
        Ok(Some(RunningProxy { pid: record.pid, alive, rules: record.rules }))
    }

    /// Records that this process is about to make rules.
    ///
    /// # Errors
    /// The folder cannot be created, or the file cannot be written.
    pub fn write(&self, rules: &Rules) -> Result<(), Error> {
        let pid = std::process::id();
        let record = Record { pid, started: started(pid).unwrap_or(0), boot: boot(), rules: rules.clone() };
        let text = serde_json::to_string(&record).expect("a record is plain data");
        // The file appears whole or not at all.
        let temporary = self.file.with_extension("new");
        let write = || {
            DirBuilder::new().recursive(true).mode(0o700).create(self.folder())?;
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
            file.write_all(text.as_bytes())?;
            fs::rename(&temporary, &self.file)
        };
        // Another namespace's proxy may have removed the folder in between, as it was the last.
        let written = match write() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => write(),
            other => other,
        };
        written.context(format!("writing {}", self.file.display()))
    }

    fn folder(&self) -> &Path {
        self.file.parent().expect("it was made in one")
    }

    /// Removes the record, since nothing is left to be removed, and also the folder of the records
    /// if this was the last.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn clear(&self) -> Result<(), Error> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).context(format!("removing {}", self.file.display()));
            }
            _ => {}
        }
        // Ignore the failure: another proxy may still use the folder.
        let _ = fs::remove_dir(self.folder());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clearing_the_last_record_removes_the_folder() {
        let folder = std::env::temp_dir().join(format!("bentpipe-pep-state-{}", std::process::id()));
        let state = State::below(&folder).unwrap();
        assert!(state.find().unwrap().is_none() && !folder.exists(), "find() creates nothing");
        let rules = serde_json::json!({"mark": 1, "table": 1, "ipv6": false});
        state.write(&serde_json::from_value(rules).unwrap()).unwrap();
        assert!(state.find().unwrap().is_some_and(|found| found.alive));
        let other = folder.join("pep/other.json");
        fs::write(&other, "").unwrap();
        state.clear().unwrap();
        assert!(other.exists(), "another proxy's record is kept");
        fs::remove_file(other).unwrap();
        state.clear().unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir(folder).unwrap();
    }
}
