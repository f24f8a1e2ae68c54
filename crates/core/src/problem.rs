//! Problems found by a configuration's own checks, with their key paths, such as values outside a
//! range that depends on other keys, or references to missing names. The scenario loader adds file
//! and line.

/// The problems found so far, and the key path of the part being checked.
#[derive(Default, Debug)]
pub struct Problems {
    path: Vec<String>,
    found: Vec<Problem>,
}

/// One problem of a configuration, with its key path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Key path from the root of the scenario, such as `network.sat.return.rate`.
    pub path: Vec<String>,
    /// Message: the fault, the value, and the allowed values.
    pub message: String,
}

impl Problems {
    /// Runs `check` for the part under `key`.
    pub fn within(&mut self, key: impl Into<String>, check: impl FnOnce(&mut Problems)) {
        self.path.push(key.into());
        check(self);
        self.path.pop();
    }

    /// Adds a problem with the value of `key`. An empty `key` means the part being checked.
    pub fn add(&mut self, key: &str, message: impl Into<String>) {
        let mut path = self.path.clone();
        if !key.is_empty() {
            path.push(key.to_owned());
        }
        self.found.push(Problem { path, message: message.into() });
    }

    /// Adds a problem found elsewhere. Its path is relative to the part being checked.
    pub fn adopt(&mut self, problem: Problem) {
        let path = [self.path.clone(), problem.path].concat();
        self.found.push(Problem { path, ..problem });
    }

    /// Returns the number of problems found so far.
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// Returns the problems in the order in which they were found.
    pub fn into_vec(self) -> Vec<Problem> {
        self.found
    }
}
