//! What a guest and the process that started it say to each other. What it is to do is in a file of
//! memory that is there before its kernel starts, since waiting for it would let time pass, in each
//! run another span. All else is lines of JSON over the guest's console, those of the guest with a
//! mark, as its kernel writes there too.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The mark at the beginning of what the guest's first process says.
pub const MARK: char = '\x01';

/// Name of the variable that says where the guest's [`Job`] is.
pub const JOB: &str = "BENTPIPE_JOB";

/// The run that the guest is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The resolved scenario as TOML.
    pub scenario: String,
    /// Folder of the run, which is the same path inside.
    pub out: PathBuf,
    /// Number of the replication, from 0.
    pub run: u64,
    /// Command line that is recorded in the provenance.
    pub command: Vec<String>,
    /// True if programs that the scenario names may be run.
    pub allow_commands: bool,
    /// When the run started, for the provenance.
    pub started: Option<String>,
    /// The search path for programs, as in PATH.
    pub path: String,
}

/// What the guest is told while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// Stops the run at its current time.
    Stop,
    /// Asks for the programs that are running.
    WhatRuns,
}

/// A message of the guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// The guest has received its job.
    Ready,
    /// The fraction of the run that is done, 0 to 1.
    Progress(f64),
    /// These programs of the scenario do not wait for anything, at this time of the guest's clock
    /// in nanoseconds.
    Runs {
        /// Names of the programs that are running.
        programs: Vec<String>,
        /// Nanoseconds of the guest's monotonic clock.
        at: u64,
    },
    /// The run is over, and the folder written.
    Done,
    /// The run failed and has no results.
    Failed {
        /// True if the caller can put it right.
        bad_input: bool,
        /// Why the guest failed, as a sentence.
        message: String,
    },
}

impl Said {
    /// Encodes the message as one line of JSON.
    pub fn line(&self) -> String {
        format!("{MARK}{}\n", serde_json::to_string(self).expect("it is plain data"))
    }

    /// What a line of the console says, if it is one of these.
    pub fn read(line: &str) -> Option<Said> {
        serde_json::from_str(line.trim().strip_prefix(MARK)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_told_from_what_a_kernel_writes() {
        let runs = Said::Runs { programs: vec!["iperf3".to_owned()], at: 7 };
        for said in [Said::Ready, Said::Progress(0.5), runs, Said::Done] {
            assert_eq!(Said::read(&said.line()), Some(said));
        }
        assert_eq!(Said::read("Kernel panic - not syncing"), None);
        assert_eq!(Said::read("\"ready\""), None);
    }
}
