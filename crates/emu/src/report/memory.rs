//! The memory that a scenario's links need, because this process holds all packets in flight.

use crate::error::Error;
use bentpipe_engine::scenario::{LinkPair, Scenario};
use bentpipe_networks::RatedLink;
use serde::Serialize;
use std::fs::read_to_string;
use std::io;
use std::path::Path;

/// Bytes of memory per byte in flight, measured with packets of 1500 bytes at 1 to 10 Gbit/s: the
/// packet, and its entries in the pool and in the model's queue.
const PER_BYTE: f64 = 1.42;

/// The memory that full links of a scenario need, without their queues. Each link counts with its
/// more demanding direction, since the other one carries acknowledgments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Need {
    /// Bytes of memory for all links.
    pub bytes: u64,
    /// The link that needs the most memory, with its rate and delay; `None` without links.
    pub largest: Option<String>,
}

impl Need {
    /// Returns the memory that an emulation of `scenario` needs.
    pub fn of(scenario: &Scenario) -> Need {
        let held = |link: &RatedLink| link.rate.bits_per_second() as f64 / 8.0 * link.delay.as_secs_f64();
        let greater = |link: &LinkPair| {
            let [there, back] = link.rated();
            if held(&back) > held(&there) {
                back
            } else {
                there
            }
        };
        let of_networks = scenario.network.iter().flat_map(|(name, network)| network.rated(name));
        let links: Vec<RatedLink> = scenario.link.iter().map(greater).chain(of_networks).collect();
        let largest = links.iter().max_by(|one, other| held(one).total_cmp(&held(other)));
        Need {
            bytes: (PER_BYTE * links.iter().map(held).sum::<f64>()) as u64,
            largest: largest.map(|link| format!("{}: {} for {}", link.name, link.rate, link.delay)),
        }
    }

    /// Checks that this machine has the needed memory.
    ///
    /// # Errors
    /// Returns an error with the amount and the most demanding link if the machine has less memory.
    pub fn check(&self) -> Result<(), Error> {
        match available() {
            Some(available) if self.bytes > available => Err(self.lack(available)),
            _ => Ok(()),
        }
    }

    fn lack(&self, available: u64) -> Error {
        let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
        let cause = format!(
            "full links hold {}, and {} of memory are available; most is for {}",
            gigabytes(self.bytes),
            gigabytes(available),
            self.largest.as_deref().unwrap_or("no link"),
        );
        Error {
            doing: "making room for what is in flight".to_owned(),
            cause: io::Error::new(io::ErrorKind::OutOfMemory, cause),
            remedy: Some("choose lower rates or shorter delays, end other programs, or use another machine"),
        }
    }
}

/// Returns the bytes of memory that this process can still allocate, within the limits of the
/// machine and of its control groups. `None` if unknown.
pub fn available() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    let machine = of_machine(&text)?;
    Some(of_groups().fold(machine, u64::min))
}

/// Returns the number of bytes in flight for which this amount of memory suffices.
pub fn held(memory: u64) -> f64 {
    memory as f64 / PER_BYTE
}

fn of_machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Returns the memory left in the control group of this process, and in those above it (cgroup v2),
/// if they have a limit.
fn of_groups() -> impl Iterator<Item = u64> {
    let text = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = text.lines().find_map(|line| line.strip_prefix("0::/")).map(str::to_owned);
    let own = own.map(|own| Path::new("/sys/fs/cgroup").join(own));
    let all = own.iter().flat_map(|own| own.ancestors()).map(Path::to_owned).collect::<Vec<_>>();
    all.into_iter().filter_map(|group| {
        let number = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        Some(number("memory.max")?.saturating_sub(number("memory.current")?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_engine::presets;
    use bentpipe_scenario::Source;

    fn need(rate: &str, delay: &str) -> Need {
        let text = format!(
            "name = \"t\"\nduration = \"1 s\"\n[[link]]\nname = \"sat\"\nfrom = \"a\"\nto = \"b\"\n\
             rate = \"{rate}\"\ndelay = \"{delay}\"\n"
        );
        let source = Source::Text { name: "test", text: &text };
        Need::of(&bentpipe_scenario::load::<Scenario>(source, &presets::all(), &[]).unwrap().value)
    }

    #[test]
    fn a_link_s_memory_follows_from_its_rate_and_delay() {
        let large = need("10 Gbit/s", "10 s");
        assert_eq!(large.bytes, 17_750_000_000);
        assert_eq!(large.largest.as_deref(), Some("sat: 10 Gbit/s for 10 s"));
        let text = large.lack(9_000_000_000).to_string();
        for words in ["17.8 GB", "9.0 GB", "sat: 10 Gbit/s for 10 s", "lower rates"] {
            assert!(text.contains(words), "{text}");
        }
        need("10 Mbit/s", "250 ms").check().unwrap();
        assert!(need("1000 Gbit/s", "10000 s").check().is_err());
    }

    #[test]
    fn the_available_memory_is_read() {
        assert_eq!(of_machine("MemTotal: 9 kB\nMemAvailable:    2000 kB\n"), Some(2_048_000));
        assert_eq!(of_machine("MemTotal: 9 kB\n"), None);
        assert!(available().is_some_and(|bytes| bytes > 0));
    }
}
