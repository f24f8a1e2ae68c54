//! Files in the folder `commands` of a run: the output of programs, and files that replace the
//! machine's files for them.

use super::program::Program;
use super::Planned;
use crate::error::{Doing, Error};
use crate::host::live::LiveHost;
use crate::host::process::Guest;
use bentpipe_transport::app::End;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folder for the output of a run's programs.
const FOLDER: &str = "commands";
const HOSTS: &str = "/etc/hosts";
/// Maximum size of an output that is parsed, in bytes.
const READ: u64 = 64 << 20;
/// Maximum length of a flow's name in the name of a file.
const LONGEST: usize = 100;

/// The files of a run's programs.
pub struct Files {
    out: PathBuf,
    /// Flow, end, and the name of its files without suffix.
    stems: Vec<(String, End, String)>,
}

impl Files {
    /// Creates an empty folder with the list of hosts.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written.
    pub fn new(out: &Path, hosts: &[LiveHost], planned: &[Planned]) -> Result<Files, Error> {
        let mut files = Files { out: out.to_owned(), stems: Vec::new() };
        if planned.is_empty() {
            return Ok(files);
        }
        let mut taken = BTreeSet::from(["hosts".to_owned()]);
        for Planned { flow, end, .. } in planned {
            let suffix = if *end == End::Destination { ".serve" } else { "" };
            let stem = format!("{}{suffix}", stem(flow));
            let mut names = std::iter::once(stem.clone()).chain((2..).map(|n| format!("{stem}-{n}")));
            let name = names.find(|name| taken.insert(name.clone())).expect("numbers do not end");
            files.stems.push((flow.clone(), *end, name));
        }
        let folder = out.join(FOLDER);
        let write = || -> io::Result<()> {
            match fs::create_dir(&folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let mut text = "127.0.0.1 localhost\n".to_owned();
            for host in hosts.iter().filter(|host| is_host_name(&host.name)) {
                let _ = writeln!(text, "{} {}", host.ipv4, host.name);
            }
            io::Write::write_all(&mut create(&folder.join("hosts"))?, text.as_bytes())
        };
        write().doing(format!("writing {}", folder.display()))?;
        Ok(files)
    }

    fn stem(&self, planned: &Planned) -> &str {
        let found = self.stems.iter().find(|(flow, end, _)| *flow == planned.flow && *end == planned.end);
        &found.expect("every program has its files").2
    }

    /// Returns the names of a program's output files, relative to the folder of the run.
    pub fn names(&self, planned: &Planned) -> (String, String) {
        let stem = self.stem(planned);
        (format!("{FOLDER}/{stem}.stdout"), format!("{FOLDER}/{stem}.stderr"))
    }

    /// Returns a program with its output files.
    pub fn program(&self, planned: &Planned, host: &LiveHost) -> Result<Program, Error> {
        let (stdout, stderr) = self.names(planned);
        let open = |name: &str| create(&self.out.join(name)).doing(format!("writing {name}"));
        let mut command = Command::new(&planned.argv[0]);
        command.args(&planned.argv[1..]);
        command.stdin(Stdio::null()).stdout(open(&stdout)?).stderr(open(&stderr)?);
        let list = self.out.join(FOLDER).join("hosts");
        let files = match (fs::canonicalize(list), Path::new(HOSTS).is_file()) {
            (Ok(list), true) => vec![(list, PathBuf::from(HOSTS))],
            _ => Vec::new(),
        };
        let namespace = host.namespace.again().doing(format!("entering host {}", host.name))?;
        Ok(Program { guest: Guest { command, files }, namespace })
    }

    /// Returns a program's output, if it is text and not too large.
    pub fn output(&self, planned: &Planned) -> Option<String> {
        let file = File::open(self.out.join(self.names(planned).0)).ok()?;
        let mut text = String::new();
        file.take(READ).read_to_string(&mut text).ok()?;
        Some(text)
    }
}

/// Creates a file without following links, in place of a file of an earlier run.
fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)
}

/// Returns a flow's name as a file name.
fn stem(flow: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let stem: String = flow.chars().take(LONGEST).map(safe).collect();
    if stem.starts_with('.') || stem.is_empty() {
        format!("_{stem}")
    } else {
        stem
    }
}

/// Returns true if a node's name is a valid host name (RFC 1123, and the underscore).
fn is_host_name(name: &str) -> bool {
    let safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    name.len() <= 63
        && name.chars().all(safe)
        && edge(name.chars().next())
        && edge(name.chars().last())
        && name != "localhost"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_flows_do_not_lead_out_of_the_folder() {
        assert_eq!(stem("upload"), "upload");
        assert_eq!(stem("../../etc/passwd"), "_.._.._etc_passwd");
        assert_eq!(stem("a b\n\u{e9}"), "a_b__");
        assert_eq!(stem(""), "_");
        assert_eq!(stem(&"x".repeat(300)).len(), LONGEST);
        assert!(is_host_name("st1") && !is_host_name("a b") && !is_host_name("-x") && !is_host_name(""));
    }
}
