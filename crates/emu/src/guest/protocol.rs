//! Messages between a guest and the process that started it. The job is in a file of memory that
//! exists before the guest's kernel starts, because waiting for it would let time pass, by a
//! different amount in each run. Everything else is lines of JSON over the guest's console; those
//! of the guest have a mark, because its kernel also writes there.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The mark at the start of each message of the guest's first process.
pub const MARK: char = '\x01';

/// Name of the variable with the path of the guest's [`Job`].
pub const JOB: &str = "BENTPIPE_JOB";

/// The run that the guest must perform.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The resolved scenario as TOML.
    pub scenario: String,
    /// Folder of the run, with the same path inside.
    pub out: PathBuf,
    /// Number of the replication, from 0.
    pub run: u64,
    /// Command line, recorded in the provenance.
    pub command: Vec<String>,
    /// True if the run may start programs that the scenario names.
    pub allow_commands: bool,
    /// Time of the run's start, for the provenance.
    pub started: Option<String>,
    /// The search path for programs, as in PATH.
    pub path: String,
}

/// A message to the guest during its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// Stops the run at its current time.
    Stop,
    /// Asks for the programs that are running.
    WhatRuns,
}

/// A message from the guest to this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// The guest has received its job.
    Ready,
    /// The completed fraction of the run, 0 to 1.
    Progress(f64),
    /// These programs of the scenario are busy, at this time of the guest's clock in nanoseconds.
    Runs {
        /// Names of the programs that are running.
        programs: Vec<String>,
        /// Nanoseconds of the guest's monotonic clock.
        at: u64,
    },
    /// The run is over, and its folder is written.
    Done,
    /// The run failed and has no results.
    Failed {
        /// True if the caller can correct the problem.
        bad_input: bool,
        /// Reason of the failure, as a sentence.
        message: String,
    },
}

impl Said {
    /// Encodes the message as one line of JSON.
    pub fn line(&self) -> String {
        format!("{MARK}{}\n", serde_json::to_string(self).expect("it is plain data"))
    }

    /// Returns the message in a line of the console, if it contains one.
    pub fn read(line: &str) -> Option<Said> {
        serde_json::from_str(line.trim().strip_prefix(MARK)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_distinguished_from_kernel_output() {
        let runs = Said::Runs { programs: vec!["iperf3".to_owned()], at: 7 };
        for said in [Said::Ready, Said::Progress(0.5), runs, Said::Done] {
            assert_eq!(Said::read(&said.line()), Some(said));
        }
        assert_eq!(Said::read("Kernel panic - not syncing"), None);
        assert_eq!(Said::read("\"ready\""), None);
    }
}
