//! A guest's processes as shown by this machine's /proc. Each program of a guest is a process of
//! this machine, with the program's memory at the program's addresses, but with another name.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Number of bytes below the end of a stack that are searched for the words of a command line.
const STACK: u64 = 1 << 18;
/// Maximum number of displayed words of a command line.
const WORDS: usize = 64;

/// A process of this machine.
pub struct Process {
    /// Process number (PID) on this machine, outside the guest.
    pub id: u32,
    /// True for a program of a guest: traced by the guest's kernel, or, since Linux 6.16, a process
    /// that stops itself.
    pub program: bool,
    /// Processor time of the process in seconds.
    pub used: f64,
}

/// Returns the descendants of process `ancestor`.
pub fn below(ancestor: u32) -> Vec<Process> {
    let mut children: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    for id in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        if let Some((parent, process)) = process(id) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut left = vec![ancestor];
    while let Some(parent) = left.pop() {
        let own = children.remove(&parent).unwrap_or_default();
        left.extend(own.iter().map(|process| process.id));
        found.extend(own);
    }
    found
}

/// Returns a process and its parent. In proc_pid_stat(5), state and parent start at field 3, and
/// the processor time is in fields 14 and 15.
fn process(id: u32) -> Option<(u32, Process)> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let number = |field: usize| -> Option<u32> { fields.get(field - 3)?.parse().ok() };
    let program = matches!(*fields.first()?, "t") || {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let has = |line| status.lines().any(|of| of == line);
        has("Name:\tuml-userspace") || !has("TracerPid:\t0")
    };
    let used = f64::from(number(14)? + number(15)?) / 100.0;
    Some((number(4)?, Process { id, program, used }))
}

/// Returns the command line of the guest's program whose process has the number `id` on this
/// machine, or a description if it cannot be read.
///
/// The process is a copy of the guest's kernel, including its name. But at the end of the program's
/// stack, the guest's kernel has stored the data that every program gets: the number of its
/// arguments, their addresses, and the arguments.
pub fn command_line(id: u32) -> String {
    // Memory of the guest is shared with its kernel. The remaining memory is that of the copied
    // process.
    words(id, 's')
        .unwrap_or_else(|| format!("a program whose name cannot be read (process {id} of this machine)"))
}

/// Returns the arguments at the end of a stack in memory that is shared (`s`) or private (`p`).
fn words(id: u32, kind: char) -> Option<String> {
    let memory = File::open(format!("/proc/{id}/mem")).ok()?;
    areas(id, kind)?.into_iter().rev().find_map(|(from, to)| arguments(&memory, from, to))
}

/// Returns the mapped areas of this kind in a process' memory, joined if they are adjacent.
fn areas(id: u32, kind: char) -> Option<Vec<(u64, u64)>> {
    let maps = fs::read_to_string(format!("/proc/{id}/maps")).ok()?;
    let mut areas: Vec<(u64, u64)> = Vec::new();
    for line in maps.lines() {
        let mut fields = line.split(' ');
        let (from, to) = fields.next()?.split_once('-')?;
        if !fields.next()?.ends_with(kind) {
            continue;
        }
        let area = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
        match areas.last_mut() {
            Some(last) if last.1 == area.0 => last.1 = area.1,
            _ => areas.push(area),
        }
    }
    Some(areas)
}

/// Returns the arguments of a program, if the area between two addresses is its stack. By the ABI,
/// the stack contains the number of arguments at a multiple of 16 bytes, their addresses, zero, the
/// addresses of the environment, zero, and above that the texts without gaps. The search starts at
/// the end, because data that functions have left below can look the same.
fn arguments(memory: &File, from: u64, to: u64) -> Option<String> {
    let from = from.max(to.saturating_sub(STACK));
    let mut bytes = vec![0; (to - from) as usize];
    memory.read_exact_at(&mut bytes, from).ok()?;
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes"))).collect();
    let text = |address: u64| {
        let text = bytes.get(usize::try_from(address.checked_sub(from)?).ok()?..)?;
        std::str::from_utf8(&text[..text.iter().position(|byte| *byte == 0)?]).ok()
    };
    (0..words.len()).step_by(2).rev().find_map(|index| {
        let count = usize::try_from(words[index]).ok().filter(|count| (1..=WORDS).contains(count))?;
        let addresses = words.get(index + 1..)?.get(..count)?;
        let mut next = addresses[0];
        let mut arguments = Vec::new();
        for address in addresses {
            let argument = text(*address).filter(|_| *address == next)?;
            next += argument.len() as u64 + 1;
            arguments.push(argument);
        }
        let after = words.get(index + 1 + count..)?;
        let environment = *after.get(1)?;
        let whole = after[0] == 0 && (environment == next || environment == 0);
        whole.then(|| arguments.join(" "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn child_processes_are_found_with_their_usage() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = below(std::process::id());
        let process = found.iter().find(|process| process.id == child.id()).unwrap();
        assert!(!process.program && process.used < 1.0);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_command_line_is_read_from_the_stack() {
        let script = "echo ready; sleep 60; true 'with spaces'";
        let mut shell = std::process::Command::new("sh");
        let mut child = shell.args(["-c", script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut ready = [0; 6];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
        let found = words(child.id(), 'p');
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, Some(format!("sh -c {script}")));
        assert!(command_line(child.id()).contains("cannot be read"));
    }

    #[test]
    fn data_left_by_functions_is_not_mistaken_for_arguments() {
        const FROM: u64 = 0x7fff_0000;
        // Data left by a function, then the stack by the ABI for a program with two arguments and
        // one variable.
        let left = [1, FROM + 16, 0, 0];
        let texts = FROM + 8 * 10;
        let begun = [2, texts, texts + 3, 0, texts + 6, 0];
        let words = left.iter().chain(&begun).flat_map(|word| word.to_ne_bytes());
        let bytes: Vec<u8> = words.chain(*b"ls\0-l\0A=\0\0\0\0\0\0\0\0").collect();
        let path = std::env::temp_dir().join(format!("bentpipe-stack-{}", std::process::id()));
        // The stack is at the same position in the file as in the process; the file begins with a
        // hole.
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        file.write_all_at(&bytes, FROM).unwrap();
        assert_eq!(arguments(&file, FROM, FROM + bytes.len() as u64), Some("ls -l".into()));
    }
}
